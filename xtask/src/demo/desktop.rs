//! Twelve programs of a desktop with one graphics card, as a person who works with models has them.

use super::tree::{Process, Tree};
use crate::gguf_file::{Encoder, GgufFile, Transformer};

/// The programs, in the order of the numbers that [`processes`] takes.
pub(super) const COUNT: usize = 12;

/// Where models are, in a container too, and where that of the second server, whose store names files by their hash.
const STORE: &str = "/models";
const BLOB: &str = "/usr/share/ollama/.ollama/models/blobs/\
    sha256-667b0c1932bc6ffc593ed1d03f895bf2dc8dc6df21db3042284a6f4416b06a29";

const CONTAINER: &str =
    "/system.slice/docker-4f1c6e0a9d7b28354ce1f0a2b3d495867788990a1b2c3d4e5f60718293a4b5c6.scope";

/// Models of the two servers that write text, and of the one in a container.
pub(super) struct Models {
    pub(super) chat: Transformer,
    pub(super) chat_file: &'static str,
    pub(super) second: Transformer,
    pub(super) embedder: Encoder,
    pub(super) embedder_file: &'static str,
}

/// Adds the twelve programs and their models.
pub(super) fn add(tree: &Tree, pids: [u32; COUNT], models: &Models) -> anyhow::Result<()> {
    let chat = format!("{STORE}/{}", models.chat_file);
    let embedder = format!("{STORE}/{}", models.embedder_file);
    tree.model(None, &chat, &GgufFile::transformer(&models.chat))?;
    tree.model(None, BLOB, &GgufFile::transformer(&models.second))?;
    for process in processes(pids, &chat, &embedder) {
        tree.process(&process)?;
        if process.own_root {
            tree.model(
                Some(process.pid),
                &embedder,
                &GgufFile::encoder(&models.embedder),
            )?;
        }
    }
    Ok(())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Libraries of the system by their names.
fn system(names: &[&str]) -> Vec<String> {
    let folder = "/usr/lib/x86_64-linux-gnu";
    names
        .iter()
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

fn python(folder: &str, libraries: &[&str]) -> Vec<String> {
    let mut maps = system(&["libcuda.so.580.95.05", "libc.so.6"]);
    maps.extend(
        libraries
            .iter()
            .map(|name| format!("{folder}/site-packages/{name}")),
    );
    maps
}

const TORCH: [&str; 6] = [
    "torch/lib/libtorch_cuda.so",
    "torch/lib/libtorch_python.so",
    "torch/lib/libc10_cuda.so",
    "nvidia/cudnn/lib/libcudnn.so.9",
    "nvidia/cublas/lib/libcublas.so.12",
    "nvidia/cuda_runtime/lib/libcudart.so.12",
];

fn session(unit: &str) -> String {
    format!("/user.slice/user-1000.slice/user@1000.service/app.slice/{unit}")
}

fn processes(pids: [u32; COUNT], chat: &str, embedder: &str) -> Vec<Process> {
    let [
        xorg,
        shell,
        firefox,
        llama,
        ollama,
        comfy,
        whisper,
        ffmpeg,
        code,
        train,
        blender,
        embed,
    ] = pids;
    let opengl = || system(&["libGLX_nvidia.so.580.95.05", "libGLX.so.0", "libEGL.so.1"]);
    let ggml = |folder: &str, own: &str| {
        let mut maps = system(&["libcuda.so.580.95.05", "libc.so.6"]);
        let names = [
            own,
            "libggml-base.so",
            "libggml-cuda.so",
            "libcublas.so.12",
            "libcudart.so.12",
        ];
        maps.extend(names.iter().map(|name| format!("{folder}/{name}")));
        maps
    };
    let with = |mut maps: Vec<String>, file: &str| {
        maps.push(file.to_owned());
        maps
    };
    let own = |line: &str| Process {
        parent: 1980,
        user: 1000,
        arguments: words(line),
        folder: "/srv/ana",
        ..Process::default()
    };
    let ml = |line: &str| Process {
        parent: 1,
        user: 1001,
        arguments: words(line),
        folder: "/srv/ml",
        ..Process::default()
    };
    vec![
        Process {
            pid: xorg,
            user: 0,
            parent: 1471,
            name: "Xorg",
            started: 21,
            exe: "/usr/lib/xorg/Xorg",
            folder: "/",
            maps: opengl(),
            cgroup: "/system.slice/gdm.service".to_owned(),
            ..own(
                "/usr/lib/xorg/Xorg vt2 -displayfd 3 -auth /run/user/1000/gdm/Xauthority -keeptty",
            )
        },
        Process {
            pid: shell,
            name: "gnome-shell",
            started: 24,
            exe: "/usr/bin/gnome-shell",
            maps: opengl(),
            cgroup: session("org.gnome.Shell@x11.service"),
            ..own("/usr/bin/gnome-shell")
        },
        Process {
            pid: firefox,
            name: "firefox",
            started: 5120,
            exe: "/usr/lib/firefox/firefox",
            maps: [
                opengl(),
                system(&["libcuda.so.580.95.05", "libnvcuvid.so.580.95.05"]),
            ]
            .concat(),
            cgroup: session("app-firefox.scope"),
            ..own("/usr/lib/firefox/firefox")
        },
        Process {
            pid: llama,
            name: "llama-server",
            started: 201_344,
            exe: "/opt/llama.cpp/bin/llama-server",
            maps: with(ggml("/opt/llama.cpp/lib", "libllama.so"), chat),
            port: Some(8080),
            cgroup: session("llama.service"),
            ..own(&format!(
                "/opt/llama.cpp/bin/llama-server -m {chat} -c 8192 -np 1 -ngl 99 --host 0.0.0.0 --port 8080"
            ))
        },
        Process {
            pid: ollama,
            name: "ollama",
            user: 997,
            parent: 1290,
            started: 268_010,
            exe: "/usr/local/bin/ollama",
            environment: "OLLAMA_MODELS=/usr/share/ollama/.ollama/models\0".to_owned(),
            maps: with(
                ggml("/usr/local/lib/ollama/cuda_v13", "libggml-cpu-haswell.so"),
                BLOB,
            ),
            open: vec![BLOB.to_owned()],
            port: Some(41_327),
            cgroup: "/system.slice/ollama.service".to_owned(),
            ..own(&format!(
                "/usr/local/bin/ollama runner --model {BLOB} --ctx-size 4096 --batch-size 512 \
                 --n-gpu-layers 99 --parallel 1 --port 41327"
            ))
        },
        Process {
            pid: comfy,
            name: "python3",
            started: 255_900,
            exe: "/usr/bin/python3.13",
            maps: python("/srv/ml/comfy/lib", &TORCH),
            open: vec!["/srv/ml/comfy/models/checkpoints/sdxl-base.safetensors".to_owned()],
            port: Some(8188),
            cgroup: "/system.slice/comfyui.service".to_owned(),
            ..ml("/srv/ml/comfy/bin/python3 main.py --listen 0.0.0.0 --port 8188")
        },
        Process {
            pid: whisper,
            name: "whisper-server",
            started: 260_233,
            exe: "/opt/whisper.cpp/bin/whisper-server",
            maps: ggml("/opt/whisper.cpp/lib", "libwhisper.so.1"),
            port: Some(8178),
            cgroup: "/system.slice/whisper.service".to_owned(),
            ..ml(
                "/opt/whisper.cpp/bin/whisper-server -m /models/ggml-large-v3-turbo.bin --port 8178",
            )
        },
        Process {
            pid: ffmpeg,
            name: "ffmpeg",
            started: 272_806,
            exe: "/usr/bin/ffmpeg",
            maps: system(&[
                "libcuda.so.580.95.05",
                "libnvidia-encode.so.580.95.05",
                "libnvcuvid.so.580.95.05",
                "libavcodec.so.61",
            ]),
            cgroup: session("vte-spawn-2.scope"),
            ..own("ffmpeg -hwaccel cuda -i talk.mkv -c:v hevc_nvenc -preset p5 talk-small.mkv")
        },
        Process {
            pid: code,
            name: "code",
            started: 7302,
            exe: "/usr/share/code/code",
            maps: opengl(),
            cgroup: session("app-code.scope"),
            ..own("/usr/share/code/code --type=gpu-process")
        },
        Process {
            pid: train,
            name: "python3",
            started: 231_007,
            exe: "/usr/bin/python3.13",
            maps: with(
                python("/srv/ml/train/lib", &TORCH),
                "/srv/ml/train/lib/site-packages/nvidia/nccl/lib/libnccl.so.2",
            ),
            cgroup: "/user.slice/user-1001.slice/session-7.scope".to_owned(),
            ..ml("/srv/ml/train/bin/python3 train_lora.py --base /models/qwen3-1.7b --epochs 3")
        },
        Process {
            pid: blender,
            name: "blender",
            started: 266_450,
            exe: "/opt/blender/blender",
            maps: [
                opengl(),
                system(&["libcuda.so.580.95.05", "libnvoptix.so.580.95.05"]),
            ]
            .concat(),
            cgroup: session("app-blender.scope"),
            ..own("/opt/blender/blender scene.blend")
        },
        Process {
            pid: embed,
            name: "llama-server",
            user: 0,
            parent: 9870,
            started: 240_118,
            exe: "/app/llama-server",
            folder: "/app",
            environment: format!("LLAMA_ARG_MODEL={embedder}\0LLAMA_ARG_N_GPU_LAYERS=99\0"),
            maps: with(ggml("/app", "libllama.so"), embedder),
            cgroup: CONTAINER.to_owned(),
            own_root: true,
            ..ml("/app/llama-server --embedding --pooling cls --host 0.0.0.0 --port 8081")
        },
    ]
}

/// A program that shows old windows on a new desktop; its memory is one that drivers do not tell.
pub(super) fn xwayland(pid: u32) -> Process {
    Process {
        pid,
        parent: 2210,
        user: 1000,
        name: "Xwayland",
        started: 26,
        arguments: words("/usr/bin/Xwayland :1 -rootless"),
        exe: "/usr/bin/Xwayland",
        folder: "/",
        maps: system(&["libGLX_nvidia.so.580.95.05", "libEGL.so.1"]),
        cgroup: session("org.gnome.Shell@x11.service"),
        ..Process::default()
    }
}

//! What runtimes and programs are recognised by, as tables: the one place where a new one is added.
//!
//! A library proves that a runtime is present, not that it is used; what a program calls itself proves less. Names
//! are compared in lower case, since those of Windows differ in it; macOS and Windows names stand beside those of
//! Linux.

use model::Category;

/// A runtime and what shows it.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Whether a process that has it is taken for an AI workload.
    pub(super) ai: bool,
    /// Patterns of its libraries' names, see [`super::patterns::Library`].
    pub(super) libraries: &'static [&'static str],
    /// Programs that have it built in, see [`super::patterns::Program`].
    pub(super) programs: &'static [&'static str],
}

const fn library(name: &'static str, ai: bool, libraries: &'static [&'static str]) -> Known {
    let programs = &[];
    Known {
        name,
        ai,
        libraries,
        programs,
    }
}

const fn program(
    name: &'static str,
    libraries: &'static [&'static str],
    programs: &'static [&'static str],
) -> Known {
    Known {
        name,
        ai: true,
        libraries,
        programs,
    }
}

/// A model server. That it is there says nothing of what it works with: this is the runtime's own, where it is known.
const fn server(name: &'static str, programs: &'static [&'static str]) -> Known {
    Known {
        name,
        ai: false,
        libraries: &[],
        programs,
    }
}

/// The library of NVML: alone, it belongs to a program that watches the GPU.
pub(super) const NVML: &str = "NVML";

/// The engine of a game.
pub(super) const UNITY: &str = "Unity";

/// The interfaces by which ggml copies weights to a GPU, so that what stays mapped of a file stays in system memory.
pub(super) const COPYING_BACKENDS: &[&str] = &[
    "ggml CUDA",
    "ggml HIP",
    "ggml Vulkan",
    "CUDA",
    "HIP",
    "Vulkan",
];

/// Those by which a GPU uses the mapping itself.
pub(super) const SHARING_BACKENDS: &[&str] = &["ggml Metal", "Metal"];

/// Runtimes in display order: what is specific first. The Vulkan loader maps the drivers of all vendors, so an ICD
/// proves nothing and is not listed.
#[rustfmt::skip] // A line for each.
pub(super) const RUNTIMES: &[Known] = &[
    program("vLLM", &["vllm/", "vllm_flash_attn"], &["vllm", "-m vllm", "vllm::*"]),
    program("SGLang", &["sgl_kernel/", "sglang/"], &["sglang", "-m sglang", "sglang::*"]),
    program("llama.cpp", &["libllama", "llama.dll", "libmtmd", "mtmd.dll", "llama_cpp", "xllamacpp", "koboldcpp*"],
        &["llama-server", "llama-cli", "llama-bench", "llama serve", "llama cli", "server *.gguf", "-m llama_cpp",
        "ollama_llama_server", "com.docker.llama-server", "koboldcpp*", "koboldcpp.py", "*.llamafile"]),
    program("whisper.cpp", &["libwhisper", "whisper.dll"], &["whisper-server", "whisper-cli"]),
    program("stable-diffusion.cpp", &["libstable-diffusion", "stable-diffusion.dll"], &["sd-server", "sd-cli"]),
    server("Ollama", &["ollama"]),
    server("LM Studio", &["lm-studio", "lm studio", "llmster"]),
    server("text-generation-inference", &["text-generation-launcher", "text-generation-server",
        "text-generation-router"]),
    server("ComfyUI", &["comfyui/main.py", "comfyui"]),
    server("LocalAI", &["local-ai", "localai"]),
    server("MLX-LM", &["mlx_lm.server", "-m mlx_lm"]),
    server("Docker Model Runner", &["model-runner"]),
    library("ggml", true, &["libggml", "ggml.dll"]),
    library("ggml CUDA", true, &["libggml-cuda", "ggml-cuda.dll"]),
    library("ggml HIP", true, &["libggml-hip", "ggml-hip.dll"]),
    library("ggml Vulkan", true, &["libggml-vulkan", "ggml-vulkan.dll"]),
    library("ggml Metal", true, &["libggml-metal"]),
    library("ggml SYCL", true, &["libggml-sycl", "ggml-sycl.dll"]),
    library("ggml RPC", true, &["libggml-rpc", "ggml-rpc.dll"]),
    library("ExLlama", true, &["exllamav2_ext", "exllamav3_ext"]),
    library("TensorRT-LLM", true, &["libtensorrt_llm", "tensorrt_llm.dll", "libnvinfer_plugin_tensorrt_llm"]),
    library("TensorRT", true, &["libnvinfer", "nvinfer.dll"]),
    library("ONNX Runtime", true, &["libonnxruntime", "onnxruntime.dll", "onnxruntime_pybind11_state"]),
    library("ONNX CUDA provider", true, &["libonnxruntime_providers_cuda", "onnxruntime_providers_cuda.dll"]),
    library("ONNX TensorRT provider", true, &["libonnxruntime_providers_tensorrt",
        "onnxruntime_providers_tensorrt.dll"]),
    library("ONNX TensorRT RTX provider", true, &["libonnxruntime_providers_nv_tensorrt_rtx",
        "onnxruntime_providers_nv_tensorrt_rtx.dll"]),
    library("ONNX DirectML provider", true, &["onnxruntime_providers_dml.dll"]),
    library("ONNX OpenVINO provider", true, &["libonnxruntime_providers_openvino",
        "onnxruntime_providers_openvino.dll"]),
    library("ONNX ROCm provider", true, &["libonnxruntime_providers_rocm"]),
    library("ONNX MIGraphX provider", true, &["libonnxruntime_providers_migraphx",
        "onnxruntime_providers_migraphx.dll"]),
    library("WinML", true, &["windows.ai.machinelearning.dll"]),
    library("DirectML", true, &["directml.dll"]),
    library("PyTorch", true, &["libtorch", "libc10.", "libc10_cuda", "libc10_hip", "libc10_xpu", "torch/_c",
        "torch.dll", "torch_cpu.dll", "torch_cuda.dll", "torch_hip.dll", "torch_python.dll", "c10.dll",
        "c10_cuda.dll", "c10_hip.dll"]),
    library("TensorFlow", true, &["libtensorflow", "tensorflow.dll", "_pywrap_tensorflow*"]),
    library("JAX", true, &["xla_extension", "pjrt_c_api*", "xla_cuda_plugin", "xla_rocm_plugin", "jaxlib/",
        "libjax*"]),
    library("CTranslate2", true, &["libctranslate2", "ctranslate2.dll"]),
    library("OpenVINO", true, &["libopenvino", "openvino.dll", "openvino_intel_gpu_plugin.dll"]),
    library("MLX", true, &["libmlx", "mlx/core"]),
    library("bitsandbytes", true, &["libbitsandbytes"]),
    library("FlashInfer", true, &["flashinfer/"]),
    library("Triton", true, &["libtriton", "triton/"]),
    library("cuDNN", true, &["libcudnn", "cudnn.dll", "cudnn64.dll", "cudnn_*.dll"]),
    library("cuBLAS", true, &["libcublas", "libcublaslt", "cublas64.dll", "cublaslt64.dll"]),
    library("NCCL", true, &["libnccl", "nccl.dll"]),
    library("cuFFT", false, &["libcufft", "cufft64.dll"]),
    library("cuSPARSE", false, &["libcusparse", "libcusparselt", "cusparse64.dll"]),
    library("rocBLAS", true, &["librocblas", "libhipblas", "libhipblaslt", "rocblas.dll", "hipblas.dll",
        "libhipblaslt.dll"]),
    library("MIOpen", true, &["libmiopen", "miopen.dll"]),
    library("HIP", false, &["libamdhip64", "amdhip64.dll"]),
    library("ROCm", false, &["libhsa-runtime64"]),
    library("SYCL", false, &["libsycl", "sycl7.dll", "sycl8.dll"]),
    library("Level Zero", false, &["libze_loader", "libze_intel_gpu", "ze_loader.dll", "ze_intel_gpu64.dll"]),
    library("OptiX", false, &["libnvoptix", "nvoptix.dll"]),
    library("Embree", false, &["libembree3", "libembree4", "embree3.dll", "embree4.dll"]),
    library("cudart", false, &["libcudart", "cudart64.dll"]),
    library("CUDA", false, &["libcuda.", "nvcuda.dll"]),
    library("OpenCL", false, &["libopencl", "opencl.dll"]),
    library("NVENC", false, &["libnvidia-encode", "nvencodeapi64.dll"]),
    library("NVDEC", false, &["libnvcuvid", "nvcuvid.dll"]),
    library("VA-API", false, &["libva", "*_drv_video"]),
    library("AMF", false, &["libamfrt64", "amfrt64.dll"]),
    library("QSV", false, &["libvpl", "libmfx", "libmfxhw64", "libvpl.dll", "libmfx64.dll", "mfx*.dll"]),
    library(UNITY, false, &["unityplayer", "unityplayer.dll"]),
    library("Metal", false, &["metal.framework", "metalperformanceshadersgraph.framework", "mpsgraph.framework",
        "agxmetal*"]),
    library("Vulkan", false, &["libvulkan.", "vulkan-1.dll", "libmoltenvk"]),
    library("OpenGL", false, &["libgl", "libglx", "libegl", "libopengl", "opengl32.dll", "nvoglv64.dll",
        "atio6axx.dll"]),
    library("D3D12", false, &["d3d12.dll", "d3d12core.dll"]),
    library("D3D11", false, &["d3d11.dll"]),
    library("DXGI", false, &["dxgi.dll"]),
    library(NVML, false, &["libnvidia-ml", "nvml.dll"]),
];

/// A kind of work and the programs that do it.
pub(super) struct Works {
    pub(super) category: Category,
    pub(super) sure: Sure,
    /// See [`super::patterns::Program`].
    pub(super) programs: &'static [&'static str],
}

/// How much a program tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sure {
    /// It is for this.
    Yes,
    /// It starts other programs, mostly such, or is called like one: `train?`.
    Hint,
}

const fn works(category: Category, programs: &'static [&'static str]) -> Works {
    let sure = Sure::Yes;
    Works {
        category,
        sure,
        programs,
    }
}

/// Programs by what they are for; the first that fits. A program that serves language models and little else is for
/// those, whichever model it has: what is known of the model itself goes before.
#[rustfmt::skip] // A line for each.
pub(super) const PROGRAMS: &[Works] = &[
    works(Category::Training, &["axolotl", "-m axolotl", "llamafactory-cli train", "-m llamafactory.launcher",
        "trl sft", "trl dpo", "trl grpo", "trl kto", "trl reward", "trl rloo", "-m trl.scripts", "unsloth",
        "-m unsloth", "-m unsloth_cli", "sd-scripts/*", "kohya_ss/*", "ai-toolkit/run.py"]),
    Works { category: Category::Ai, sure: Sure::Hint, programs: &["torchrun", "-m torch.distributed.run",
        "-m torch.distributed.launch", "accelerate launch", "-m accelerate.commands.launch", "accelerate-launch",
        "deepspeed", "-m deepspeed.launcher", "-m lightning", "train*.py", "trainer.py", "training*.py",
        "finetune*.py", "fine_tune*.py"] },
    works(Category::Llm, &["llama-server", "llama-cli", "llama-bench", "llama-run", "llama serve", "llama cli",
        "llama run", "server *.gguf", "ollama", "ollama_llama_server", "com.docker.llama-server", "lm-studio",
        "lm studio", "llmster", "koboldcpp*", "koboldcpp.py", "*.llamafile", "local-ai", "jan", "gpt4all",
        "text-generation-launcher", "text-generation-server", "text-generation-router", "tritonserver",
        "trtllm-serve", "mlx_lm.server", "-m mlx_lm", "vllm serve", "vllm", "-m vllm", "vllm::*", "sglang",
        "-m sglang", "sglang::*", "text-generation-webui*/server.py", "tabbyapi*/main.py", "tabbyapi*/start.py",
        "-m tabbyapi", "-m llama_cpp"]),
    works(Category::Ai, &["comfyui/main.py", "comfyui", "webui.py", "stable-diffusion-webui*/launch.py", "whisper",
        "whisper-server", "whisper-cli", "-m whisper", "faster_whisper", "faster-whisper*", "-m faster_whisper",
        "whisperx", "sd-server", "sd-cli", "llamafactory-cli"]),
    works(Category::Browser, &["chrome", "chrome_*", "google-chrome*", "chromium*", "firefox*", "msedge", "msedge*",
        "microsoft-edge*", "brave", "brave-browser*", "opera", "opera-*", "vivaldi", "vivaldi-bin", "librewolf",
        "epiphany*", "safari", "webkitwebprocess", "com.apple.webkit.gpu", "web content", "isolated web content",
        "privileged content"]),
    works(Category::Desktop, &["xorg", "xwayland", "gnome-shell", "kwin_wayland*", "kwin_x11", "kwin*",
        "plasmashell", "mutter*", "sway", "hyprland", "weston", "cosmic-comp", "gamescope*", "gamescopereaper",
        "cinnamon", "xfwm4", "labwc", "niri", "wayfire", "dwm", "csrss", "explorer", "searchhost",
        "shellexperiencehost", "startmenuexperiencehost", "windowserver"]),
    works(Category::Video, &["ffmpeg", "ffplay", "obs", "obs64", "mpv", "vlc", "handbrake*", "handbrakecli", "ghb",
        "resolve", "adobe premiere pro", "gpu-screen-recorder", "sunshine", "nvcontainer", "nvidia share", "kodi*",
        "totem"]),
    works(Category::Graphics3d, &["blender*", "godot*", "unity", "unityhub", "unity hub", "unrealeditor*",
        "*-win64-shipping", "*-linux-shipping", "steam"]),
];

/// Programs that watch the GPU.
pub(super) const MONITORS: &[&str] = &[
    "nvtop",
    "nvitop",
    "nvidia-smi",
    "gpustat",
    "gputaskman",
    "gtm",
    "btop",
    "dcgm-exporter",
    "nv-hostengine",
    "nvidia_gpu_exporter",
    "intel_gpu_top",
    "radeontop",
    "amdgpu_top",
];

/// Folders below which games lie, as neighbouring components of a path.
pub(super) const GAME_FOLDERS: &[(&str, &str)] = &[("steamapps", "common")];

/// What runs Windows programs elsewhere, by the name of the executable.
pub(super) const WINE: &[&str] = &["wine", "wine64", "wine-preloader", "wine64-preloader"];

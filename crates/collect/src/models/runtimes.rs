//! Runtimes by the libraries a process has mapped, or by the program that has them built in. A library proves
//! presence, not use.

use model::{Gap, Measured, Provenance, Reading, Runtime, Source, Stamp, Text};

use super::catalogue::RUNTIMES;
use super::patterns::{Library, Program};
use crate::parse::maps;
use crate::processes::Poll;

/// The runtimes among the mapped files and of the program, without the moment at which those were read.
pub(super) fn runtimes(maps: &Poll, program: &Program) -> Result<Vec<Runtime>, Gap> {
    maps.text().map(|(_, text)| found(&text, program))
}

/// The same as a reading: what was found in the newest answer, with its stamp.
pub(super) fn reading(
    found: &Result<Vec<Runtime>, Gap>,
    maps: &Poll,
    now: Stamp,
) -> Reading<Measured<Vec<Runtime>>> {
    match found {
        Err(gap) => Reading::missing(*gap, from(now)),
        // The answer is asked for its moment alone: one that says the same again is as new as any.
        Ok(found) => match maps.answer() {
            Err(gap) => Reading::missing(gap, from(now)),
            Ok((at, _)) => Reading::measured(found.clone(), from(at)),
        },
    }
}

/// There are none to be looked for, and why.
pub(crate) const fn no_runtimes(gap: Gap, now: Stamp) -> Reading<Measured<Vec<Runtime>>> {
    Reading::missing(gap, from(now))
}

const fn from(at: Stamp) -> Provenance {
    Provenance {
        source: Source::Proc,
        counter: "maps",
        at,
    }
}

fn found(text: &str, program: &Program) -> Vec<Runtime> {
    let mut shown: Vec<Option<Text>> = vec![None; RUNTIMES.len()];
    let mut last = "";
    for mapping in maps::parse(text) {
        if mapping.path == last {
            continue;
        }
        last = mapping.path;
        let Some(library) = Library::of(mapping.path) else {
            continue;
        };
        for (by, runtime) in shown.iter_mut().zip(RUNTIMES) {
            if by.is_none() && runtime.libraries.iter().any(|it| library.fits(it)) {
                *by = Some(library.name.into());
            }
        }
    }
    for (by, runtime) in shown.iter_mut().zip(RUNTIMES) {
        if by.is_none() {
            let shown = runtime.programs.iter().find_map(|it| program.shown(it));
            *by = shown.map(|(_, name)| format!("program {name}").into());
        }
    }
    let found = RUNTIMES.iter().zip(shown);
    let found = found.filter_map(|(runtime, by)| {
        Some(Runtime {
            name: runtime.name,
            library: by?,
        })
    });
    found.collect()
}

/// Whether any of these runtimes makes an AI workload likely.
pub(super) fn any_ai(runtimes: &Reading<Measured<Vec<Runtime>>>) -> bool {
    runtimes.value().is_some_and(|found| have_ai(found))
}

/// The same of a plain list.
pub(super) fn have_ai(found: &[Runtime]) -> bool {
    let is_ai = |name: &str| RUNTIMES.iter().any(|known| known.ai && known.name == name);
    found.iter().any(|runtime| is_ai(runtime.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(paths: &[&str], program: &Program) -> Vec<Runtime> {
        let lines: Vec<String> = paths
            .iter()
            .map(|path| format!("1000-2000 r--p 0 0:0 0 {path}"))
            .collect();
        found(&lines.join("\n"), program)
    }

    fn names(paths: &[&str]) -> Vec<&'static str> {
        let found = with(paths, &Program::default());
        found.iter().map(|runtime| runtime.name).collect()
    }

    #[test]
    fn libraries_name_their_runtimes_once_in_order() {
        assert_eq!(
            names(&[
                "/usr/lib/libcuda.so.580.1",
                "/opt/libggml-cuda.so",
                "/opt/libggml-base.so",
                "/opt/libllama.so.0",
                "/usr/lib/libcublas.so.12",
            ]),
            ["llama.cpp", "ggml", "ggml CUDA", "cuBLAS", "CUDA"]
        );
    }

    /// One row per library of each system; the runtimes that it shows.
    #[test]
    fn every_library_shows_its_runtimes() {
        const PACKAGES: &str = "/v/lib/python3.12/site-packages";
        for (file, expected) in [
            ("/l/libcuda.so.580.95.05", &["CUDA"][..]),
            ("/w/nvcuda.dll", &["CUDA"]),
            ("/l/libcudart.so.12", &["cudart"]),
            ("/w/cudart64_12.dll", &["cudart"]),
            ("/l/libcublas.so.12", &["cuBLAS"]),
            ("/l/libcublasLt.so.12", &["cuBLAS"]),
            ("/w/cublasLt64_12.dll", &["cuBLAS"]),
            ("/l/libcudnn_ops.so.9", &["cuDNN"]),
            ("/w/cudnn_ops64_9.dll", &["cuDNN"]),
            ("/w/cudnn64_9.dll", &["cuDNN"]),
            ("/l/libnccl.so.2", &["NCCL"]),
            ("/l/libcusparse.so.12", &["cuSPARSE"]),
            ("/l/libcufft.so.11", &["cuFFT"]),
            ("/l/libnvinfer.so.10", &["TensorRT"]),
            ("/w/nvinfer_10.dll", &["TensorRT"]),
            ("/l/libnvinfer_plugin.so.10", &["TensorRT"]),
            ("/l/libtensorrt_llm.so", &["TensorRT-LLM"]),
            ("/l/libtorch_cpu.so", &["PyTorch"]),
            ("/l/libtorch_python.so", &["PyTorch"]),
            ("/l/libc10.so", &["PyTorch"]),
            ("/l/libc10_cuda.so", &["PyTorch"]),
            ("/w/torch_cuda.dll", &["PyTorch"]),
            ("/w/c10_cuda.dll", &["PyTorch"]),
            ("/m/libtorch_cpu.dylib", &["PyTorch"]),
            ("/l/libonnxruntime.so.1.22", &["ONNX Runtime"]),
            ("/w/onnxruntime.dll", &["ONNX Runtime"]),
            (
                "/l/libonnxruntime_providers_cuda.so",
                &["ONNX Runtime", "ONNX CUDA provider"],
            ),
            (
                "/l/libonnxruntime_providers_tensorrt.so",
                &["ONNX Runtime", "ONNX TensorRT provider"],
            ),
            (
                "/w/onnxruntime_providers_dml.dll",
                &["ONNX Runtime", "ONNX DirectML provider"],
            ),
            (
                "/l/libonnxruntime_providers_openvino.so",
                &["ONNX Runtime", "ONNX OpenVINO provider"],
            ),
            (
                "/l/libonnxruntime_providers_rocm.so",
                &["ONNX Runtime", "ONNX ROCm provider"],
            ),
            (
                "/l/libonnxruntime_providers_migraphx.so",
                &["ONNX Runtime", "ONNX MIGraphX provider"],
            ),
            (
                "/w/onnxruntime_providers_nv_tensorrt_rtx.dll",
                &["ONNX Runtime", "ONNX TensorRT RTX provider"],
            ),
            ("/w/Windows.AI.MachineLearning.dll", &["WinML"]),
            ("/l/libggml-cuda.so", &["ggml", "ggml CUDA"]),
            ("/w/ggml-cuda.dll", &["ggml", "ggml CUDA"]),
            ("/l/libggml-vulkan.so", &["ggml", "ggml Vulkan"]),
            ("/l/libggml-hip.so", &["ggml", "ggml HIP"]),
            ("/m/libggml-metal.dylib", &["ggml", "ggml Metal"]),
            ("/l/libggml-sycl.so", &["ggml", "ggml SYCL"]),
            ("/l/libggml-rpc.so", &["ggml", "ggml RPC"]),
            ("/l/libggml-cpu-haswell.so", &["ggml"]),
            ("/l/libllama.so", &["llama.cpp"]),
            ("/w/llama.dll", &["llama.cpp"]),
            ("/l/libllama-server-impl.so", &["llama.cpp"]),
            ("/l/libllama-common.so", &["llama.cpp"]),
            ("/l/libllama.vulkan.v0.5.0.so", &["llama.cpp"]),
            ("/l/libmtmd.so", &["llama.cpp"]),
            (
                "/l/xllamacpp.cpython-312-x86_64-linux-gnu.so",
                &["llama.cpp"],
            ),
            ("/tmp/_MEIx/koboldcpp_cublas.so", &["llama.cpp"]),
            ("/l/libwhisper.so.1", &["whisper.cpp"]),
            ("/w/whisper.dll", &["whisper.cpp"]),
            ("/l/libstable-diffusion.so", &["stable-diffusion.cpp"]),
            ("/l/libtensorflow_framework.so.2", &["TensorFlow"]),
            ("/l/_pywrap_tensorflow_internal.so", &["TensorFlow"]),
            ("/l/xla_extension.so", &["JAX"]),
            ("/l/pjrt_c_api_gpu_plugin.so", &["JAX"]),
            ("/l/libctranslate2.so.4", &["CTranslate2"]),
            ("/w/ctranslate2.dll", &["CTranslate2"]),
            ("/l/exllamav2_ext.cpython-311.so", &["ExLlama"]),
            ("/l/exllamav3_ext.cpython-311.so", &["ExLlama"]),
            ("/l/libbitsandbytes_cuda124.so", &["bitsandbytes"]),
            ("/m/libmlx.dylib", &["MLX"]),
            ("/l/libmlx.so", &["MLX"]),
            ("/S/Frameworks/Metal.framework/Metal", &["Metal"]),
            ("/S/AGXMetalG14X.dylib", &["Metal"]),
            ("/l/libopenvino.so.2500", &["OpenVINO"]),
            ("/l/libopenvino_intel_gpu_plugin.so", &["OpenVINO"]),
            ("/w/DirectML.dll", &["DirectML"]),
            ("/w/d3d12.dll", &["D3D12"]),
            ("/w/D3D12Core.dll", &["D3D12"]),
            ("/w/d3d11.dll", &["D3D11"]),
            ("/w/dxgi.dll", &["DXGI"]),
            ("/w/vulkan-1.dll", &["Vulkan"]),
            ("/l/libvulkan.so.1", &["Vulkan"]),
            ("/m/libMoltenVK.dylib", &["Vulkan"]),
            ("/l/libGL.so.1", &["OpenGL"]),
            ("/l/libGLX_nvidia.so.0", &["OpenGL"]),
            ("/w/opengl32.dll", &["OpenGL"]),
            ("/w/nvoglv64.dll", &["OpenGL"]),
            ("/w/atio6axx.dll", &["OpenGL"]),
            ("/l/libOpenCL.so.1", &["OpenCL"]),
            ("/w/OpenCL.dll", &["OpenCL"]),
            ("/l/libamdhip64.so.6", &["HIP"]),
            ("/w/amdhip64_6.dll", &["HIP"]),
            ("/l/librocblas.so.4", &["rocBLAS"]),
            ("/l/libhipblaslt.so.0", &["rocBLAS"]),
            ("/l/libMIOpen.so.1", &["MIOpen"]),
            ("/l/libhsa-runtime64.so.1", &["ROCm"]),
            ("/l/libze_loader.so.1", &["Level Zero"]),
            ("/l/libze_intel_gpu.so.1", &["Level Zero"]),
            ("/l/libsycl.so.8", &["SYCL"]),
            ("/l/libnvidia-encode.so.580", &["NVENC"]),
            ("/w/nvEncodeAPI64.dll", &["NVENC"]),
            ("/l/libnvcuvid.so.580", &["NVDEC"]),
            ("/w/nvcuvid.dll", &["NVDEC"]),
            ("/l/libva.so.2", &["VA-API"]),
            ("/l/dri/iHD_drv_video.so", &["VA-API"]),
            ("/w/amfrt64.dll", &["AMF"]),
            ("/l/libvpl.so.2", &["QSV"]),
            ("/l/libmfx-gen.so.1.2", &["QSV"]),
            ("/l/libnvoptix.so.580", &["OptiX"]),
            ("/w/nvoptix.dll", &["OptiX"]),
            ("/l/libembree4.so.4", &["Embree"]),
            ("/l/libnvidia-ml.so.580", &["NVML"]),
            ("/g/UnityPlayer.so", &["Unity"]),
            // Lookalikes.
            ("/l/libc10k.so", &[]),
            ("/l/libc100.so", &[]),
            ("/l/libtorchlight.so", &[]),
            ("/home/torch/_C.cpython-311-x86_64-linux-gnu.so", &[]),
            ("/home/torch/plugin.so", &[]),
            ("/home/vllm/plugin.so", &[]),
            ("/l/libcudamatrix.so", &[]),
            ("/l/libvalgrind.so", &[]),
            ("/l/libvulkan_radeon.so", &[]),
            ("/l/libvulkan_lvp.so", &[]),
            ("/l/libglib-2.0.so.0", &[]),
            ("/l/libllamas.so", &[]),
            ("/opt/libtorch/data.bin", &[]),
            ("/opt/libtorch/other.so", &[]),
            ("/m/libllama.gguf", &[]),
        ] {
            assert_eq!(names(&[file]), expected, "{file}");
        }
        for (file, expected) in [
            ("torch/_C.cpython-311-x86_64-linux-gnu.so", &["PyTorch"][..]),
            ("vllm/_C.abi3.so", &["vLLM"]),
            ("vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", &["vLLM"]),
            ("sgl_kernel/common_ops.abi3.so", &["SGLang"]),
            ("triton/_C/libtriton.so", &["Triton"]),
            ("flashinfer/_build/x.so", &["FlashInfer"]),
            ("jaxlib/_jax.so", &["JAX"]),
            ("mlx/core.cpython-312-darwin.so", &["MLX"]),
            ("other/_C.cpython-311-x86_64-linux-gnu.so", &[]),
            ("torchvision/_C.so", &[]),
        ] {
            assert_eq!(names(&[&format!("{PACKAGES}/{file}")]), expected, "{file}");
        }
    }

    #[test]
    fn a_program_with_everything_built_in_is_known_by_its_name() {
        for (line, expected) in [
            ("/opt/llama-server -m /m/a.gguf", &["llama.cpp"][..]),
            ("/opt/koboldcpp-linux-x64 --model a.gguf", &["llama.cpp"]),
            ("python3 koboldcpp.py", &["llama.cpp"]),
            ("/home/u/Model-Q4.llamafile", &["llama.cpp"]),
            ("llama serve -hf x/y", &["llama.cpp"]),
            ("python3 -m llama_cpp.server", &["llama.cpp"]),
            ("VLLM::EngineCore", &["vLLM"]),
            ("sglang::scheduler_TP0", &["SGLang"]),
            ("whisper-server -m x", &["whisper.cpp"]),
            ("ollama runner --model x --port 1", &["Ollama"]),
            ("python3 /srv/ComfyUI/main.py", &["ComfyUI"]),
            ("python3 -m mlx_lm.server --model x", &["MLX-LM"]),
            (
                "text-generation-server serve x",
                &["text-generation-inference"],
            ),
            ("local-ai run", &["LocalAI"]),
            ("/opt/llmster", &["LM Studio"]),
            ("python3 /srv/other/main.py", &[]),
            ("llama", &[]),
            ("/opt/llama-serverless", &[]),
            ("koboldcppy", &[]),
        ] {
            let words: Vec<Text> = line.split(' ').map(Text::from).collect();
            let found = with(&[], &Program::of(&words, None, None));
            let names: Vec<&str> = found.iter().map(|it| it.name).collect();
            assert_eq!(names, expected, "{line}");
            assert!(found.iter().all(|it| it.library.starts_with("program ")));
        }
    }
}

//! Runtimes by the libraries a process has mapped. A library proves presence, not use.

use model::{Gap, Measured, Provenance, Reading, Runtime, Source, Stamp};

use crate::parse::maps;
use crate::processes::Poll;

/// A runtime and the start of its libraries' file names.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// Whether a process that has it mapped is taken for an AI workload.
    pub(super) ai: bool,
    prefixes: &'static [&'static str],
}

const fn known(name: &'static str, ai: bool, prefixes: &'static [&'static str]) -> Known {
    Known { name, ai, prefixes }
}

/// Registered runtimes, in display order: what is specific first. The Vulkan loader maps the
/// drivers of all vendors, so an ICD proves nothing and is not listed.
pub(super) const RUNTIMES: &[Known] = &[
    known("vLLM", true, &["vllm_flash_attn"]),
    known(
        "llama.cpp",
        true,
        &["libllama.", "libllama-", "llama_cpp", "xllamacpp"],
    ),
    known("whisper.cpp", true, &["libwhisper."]),
    known("stable-diffusion.cpp", true, &["libstable-diffusion."]),
    known("ggml", true, &["libggml"]),
    known("TensorRT-LLM", true, &["libtensorrt_llm"]),
    known("TensorRT", true, &["libnvinfer"]),
    known(
        "ONNX Runtime",
        true,
        &["libonnxruntime", "onnxruntime_pybind11_state"],
    ),
    known("PyTorch", true, &["libtorch", "libc10", "_C.cpython"]),
    known("TensorFlow", true, &["libtensorflow", "_pywrap_tensorflow"]),
    known("JAX", true, &["xla_extension", "pjrt_c_api", "_jax."]),
    known("CTranslate2", true, &["libctranslate2"]),
    known("ExLlama", true, &["exllamav2_ext", "exllamav3_ext"]),
    known("bitsandbytes", true, &["libbitsandbytes"]),
    known("Triton", true, &["libtriton"]),
    known("OpenVINO", true, &["libopenvino"]),
    known("MLX", true, &["libmlx."]),
    known("cuDNN", true, &["libcudnn"]),
    known("cuBLAS", true, &["libcublas"]),
    known("NCCL", true, &["libnccl"]),
    known(
        "HIP",
        true,
        &["libamdhip64", "librocblas", "libhipblas", "libMIOpen"],
    ),
    known("Level Zero", false, &["libze_loader"]),
    known("OptiX", false, &["libnvoptix"]),
    known("CUDA", false, &["libcuda.", "libcudart"]),
    known("OpenCL", false, &["libOpenCL"]),
    known("NVENC", false, &["libnvidia-encode"]),
    known("NVDEC", false, &["libnvcuvid"]),
    known("VA-API", false, &["libva.", "libva-drm"]),
    known("Vulkan", false, &["libvulkan."]),
    known("OpenGL", false, &["libGL.", "libGLX", "libEGL."]),
];

/// The runtimes among the mapped files, without the moment at which those were read.
pub(super) fn runtimes(maps: &Poll) -> Result<Vec<Runtime>, Gap> {
    maps.text().map(|(_, text)| found(&text))
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

fn found(text: &str) -> Vec<Runtime> {
    let mut libraries: Vec<Option<&str>> = vec![None; RUNTIMES.len()];
    for mapping in maps::parse(text).filter(|mapping| maps::is_library(mapping.path)) {
        let name = mapping.path.rsplit('/').next().unwrap_or(mapping.path);
        for (library, runtime) in libraries.iter_mut().zip(RUNTIMES) {
            if library.is_none()
                && runtime
                    .prefixes
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            {
                // `_C` is the extension of many projects; only torch's own counts.
                if name.starts_with("_C.") && !mapping.path.contains("/torch/") {
                    continue;
                }
                *library = Some(name);
            }
        }
    }
    RUNTIMES
        .iter()
        .zip(libraries)
        .filter_map(|(runtime, library)| {
            Some(Runtime {
                name: runtime.name,
                library: library?.into(),
            })
        })
        .collect()
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

    fn names(paths: &[&str]) -> Vec<&'static str> {
        let lines: Vec<String> = paths
            .iter()
            .map(|path| format!("1000-2000 r--p 0 0:0 0 {path}"))
            .collect();
        found(&lines.join("\n"))
            .iter()
            .map(|runtime| runtime.name)
            .collect()
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
            ["llama.cpp", "ggml", "cuBLAS", "CUDA"]
        );
    }

    #[test]
    fn a_folder_name_proves_nothing() {
        assert_eq!(
            names(&["/opt/libtorch/data.bin", "/opt/libtorch/other.so"]),
            [""; 0]
        );
    }

    #[test]
    fn an_extension_called_c_is_torch_only_below_torch() {
        assert_eq!(
            names(&["/x/site-packages/other/_C.cpython-311-x86_64-linux-gnu.so"]),
            [""; 0]
        );
        assert_eq!(
            names(&["/x/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"]),
            ["PyTorch"]
        );
    }

    #[test]
    fn vulkan_drivers_of_other_vendors_prove_nothing() {
        assert_eq!(
            names(&["/usr/lib/libvulkan_radeon.so", "/usr/lib/libvulkan.so.1"]),
            ["Vulkan"]
        );
    }
}

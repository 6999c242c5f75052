//! Device memory that ran out, as ggml and `PyTorch` say it: how much was asked for, and nothing else of the line.

use super::LineKind;
use super::scan::{Fields, after, size};

/// What says so, and what stands before the size; with the second alone a line says nothing.
///
/// `ggml_backend_cuda_buffer_type_alloc_buffer: allocating 128.00 MiB on device 0: cudaMalloc failed: out of memory`,
/// `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.6 GiB`,
/// `ggml_vulkan: Device memory allocation of size 134217728 failed.` with the next line `ErrorOutOfDeviceMemory`.
const SAYINGS: &[(&str, &str)] = &[
    ("Malloc failed: out of memory", "allocating "),
    ("OutOfMemoryError: ", "Tried to allocate "),
    ("CUDA error: out of memory", "allocating "),
    ("ROCm error: out of memory", "allocating "),
    ("ErrorOutOfDeviceMemory", "allocating "),
];

pub(super) fn keep(text: &str) -> Option<(LineKind, Fields)> {
    let (_, before) = SAYINGS.iter().find(|(saying, _)| text.contains(saying))?;
    // Of a traceback or of ggml the size stands in the same line, of a bare error it does not.
    let size = after(text, before).and_then(size);
    Some((
        LineKind::OutOfMemory,
        size.map_or_else(Vec::new, |(fields, _)| fields),
    ))
}

//! Files made here, whole and damaged, through the reader as its callers drive it.

#![expect(clippy::unwrap_used, reason = "tests and what they share")]

mod build;
mod drive;
mod hostile;
mod json_files;
mod onnx;
mod others;
mod safetensors;
mod torch;

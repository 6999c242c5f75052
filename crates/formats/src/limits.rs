//! Every bound this crate puts on a file, with its reason.

/// Bytes asked for first. Every magic stands in the first few; the rest is the start of what follows.
pub const FIRST_WINDOW: u32 = 4 * 1024;

/// Bytes asked for at once afterwards.
pub const WINDOW: u32 = 64 * 1024;

/// Bytes of a safetensors header; the reference implementation refuses larger ones.
pub const MAX_SAFETENSORS_HEADER: u64 = 100_000_000;

/// Bytes one reader asks for in all. A header of 100,000 tensors takes about 12 MiB.
pub const MAX_REQUESTED_BYTES: u64 = 40 * 1024 * 1024;

/// Requests one reader makes in all: [`MAX_REQUESTED_BYTES`] in windows, and room for jumps over tensor data.
pub const MAX_STEPS: u32 = 8_192;

/// Bytes of a JSON file (`config.json`, an index of parts). The index of the largest models has about 8 MiB.
pub const MAX_JSON_BYTES: u64 = 32 * 1024 * 1024;

/// Depth of JSON. Configurations have up to six.
pub const MAX_JSON_DEPTH: u32 = 64;

/// Levels of keys that are remembered; what lies deeper is stepped over.
pub const MAX_JSON_KEYS: usize = 6;

/// Bytes of a JSON key, text or number that are kept; longer ones are stepped over. Tensor names have up to 200.
pub const MAX_TOKEN_BYTES: usize = 1024;

/// Bytes of a name that is kept: a title, an architecture, a producer.
pub const MAX_NAME_BYTES: usize = 256;

/// Parts of one model that are kept by name. The largest known have below 200.
pub const MAX_PARTS: usize = 512;

/// Dimensions of a tensor. The format has no limit, frameworks stop at 64.
pub const MAX_DIMENSIONS: u32 = 64;

/// Bytes at the end of a zip archive in which its directory's place stands: the record of 22 bytes, the longest comment,
/// and the two records of large archives before it.
pub const ZIP_TAIL: u64 = 22 + 65_535 + 20 + 56;

/// Bytes of a zip archive's directory that are read: about 100,000 tensors.
pub const MAX_ZIP_DIRECTORY: u64 = 16 * 1024 * 1024;

/// Bytes of an `OpenVINO` description that are looked at: the root element stands at the front.
pub const OPENVINO_WINDOW: u32 = FIRST_WINDOW;

//! Every bound this crate puts on a file, with its reason.
//!
//! Real headers stay far below all of them; a file above one is damaged or made to exhaust its reader.

/// Bytes asked for at once while in the metadata. Small, so that little of a vocabulary or a template enters a
/// recording by accident: most of these bytes are skipped by arithmetic, and only the rest of a window is seen.
pub const METADATA_WINDOW: u32 = 4 * 1024;

/// Bytes asked for at once in the tensor table, which is wanted whole (about 60 bytes a tensor).
pub const TENSOR_WINDOW: u32 = 64 * 1024;

/// Bytes a tensor entry takes with the longest name ggml accepts (64) and four dimensions; the last request of a
/// table is sized by it, so that tensor data is not read along.
pub const TENSOR_ENTRY_ESTIMATE: u32 = 128;

/// Metadata entries. Models have 20 to 60; the count is read from the file and was used for an allocation in older
/// readers (CVE-2024-21802 and its set).
pub const MAX_METADATA_COUNT: u64 = 65_536;

/// Tensors. The largest mixture-of-experts models have a few thousand when experts are stored apart.
pub const MAX_TENSOR_COUNT: u64 = 262_144;

/// Bytes of a key; the specification's own limit.
pub const MAX_KEY_BYTES: u64 = 65_535;

/// Bytes of a tensor name. ggml stops at 64, image-model converters go above 100.
pub const MAX_TENSOR_NAME_BYTES: u64 = 1_024;

/// Dimensions of a tensor; ggml has no more.
pub const MAX_DIMENSIONS: u32 = 4;

/// Bytes of a string that is kept; longer ones (templates, licences, embedded tokenizers) are skipped by arithmetic.
pub const MAX_KEPT_STRING_BYTES: u64 = 64 * 1024;

/// Bytes of a kept string below `tokenizer.`: the model and pre-tokenizer names, nothing of the vocabulary.
pub const MAX_KEPT_TOKENIZER_STRING_BYTES: u64 = 256;

/// Elements of an array that is kept: enough for one value a layer, far below a vocabulary.
pub const MAX_KEPT_ARRAY_COUNT: u64 = 4_096;

/// Bytes of all kept strings and arrays together. Bounds memory where each value alone is allowed.
pub const MAX_KEPT_BYTES: u64 = 1024 * 1024;

/// Bytes an entry takes in memory beside its key and value; counts towards [`MAX_KEPT_BYTES`].
pub const ENTRY_OVERHEAD: u64 = 64;

/// Bytes from the start of the file to the end of the tensor table. A 256k vocabulary with merges is 5 to 20 MiB.
pub const MAX_HEADER_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes one [`HeaderReader`](crate::HeaderReader) asks for in all: room for the largest allowed tensor table, and
/// the bound on its memory. Skipped strings do not count.
pub const MAX_REQUESTED_BYTES: u64 = 40 * 1024 * 1024;

/// Requests one [`HeaderReader`](crate::HeaderReader) makes in all. A large table takes 300, metadata rarely 20; a file
/// of nothing but small string arrays would take one for each.
pub const MAX_STEPS: u32 = 4_096;

/// Depth of arrays in arrays. The format allows more, ggml and this reader do not.
pub const MAX_ARRAY_NESTING: u32 = 1;

/// Tensor data alignment where `general.alignment` is absent or no power of two.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// Flaws that are recorded one by one; a file with more is not described better by more of them.
pub const MAX_FLAWS: usize = 64;

/// Layers the arithmetic takes into account. Models have up to about 130; `block_count` is a number from the file.
pub const MAX_LAYERS: u64 = 4_096;

/// Bytes read at once by [`skip_strings`](crate::skip_strings).
pub const SKIP_BUFFER: usize = 64 * 1024;

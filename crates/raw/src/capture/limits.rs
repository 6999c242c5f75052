//! Bounds of captures, each with its reason.

/// Longest line. A tensor table read of 1 MiB is 1.4 MiB of base64; a process list of 500 entries
/// is 40 KiB.
pub const MAX_LINE_BYTES: usize = 8 << 20;

/// Most text in one capture after decompression. An hour of eight busy GPUs is about 200 MiB; a
/// gzip bomb ends here.
pub const MAX_CAPTURE_BYTES: u64 = 512 << 20;

/// Most refreshes in one capture: four days at four a second.
pub const MAX_TICKS: usize = 1_500_000;

/// Most answers in one refresh: eight devices with all calls, and 2,000 processes with twenty
/// questions each.
pub const MAX_ANSWERS_PER_TICK: usize = 65_536;

/// Most text the recorder remembers to find equal answers; beyond it, it starts over, and equal
/// answers are written again.
pub const MAX_REMEMBERED_BYTES: usize = 4 << 20;

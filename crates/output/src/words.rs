//! The words of the screen and the reports, explained: one table for the help overlay, `--help` and whoever reads it.

/// A word as it is shown, and what it means.
pub type Word = (&'static str, &'static str);

/// Columns of the process table.
pub const COLUMNS: &[Word] = &[
    ("PID", "number of the process; H: where it is the host's"),
    ("NAME", "name of the process, as the kernel has it"),
    ("TYPE", "kind of work; ? where only a name hints at it"),
    ("RUNTIMES", "GPU libraries that the process has mapped"),
    ("MODEL", "the most certain model, with its quantization"),
    ("VRAM", "memory of the device that the process holds"),
    (
        "SPILL",
        "system memory that the GPU uses for the process (AMD: GTT); not proof that VRAM ran out",
    ),
    (
        "ΔVRAM ΔSPILL",
        "what changed since the mark (m): new and gone are not listed then or now, which is not zero; less than 16 MiB is dimmed",
    ),
    ("PAGED", "device memory that was moved out of the device"),
    ("GPU%", "load of the busiest engine by this process"),
    (
        "3D COMP COPY",
        "load of the graphics, compute and copy engines by this process",
    ),
    (
        "ENC DEC",
        "load of the video encoder and decoder; both where one engine does both",
    ),
    ("GPU, MIG", "number of the device, of the MIG instance"),
    ("USER", "owner of the process"),
    (
        "CONTAINER",
        "container of the process, by name and identifier",
    ),
];

/// Readings of the device.
pub const READINGS: &[Word] = &[
    ("GPU", "share of time in which the device worked"),
    (
        "MEM ACT",
        "share of time in which its memory was read or written; not bandwidth",
    ),
    ("TEMP", "temperature of the core"),
    ("PWR", "power drawn, and the limit in force"),
    ("CLK", "clocks of core and memory"),
    ("FAN", "fan, in % of its maximum or in turns per minute"),
    (
        "SHARED",
        "system memory that the GPU uses, of all it may use (AMD: GTT)",
    ),
    ("ENC DEC", "load of the video encoder and decoder"),
    (
        "PCIe rx tx",
        "link now; bytes a second received and sent by the device",
    ),
    ("LIMIT", "what holds the clocks down"),
    (
        "busiest engine",
        "load of the clients that can be seen, where the driver has no figure of the device",
    ),
];

/// What the inspector says of a process and its device.
pub const DETAILS: &[Word] = &[
    (
        "GTT",
        "amdgpu's name for system memory that the GPU can reach",
    ),
    (
        "KFD",
        "AMD's compute driver (ROCm): its own count of the memory",
    ),
    (
        "clients",
        "openings of the device by the process; each is counted apart",
    ),
    (
        "shared with",
        "other processes that hold one of its clients too: whose the memory is cannot be told",
    ),
    (
        "compute units",
        "parts of the GPU that work for the process now (KFD)",
    ),
    (
        "evicted for",
        "how long its queues were off the GPU for lack of memory (KFD)",
    ),
    (
        "displaced",
        "memory that should be in VRAM and is not there now",
    ),
    (
        "of its own",
        "between what the process shares with nobody and all that it has there",
    ),
    ("commit", "memory that the process asked for, there or not"),
    (
        "driver lists",
        "which of NVIDIA's lists name it: compute, graphics, MPS (several processes as one)",
    ),
    ("MIG 1/0", "GPU instance and compute instance"),
    (
        "event reasons",
        "what the driver says holds the clocks where they are",
    ),
    ("ECC", "error correction of the memory, and errors it met"),
    (
        "GPU 0",
        "the one with the most memory; the driver's own numbers are in --list-gpus",
    ),
];

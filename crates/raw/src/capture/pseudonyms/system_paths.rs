//! Paths whose names were given by a system and not by a person.

/// Folders below which everything belongs to the system.
const FOLDERS: &[&str] = &[
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/bin",
    "/usr/sbin",
    "/usr/share",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/proc",
    "/sys",
    "/nix/store",
    "/run/opengl-driver",
    "/dev/dri",
];

/// Devices by name.
const DEVICES: &[&str] = &[
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-modeset",
    "/dev/nvidia-nvlink",
    "/dev/nvidia-nvswitchctl",
    "/dev/kfd",
    "/dev/dxg",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Devices by the start of their name; a number follows.
const NUMBERED_DEVICES: &[&str] = &[
    "/dev/nvidia",
    "/dev/nvidia-nvswitch",
    "/dev/nvidia-caps/nvidia-cap",
    "/dev/nvidia-caps-imex-channels/channel",
    "/dev/pts/",
];

/// Links of `/proc/PID` behind which another file system begins.
const DOORS: &[&str] = &["root", "cwd", "map_files", "fd"];

/// How many components at the start of a path belong to the system.
pub(super) fn kept_components(path: &str) -> usize {
    // Several paths in one text, or a way out of the folder.
    if path.contains(|c: char| c.is_whitespace() || ":,;=".contains(c))
        || path.split('/').any(|component| component == "..")
    {
        return 0;
    }
    if is_device(path) {
        return usize::MAX;
    }
    let below = |folder: &&&str| {
        path.strip_prefix(**folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match FOLDERS.iter().find(below) {
        Some(&"/proc") => path
            .split('/')
            .position(|component| DOORS.contains(&component))
            .map_or(usize::MAX, |door| door + 1),
        Some(_) => usize::MAX,
        None => 0,
    }
}

fn is_device(path: &str) -> bool {
    DEVICES.contains(&path)
        || NUMBERED_DEVICES.iter().any(|start| {
            path.strip_prefix(start).is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
            })
        })
}

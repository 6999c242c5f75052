//! Which kind of memory a region's name stands for.

/// More bytes than any device has or reaches: 1 PiB.
pub(super) const MOST_BYTES: u64 = 1 << 50;

/// Where the bytes of a region are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Memory of the device.
    Device,
    /// System memory that the device can reach.
    System,
    /// Neither: a carve-out of the firmware, or something that is no memory of buffers.
    Other,
}

/// The place of a region. amdgpu's `cpu` is system memory that the device cannot reach at the moment.
pub(super) fn place(driver: Option<&str>, region: &str) -> Place {
    let numbered = |prefix: &str| {
        region
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if numbered("vram") || numbered("local") {
        return Place::Device;
    }
    match (driver, region) {
        (Some("amdgpu") | None, "gtt") => Place::System,
        (Some("amdgpu") | None, _) => Place::Other,
        (Some(_), "gtt" | "memory") => Place::System,
        (Some(_), _) if numbered("system") => Place::System,
        (Some(_), _) => Place::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_of_the_device_of_the_system_or_of_neither() {
        for (driver, region, expected) in [
            ("amdgpu", "vram", Place::Device),
            ("amdgpu", "gtt", Place::System),
            ("amdgpu", "cpu", Place::Other),
            ("amdgpu", "doorbell", Place::Other),
            ("amdgpu", "mmioremap", Place::Other),
            ("i915", "local0", Place::Device),
            ("i915", "system0", Place::System),
            ("i915", "stolen-local0", Place::Other),
            ("i915", "stolen-system0", Place::Other),
            ("xe", "vram0", Place::Device),
            ("xe", "vram1", Place::Device),
            ("xe", "gtt", Place::System),
            ("xe", "system", Place::System),
            ("xe", "stolen", Place::Other),
            ("panfrost", "memory", Place::System),
            ("v3d", "memory", Place::System),
            ("xe", "vramp", Place::Other),
        ] {
            assert_eq!(place(Some(driver), region), expected, "{driver} {region}");
        }
    }
}

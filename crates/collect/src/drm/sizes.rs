//! What the texts of a process's clients say of sizes, together, and what speaks against charging them.

use std::collections::{BTreeMap, BTreeSet};

use model::Gap;

use super::attribution::Bounds;
use super::fdinfo::{Fdinfo, Number, Region, Unreadable};
use super::memory::{Place, place};

/// What lies in a kind of memory, over all clients.
pub(super) fn resident(texts: &[&Fdinfo], wanted: Place) -> Result<u64, Gap> {
    let mut sum: Option<u64> = None;
    for text in texts {
        let required = has_required_regions(text);
        let mut found = false;
        for region in regions(text, wanted) {
            let here = region.here();
            if here.is_none() && !required {
                return Err(Gap::Legacy);
            }
            found = true;
            match here {
                Some(Ok(bytes)) => {
                    sum = Some(sum.map_or(bytes, |sum| sum.saturating_add(bytes)));
                }
                Some(Err(Unreadable)) | None => return Err(Gap::UnreadableValue),
            }
        }
        if !found && required {
            return Err(Gap::UnreadableValue);
        }
    }
    sum.ok_or(Gap::NoCounter)
}

pub(super) fn has_unreadable_share(texts: &[&Fdinfo]) -> bool {
    texts
        .iter()
        .flat_map(|text| text.regions.values())
        .any(|region| matches!(region.shared, Some(Err(Unreadable))))
}

/// Drivers whose `shared` and `resident` are of the same buffers: a buffer in device memory that is shared is
/// counted in `shared` of that region too.
pub(super) fn vram_bounds(texts: &[&Fdinfo]) -> Option<Bounds> {
    const DRIVERS: [&str; 3] = ["amdgpu", "i915", "xe"];
    let mut bounds = Bounds { low: 0, high: 0 };
    let mut found = false;
    for text in texts {
        if !DRIVERS.contains(&text.driver.as_deref()?) {
            return None;
        }
        for region in regions(text, Place::Device) {
            let (Some(Ok(here)), Some(Ok(shared))) = (region.here(), region.shared) else {
                return None;
            };
            found = true;
            bounds.low = bounds.low.saturating_add(here.saturating_sub(shared));
            bounds.high = bounds.high.saturating_add(here);
        }
    }
    found.then_some(bounds)
}

/// amdgpu counts `total` where a buffer should be and `resident` where it is.
pub(super) fn displaced(texts: &[&Fdinfo]) -> Option<u64> {
    let mut sum: Option<u64> = None;
    for text in texts {
        if text.driver.as_deref() != Some("amdgpu") {
            return None;
        }
        for region in regions(text, Place::Device) {
            let (Some(Ok(total)), Some(Ok(here))) = (region.total, region.resident) else {
                return None;
            };
            let away = total.saturating_sub(here);
            sum = Some(sum.map_or(away, |sum| sum.saturating_add(away)));
        }
    }
    sum
}

/// What all clients have in one region, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionSums {
    /// All buffers, in memory or not.
    pub total: Result<u64, Gap>,
    /// Shared ones.
    pub shared: Result<u64, Gap>,
    /// What is there now.
    pub resident: Result<u64, Gap>,
}

/// Sums by region; regions that hold nothing are left out.
pub(super) fn by_region(texts: &[&Fdinfo]) -> BTreeMap<String, RegionSums> {
    let mut sums: BTreeMap<String, RegionSums> = BTreeMap::new();
    for (name, region) in texts.iter().flat_map(|text| &text.regions) {
        let nothing = RegionSums {
            total: Ok(0),
            shared: Ok(0),
            resident: Ok(0),
        };
        let sum = sums.entry(name.clone()).or_insert(nothing);
        sum.total = plus(sum.total, region.total);
        sum.shared = plus(sum.shared, region.shared);
        sum.resident = plus(sum.resident, region.here());
    }
    let holds = |size: Result<u64, Gap>| !matches!(size, Ok(0) | Err(Gap::Legacy));
    sums.retain(|_, it| holds(it.total) || holds(it.shared) || holds(it.resident));
    sums
}

/// A key that is not printed is unknown, as is a value that is no number.
const fn plus(sum: Result<u64, Gap>, more: Option<Number>) -> Result<u64, Gap> {
    match (sum, more) {
        (Ok(sum), Some(Ok(more))) => Ok(sum.saturating_add(more)),
        (_, Some(Err(Unreadable))) => Err(Gap::UnreadableValue),
        (Ok(_), None) => Err(Gap::Legacy),
        (Err(gap), _) => Err(gap),
    }
}

/// Reasons that lie in a text itself.
pub(super) fn doubts(text: &Fdinfo) -> BTreeSet<Gap> {
    let mut doubts = BTreeSet::new();
    let printed = |region: &Region| {
        [region.total, region.shared, region.resident, region.memory]
            .iter()
            .any(Option::is_some)
    };
    let required = required_regions(text);
    let missing = required.iter().any(|name| {
        let region = text.regions.get(*name);
        region.is_none_or(|region| region.shared.is_none())
    });
    let silent = text
        .regions
        .values()
        .any(|region| printed(region) && region.shared.is_none());
    // amdgpu prints what it calls `cpu` without a share in some versions; there the two that matter decide.
    let is_legacy = if required.is_empty() {
        text.regions.is_empty() || silent
    } else {
        missing
    };
    if is_legacy {
        doubts.insert(Gap::Legacy);
    }
    let shares = || text.regions.values().filter_map(|region| region.shared);
    if shares().any(|shared: Number| shared.is_err()) {
        doubts.insert(Gap::UnreadableValue);
    }
    if shares().any(|shared| matches!(shared, Ok(1..))) {
        doubts.insert(Gap::SharedBuffers);
    }
    let unread = [Place::Device, Place::System].into_iter().any(|wanted| {
        let mut here = regions(text, wanted).map(Region::here);
        here.any(|here| match here {
            Some(Err(Unreadable)) => true,
            Some(Ok(_)) => false,
            // Where the keys of shares are missing too, that alone is the reason.
            None => has_required_regions(text) && !is_legacy,
        })
    });
    if unread {
        doubts.insert(Gap::UnreadableValue);
    }
    doubts
}

/// amdgpu has these two regions on every device.
fn required_regions(text: &Fdinfo) -> &'static [&'static str] {
    match text.driver.as_deref() {
        Some("amdgpu") => &["vram", "gtt"],
        _ => &[],
    }
}

/// Whether the driver has a region of each kind on every device.
fn has_required_regions(text: &Fdinfo) -> bool {
    !required_regions(text).is_empty()
}

fn regions(text: &Fdinfo, wanted: Place) -> impl Iterator<Item = &Region> {
    let driver = text.driver.as_deref();
    text.regions
        .iter()
        .filter(move |(name, _)| place(driver, name) == wanted)
        .map(|(_, region)| region)
}

//! What the texts of a process's clients say of sizes, together, and what speaks against charging them.

use std::collections::{BTreeMap, BTreeSet};

use model::Gap;

use super::attribution::Bounds;
use super::fdinfo::{Fdinfo, Number, Region, Unreadable};
use super::memory::{MOST_BYTES, Place, place};

/// A size that is a number and can be true.
const fn plausible(size: Number) -> Result<u64, Gap> {
    match size {
        Ok(bytes) if bytes > MOST_BYTES => Err(Gap::Implausible),
        Ok(bytes) => Ok(bytes),
        Err(Unreadable) => Err(Gap::UnreadableValue),
    }
}

/// A sum of plausible sizes that is plausible itself. Such sums cannot overflow: each is bounded, and so is their number.
const fn sum_of(sum: u64, more: u64) -> Result<u64, Gap> {
    plausible(Ok(sum.saturating_add(more)))
}

/// What a device has and reaches, bytes; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Memory of its own.
    pub vram: Option<u64>,
    /// System memory that it can reach.
    pub system: Option<u64>,
}

/// What lies in a kind of memory, over all clients; never more than the device has of it.
pub(super) fn within(texts: &[&Fdinfo], wanted: Place, limits: Limits) -> Result<u64, Gap> {
    match beyond(texts, wanted, limits) {
        Some(_) => Err(Gap::Implausible),
        None => resident(texts, wanted),
    }
}

/// What lies in a kind of memory, over all clients, and what the device has of it, where the first is more.
pub(super) fn beyond(texts: &[&Fdinfo], wanted: Place, limits: Limits) -> Option<(u64, u64)> {
    let limit = match wanted {
        Place::Device => limits.vram,
        Place::System => limits.system,
        Place::Other => None,
    }?;
    let bytes = resident(texts, wanted).ok()?;
    (bytes > limit).then_some((bytes, limit))
}

/// What lies in a kind of memory, over all clients.
fn resident(texts: &[&Fdinfo], wanted: Place) -> Result<u64, Gap> {
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
            let bytes = plausible(here.unwrap_or(Err(Unreadable)))?;
            sum = Some(match sum {
                Some(sum) => sum_of(sum, bytes)?,
                None => bytes,
            });
        }
        if !found && required {
            return Err(Gap::UnreadableValue);
        }
    }
    sum.ok_or(Gap::NoCounter)
}

/// Whether something is wrong with what is shared: then nothing is known to be anybody's own.
pub(super) fn has_flawed_share(texts: &[&Fdinfo]) -> bool {
    texts
        .iter()
        .flat_map(|text| text.regions.values())
        .filter_map(|region| region.shared)
        .any(|shared| plausible(shared).is_err())
}

/// The most that clients can have of the device's memory, bytes, wherever it lies at the moment. `None` where they do
/// not say.
pub(super) fn wanted(texts: &[&Fdinfo]) -> Option<u64> {
    let mut sum = 0;
    for text in texts {
        let mut found = false;
        for region in regions(text, Place::Device) {
            found = true;
            let total = plausible(region.total?).ok()?;
            let here = region.here().map_or(Ok(0), plausible).ok()?;
            sum = sum_of(sum, total.max(here)).ok()?;
        }
        if !found {
            return None;
        }
    }
    Some(sum)
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
            let here = plausible(region.here()?).ok()?;
            let shared = plausible(region.shared?).ok()?;
            found = true;
            bounds.low = sum_of(bounds.low, here.saturating_sub(shared)).ok()?;
            bounds.high = sum_of(bounds.high, here).ok()?;
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
            let total = plausible(region.total?).ok()?;
            let here = plausible(region.resident?).ok()?;
            let away = total.saturating_sub(here);
            sum = Some(match sum {
                Some(sum) => sum_of(sum, away).ok()?,
                None => away,
            });
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

/// A key that is not printed is unknown, as is a value that is no number or cannot be true.
const fn plus(sum: Result<u64, Gap>, more: Option<Number>) -> Result<u64, Gap> {
    match (sum, more) {
        (Ok(sum), Some(more)) => match plausible(more) {
            Ok(more) => sum_of(sum, more),
            Err(gap) => Err(gap),
        },
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
    doubts.extend(shares().filter_map(|shared| plausible(shared).err()));
    if shares().any(|shared| matches!(shared, Ok(1..))) {
        doubts.insert(Gap::SharedBuffers);
    }
    for wanted in [Place::Device, Place::System] {
        let unread = regions(text, wanted).filter_map(|region| match region.here() {
            Some(here) => plausible(here).err(),
            // Where the keys of shares are missing too, that alone is the reason.
            None => (has_required_regions(text) && !is_legacy).then_some(Gap::UnreadableValue),
        });
        doubts.extend(unread);
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

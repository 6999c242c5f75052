//! Whether a model fits beside what runs now.

use model::inspection::{DeviceFit, Fit, Free, Overhead, Sum, Unload, Verdict};
use model::{
    Bytes, ChargedBytes, ChargedPercent, Device, Estimated, Gap, Method, Process, Provenance,
    Reading, ServerState, Snapshot, Source, Vendor,
};

use super::{Failed, LAST_CONTEXT, Subject, Wish};

/// Context and first workspaces of a CUDA process on one GPU. Reports of users and of runtimes, 2023 to 2026: they grow
/// with the processor and with the kernels in use, and no counter of the driver tells them apart.
const CUDA: Overhead = Overhead {
    low: Bytes::mib(150),
    high: Bytes::mib(600),
    source: "reported sizes of CUDA contexts",
};

/// Of other drivers nothing is known but that it is not more than the largest of those.
const OTHERS: Overhead = Overhead {
    low: Bytes(0),
    high: CUDA.high,
    source: "not known for this driver: up to the largest reported CUDA context",
};

/// Contexts are whole multiples of this.
const CONTEXT_STEP: u64 = 256;

impl Subject {
    /// Whether the model fits as wished for, on each device that the snapshot shows.
    pub fn fit(&self, wish: &Wish, now: &Snapshot) -> Result<Fit, Failed> {
        let inspection = self.inspect(wish)?;
        let needed = inspection.need.on_device();
        let devices = now
            .selected_devices()
            .map(|device| self.on(device, now, wish, needed))
            .collect();
        Ok(Fit {
            inspection,
            devices,
        })
    }

    fn on(&self, device: &Device, now: &Snapshot, wish: &Wish, needed: Sum) -> DeviceFit {
        let free = free(device);
        let overhead = if device.vendor == Vendor::Nvidia {
            CUDA
        } else {
            OTHERS
        };
        let room = free.known().map(|free| free.value().0);
        let judged = |room: Option<u64>| match room {
            Some(room) => verdict(needed, overhead, room),
            None => Verdict::Unknown(free.gap().unwrap_or(Gap::InputMissing)),
        };
        let first = judged(room);
        let spare = room.map(|room| {
            let less = |part: Bytes, over: Bytes| {
                let difference = i128::from(room) - i128::from(part.0) - i128::from(over.0);
                i64::try_from(difference).unwrap_or(i64::MIN)
            };
            (
                less(needed.high, overhead.high),
                less(needed.low, overhead.low),
            )
        });
        let (unload, after_unload) = match (first, room) {
            (Verdict::MayFit | Verdict::DoesNotFit, Some(room)) => {
                unload(idle(device.index, now), first, room, &judged)
            }
            _ => (Vec::new(), None),
        };
        let largest = |fits: fn(Verdict) -> bool| {
            let room = room?;
            self.largest(wish, |needed| fits(verdict(needed, overhead, room)))
        };
        DeviceFit {
            device_index: device.index,
            name: device.name.clone(),
            free,
            overhead,
            verdict: first,
            spare,
            context_sure: largest(|it| it == Verdict::Fits),
            context_maybe: largest(|it| matches!(it, Verdict::Fits | Verdict::MayFit)),
            unload,
            after_unload,
        }
    }

    /// The largest context for which `fits` holds, up to what the model was trained with; 0 where it holds for
    /// none. Parts only grow with the context.
    fn largest(&self, wish: &Wish, fits: impl Fn(Sum) -> bool) -> Option<u64> {
        if !self.keeps_context() {
            return None;
        }
        let most = self.trained().unwrap_or(LAST_CONTEXT);
        let most = most.saturating_mul(u64::from(wish.parallel.unwrap_or(1)));
        let holds = |tokens: u64| fits(self.need(wish, Some(tokens)).on_device());
        if holds(most) {
            return Some(most);
        }
        let (mut good, mut bad) = (0, most.div_ceil(CONTEXT_STEP));
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if holds(middle.saturating_mul(CONTEXT_STEP)) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(good * CONTEXT_STEP)
    }
}

fn verdict(needed: Sum, overhead: Overhead, room: u64) -> Verdict {
    let with = |part: Bytes, over: Bytes| part.0.saturating_add(over.0);
    if with(needed.low, overhead.low) > room {
        Verdict::DoesNotFit
    } else if needed.missing == 0 && with(needed.high, overhead.high) <= room {
        Verdict::Fits
    } else {
        Verdict::MayFit
    }
}

/// What is free on the device: counted by the driver, else all memory less the used.
fn free(device: &Device) -> Reading<Free> {
    let memory = &device.memory;
    let missing = match &memory.free {
        Reading::Known(free) => return Reading::Known(Free::Measured(*free)),
        Reading::Missing(missing) => *missing,
    };
    match (memory.total.known(), memory.used.known()) {
        (Some(total), Some(used)) => {
            let rest = Bytes(total.value.0.saturating_sub(used.value.0));
            Reading::Known(Free::Derived(Estimated {
                low: rest,
                high: rest,
                method: Method::Derived,
                from: Provenance {
                    source: Source::Derived,
                    counter: "total - used",
                    at: used.from.at,
                },
            }))
        }
        _ => Reading::Missing(missing),
    }
}

/// Processes on the device whose models nobody uses now, largest first.
fn idle(index: u32, now: &Snapshot) -> Vec<Unload> {
    let mut found: Vec<Unload> = now
        .processes
        .iter()
        .filter_map(|it| idle_on(index, it))
        .collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.holds.value), one.process));
    found
}

fn idle_on(index: u32, process: &Process) -> Option<Unload> {
    let charge = process.charge_on(index)?;
    let Reading::Known(ChargedBytes::Measured(holds)) = charge.memory.vram else {
        return None;
    };
    let load = charge.engines.busiest.known().map(ChargedPercent::value)?;
    let server = process.server.as_ref()?;
    let rests = match server.state {
        ServerState::Sleeping => true,
        ServerState::Ready => server
            .slots_busy
            .known()
            .is_some_and(|busy| busy.value == 0),
        _ => false,
    };
    let is_idle = rests && load.0 == 0.0 && !process.models.is_empty() && holds.value.0 > 0;
    is_idle.then(|| Unload {
        process: process.key,
        name: process.name.value().cloned(),
        models: process
            .models
            .iter()
            .map(|model| model.name.clone())
            .collect(),
        holds,
        state: server.state,
    })
}

/// The fewest idle processes without which the verdict is better, and that verdict.
fn unload(
    idle: Vec<Unload>,
    before: Verdict,
    room: u64,
    judged: &dyn Fn(Option<u64>) -> Verdict,
) -> (Vec<Unload>, Option<Verdict>) {
    let without = |freed: u64| judged(Some(room.saturating_add(freed)));
    // The smallest of those that are enough alone.
    let alone = idle
        .iter()
        .rev()
        .find(|one| without(one.holds.value.0) == Verdict::Fits);
    if let Some(one) = alone {
        return (vec![one.clone()], Some(Verdict::Fits));
    }
    let mut freed: u64 = 0;
    let mut chosen = Vec::new();
    for one in idle {
        freed = freed.saturating_add(one.holds.value.0);
        chosen.push(one);
        if without(freed) == Verdict::Fits {
            break;
        }
    }
    let after = without(freed);
    if chosen.is_empty() || after == before {
        (Vec::new(), None)
    } else {
        (chosen, Some(after))
    }
}

#[cfg(test)]
mod tests;

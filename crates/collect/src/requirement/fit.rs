//! Whether a model fits beside what runs now.

use model::inspection::{
    DeviceFit, Fit, Free, IdleLoad, Largest, Overhead, Spare, Sum, Unload, Verdict,
};
use model::{
    Bytes, ChargedBytes, ChargedPercent, Device, Estimated, Gap, Method, Process, Provenance,
    Reading, SegmentKind, ServerState, Snapshot, Source, Vendor,
};

use super::{Failed, MOST_CONTEXT, Subject, Wish};

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

/// What is loaded into the process of a model brings no context of its own.
const NONE: Overhead = Overhead {
    low: Bytes(0),
    high: Bytes(0),
    source: "context and workspaces are those of the model it is loaded beside",
};

/// Contexts are whole multiples of this.
const CONTEXT_STEP: u64 = 256;

/// The largest context that is tried, unless the model was trained with a larger one. Those of 2026 reach 10 million.
const MOST_TRIED: u64 = 1 << 24;

impl Subject {
    /// Whether the model fits as wished for, on each device that the snapshot shows.
    pub fn fit(&self, wish: &Wish, now: &Snapshot) -> Result<Fit, Failed> {
        let inspection = self.inspect(wish)?;
        let needed = inspection.need.on_device();
        let devices = now
            .selected_devices()
            .map(|device| self.on(device, now, wish, needed, inspection.is_companion()))
            .collect();
        Ok(Fit {
            inspection,
            devices,
        })
    }

    fn on(
        &self,
        device: &Device,
        now: &Snapshot,
        wish: &Wish,
        needed: Sum,
        is_companion: bool,
    ) -> DeviceFit {
        let free = free(device);
        let overhead = if is_companion {
            NONE
        } else if device.vendor == Vendor::Nvidia {
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
            Spare {
                least: (needed.missing == 0).then(|| less(needed.high, overhead.high)),
                most: less(needed.low, overhead.low),
            }
        });
        let (unload, after_unload) = match (first, room) {
            (Verdict::MayFit | Verdict::DoesNotFit, Some(room)) => {
                unload(idle(device, now), first, room, &judged)
            }
            _ => (Vec::new(), None),
        };
        let largest = match (room, self.without_largest(wish)) {
            (None, _) => Err(free.gap().unwrap_or(Gap::InputMissing)),
            (Some(_), Some(gap)) => Err(gap),
            (Some(room), None) => {
                let largest = |fits: fn(Verdict) -> bool| {
                    self.largest(wish, |needed| fits(verdict(needed, overhead, room)))
                };
                Ok(Largest {
                    sure: largest(|it| it == Verdict::Fits),
                    maybe: largest(|it| matches!(it, Verdict::Fits | Verdict::MayFit)),
                    tried: self.most_tried(wish),
                    trained: self.trained_in_all_slots(wish),
                })
            }
        };
        let charges = now.processes.iter();
        DeviceFit {
            device_index: device.index,
            name: device.name.clone(),
            free,
            overhead,
            verdict: first,
            spare,
            largest,
            holders: charges
                .filter(|it| it.charge_on(device.index).is_some())
                .count(),
            unload,
            after_unload,
        }
    }

    /// Why there is no largest context: the model keeps none, or its cache is of unknown size.
    fn without_largest(&self, wish: &Wish) -> Option<Gap> {
        if !self.keeps_context() {
            return Some(Gap::NotApplicable);
        }
        let need = self.need(wish, self.context(wish));
        let mut caches = need.parts.iter().filter(|it| it.kind == SegmentKind::Kv);
        caches.find_map(|cache| cache.bytes.gap())
    }

    fn most_tried(&self, wish: &Wish) -> u64 {
        let wanted = [self.trained_in_all_slots(wish), wish.context];
        let most = wanted.into_iter().flatten().fold(MOST_TRIED, u64::max);
        most.min(MOST_CONTEXT)
    }

    /// The largest context for which `fits` holds, what the model was trained with or more; 0 where it holds for none.
    /// Parts only grow with the context.
    fn largest(&self, wish: &Wish, fits: impl Fn(Sum) -> bool) -> u64 {
        let holds = |tokens: u64| fits(self.need(wish, Some(tokens)).on_device());
        let most = self.most_tried(wish);
        if holds(most) {
            return most;
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
        let found = good * CONTEXT_STEP;
        // Within one step a smaller batch can make room.
        let asked = self.context(wish).filter(|asked| *asked > found);
        asked.filter(|asked| holds(*asked)).unwrap_or(found)
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
fn idle(device: &Device, now: &Snapshot) -> Vec<Unload> {
    let mut found: Vec<Unload> = now
        .processes
        .iter()
        .filter_map(|it| idle_on(device, it))
        .collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.holds.value), one.process));
    found
}

/// Its server says that it rests, and no load that was measured says otherwise. Of a process without work some drivers
/// have no sample at all: then the load of the whole device may tell.
fn idle_on(device: &Device, process: &Process) -> Option<Unload> {
    let charge = process.charge_on(device.index)?;
    let Reading::Known(ChargedBytes::Measured(holds)) = charge.memory.vram else {
        return None;
    };
    let is_zero = |load: f64| load == 0.0;
    let load = match &charge.engines.busiest {
        Reading::Known(load) if is_zero(ChargedPercent::value(load).0) => IdleLoad::Process,
        Reading::Known(_) => return None,
        Reading::Missing(_) if device.gpu.value().is_some_and(|it| is_zero(it.0)) => {
            IdleLoad::Device
        }
        Reading::Missing(missing) => IdleLoad::Unknown(missing.gap),
    };
    let server = process.server.as_ref()?;
    let rests = match server.state {
        ServerState::Sleeping => true,
        ServerState::Ready => server
            .slots_busy
            .known()
            .is_some_and(|busy| busy.value == 0),
        _ => false,
    };
    let is_idle = rests && !process.models.is_empty() && holds.value.0 > 0;
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
        load,
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

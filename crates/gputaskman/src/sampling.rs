//! Runs a collector on a machine: once, or for as long as somebody takes the snapshots.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use collect::{Collector, Pace};
use model::{DeviceKey, Snapshot};
use raw::capture::{Capture, ReplayMachine};
use raw::{Ended, Machine, Tick, TickPlan};

/// Longest a report waits for answers that are on their way.
const REPORT_PATIENCE_NS: u64 = 3_000_000_000;

/// Longest a report waits for a driver's first initialisation: without persistence mode one GPU
/// takes one to two seconds.
const FIRST_PATIENCE_NS: u64 = 20_000_000_000;

/// How long a report waits for a driver before it looks at what else has come.
const DRIVER_PATIENCE_NS: u64 = 1_000_000_000;

/// A pause in a recording is shown no longer than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// One complete snapshot: waits until nothing is pending, within bounds. `late` is called once if
/// the driver's first answer takes longer than a second.
pub(crate) fn once(
    machine: &mut dyn Machine,
    mut late: impl FnMut(),
) -> Result<Arc<Snapshot>, Ended> {
    let mut collector = Collector::new(machine.facts());
    let mut started_ns = None;
    let mut said = false;
    loop {
        let plan = collector.plan(Pace::OneShot(DRIVER_PATIENCE_NS));
        let tick = machine.begin_tick(&plan)?;
        let start = *started_ns.get_or_insert(tick.now.mono_ns);
        let snapshot = collector.tick(machine, tick);
        // From the end of the wait, not from its beginning.
        let waited_ns = snapshot.at.mono_ns.saturating_sub(start);
        if !snapshot.pending || waited_ns > FIRST_PATIENCE_NS {
            return Ok(snapshot);
        }
        let drivers_pending = snapshot
            .sources
            .iter()
            .any(|source| source.id == "nvml" && source.state == model::SourceState::Pending);
        if drivers_pending {
            if waited_ns >= DRIVER_PATIENCE_NS / 2 && !said {
                said = true;
                late();
            }
        } else if waited_ns > REPORT_PATIENCE_NS {
            return Ok(snapshot);
        }
    }
}

/// Takes snapshots until the machine ends or `take` has had enough (returns `false`). Devices that come out of `wakes`
/// are read in the next refresh even if they sleep.
pub(crate) fn stream(
    machine: &mut dyn Machine,
    wakes: &Receiver<DeviceKey>,
    mut take: impl FnMut(Arc<Snapshot>) -> bool,
) {
    let mut collector = Collector::new(machine.facts());
    loop {
        for device in wakes.try_iter() {
            collector.wake(&device);
        }
        let plan = collector.plan(Pace::Live);
        let Ok(tick) = machine.begin_tick(&plan) else {
            return;
        };
        if !take(collector.tick(machine, tick)) {
            return;
        }
    }
}

/// Every refresh of a recording, extra ones too, as fast as it goes.
pub(crate) fn replayed(capture: &Arc<Capture>) -> impl Iterator<Item = (Tick, Arc<Snapshot>)> {
    let mut machine = ReplayMachine::new(Arc::clone(capture));
    let mut collector = Collector::new(machine.facts());
    std::iter::from_fn(move || {
        let tick = machine.begin_tick(&TickPlan::default()).ok()?;
        Some((tick, collector.tick(&mut machine, tick)))
    })
}

/// Replays in the recording's own time until it ends or `take` has had enough.
pub(crate) fn play(machine: &mut ReplayMachine, mut take: impl FnMut(Arc<Snapshot>) -> bool) {
    let mut collector = Collector::new(machine.facts());
    let mut last = None;
    while let Some(next) = machine.next_tick() {
        if let Some(last) = last {
            let pause = Duration::from_nanos(next.now.mono_ns.saturating_sub(last));
            std::thread::sleep(pause.min(LONGEST_PAUSE));
        }
        last = Some(next.now.mono_ns);
        let plan = collector.plan(Pace::Live);
        let Ok(tick) = machine.begin_tick(&plan) else {
            return;
        };
        if !take(collector.tick(machine, tick)) {
            return;
        }
    }
}

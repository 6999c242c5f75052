//! A driver that has stopped answering.

use super::parts::{COMPUTE, ago, charge, device, gone, notice, owned, process, snapshot, source};
use crate::gap::Gap;
use crate::process::ChargedBytes;
use crate::reading::{Measured, Reading, Source};
use crate::snapshot::{ScanState, Severity, Snapshot, SourceState};
use crate::workload::Category;

/// A driver that last answered 7 s ago: old figures, one row whose load is pending, a total that is
/// missing with the driver's own code, and a partial list.
pub fn stale() -> Snapshot {
    let on = |mib| charge(0, COMPUTE, owned(mib), 40.0);
    let mut it = snapshot(
        vec![device(0, "NVIDIA L40S", 46_068, 9001)],
        vec![
            process(700, "trainer", Category::Training, "cmdline", on(8000)),
            process(701, "python3", Category::Ai, "runtime", on(900)),
        ],
    );
    for device in &mut it.devices {
        let memory = &mut device.memory;
        let readings = [&mut memory.used, &mut memory.free, &mut memory.reserved];
        readings.into_iter().for_each(age);
        let loads = [
            &mut device.gpu,
            &mut device.memory_activity,
            &mut device.encoder,
        ];
        loads.into_iter().for_each(age);
        if let Reading::Known(rest) = &mut memory.unattributed {
            rest.from.at = ago(7000);
        }
        age(&mut device.temperature);
        age(&mut device.core_clock);
        memory.total = gone(
            Gap::DriverError(999),
            Source::Nvml,
            "nvmlDeviceGetMemoryInfo_v2",
        );
        device.power = gone(Gap::TimedOut, Source::Nvml, "nvmlDeviceGetPowerUsage");
        device.power_limit = gone(
            Gap::Pending,
            Source::Nvml,
            "nvmlDeviceGetEnforcedPowerLimit",
        );
        device.pcie_rx = gone(Gap::Stale, Source::Nvml, "nvmlDeviceGetPcieThroughput(RX)");
        device.pcie_tx = gone(
            Gap::FirstSample,
            Source::Nvml,
            "nvmlDeviceGetPcieThroughput(TX)",
        );
        device.counter_status = "no answer for 7 s; the figures are from before".into();
    }
    for charge in it
        .processes
        .iter_mut()
        .flat_map(|process| &mut process.charges)
    {
        if let Reading::Known(ChargedBytes::Measured(measured)) = &mut charge.memory.vram {
            measured.from.at = ago(7000);
        }
        charge.engines.busiest = gone(
            Gap::Pending,
            Source::Nvml,
            "nvmlDeviceGetProcessUtilization",
        );
        charge.engines.compute = charge.engines.busiest;
    }
    it.process_status.scan = ScanState::Partial;
    it.sources = vec![source(
        "nvml",
        SourceState::TimedOut,
        "libnvidia-ml.so.1 has not answered for 7 s",
        Some("look into the kernel log for the driver"),
    )];
    it.notices.push(notice(
        "driver_hung",
        Severity::Warning,
        "gpu:0",
        "the driver has not answered since 14:02:26 UTC",
    ));
    it.pending = true;
    it
}

fn age<T>(reading: &mut Reading<Measured<T>>) {
    if let Reading::Known(measured) = reading {
        measured.from.at = ago(7000);
    }
}

//! One sweep: the calls of a plan, device by device.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use model::Gap;
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, MAX_DEVICES, MigSweep, NvmlPlan, NvmlSweep,
    Output, SystemCall,
};
use raw::{Answer, Stamped};

use super::ffi::{Device, List};
use super::library::{Library, stamped};
use super::lists::{self, Buffers};
use super::loader::Loader;
use super::{details, mig, samples};
use crate::bell::locked;
use crate::clock;
use crate::worker::{Driver, Patience, Place, Progress, Retired};

/// Window of the first samples of a device, microseconds. Without one the driver averages over its whole buffer
/// and reports processes that ended long ago.
const FIRST_WINDOW_US: i64 = 1_000_000;

/// What the threads that ask NVML share.
#[derive(Clone)]
pub(crate) struct Nvml(Arc<Shared>);

struct Shared {
    loader: Loader,
    /// Slots whose handle was asked for once; the first time may initialise the device and take seconds.
    met: Mutex<BTreeSet<u32>>,
    /// Slots whose device may have MIG instances.
    mig: Mutex<BTreeSet<u32>>,
    /// Devices being read, with what they have answered: it stays here when a call does not return.
    open: Mutex<BTreeMap<u32, DeviceSweep>>,
}

impl Nvml {
    /// `library` replaces the search by name.
    pub(crate) fn new(library: Option<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            loader: Loader::new(library),
            met: Mutex::default(),
            mig: Mutex::default(),
            open: Mutex::default(),
        }))
    }

    /// A driver for one thread.
    pub(crate) fn driver(&self) -> NvmlDriver {
        NvmlDriver {
            shared: Arc::clone(&self.0),
            buffers: Buffers::default(),
        }
    }
}

/// One thread's access to NVML.
pub(crate) struct NvmlDriver {
    shared: Arc<Shared>,
    buffers: Buffers,
}

impl Driver for NvmlDriver {
    type Plan = NvmlPlan;
    type Sweep = NvmlSweep;

    fn sweep(
        &mut self,
        plan: &NvmlPlan,
        skipped: &BTreeSet<u32>,
        progress: &Progress,
    ) -> Result<NvmlSweep, Retired> {
        let loader = &self.shared.loader;
        let patience = if loader.is_ready() {
            Patience::Usual
        } else {
            Patience::First
        };
        progress.enter(Place::Whole, patience)?;
        let was_ready = loader.is_ready();
        let (library, ready) = loader.ready(!skipped.is_empty());
        if !was_ready {
            // Another session initialises its devices anew.
            locked(&self.shared.met).clear();
        }
        let Some(ready) = ready else {
            return Ok(NvmlSweep {
                library,
                system: Vec::new(),
                devices: Vec::new(),
            });
        };
        let system: Vec<_> = SystemCall::ALL
            .iter()
            .map(|call| (*call, ready.system(*call)))
            .collect();
        let count = system.last().map_or(0, |(_, answer)| {
            loader.note(answer.value.rc);
            count(&answer.value)
        });
        progress.enter(Place::Whole, Patience::Usual)?;
        let devices = (0..count)
            .map(|slot| self.device(&ready, slot, plan, skipped, progress))
            .collect::<Result<_, Retired>>()?;
        Ok(NvmlSweep {
            library,
            system: system.into_iter().map(|(call, a)| (call, Ok(a))).collect(),
            devices,
        })
    }

    fn close(&mut self) {
        self.shared.loader.shut_down();
    }
}

const fn unanswered(slot: u32, asked: Groups) -> DeviceSweep {
    DeviceSweep {
        slot,
        asked,
        handle: Err(Gap::TimedOut),
        calls: Vec::new(),
        mig: None,
    }
}

impl NvmlDriver {
    fn device(
        &mut self,
        library: &Library,
        slot: u32,
        plan: &NvmlPlan,
        skipped: &BTreeSet<u32>,
        progress: &Progress,
    ) -> Result<DeviceSweep, Retired> {
        let known = plan.samples_after.iter().find(|(known, _)| *known == slot);
        let (asked, after) = match known {
            Some((_, after)) => (plan.groups, *after),
            None => {
                let window = clock::wall_us().saturating_sub(FIRST_WINDOW_US);
                (Groups::all(), u64::try_from(window).unwrap_or(0))
            }
        };
        if plan.untouched.contains(&slot) {
            return Ok(DeviceSweep {
                handle: Err(Gap::Asleep),
                ..unanswered(slot, Groups::empty())
            });
        }
        if skipped.contains(&slot) {
            return Ok(self.interrupted(slot, asked));
        }
        locked(&self.shared.open).insert(slot, unanswered(slot, asked));
        let patience = if locked(&self.shared.met).contains(&slot) {
            Patience::Usual
        } else {
            Patience::First
        };
        progress.enter(Place::Device(slot), patience)?;
        let (handle, device) = library.api.device(slot);
        progress.enter(Place::Device(slot), Patience::Usual)?;
        self.shared.loader.note(handle.rc);
        if device.is_none() {
            // When it comes back it is initialised anew.
            locked(&self.shared.met).remove(&slot);
        } else if patience == Patience::First {
            locked(&self.shared.met).insert(slot);
        }
        self.note(slot, |sweep| sweep.handle = Ok(stamped(handle)));
        if let Some(device) = device {
            let calls = DeviceCall::ALL.iter().copied();
            let calls = calls.filter(|call| asked.contains(call.group()));
            self.note(slot, |sweep| {
                sweep.calls.reserve_exact(DeviceCall::ALL.len());
            });
            for call in calls {
                let answer = self.call(library, call, device, after);
                // A thread that was retired meanwhile leaves what its follower reads alone.
                progress.check()?;
                self.note(slot, |sweep| sweep.calls.push((call, answer)));
            }
            self.instances(library, slot, device, progress)?;
        }
        let sweep = locked(&self.shared.open).remove(&slot);
        Ok(sweep.unwrap_or_else(|| unanswered(slot, asked)))
    }

    /// Asks about MIG, unless the device is known to know none.
    fn instances(
        &mut self,
        library: &Library,
        slot: u32,
        device: Device,
        progress: &Progress,
    ) -> Result<(), Retired> {
        let mode = locked(&self.shared.open).get(&slot).and_then(|sweep| {
            let mut calls = sweep.calls.iter();
            let (_, answer) = calls.find(|(call, _)| *call == DeviceCall::MigMode)?;
            answer
                .as_ref()
                .ok()
                .map(|mode| mig::is_unknown_to_device(&mode.value))
        });
        let mut capable = locked(&self.shared.mig);
        match mode {
            Some(true) => {
                capable.remove(&slot);
            }
            Some(false) => {
                capable.insert(slot);
            }
            None => {}
        }
        if !capable.contains(&slot) {
            return Ok(());
        }
        drop(capable);
        let asked = locked(&self.shared.open)
            .get(&slot)
            .map_or_else(Vec::new, |sweep| sweep.calls.clone());
        self.note(slot, |sweep| sweep.mig = Some(MigSweep::unanswered()));
        let found = mig::sweep(library, device, &asked, &mut self.buffers, progress)?;
        self.note(slot, |sweep| sweep.mig = found);
        Ok(())
    }

    fn note(&self, slot: u32, write: impl FnOnce(&mut DeviceSweep)) {
        if let Some(sweep) = locked(&self.shared.open).get_mut(&slot) {
            write(sweep);
        }
    }

    /// What a device had answered before one of its calls did not return.
    fn interrupted(&self, slot: u32, asked: Groups) -> DeviceSweep {
        let left = locked(&self.shared.open).get(&slot).cloned();
        let Some(mut sweep) = left else {
            return unanswered(slot, asked);
        };
        if sweep.handle.is_ok() {
            let answered = sweep.calls.len();
            let calls = DeviceCall::ALL
                .iter()
                .filter(|call| sweep.asked.contains(call.group()));
            let rest: Vec<_> = calls
                .skip(answered)
                .map(|call| (*call, Err(Gap::TimedOut)))
                .collect();
            sweep.calls.extend(rest);
        }
        sweep
    }

    fn call(
        &mut self,
        library: &Library,
        call: DeviceCall,
        device: Device,
        after: u64,
    ) -> Answer<CallAnswer> {
        let api = library.api;
        let buffers = &mut self.buffers;
        let value = match call {
            DeviceCall::Name => api.name(device),
            DeviceCall::Uuid => api.uuid(device),
            DeviceCall::PciInfo => api.pci_info(device),
            DeviceCall::CudaComputeCapability => api.compute_capability(device),
            DeviceCall::MigMode => api.mig_mode(device),
            DeviceCall::VbiosVersion => api.vbios_version(device),
            DeviceCall::BoardPartNumber => api.board_part_number(device),
            DeviceCall::SupportedClocksEventReasons => api.supported_clocks_event_reasons(device),
            DeviceCall::VirtualizationMode => api.virtualization_mode(device),
            DeviceCall::MemoryInfo => library.memory(device),
            DeviceCall::UtilizationRates => api.utilization(device),
            DeviceCall::EncoderUtilization => api.encoder(device),
            DeviceCall::DecoderUtilization => api.decoder(device),
            DeviceCall::JpgUtilization => api.jpeg(device),
            DeviceCall::OfaUtilization => api.optical_flow(device),
            DeviceCall::ClocksEventReasons => api.clocks_event_reasons(device),
            // The second argument is nvmlClockType_t.
            DeviceCall::ClockGraphics => api.clock(device, 0),
            DeviceCall::ClockSm => api.clock(device, 1),
            DeviceCall::ClockMemory => api.clock(device, 2),
            DeviceCall::ClockVideo => api.clock(device, 3),
            DeviceCall::Temperature => library.temperature(device),
            DeviceCall::PowerUsage => api.power_usage(device),
            DeviceCall::EnforcedPowerLimit => api.enforced_power_limit(device),
            DeviceCall::FanSpeed => api.fan_speed(device),
            DeviceCall::PerformanceState => api.performance_state(device),
            DeviceCall::PcieLinkGeneration => api.pcie_generation(device),
            DeviceCall::PcieLinkWidth => api.pcie_width(device),
            DeviceCall::ComputeProcesses => {
                lists::processes(library, List::Compute, device, buffers)?
            }
            DeviceCall::GraphicsProcesses => {
                lists::processes(library, List::Graphics, device, buffers)?
            }
            DeviceCall::MpsProcesses => lists::processes(library, List::Mps, device, buffers)?,
            DeviceCall::ProcessesUtilization => {
                samples::wide(library, device, after, &mut buffers.wide)
            }
            DeviceCall::ProcessUtilization if buffers.wide.given => return Err(Gap::NotApplicable),
            DeviceCall::ProcessUtilization => lists::samples(library, device, after, buffers),
            // The second argument is nvmlPcieUtilCounter_t.
            DeviceCall::PcieTx => api.pcie_throughput(device, 0),
            DeviceCall::PcieRx => api.pcie_throughput(device, 1),
            DeviceCall::TotalEnergy => api.total_energy(device),
            DeviceCall::PersistenceMode => api.persistence_mode(device),
            DeviceCall::ComputeMode => api.compute_mode(device),
            DeviceCall::EccMode => api.ecc_mode(device),
            // The arguments are nvmlMemoryErrorType_t and nvmlEccCounterType_t.
            DeviceCall::EccVolatileCorrected => api.ecc_errors(device, 0, 0),
            DeviceCall::EccVolatileUncorrected => api.ecc_errors(device, 1, 0),
            DeviceCall::EccAggregateCorrected => api.ecc_errors(device, 0, 1),
            DeviceCall::EccAggregateUncorrected => api.ecc_errors(device, 1, 1),
            // The second argument is nvmlPageRetirementCause_t.
            DeviceCall::RetiredPagesSingleBit => api.retired_pages(device, 0),
            DeviceCall::RetiredPagesDoubleBit => api.retired_pages(device, 1),
            DeviceCall::RetiredPagesPending => api.retired_pages_pending(device),
            DeviceCall::RemappedRows => api.remapped_rows(device),
            DeviceCall::NvLinks => details::links(api, device),
        };
        Ok(Stamped {
            at: clock::stamp(),
            value,
        })
    }
}

fn count(answer: &CallAnswer) -> u32 {
    match answer.out {
        Output::Number(count) => u32::try_from(count.clamp(0, MAX_DEVICES.into())).unwrap_or(0),
        _ => 0,
    }
}

//! What AMD's compute driver says: its devices, and what each of its processes has allocated through it.
//!
//! Its figures are a cross-check: the memory is part of what the process's nodes say, and is never added to it. They
//! can be read of everybody's processes, which the texts of nodes cannot.

use model::{
    Bytes, DeviceKind, Gap, KfdFigures, Measured, PciAddress, Percent, Provenance, Reading, Source,
    Stamp, Text,
};
use raw::{Answer, Machine, Stamped};

use super::device_state::DeviceState;
use super::discovery::{Found, names, small};
use super::files::Readings;
use super::memory::MOST_BYTES;
use super::rates::Rates;

const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology/nodes";
const PROCESSES: &str = "/sys/class/kfd/kfd/proc";

/// Nodes looked at: processors and devices, partitions among them.
const MAX_NODES: usize = 256;

/// Processes looked at. A folder stays until a process ends, whether it computes or not.
const MAX_PROCESSES: usize = 256;

/// How often the devices are looked for again.
const TOPOLOGY_EVERY_NS: u64 = 60_000_000_000;

/// Reading the time of copy engines reads the queues of the process: not more often than this.
const COPY_EVERY_NS: u64 = 1_000_000_000;

/// The compute driver's devices and processes.
#[derive(Default)]
pub(crate) struct Kfd {
    nodes: Vec<KfdNode>,
    nodes_due_ns: u64,
    /// Processes that have opened it, in the first PID namespace.
    pub(super) processes: Vec<u32>,
    copy_due_ns: u64,
    reads_copy: bool,
    may_look_up: bool,
    /// Why what it says cannot be read, where it is here: of its devices, and of its processes.
    refused: [Option<Gap>; 2],
}

struct KfdNode {
    gpu_id: u32,
    render_minor: Option<u32>,
    place: Option<PciAddress>,
    /// Size of its first memory bank.
    bank: Option<u64>,
}

impl Kfd {
    /// Why what it says cannot be read, though it is here.
    pub(super) fn refused(&self) -> Option<Gap> {
        self.refused.into_iter().flatten().next()
    }

    /// How many devices it has.
    pub(super) const fn devices(&self) -> usize {
        self.nodes.len()
    }

    /// Whether its numbers of processes are ours.
    pub(super) const fn may_look_up(&mut self, may: bool) {
        self.may_look_up = may;
    }

    pub(super) fn refresh(&mut self, machine: &mut dyn Machine, now: Stamp) {
        if now.mono_ns >= self.nodes_due_ns {
            self.nodes_due_ns = now.mono_ns.saturating_add(TOPOLOGY_EVERY_NS);
            let found = names(machine, TOPOLOGY);
            let mut refused = refusal(found.as_ref().err());
            let found = found.unwrap_or_else(|_| Vec::new());
            self.nodes = found
                .iter()
                .take(MAX_NODES)
                .filter_map(|name| node(machine, name, &mut refused))
                .collect();
            self.refused = [refused, None];
        }
        self.processes.clear();
        if self.nodes.is_empty() || !self.may_look_up {
            return;
        }
        let found = names(machine, PROCESSES);
        self.refused[1] = refusal(found.as_ref().err());
        if let Ok(found) = found {
            let number = |name: &Text| {
                let number = name.parse::<u32>().ok()?;
                // As the kernel prints it: another spelling would be the same process again.
                (number.to_string() == **name).then_some(number)
            };
            let numbers = found.iter().filter_map(number);
            self.processes.extend(numbers.take(MAX_PROCESSES));
        }
        self.reads_copy = now.mono_ns >= self.copy_due_ns;
        if self.reads_copy {
            self.copy_due_ns = now.mono_ns.saturating_add(COPY_EVERY_NS);
        }
    }

    fn node_of(&self, device: &Found) -> Option<&KfdNode> {
        self.nodes.iter().find(|node| match node.render_minor {
            Some(minor) => device.minors.contains(&minor),
            None => node.place.is_some() && node.place == device.pci,
        })
    }

    /// Whether another device has the same number: it is a hash, which older kernels do not keep apart.
    fn is_double(&self, node: &KfdNode) -> bool {
        let same = self.nodes.iter().filter(|it| it.gpu_id == node.gpu_id);
        same.count() > 1
    }

    /// Size of the device's memory bank, which is all of the reachable system memory where it has none of its own.
    pub(super) fn bank_of(&self, device: &Found) -> Option<u64> {
        self.nodes
            .iter()
            .find(|node| node.place.is_some() && node.place == device.pci)
            .or_else(|| self.node_of(device))?
            .bank
    }

    /// What to read of the processes on a device.
    pub(super) fn reads(&self, device: &Found) -> Vec<Text> {
        let Some(node) = self.node_of(device) else {
            return Vec::new();
        };
        let files = |pid: &u32| {
            let copy = self.reads_copy.then(|| copy_file(*pid, node.gpu_id));
            [
                vram_file(*pid, node.gpu_id),
                stats_file(*pid, node.gpu_id, "evicted_ms"),
                stats_file(*pid, node.gpu_id, "cu_occupancy"),
            ]
            .into_iter()
            .chain(copy)
        };
        self.processes.iter().flat_map(files).collect()
    }

    /// Processes whose queues were thrown off a device since the reading before.
    pub(super) fn evicted<'a>(
        &'a self,
        device: &Found,
        rates: &'a Rates,
    ) -> impl Iterator<Item = u32> + 'a {
        let node = self.node_of(device).filter(|node| !self.is_double(node));
        let gpu_id = node.map(|node| node.gpu_id);
        let moved = move |pid: &u32| {
            gpu_id.is_some_and(|gpu_id| rates.has_moved(&stats_file(*pid, gpu_id, "evicted_ms")))
        };
        self.processes.iter().copied().filter(moved)
    }

    /// Whether some process is known to have memory of a device through it.
    pub(super) fn is_using(&self, device: &DeviceState) -> bool {
        let Some(node) = self.node_of(&device.found) else {
            return false;
        };
        let mut processes = self.processes.iter();
        processes.any(|pid| {
            let vram = device.files.number(&vram_file(*pid, node.gpu_id));
            vram.is_ok_and(|vram| vram.value > 0)
        })
    }

    /// What it says of a process on a device, where it knows the process.
    pub(super) fn figures(&self, device: &DeviceState, pid: u32, now: Stamp) -> Option<KfdFigures> {
        let node = self.node_of(&device.found)?;
        if !self.processes.contains(&pid) {
            return None;
        }
        let files = &device.files;
        let readings = Readings {
            files,
            now,
            unasked: device.unasked(),
            absent: Gap::NoCounter,
            unmonitored: Gap::NoCounter,
        };
        let copy_path = copy_file(pid, node.gpu_id);
        let copy = device.rates.reading(readings, "sdma", Some(&copy_path));
        // On a processor with graphics the memory may lie in either place.
        let limits = device.limits();
        let most = match (device.kind, limits.vram) {
            (DeviceKind::Discrete, Some(vram)) => vram,
            _ => MOST_BYTES,
        };
        let is_double = self.is_double(node);
        let told = |path: &str| match files.number(path) {
            // Two devices of one number have one file, which says nothing of which of them it is about.
            Ok(number) if number.value > 0 && is_double => Err(Gap::Ambiguous),
            Err(Gap::NotPresent) if !files.is_known(path) => Err(readings.unasked),
            answer => answer,
        };
        let copy = match copy.known() {
            Some(known) if known.value > 0.0 && is_double => {
                Reading::missing(Gap::Ambiguous, known.from)
            }
            _ => copy,
        };
        let vram = told(&vram_file(pid, node.gpu_id));
        Some(KfdFigures {
            vram: reading("vram", vram, now, |n| (n <= most).then_some(Bytes(n))),
            // Microseconds per second.
            copy: from_kfd(copy.map(|rate| Percent((rate / 1e4).clamp(0.0, 100.0)))),
            evicted_ms: reading(
                "stats/evicted_ms",
                told(&stats_file(pid, node.gpu_id, "evicted_ms")),
                now,
                Some,
            ),
            occupied_units: reading(
                "stats/cu_occupancy",
                told(&stats_file(pid, node.gpu_id, "cu_occupancy")),
                now,
                |units| u32::try_from(units).ok(),
            ),
        })
    }
}

/// A failure that is more than the thing's absence.
fn refusal(gap: Option<&Gap>) -> Option<Gap> {
    gap.copied()
        .filter(|gap| !matches!(gap, Gap::NotPresent | Gap::NotRecorded))
}

fn vram_file(pid: u32, gpu_id: u32) -> Text {
    format!("{PROCESSES}/{pid}/vram_{gpu_id}").into()
}

fn copy_file(pid: u32, gpu_id: u32) -> Text {
    format!("{PROCESSES}/{pid}/sdma_{gpu_id}").into()
}

fn stats_file(pid: u32, gpu_id: u32, name: &str) -> Text {
    format!("{PROCESSES}/{pid}/stats_{gpu_id}/{name}").into()
}

fn from_kfd<T>(reading: Reading<Measured<T>>) -> Reading<Measured<T>> {
    match reading {
        Reading::Known(mut known) => {
            known.from.source = Source::Kfd;
            Reading::Known(known)
        }
        Reading::Missing(mut missing) => {
            missing.from.source = Source::Kfd;
            Reading::Missing(missing)
        }
    }
}

fn reading<T>(
    counter: &'static str,
    answer: Answer<i64>,
    now: Stamp,
    convert: impl FnOnce(u64) -> Option<T>,
) -> Reading<Measured<T>> {
    let from = |at| Provenance {
        source: Source::Kfd,
        counter,
        at,
    };
    match answer {
        Ok(Stamped { at, value }) => match u64::try_from(value).ok().and_then(convert) {
            Some(value) => Reading::measured(value, from(at)),
            None => Reading::missing(Gap::Implausible, from(at)),
        },
        Err(gap) => Reading::missing(gap, from(now)),
    }
}

fn node(machine: &mut dyn Machine, name: &str, refused: &mut Option<Gap>) -> Option<KfdNode> {
    let folder = format!("{TOPOLOGY}/{name}");
    let mut told = |file: &str| {
        let text = small(machine, &format!("{folder}/{file}"));
        *refused = refused.or(refusal(text.as_ref().err()));
        text.ok()
    };
    // Processors have the number 0.
    let gpu_id: u32 = told("gpu_id")?.parse().ok()?;
    if gpu_id == 0 {
        return None;
    }
    // In some containers they cannot be read.
    let properties = told("properties");
    let bank = small(machine, &format!("{folder}/mem_banks/0/properties")).ok();
    let number = |text: &Option<Text>, key: &str| property(text.as_deref()?, key);
    let place = number(&properties, "location_id").and_then(|location| {
        let byte = |shift: u32| u8::try_from(location >> shift & 0xff).ok();
        Some(PciAddress {
            domain: u32::try_from(number(&properties, "domain")?).ok()?,
            bus: byte(8)?,
            device: byte(0)? >> 3,
            function: byte(0)? & 7,
        })
    });
    let minor = number(&properties, "drm_render_minor").and_then(|minor| u32::try_from(minor).ok());
    Some(KfdNode {
        gpu_id,
        render_minor: minor.filter(|minor| *minor > 0),
        place,
        bank: number(&bank, "size_in_bytes"),
    })
}

/// A line `key value`.
fn property(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_lines_of_a_key_and_a_number() {
        let text = "simd_count 24\nlocation_id 25600\ndomain 0\ndrm_render_minor 128\n";
        assert_eq!(property(text, "location_id"), Some(0x6400));
        assert_eq!(property(text, "location"), None);
        assert_eq!(property("location_id many\n", "location_id"), None);
    }
}

//! What AMD's compute driver says: its devices, and what each of its processes has allocated through it.
//!
//! Its figures are a cross-check: the memory is part of what the process's nodes say, and is never added to it. They
//! can be read of everybody's processes, which the texts of nodes cannot.

use model::{
    Bytes, DeviceKind, Gap, KfdFigures, KfdStanding, Measured, PciAddress, Percent, Provenance,
    Reading, Source, Stamp, Text,
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

    /// Its nodes: a device in several partitions has one each, on one place of the bus. By number, each once.
    fn nodes_of<'a>(&'a self, device: &Found) -> Vec<&'a KfdNode> {
        let mut nodes: Vec<&KfdNode> = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_of(device)) {
            if nodes.iter().all(|it| it.gpu_id != node.gpu_id) {
                nodes.push(node);
            }
        }
        nodes
    }

    /// Whether another device has the same number: it is a hash, which older kernels do not keep apart.
    fn is_double(&self, node: &KfdNode, device: &Found) -> bool {
        let mut same = self.nodes.iter().filter(|it| it.gpu_id == node.gpu_id);
        same.any(|it| !it.is_of(device))
    }

    /// Size of the device's memory bank, which is all of the reachable system memory where it has none of its own.
    pub(super) fn bank_of(&self, device: &Found) -> Option<u64> {
        self.nodes
            .iter()
            .find(|node| node.place.is_some() && node.place == device.pci)
            .or_else(|| self.nodes_of(device).first().copied())?
            .bank
    }

    /// What to read of the processes on a device.
    pub(super) fn reads(&self, device: &Found) -> Vec<Text> {
        let nodes = self.nodes_of(device);
        let files = |pid: &u32| {
            let pid = *pid;
            let of_node = move |node: &&KfdNode| {
                let copy = self.reads_copy.then(|| copy_file(pid, node.gpu_id));
                [
                    vram_file(pid, node.gpu_id),
                    stats_file(pid, node.gpu_id, "evicted_ms"),
                    stats_file(pid, node.gpu_id, "cu_occupancy"),
                ]
                .into_iter()
                .chain(copy)
            };
            nodes.iter().flat_map(of_node).collect::<Vec<Text>>()
        };
        self.processes.iter().flat_map(files).collect()
    }

    /// Processes whose queues were thrown off a device since the reading before.
    pub(super) fn evicted<'a>(
        &'a self,
        device: &Found,
        rates: &'a Rates,
    ) -> impl Iterator<Item = u32> + 'a {
        let mut nodes = self.nodes_of(device);
        nodes.retain(|node| !self.is_double(node, device));
        let moved = move |pid: &u32| {
            let mut nodes = nodes.iter();
            nodes.any(|node| rates.has_moved(&stats_file(*pid, node.gpu_id, "evicted_ms")))
        };
        self.processes.iter().copied().filter(moved)
    }

    /// Whether some process is known to have memory of a device through it.
    pub(super) fn is_using(&self, device: &DeviceState) -> bool {
        let nodes = self.nodes_of(&device.found);
        let has_memory = |pid: &u32, node: &KfdNode| {
            let vram = device.files.number(&vram_file(*pid, node.gpu_id));
            vram.is_ok_and(|vram| vram.value > 0)
        };
        let mut processes = self.processes.iter();
        processes.any(|pid| nodes.iter().any(|node| has_memory(pid, node)))
    }

    /// What it says of a process on a device, where it knows the process. Whether its memory is charged is for the
    /// caller to say.
    pub(super) fn figures(&self, device: &DeviceState, pid: u32, now: Stamp) -> Option<KfdFigures> {
        let nodes = self.nodes_of(&device.found);
        if nodes.is_empty() || !self.processes.contains(&pid) {
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
        // On a processor with graphics the memory may lie in either place.
        let limits = device.limits();
        let most = match (device.kind, limits.vram) {
            (DeviceKind::Discrete, Some(vram)) => vram,
            _ => MOST_BYTES,
        };
        let told = |node: &KfdNode, path: &str| match files.number(path) {
            // Two devices of one number have one file, which says nothing of which of them it is about.
            Ok(number) if number.value > 0 && self.is_double(node, &device.found) => {
                Err(Gap::Ambiguous)
            }
            Err(Gap::NotPresent) if !files.is_known(path) => Err(readings.unasked),
            answer => answer,
        };
        let over = |file: &dyn Fn(u32) -> Text, join: fn(i64, i64) -> i64| {
            let answers = nodes.iter().map(|node| told(node, &file(node.gpu_id)));
            over_partitions(answers.collect(), join)
        };
        let copies = nodes.iter().map(|node| {
            let copy_path = copy_file(pid, node.gpu_id);
            let copy = device.rates.reading(readings, "sdma", Some(&copy_path));
            match copy.known() {
                Some(known) if known.value > 0.0 && self.is_double(node, &device.found) => {
                    Reading::missing(Gap::Ambiguous, known.from)
                }
                _ => copy,
            }
        });
        // The busiest; unknown where that of any is.
        let copy = copies.reduce(|a, b| match (a.known(), b.known()) {
            (Some(x), Some(y)) if y.value > x.value => b,
            (Some(_), None) => b,
            _ => a,
        })?;
        let vram = over(&|id| vram_file(pid, id), i64::saturating_add);
        let evicted = over(&|id| stats_file(pid, id, "evicted_ms"), i64::max);
        let units = over(
            &|id| stats_file(pid, id, "cu_occupancy"),
            i64::saturating_add,
        );
        Some(KfdFigures {
            vram: reading("vram", vram, now, |n| (n <= most).then_some(Bytes(n))),
            // Microseconds per second.
            copy: from_kfd(copy.map(|rate| Percent((rate / 1e4).clamp(0.0, 100.0)))),
            evicted_ms: reading("stats/evicted_ms", evicted, now, Some),
            occupied_units: reading("stats/cu_occupancy", units, now, |units| {
                u32::try_from(units).ok()
            }),
            standing: KfdStanding::NoFigure,
        })
    }
}

/// A failure that is more than the thing's absence.
fn refusal(gap: Option<&Gap>) -> Option<Gap> {
    gap.copied()
        .filter(|gap| !matches!(gap, Gap::NotPresent | Gap::NotRecorded))
}

impl KfdNode {
    fn is_of(&self, device: &Found) -> bool {
        match self.render_minor {
            Some(minor) if device.minors.contains(&minor) => true,
            // A partition's render node need not be among those that were found.
            _ => self.place.is_some() && self.place == device.pci,
        }
    }
}

/// The answers of all partitions of a device together; the oldest moment counts. Where one is missing the whole is
/// unknown: with the reason where there is only one, or all have the same.
fn over_partitions(answers: Vec<Answer<i64>>, join: fn(i64, i64) -> i64) -> Answer<i64> {
    let together = answers.into_iter().reduce(|a, b| match (a, b) {
        (Ok(a), Ok(b)) if a.value < 0 || b.value < 0 => Err(Gap::Implausible),
        (Ok(a), Ok(b)) => Ok(Stamped {
            at: if b.at.mono_ns < a.at.mono_ns {
                b.at
            } else {
                a.at
            },
            value: join(a.value, b.value),
        }),
        (Err(a), Err(b)) if a == b => Err(a),
        (Ok(_), Err(Gap::NotPresent)) | (Err(Gap::NotPresent), Ok(_)) => Err(Gap::InputMissing),
        (Err(gap), _) | (_, Err(gap)) => Err(gap),
    });
    together.unwrap_or(Err(Gap::NotPresent))
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
    let gpu_id = told("gpu_id")?;
    let Ok(gpu_id) = gpu_id.parse::<u32>() else {
        *refused = refused.or(Some(Gap::Malformed));
        return None;
    };
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
    let node = KfdNode {
        gpu_id,
        render_minor: minor.filter(|minor| *minor > 0),
        place,
        bank: number(&bank, "size_in_bytes"),
    };
    Some(node)
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
    fn partitions_make_one_figure_and_one_that_is_missing_makes_none() {
        let at = |mono_ns| Stamp {
            mono_ns,
            wall_us: 0,
        };
        let said = |mono_ns, value| {
            Ok(Stamped {
                at: at(mono_ns),
                value,
            })
        };
        let sum = |answers: Vec<Answer<i64>>| over_partitions(answers, i64::saturating_add);
        assert_eq!(sum(vec![said(9, 5)]), said(9, 5));
        assert_eq!(sum(vec![said(9, 5), said(7, 3), said(8, 0)]), said(7, 8));
        assert_eq!(
            over_partitions(vec![said(1, 5), said(1, 7)], i64::max),
            said(1, 7)
        );
        assert_eq!(
            sum(vec![said(9, 5), Err(Gap::NotPresent)]),
            Err(Gap::InputMissing)
        );
        let none = vec![Err(Gap::NotPresent), Err(Gap::NotPresent)];
        assert_eq!(sum(none), Err(Gap::NotPresent));
        assert_eq!(
            sum(vec![Err(Gap::Ambiguous), said(9, 5)]),
            Err(Gap::Ambiguous)
        );
        assert_eq!(sum(vec![said(9, -1), said(9, 5)]), Err(Gap::Implausible));
    }

    #[test]
    fn properties_are_lines_of_a_key_and_a_number() {
        let text = "simd_count 24\nlocation_id 25600\ndomain 0\ndrm_render_minor 128\n";
        assert_eq!(property(text, "location_id"), Some(0x6400));
        assert_eq!(property(text, "location"), None);
        assert_eq!(property("location_id many\n", "location_id"), None);
    }
}

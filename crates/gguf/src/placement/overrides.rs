//! Tensors that are put on a device by name (`-ot`, `--cpu-moe`, `--n-cpu-moe`).

use regex_lite::{Regex, RegexBuilder};

use crate::role::Role;
use crate::weights::ExpertsOnCpu;

use super::device::Home;

/// Bytes of a pattern that is looked at; longer ones count as not readable. Command lines have 10 to 200.
pub const MAX_PATTERN_BYTES: usize = 2_048;

/// Patterns that are looked at. llama.cpp takes 4,096; people write up to a hundred.
pub const MAX_OVERRIDES: usize = 256;

/// Bytes a compiled pattern may take: a pattern of another program must not take our memory.
const MAX_COMPILED_BYTES: usize = 256 * 1024;

/// Names times patterns that are compared for one model, about a second's work at most. A model of 2,000 tensors and
/// 100 patterns takes 200,000.
const MAX_COMPARISONS: u64 = 4_000_000;

/// Where a pattern puts a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Cpu,
    Gpu(u32),
    Unknown,
}

#[derive(Debug, Clone)]
enum Item {
    Pattern(Regex, Target),
    Experts(ExpertsOnCpu),
    /// Something that could not be read, and may put any tensor anywhere.
    Unreadable,
}

/// Overrides in the order of the command line; the first that matches a tensor decides.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    items: Vec<Item>,
}

impl Overrides {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether something in them could not be read, so that places of tensors are not known.
    pub fn is_unreadable(&self) -> bool {
        self.items
            .iter()
            .any(|item| matches!(item, Item::Unreadable))
    }

    /// Adds the value of `-ot`: `PATTERN=BUFFER[,PATTERN=BUFFER…]`.
    ///
    /// A pattern is a regular expression that is searched for in names of tensors. llama.cpp reads ECMAScript's; what
    /// is not also an expression here (looking around, references to groups) counts as not readable. `BUFFER` is
    /// `CPU` or a device, such as `CUDA1`, whose number is taken for its place in the program's list: `-dev` may have
    /// changed that order, and a number beyond the list leaves the place open.
    pub fn push_pattern(&mut self, value: &str) {
        for entry in value.split(',') {
            let item = match entry.split_once('=') {
                Some((pattern, buffer)) => compile(pattern).map_or(Item::Unreadable, |regex| {
                    Item::Pattern(regex, target(buffer))
                }),
                None => Item::Unreadable,
            };
            self.push(item);
        }
    }

    /// Adds `--cpu-moe` or `--n-cpu-moe`.
    pub fn push_experts(&mut self, experts: ExpertsOnCpu) {
        if experts != ExpertsOnCpu::None {
            self.push(Item::Experts(experts));
        }
    }

    fn push(&mut self, item: Item) {
        if self.items.len() < MAX_OVERRIDES {
            self.items.push(item);
        } else if let Some(last) = self.items.last_mut() {
            *last = Item::Unreadable;
        }
    }

    /// Whether comparing all of them with so many names is too much work.
    pub(crate) fn too_many_for(&self, names: u64) -> bool {
        let patterns = u64::try_from(self.items.len()).unwrap_or(u64::MAX);
        patterns.saturating_mul(names) > MAX_COMPARISONS
    }

    /// Where the tensor is put; `None` if no override concerns it. `home` is where it would be without.
    pub(crate) fn home(&self, name: &str, role: Role, home: Home, gpus: u32) -> Option<Home> {
        let (number, is_expert) = match role {
            Role::Layer { number, expert } => (number, expert),
            _ => (0, false),
        };
        for item in &self.items {
            match item {
                Item::Unreadable => return Some(Home::Unknown),
                Item::Pattern(regex, target) if regex.is_match(name) => {
                    return Some(match target {
                        Target::Cpu => Home::Cpu,
                        Target::Gpu(gpu) if *gpu < gpus => Home::Gpu(*gpu),
                        Target::Gpu(_) | Target::Unknown => Home::Unknown,
                    });
                }
                Item::Experts(ExpertsOnCpu::All) if is_expert => return Some(Home::Cpu),
                Item::Experts(ExpertsOnCpu::FirstLayers(first)) if is_expert && number < *first => {
                    return Some(Home::Cpu);
                }
                // In system memory, or where it would be; the latter only matters if that is elsewhere.
                Item::Experts(ExpertsOnCpu::Unknown) if is_expert && home != Home::Cpu => {
                    return Some(Home::Unknown);
                }
                _ => {}
            }
        }
        None
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return None;
    }
    RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .ok()
}

/// The device a buffer type belongs to.
fn target(buffer: &str) -> Target {
    // Pinned memory of the host (CUDA_Host, Vulkan_Host) is system memory.
    if buffer == "CPU" || buffer.ends_with("_Host") {
        return Target::Cpu;
    }
    let stem = buffer.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphabetic());
    match buffer.get(stem.len()..).map(str::parse) {
        Some(Ok(number)) if is_name => Target::Gpu(number),
        // "Metal" stands alone; "RPC[host:port]" is another machine.
        _ if buffer == "Metal" => Target::Gpu(0),
        _ => Target::Unknown,
    }
}

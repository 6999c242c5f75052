//! One process that holds GPU memory or uses GPU engines.

use crate::Text;
use crate::device::DeviceKind;
use crate::gap::Gap;
use crate::ids::{ProcessKey, Stamp};
use crate::kfd::KfdFigures;
use crate::matching::PidMatch;
use crate::reading::{
    Estimated, InferenceBasis, Inferred, Measured, Provenance, Reading, Reported,
};
use crate::receipt::Receipt;
use crate::units::{Bytes, Percent};
use crate::workload::{Category, Model, Segment, Server};

/// A process and all that is known of it. Nothing here sums over devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Identity.
    pub key: ProcessKey,
    /// The driver's entry this process was matched to, in a nested PID namespace.
    pub pid_match: Option<PidMatch>,
    /// Short name (`comm`, at most 15 bytes, or the executable's name).
    pub name: Reading<Measured<Text>>,
    /// Executable path.
    pub exe: Reading<Measured<Text>>,
    /// User name, or the number where it has no name.
    pub user: Reading<Measured<Text>>,
    /// Command line, argument by argument.
    pub command_line: Reading<Measured<Vec<Text>>>,
    /// Parent process number.
    pub parent: Reading<Measured<u32>>,
    /// Start time, microseconds since 1970 UTC.
    pub started: Reading<Measured<i64>>,
    /// TCP ports it listens on.
    pub ports: Reading<Measured<Vec<u16>>>,
    /// Container it runs in; `None` inside means "in no container".
    pub container: Reading<Measured<Option<Container>>>,
    /// What kind of work it does.
    pub category: Category,
    /// Which rule decided the category (stable code).
    pub category_reason: &'static str,
    /// Runtimes whose libraries it has mapped or that are built into its program. Presence, not use.
    pub runtimes: Reading<Measured<Vec<Runtime>>>,
    /// Memory and engines, one entry a device. Empty for a process that could hold a context and that
    /// no entry of the driver's lists was matched to ([`crate::Gap::NotListed`]).
    pub charges: Vec<Charge>,
    /// Models, most certain first.
    pub models: Vec<Model>,
    /// Parts of the memory as the runtime reported them.
    pub segments_reported: Vec<Segment<Reported<Bytes>>>,
    /// Parts of the memory as computed from model files.
    pub segments_estimated: Vec<Segment<Estimated<Bytes>>>,
    /// What its measured memory consists of, device by device; empty where no part or no size is known,
    /// or where it is on several devices and not every part says on which it lies.
    pub receipts: Vec<Receipt>,
    /// The model server it is, where it answered.
    pub server: Option<Server>,
    /// Why a model server was not asked; `None` where it was, or is none.
    pub server_unasked: Option<Gap>,
    /// Why no models were looked for; `None` where they were.
    pub models_unread: Option<Gap>,
}

/// Headings of system memory that a device can reach.
pub const SPILL_LABEL: &str = "SPILL";
/// See [`SPILL_LABEL`].
pub const SHARED_LABEL: &str = "SHARED";

/// Rules that guess: what only a name hints at.
const NAME_HINT: &str = "name_hint";
const TRAINING_HINT: &str = "training_hint";

impl Process {
    /// The kind of work for a table; with a question mark where a name alone hints at it.
    pub fn category_label(&self) -> &'static str {
        match (self.category, self.category_reason) {
            (Category::Decision, NAME_HINT) => "decision?",
            (_, TRAINING_HINT) => "train?",
            (category, _) => category.label(),
        }
    }

    /// Its receipt for device `index`, if it has one.
    pub fn receipt_on(&self, index: u32) -> Option<&Receipt> {
        self.receipts
            .iter()
            .find(|receipt| receipt.device_index == index)
    }

    /// Its charge on device `index`, if it has one.
    pub fn charge_on(&self, index: u32) -> Option<&Charge> {
        self.charges
            .iter()
            .find(|charge| charge.device_index == index)
    }
}

/// A runtime that was recognised. That it is there does not prove that it is used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Runtime {
    /// The runtime's name.
    pub name: &'static str,
    /// File name of the mapped library that showed it, or `program NAME`.
    pub library: Text,
}

/// A container, from the process's control group path.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    /// Runtime, as far as the path tells it: `docker`, `podman`, `containerd`, `cri-o`, `lxc`, …
    pub runtime: &'static str,
    /// Identifier, shortened to 12 characters where it is a hash.
    pub id: Text,
    /// The Kubernetes pod's UID where the path has one.
    pub pod_uid: Option<Text>,
    /// What people call it: from the runtime's state file, or for LXC from the path. Missing where
    /// that file cannot be read (most need full rights) or does not exist.
    pub name: Reading<Measured<ContainerName>>,
}

/// What a container is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContainerName {
    /// Its name; under Kubernetes that within its pod.
    pub name: Text,
    /// The pod's name.
    pub pod: Option<Text>,
    /// The Kubernetes namespace.
    pub namespace: Option<Text>,
}

impl ContainerName {
    /// The shortest form that tells it from others: `namespace/pod/name`, or the name alone.
    pub fn label(&self) -> String {
        let outer = self.namespace.iter().chain(&self.pod);
        let parts: Vec<&str> = outer.chain([&self.name]).map(|text| &**text).collect();
        parts.join("/")
    }
}

/// Which of the driver's process lists name the process.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DriverLists {
    /// Compute list.
    pub compute: bool,
    /// Graphics list.
    pub graphics: bool,
    /// Multi-Process Service list.
    pub mps: bool,
}

impl DriverLists {
    /// `C`, `G`, `C+G`, `M`, …; the usual short form.
    pub const fn label(self) -> &'static str {
        match (self.compute, self.graphics, self.mps) {
            (true, false, false) => "C",
            (false, true, false) => "G",
            (true, true, false) => "C+G",
            (false, false, true) => "M",
            (true, false, true) => "C+M",
            (false, true, true) => "G+M",
            (true, true, true) => "C+G+M",
            (false, false, false) => "-",
        }
    }
}

/// What one process holds and does on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// Index of the device in the snapshot.
    pub device_index: u32,
    /// Lists it was found in.
    pub lists: DriverLists,
    /// Memory.
    pub memory: ProcessMemory,
    /// Engine load.
    pub engines: Engines,
    /// GPU instance and compute instance in MIG mode.
    pub instance: Option<(u32, u32)>,
    /// What its open nodes say; `None` for devices that are not read through the kernel's DRM.
    pub drm: Option<Box<DrmClients>>,
}

/// What the kernel says of a process's open nodes of one device, beyond what may be charged to it.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmClients {
    /// Openings of the device, copies of a descriptor counted once.
    pub clients: u32,
    /// How the device's memory relates to the system's. Of anything but a card the reachable system memory is no
    /// overflow of anything.
    pub kind: DeviceKind,
    /// Numbers of the other processes that hold one of them too, in order.
    pub shared_with: Vec<u32>,
    /// Why memory is not charged, the first reason first.
    pub reasons: Vec<Gap>,
    /// Device memory its clients have, shared or not. For reference: never to be added up.
    pub vram_resident: Reading<Measured<Bytes>>,
    /// GPU-accessible system memory its clients have, shared or not. For reference, as above.
    pub system_resident: Reading<Measured<Bytes>>,
    /// Between what is shared with nobody and what is there, where nothing can be charged.
    pub vram_bounds: Reading<Estimated<Bytes>>,
    /// Memory that the driver would rather have in the device and that is not there (amdgpu since Linux 6.14).
    pub displaced: Reading<Estimated<Bytes>>,
    /// Load of engines that have no column, by the driver's name.
    pub other_engines: Vec<(Text, Reading<Measured<Percent>>)>,
    /// Memory by region, by the driver's name; regions without any are left out.
    pub regions: Vec<DrmRegion>,
    /// What the compute driver of AMD says of it.
    pub kfd: Option<KfdFigures>,
}

impl DrmClients {
    /// Whether the device's memory is system memory, so that both sizes together are what the process holds.
    pub const fn is_integrated(&self) -> bool {
        self.kind.is_of_system()
    }

    /// What is certainly its own of the device's memory where nothing can be charged and both bounds are the same:
    /// derived, and in no sum.
    pub fn exact_vram(&self) -> Option<&Estimated<Bytes>> {
        self.vram_bounds.known().filter(|own| own.low == own.high)
    }
}

/// What all clients of a process have in one region of memory. For reference: never to be added up.
#[derive(Clone, Debug, PartialEq)]
pub struct DrmRegion {
    /// The driver's name: `vram`, `gtt`, `system0`, `local0`, `stolen`, …
    pub name: Text,
    /// All buffers, in memory or not.
    pub total: Reading<Measured<Bytes>>,
    /// Buffers that are shared.
    pub shared: Reading<Measured<Bytes>>,
    /// What is there now.
    pub resident: Reading<Measured<Bytes>>,
}

/// A value of one process on one device: measured with its owner, or measured with an inferred owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Charged<T> {
    /// The counter names the owner.
    Measured(Measured<T>),
    /// The counter's number was matched to the owner.
    Inferred(Inferred<T>),
}

/// A size with its owner.
pub type ChargedBytes = Charged<Bytes>;

/// A load with its owner.
pub type ChargedPercent = Charged<Percent>;

impl<T: Copy> Charged<T> {
    /// The value, for drawing and sorting. Not for adding.
    pub const fn value(&self) -> T {
        match self {
            Self::Measured(measured) => measured.value,
            Self::Inferred(inferred) => inferred.value,
        }
    }

    /// The measured value; `None` where the owner was inferred.
    pub const fn measured(&self) -> Option<T> {
        match self {
            Self::Measured(measured) => Some(measured.value),
            Self::Inferred(_) => None,
        }
    }

    /// Counter and moment of the reading.
    pub const fn from(&self) -> Provenance {
        match self {
            Self::Measured(measured) => measured.from,
            Self::Inferred(inferred) => inferred.from,
        }
    }

    /// Moment of the reading.
    pub const fn at(&self) -> Stamp {
        self.from().at
    }

    /// The same value with an owner that was inferred in this way. Of two inferences the weaker one
    /// stands.
    #[must_use]
    pub fn inferred(self, basis: InferenceBasis) -> Self {
        Self::Inferred(Inferred {
            value: self.value(),
            from: self.from(),
            basis: self.basis().map_or(basis, |known| known.max(basis)),
        })
    }

    /// Basis of the inference, where there was one.
    pub const fn basis(&self) -> Option<InferenceBasis> {
        match self {
            Self::Measured(_) => None,
            Self::Inferred(inferred) => Some(inferred.basis),
        }
    }
}

/// Memory of one process on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessMemory {
    /// Device memory.
    pub vram: Reading<ChargedBytes>,
    /// GPU-accessible system memory. Not proof of overflow, and of a part of the processor none at all
    /// ([`DeviceKind::system_memory_role`]).
    pub spill: Reading<ChargedBytes>,
    /// Committed by the process, resident or not (Windows).
    pub commit: Reading<Measured<Bytes>>,
    /// Committed but neither in device memory nor in shared memory.
    pub paged: Reading<Estimated<Bytes>>,
}

impl ProcessMemory {
    /// Whether the device has no memory of its own, so that no size is missing.
    pub fn has_no_vram(&self) -> bool {
        self.vram.gap() == Some(Gap::NoCounter)
    }
}

/// Engine load of one process on one device, each 0 to 100 % of that engine's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Engines {
    /// The busiest engine.
    pub busiest: Reading<ChargedPercent>,
    /// 3D and graphics.
    pub graphics: Reading<ChargedPercent>,
    /// Compute (NVML: SM time, which includes graphics).
    pub compute: Reading<ChargedPercent>,
    /// Memory activity caused by the process.
    pub memory: Reading<ChargedPercent>,
    /// Copy engines.
    pub copy: Reading<ChargedPercent>,
    /// Video encoder.
    pub encode: Reading<ChargedPercent>,
    /// Video decoder.
    pub decode: Reading<ChargedPercent>,
    /// JPEG engine (NVML from driver 535 on).
    pub jpeg: Reading<ChargedPercent>,
    /// Optical flow accelerator (NVML from driver 535 on).
    pub ofa: Reading<ChargedPercent>,
    /// One ring for both directions of video.
    pub video: Reading<ChargedPercent>,
}

impl Charge {
    /// The heading of its system memory: on a card what did not fit or was put there, elsewhere the memory it shares
    /// with the system.
    pub fn system_label(&self) -> &'static str {
        match &self.drm {
            Some(drm) if drm.kind != DeviceKind::Discrete => SHARED_LABEL,
            _ => SPILL_LABEL,
        }
    }

    /// The same measured values with an owner that was inferred in this way.
    #[must_use]
    pub fn inferred(mut self, basis: InferenceBasis) -> Self {
        let memory = &mut self.memory;
        for size in [&mut memory.vram, &mut memory.spill] {
            *size = size.inferred(basis);
        }
        for load in self.engines.all_mut() {
            *load = load.inferred(basis);
        }
        self
    }
}

impl Engines {
    fn all_mut(&mut self) -> [&mut Reading<ChargedPercent>; 10] {
        [
            &mut self.busiest,
            &mut self.graphics,
            &mut self.compute,
            &mut self.memory,
            &mut self.copy,
            &mut self.encode,
            &mut self.decode,
            &mut self.jpeg,
            &mut self.ofa,
            &mut self.video,
        ]
    }
}

impl<T: Copy> Reading<Charged<T>> {
    /// A measured value whose owner the counter names.
    pub const fn owned(value: T, from: Provenance) -> Self {
        Self::Known(Charged::Measured(Measured { value, from }))
    }

    /// The same measured value with an owner that was inferred in this way.
    #[must_use]
    pub fn inferred(self, basis: InferenceBasis) -> Self {
        match self {
            Self::Known(charged) => Self::Known(charged.inferred(basis)),
            Self::Missing(missing) => Self::Missing(missing),
        }
    }
}

//! Readings: a value with its class and origin, or the reason why there is none.

use crate::gap::Gap;
use crate::ids::Stamp;
use crate::matching::PidMark;
use crate::units::Bytes;

/// Where a value or a gap comes from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Source {
    /// The NVIDIA management library.
    Nvml,
    /// The process file system.
    Proc,
    /// The device file system.
    Sysfs,
    /// What a DRM driver says of an open node (`/proc/PID/fdinfo`).
    Fdinfo,
    /// What the AMD compute driver says of a process (`/sys/class/kfd`).
    Kfd,
    /// The header of a GGUF model file.
    Gguf,
    /// The header of a model file in another format.
    ModelFile,
    /// A command line.
    CommandLine,
    /// A model server's own HTTP interface on loopback.
    Http,
    /// A log that a program writes.
    Log,
    /// A program's settings file.
    Settings,
    /// A state file of a container runtime.
    ContainerState,
    /// Arithmetic on other readings.
    Derived,
    /// This program itself.
    Program,
}

impl Source {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Nvml => "nvml",
            Self::Proc => "proc",
            Self::Sysfs => "sysfs",
            Self::Fdinfo => "fdinfo",
            Self::Kfd => "kfd",
            Self::Gguf => "gguf",
            Self::ModelFile => "model_file",
            Self::CommandLine => "cmdline",
            Self::Http => "http",
            Self::Log => "log",
            Self::Settings => "settings",
            Self::ContainerState => "container_state",
            Self::Derived => "derived",
            Self::Program => "gputaskman",
        }
    }
}

/// Where and when. Cheap to copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Provenance {
    /// The source that answered, or should have.
    pub source: Source,
    /// The counter, call, file or field, in the source's own spelling.
    pub counter: &'static str,
    /// When the source answered; for a gap, when the gap was noticed.
    pub at: Stamp,
}

/// Read from a counter of the kernel or a driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured<T> {
    /// The value.
    pub value: T,
    /// Its counter and moment.
    pub from: Provenance,
}

/// Said by the program that uses the memory (its interface or its log).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported<T> {
    /// The value.
    pub value: T,
    /// Who said it, and when.
    pub by: Provenance,
}

/// A measured size whose owner was inferred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inferred<T> {
    /// The measured value.
    pub value: T,
    /// The counter it was read from.
    pub from: Provenance,
    /// Why it is thought to belong where it is shown.
    pub basis: InferenceBasis,
}

/// How an owner was inferred (`vram_inferred_by` in JSON).
/// The weaker one is the greater.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum InferenceBasis {
    /// Process and driver entry appeared together while watching.
    Start,
    /// Every entry and every candidate is accounted for.
    Count,
    /// Position in start order among unknown others: a guess.
    Order,
}

impl InferenceBasis {
    /// How sure the owner is.
    pub const fn mark(self) -> PidMark {
        match self {
            Self::Start | Self::Count => PidMark::Sure,
            Self::Order => PidMark::Guess,
        }
    }
}

/// Computed, not read: from file metadata, or from other readings. A range where inputs are unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated<T> {
    /// The smallest value that fits what is known.
    pub low: T,
    /// The largest value that fits what is known; equal to `low` where the formula is exact.
    pub high: T,
    /// How it was computed.
    pub method: Method,
    /// What it was computed from, and when.
    pub from: Provenance,
}

/// How an estimate was computed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// Arithmetic on measured values alone.
    Derived,
    /// Arithmetic on the header of a GGUF model file.
    ModelFile,
    /// Sizes of the tensors in a model file of another format, as they are stored.
    StoredTensors,
}

impl Method {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Derived => "derived",
            Self::ModelFile => "gguf",
            Self::StoredTensors => "model_file",
        }
    }
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Missing {
    /// The reason.
    pub gap: Gap,
    /// Who was asked for what, and when.
    pub from: Provenance,
}

/// A quantity: known in one of the four classes, or missing with a reason. `C` is one of
/// [`Measured`], [`Reported`], [`Inferred`], [`Estimated`] or an enum of some of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading<C> {
    /// There is a value.
    Known(C),
    /// There is none, and this is why.
    Missing(Missing),
}

impl<C> Reading<C> {
    /// A gap noticed at `from`.
    pub const fn missing(gap: Gap, from: Provenance) -> Self {
        Self::Missing(Missing { gap, from })
    }

    /// The value with its class, if there is one.
    pub const fn known(&self) -> Option<&C> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing(_) => None,
        }
    }

    /// The reason, if there is no value.
    pub const fn gap(&self) -> Option<Gap> {
        match self {
            Self::Known(_) => None,
            Self::Missing(missing) => Some(missing.gap),
        }
    }
}

impl<T> Reading<Measured<T>> {
    /// A measured value.
    pub const fn measured(value: T, from: Provenance) -> Self {
        Self::Known(Measured { value, from })
    }

    /// The bare value, for drawing and for comparisons within this class.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Known(measured) => Some(&measured.value),
            Self::Missing(_) => None,
        }
    }

    /// The same reading with its value converted; a missing one stays missing.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Reading<Measured<U>> {
        match self {
            Self::Known(Measured { value, from }) => Reading::measured(convert(value), from),
            Self::Missing(missing) => Reading::Missing(missing),
        }
    }
}

/// The result of summing measured sizes: what could be summed, and how many could not.
///
/// This is the only way to add readings. A total with `missing > 0` is a lower bound and is shown
/// as one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Total {
    /// Sum of the known readings.
    pub known: Bytes,
    /// How many readings were known.
    pub counted: u32,
    /// How many readings were missing and are not in the sum.
    pub missing: u32,
    /// Whether a list of what to sum could not be read, so that there may be more.
    pub lists_missing: bool,
}

impl Total {
    /// Sums `readings`. Saturates at `u64::MAX`.
    pub fn of<'a>(readings: impl IntoIterator<Item = &'a Reading<Measured<Bytes>>>) -> Self {
        let mut total = Self::nothing();
        for reading in readings {
            total.include(reading.value().copied());
        }
        total
    }

    /// The total of no readings at all.
    pub const fn nothing() -> Self {
        Self {
            known: Bytes(0),
            counted: 0,
            missing: 0,
            lists_missing: false,
        }
    }

    /// Takes one more measured size in, or counts it as missing.
    pub fn include(&mut self, measured: Option<Bytes>) {
        match measured {
            Some(Bytes(bytes)) => {
                self.known = Bytes(self.known.0.saturating_add(bytes));
                self.counted += 1;
            }
            None => self.missing += 1,
        }
    }

    /// Whether nothing was left out.
    pub const fn is_complete(self) -> bool {
        self.missing == 0 && !self.lists_missing
    }

    /// Whether the sum means anything: it is complete, or it is a lower bound of something.
    pub const fn is_known(self) -> bool {
        self.counted > 0 || self.is_complete()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Provenance = Provenance {
        source: Source::Nvml,
        counter: "test",
        at: Stamp {
            mono_ns: 0,
            wall_us: 0,
        },
    };

    #[test]
    fn a_missing_reading_is_counted_and_not_summed() {
        let total = Total::of([
            &Reading::measured(Bytes(5), FROM),
            &Reading::missing(Gap::HiddenByDriver, FROM),
            &Reading::measured(Bytes(0), FROM),
        ]);
        assert_eq!(
            total,
            Total {
                known: Bytes(5),
                counted: 2,
                missing: 1,
                lists_missing: false,
            }
        );
        assert!(!total.is_complete());
    }

    #[test]
    fn without_a_list_a_sum_of_nothing_is_unknown() {
        let mut total = Total::nothing();
        assert!(total.is_known() && total.is_complete());
        total.lists_missing = true;
        assert!(!total.is_known() && !total.is_complete());
        total.include(Some(Bytes(1)));
        assert!(total.is_known() && !total.is_complete());
    }

    #[test]
    fn huge_readings_saturate_instead_of_wrapping() {
        let huge = Reading::measured(Bytes(u64::MAX), FROM);
        assert_eq!(Total::of([&huge, &huge]).known, Bytes(u64::MAX));
    }
}

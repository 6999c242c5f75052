//! One answer to one reading: return codes become reasons, sentinels become reasons.

use model::{Gap, Measured, Missing, Provenance, Reading, Source, Stamp};
use raw::nvml::{CallAnswer, DeviceCall, Groups, Output, code};
use raw::{Answer, Stamped};

/// The reason behind a return code that is not success.
pub(super) const fn reason(rc: i32) -> Gap {
    match rc {
        code::NOT_SUPPORTED => Gap::NotSupported,
        code::NO_PERMISSION => Gap::Permission,
        code::FUNCTION_NOT_FOUND => Gap::SymbolAbsent,
        code::GPU_IS_LOST => Gap::GpuLost,
        code::TIMEOUT => Gap::TimedOut,
        other => Gap::DriverError(other),
    }
}

/// A return code that is not success, in words and with its number.
pub(super) fn failed(rc: i32) -> String {
    match reason(rc) {
        Gap::DriverError(_) => format!("NVML error {rc}"),
        gap => format!("{} (NVML error {rc})", gap.sentence()),
    }
}

/// Answers of one device, newest of each call.
pub(super) struct DeviceAnswers<'a> {
    pub(super) get: &'a dyn Fn(DeviceCall) -> Answer<&'a CallAnswer>,
    pub(super) now: Stamp,
    /// The device is split: then it has no load as a whole.
    pub(super) mig: bool,
    /// The device is a share of a host's.
    pub(super) vgpu: bool,
}

/// The reading that `convert` makes of a successful answer to the call of this name.
pub(super) fn read_as<T>(
    counter: &'static str,
    answer: Answer<&CallAnswer>,
    now: Stamp,
    convert: impl FnOnce(&CallAnswer) -> Result<T, Gap>,
) -> Reading<Measured<T>> {
    let from = |at| Provenance {
        source: Source::Nvml,
        counter,
        at,
    };
    match answer {
        Err(gap) => Reading::missing(gap, from(now)),
        Ok(Stamped { at, value }) => {
            let result = if value.rc == code::SUCCESS {
                convert(value)
            } else {
                Err(reason(value.rc))
            };
            match result {
                Ok(value) => Reading::measured(value, from(at)),
                Err(gap) => Reading::missing(gap, from(at)),
            }
        }
    }
}

impl DeviceAnswers<'_> {
    pub(super) const fn provenance(call: DeviceCall, at: Stamp) -> Provenance {
        Provenance {
            source: Source::Nvml,
            counter: call.name(),
            at,
        }
    }

    /// The reading that `convert` makes of a successful answer; `None` from it is implausible.
    pub(super) fn read<T>(
        &self,
        call: DeviceCall,
        convert: impl FnOnce(&CallAnswer) -> Result<T, Gap>,
    ) -> Reading<Measured<T>> {
        let reading = read_as(call.name(), (self.get)(call), self.now, convert);
        match reading {
            Reading::Missing(Missing { gap, from }) => {
                Reading::missing(self.finer(call, gap), from)
            }
            known @ Reading::Known(_) => known,
        }
    }

    /// The reason that the state of the device explains better than the return code.
    fn finer(&self, call: DeviceCall, gap: Gap) -> Gap {
        match gap {
            Gap::NotSupported if self.mig && call.name().contains("Utilization") => Gap::Mig,
            Gap::NotSupported if self.vgpu && !Groups::STATIC.contains(call.group()) => Gap::Vgpu,
            other => other,
        }
    }

    /// A single number within `range`.
    pub(super) fn number<T>(
        &self,
        call: DeviceCall,
        range: std::ops::RangeInclusive<i64>,
        convert: impl FnOnce(u32) -> T,
    ) -> Reading<Measured<T>> {
        self.read(call, |answer| match answer.out {
            Output::Number(n) if range.contains(&n) => {
                u32::try_from(n).map(convert).map_err(|_| Gap::Implausible)
            }
            Output::Number(_) => Err(Gap::Implausible),
            _ => Err(Gap::Malformed),
        })
    }

    /// The number at `position` of several, within `0..=max`.
    pub(super) fn nth<T>(
        &self,
        call: DeviceCall,
        position: usize,
        max: u64,
        convert: impl FnOnce(u32) -> T,
    ) -> Reading<Measured<T>> {
        self.read(call, |answer| match &answer.out {
            Output::Numbers(numbers) => {
                let n = numbers.get(position).copied().ok_or(Gap::Malformed)?;
                if n > max {
                    return Err(Gap::Implausible);
                }
                u32::try_from(n).map(convert).map_err(|_| Gap::Implausible)
            }
            _ => Err(Gap::Malformed),
        })
    }

    /// A text that is not empty.
    pub(super) fn text(&self, call: DeviceCall) -> Reading<Measured<model::Text>> {
        self.read(call, |answer| match &answer.out {
            Output::Text(text) if !model::names::is_blank(text) => Ok(text.clone()),
            Output::Text(_) => Err(Gap::NotFound),
            _ => Err(Gap::Malformed),
        })
    }
}

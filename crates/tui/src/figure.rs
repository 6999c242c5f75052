//! Readings as text: the number with the marks of its class, `n/a` for a gap, never an invented
//! zero.

use std::borrow::Cow;

use model::{
    Bytes, BytesPerSecond, Charge, Charged, ChargedBytes, ChargedPercent, Estimated, Gap, Measured,
    Percent, PidMark, Reading, Reported,
};

use output::compare::change::{Change, NOTABLE};
use ratatui::style::Style;

use crate::theme::{Class, Look};

/// A figure ready to be drawn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Figure {
    /// The text, marks included.
    pub(crate) text: Cow<'static, str>,
    /// Its class.
    pub(crate) class: Class,
}

impl Figure {
    /// A measured figure.
    pub(crate) fn measured(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: text.into(),
            class: Class::Measured,
        }
    }

    /// A gap.
    pub(crate) fn gap(gap: Gap, look: Look) -> Self {
        if gap.is_pending() {
            Self {
                text: look.pending().into(),
                class: Class::Pending,
            }
        } else {
            Self {
                text: "n/a".into(),
                class: Class::Missing,
            }
        }
    }

    /// Whether there is a value that can be drawn.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.class, Class::Missing | Class::Pending) && self.text != "n/a"
    }

    /// Nothing was looked for or found: a dash, neither a number nor a gap.
    pub(crate) fn none() -> Self {
        Self::measured("-")
    }
}

/// A part and its whole, `286/320W`. Nothing is a part of what is not known; a whole whose part is not known stands
/// behind its `name`.
pub(crate) fn part_of(
    part: Figure,
    whole: Figure,
    name: &str,
    unit: &str,
    look: Look,
) -> Vec<(Cow<'static, str>, Style)> {
    let known = (part.is_known(), whole.is_known());
    let plain = |text: &str| (Cow::Owned(text.to_owned()), look.plain());
    let mut out = vec![(part.text, look.class(part.class))];
    match known {
        (true, true) => {
            out.push(plain("/"));
            out.push((whole.text, look.class(whole.class)));
            out.push(plain(unit));
        }
        (true, false) => out.push(plain(unit)),
        (false, true) => {
            out.push(plain(&format!(" ({name} ")));
            out.push((whole.text, look.class(whole.class)));
            out.push(plain(&format!("{unit})")));
        }
        (false, false) => {}
    }
    out
}

/// A change since the mark; one that is smaller than what is notable is dimmed.
pub(crate) fn change(change: Change, look: Look) -> Figure {
    let class = match change {
        Change::Measured(bytes) | Change::Inferred(bytes) if bytes.unsigned_abs() < NOTABLE => {
            Class::Missing
        }
        Change::Inferred(_) => Class::Inferred,
        _ => Class::Measured,
    };
    let text = match change {
        Change::Measured(bytes) => output::format::difference(bytes),
        Change::Inferred(bytes) => output::format::difference(bytes) + "?",
        Change::New => "new".to_owned(),
        Change::Gone => "gone".to_owned(),
        Change::Missing(gap) => return Figure::gap(gap, look),
    };
    Figure {
        text: text.into(),
        class,
    }
}

/// A measured reading through `show`.
pub(crate) fn measured<T>(
    reading: &Reading<Measured<T>>,
    look: Look,
    show: impl FnOnce(&T) -> String,
) -> Figure {
    match reading {
        Reading::Known(known) => Figure::measured(show(&known.value)),
        Reading::Missing(missing) => Figure::gap(missing.gap, look),
    }
}

/// A size on a device with the mark of a matched owner.
pub(crate) fn charged(reading: &Reading<ChargedBytes>, look: Look) -> Figure {
    marked(owned(reading, look, |value| size(*value)), reading)
}

/// The device memory of a charge; where nothing can be charged and its bounds are the same, that in the class of what is
/// derived.
pub(crate) fn vram(charge: &Charge, look: Look) -> Figure {
    let exact = charge.drm.as_ref().and_then(|drm| drm.exact_vram());
    match (charge.memory.vram.known(), exact) {
        (None, Some(own)) => Figure {
            text: output::format::estimate(own.low, own.high).into(),
            class: Class::Estimated,
        },
        _ => charged(&charge.memory.vram, look),
    }
}

/// A load on a device with the mark of a matched owner.
pub(crate) fn load(reading: &Reading<ChargedPercent>, look: Look) -> Figure {
    marked(owned(reading, look, |value| percent(*value)), reading)
}

/// A value on a device in its class, without a mark.
pub(crate) fn owned<T: Copy>(
    reading: &Reading<Charged<T>>,
    look: Look,
    show: impl FnOnce(&T) -> String,
) -> Figure {
    match reading {
        Reading::Known(known) => Figure {
            text: show(&known.value()).into(),
            class: match known {
                Charged::Measured(_) => Class::Measured,
                Charged::Inferred(_) => Class::Inferred,
            },
        },
        Reading::Missing(missing) => Figure::gap(missing.gap, look),
    }
}

fn marked<T: Copy>(mut figure: Figure, reading: &Reading<Charged<T>>) -> Figure {
    if let Some(basis) = reading.known().and_then(Charged::basis) {
        let text = figure.text.to_mut();
        text.push(' ');
        text.push(mark(basis.mark()));
    }
    figure
}

/// The sign beside a matched process.
pub(crate) const fn mark(mark: PidMark) -> char {
    match mark {
        PidMark::Sure => '*',
        PidMark::Guess => '?',
    }
}

/// A reported size.
pub(crate) fn reported(reading: &Reading<Reported<Bytes>>, look: Look) -> Figure {
    match reading {
        Reading::Known(known) => Figure {
            text: format!("{} r", size(known.value)).into(),
            class: Class::Reported,
        },
        Reading::Missing(missing) => Figure::gap(missing.gap, look),
    }
}

/// A reported count.
pub(crate) fn reported_count(reading: &Reading<Reported<u64>>, look: Look) -> Figure {
    match reading {
        Reading::Known(known) => Figure {
            text: format!("{} r", known.value).into(),
            class: Class::Reported,
        },
        Reading::Missing(missing) => Figure::gap(missing.gap, look),
    }
}

/// An estimated size, a range where its ends differ.
pub(crate) fn estimated(reading: &Reading<Estimated<Bytes>>, look: Look) -> Figure {
    match reading {
        Reading::Known(known) => Figure {
            text: output::format::estimate(known.low, known.high).into(),
            class: Class::Estimated,
        },
        Reading::Missing(missing) => Figure::gap(missing.gap, look),
    }
}

/// A percentage without its sign. A load that was measured above zero is never shown as zero.
pub(crate) fn percent(share: Percent) -> String {
    output::format::percent(share)
}

/// A size with three significant digits.
pub(crate) fn size(bytes: Bytes) -> String {
    output::format::size(bytes)
}

/// A transfer rate.
pub(crate) fn rate(rate: BytesPerSecond) -> String {
    format!("{}/s", size(Bytes(rate.0)))
}

/// A finite number without decimals; what cannot be drawn is `n/a`.
pub(crate) fn whole(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.0}")
    } else {
        "n/a".to_owned()
    }
}

/// Untrusted text, fit to be drawn.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    output::format::sanitize(text)
}

/// `HH:MM:SS` in UTC of a wall clock in microseconds.
pub(crate) fn clock(wall_us: i64) -> String {
    let seconds = wall_us.div_euclid(1_000_000).rem_euclid(86_400);
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

//! The fields: what of a row a test looks at.

use std::cmp::Ordering;

use model::{Charged, ChargedBytes, ChargedPercent, EvidenceLabel, Reading, names::is_blank};

use super::Row;
use super::word::Words;

/// What a field's value is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Words,
    Size,
    Percent,
    Number,
    State,
}

impl Kind {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Words => "text",
            Self::Size => "size: 500M, 1.5G, or bytes",
            Self::Percent => "percent",
            Self::Number => "number",
            Self::State => "na, inferred, guessed, confirmed, candidate, idle, busy",
        }
    }
}

/// A field by its name.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) id: Id,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Id {
    Name,
    Model,
    Type,
    Runtime,
    User,
    Container,
    Command,
    Pid,
    Port,
    Device,
    Vram,
    Spill,
    Paged,
    Gpu,
    Graphics,
    Compute,
    Copy,
    Encode,
    Decode,
    Is,
}

const fn field(name: &'static str, kind: Kind, id: Id) -> Field {
    Field { name, kind, id }
}

pub(super) const ALL: &[Field] = &[
    field("name", Kind::Words, Id::Name),
    field("model", Kind::Words, Id::Model),
    field("type", Kind::Words, Id::Type),
    field("runtime", Kind::Words, Id::Runtime),
    field("user", Kind::Words, Id::User),
    field("container", Kind::Words, Id::Container),
    field("cmd", Kind::Words, Id::Command),
    field("pid", Kind::Number, Id::Pid),
    field("port", Kind::Number, Id::Port),
    field("device", Kind::Number, Id::Device),
    field("vram", Kind::Size, Id::Vram),
    field("spill", Kind::Size, Id::Spill),
    field("paged", Kind::Size, Id::Paged),
    field("gpu", Kind::Percent, Id::Gpu),
    field("3d", Kind::Percent, Id::Graphics),
    field("compute", Kind::Percent, Id::Compute),
    field("copy", Kind::Percent, Id::Copy),
    field("enc", Kind::Percent, Id::Encode),
    field("dec", Kind::Percent, Id::Decode),
    field("is", Kind::State, Id::Is),
];

/// How a number is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Above => order.is_gt(),
            Self::AtLeast => order.is_ge(),
            Self::Below => order.is_lt(),
            Self::AtMost => order.is_le(),
        }
    }
}

/// A state that a row is in or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Its device memory is missing.
    Missing,
    /// Its memory was matched to it.
    Inferred,
    /// Its memory was matched to it by a guess.
    Guessed,
    /// Its model is confirmed.
    Confirmed,
    /// Its model is a candidate or history.
    Candidate,
    /// Its busiest engine does nothing.
    Idle,
    /// Its busiest engine does something.
    Busy,
}

pub(super) const STATES: &[(&str, State)] = &[
    ("na", State::Missing),
    ("inferred", State::Inferred),
    ("guessed", State::Guessed),
    ("confirmed", State::Confirmed),
    ("candidate", State::Candidate),
    ("idle", State::Idle),
    ("busy", State::Busy),
];

/// One test of one row.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// Any of the fields that a bare word is looked for in.
    Anywhere(Words),
    Words(Id, Words, bool),
    Number(Id, Comparison, f64),
    State(State),
}

impl Test {
    pub(super) fn holds(&self, row: Row<'_>) -> Option<bool> {
        match self {
            Self::Anywhere(words) => Some(anywhere(words, row)),
            Self::Words(id, words, wanted) => {
                texts(*id, row, |text| words.fits(text)).map(|fits| fits == *wanted)
            }
            Self::Number(id, comparison, wanted) => number(*id, *comparison, *wanted, row),
            Self::State(state) => is_in(*state, row),
        }
    }
}

/// What is missing is no text in which a word could be found.
fn anywhere(words: &Words, row: Row<'_>) -> bool {
    let fields = [Id::Name, Id::Model, Id::Type, Id::Runtime];
    fields
        .into_iter()
        .any(|id| texts(id, row, |text| words.fits(text)) == Some(true))
        || words.fits(&row.process.key.to_string())
}

/// Whether a text of the field fits; `None` where the field is missing.
fn texts(id: Id, row: Row<'_>, fits: impl Fn(&str) -> bool) -> Option<bool> {
    let process = row.process;
    match id {
        Id::Name => process.name.value().map(|name| fits(name)),
        Id::Model => Some(process.models.iter().any(|model| {
            fits(&model.name) || model.quantization.value().is_some_and(|it| fits(it))
        })),
        Id::Type => Some(fits(process.category_label()) || fits(process.category.id())),
        Id::Runtime => {
            let runtimes = process.runtimes.value()?;
            Some(runtimes.iter().any(|runtime| fits(runtime.name)))
        }
        Id::User => process.user.value().map(|user| fits(user)),
        Id::Container => {
            let Some(container) = process.container.value()? else {
                return Some(false);
            };
            let name = container.name.value().filter(|it| !is_blank(&it.name));
            Some(
                fits(&container.id)
                    || fits(container.runtime)
                    || name.is_some_and(|name| fits(&name.label())),
            )
        }
        Id::Command => {
            let arguments = process.command_line.value()?;
            let line: Vec<&str> = arguments.iter().map(|text| &**text).collect();
            Some(fits(&line.join(" ")))
        }
        _ => None,
    }
}

fn number(id: Id, comparison: Comparison, wanted: f64, row: Row<'_>) -> Option<bool> {
    let compare = |value: f64| {
        let order = value.partial_cmp(&wanted)?;
        Some(comparison.holds(order))
    };
    let size = |reading: &Reading<ChargedBytes>| compare(reading.known()?.value().as_f64());
    let load = |reading: &Reading<ChargedPercent>| compare(reading.known()?.value().0);
    let process = row.process;
    match id {
        Id::Pid => compare(f64::from(process.key.pid)),
        Id::Port => {
            let ports = process.ports.value()?;
            let any = |holds: bool| {
                ports
                    .iter()
                    .any(|port| compare(f64::from(*port)) == Some(holds))
            };
            Some(if comparison == Comparison::Unequal {
                !any(false)
            } else {
                any(true)
            })
        }
        Id::Device => compare(f64::from(row.charge?.device_index)),
        Id::Vram => size(&row.charge?.memory.vram),
        Id::Spill => size(&row.charge?.memory.spill),
        // The whole range has to lie on one side.
        Id::Paged => {
            let paged = row.charge?.memory.paged.known()?;
            let low = compare(paged.low.as_f64())?;
            let high = compare(paged.high.as_f64())?;
            (low == high).then_some(low)
        }
        Id::Gpu => load(&row.charge?.engines.busiest),
        Id::Graphics => load(&row.charge?.engines.graphics),
        Id::Compute => load(&row.charge?.engines.compute),
        Id::Copy => load(&row.charge?.engines.copy),
        Id::Encode => load(&row.charge?.engines.encode),
        Id::Decode => load(&row.charge?.engines.decode),
        _ => None,
    }
}

fn is_in(state: State, row: Row<'_>) -> Option<bool> {
    let vram = row.charge.map(|charge| &charge.memory.vram);
    let basis = || vram?.known().and_then(Charged::basis);
    let label = row.process.models.first().map(|model| model.label);
    let load = || Some(row.charge?.engines.busiest.known()?.value().0);
    match state {
        State::Missing => Some(vram.is_none_or(|reading| reading.known().is_none())),
        State::Inferred => Some(basis().is_some()),
        State::Guessed => Some(basis().is_some_and(|it| it.mark() == model::PidMark::Guess)),
        State::Confirmed => Some(label == Some(EvidenceLabel::Confirmed)),
        State::Candidate => Some(matches!(
            label,
            Some(EvidenceLabel::Candidate | EvidenceLabel::History)
        )),
        State::Idle => load().map(|percent| percent <= 0.0),
        State::Busy => load().map(|percent| percent > 0.0),
    }
}

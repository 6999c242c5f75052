//! The columns of the process table: what each shows, how it sorts, and which of them fit.

mod layout;

use std::cmp::Ordering;
use std::fmt::Write as _;

use model::{
    Charge, ChargedBytes, ChargedPercent, Container, EvidenceLabel, Measured, Process, Reading,
    Text, names::is_blank,
};

pub(crate) use output::filter::Row;

use output::compare::change::{Change, RowChange};

use crate::figure::{self, Figure};
use crate::theme::Look;

pub(crate) use self::layout::{Arrangement, arrange};
use self::layout::{SHAPES, Shape};

/// A column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Column {
    /// Index of the device; only where all devices are shown.
    Device,
    /// MIG instance; only where a row has one and the device's number does not stand before it.
    Instance,
    /// Process number.
    Pid,
    /// Name.
    Name,
    /// Category.
    Type,
    /// Mapped runtimes.
    Runtimes,
    /// The most certain model.
    Model,
    /// Device memory.
    Vram,
    /// Change of the device memory since the mark.
    VramChange,
    /// GPU-accessible system memory.
    Spill,
    /// Its change since the mark.
    SpillChange,
    /// Memory that was moved out of the device.
    Paged,
    /// Load of the busiest engine.
    Load,
    /// Load of the graphics engine.
    Graphics,
    /// Load of the compute engines.
    Compute,
    /// Load of the copy engines.
    Copy,
    /// Encoder load.
    Encode,
    /// Decoder load.
    Decode,
    /// User.
    User,
    /// Container.
    Container,
}

/// What a row is sorted by.
enum Key<'a> {
    Number(f64),
    Words(&'a str),
    /// Without a value: last in both directions.
    None,
}

impl Column {
    fn shape(self) -> &'static Shape {
        // Every column is in the table; a test checks it.
        SHAPES
            .iter()
            .find(|shape| shape.column == self)
            .unwrap_or(&SHAPES[0])
    }

    /// All in display order.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        SHAPES.iter().map(|shape| shape.column)
    }

    /// The heading.
    pub(crate) fn title(self) -> &'static str {
        self.shape().title
    }

    /// Whether it is aligned to the right.
    pub(crate) fn is_right(self) -> bool {
        self.shape().right
    }

    /// Whether the first click sorts it downwards: quantities do, names do not.
    pub(crate) const fn prefers_descending(self) -> bool {
        self.is_of_the_moment() || self.is_change()
    }

    /// Whether it shows what a process holds or does on a device now.
    const fn is_of_the_moment(self) -> bool {
        matches!(
            self,
            Self::Vram
                | Self::Spill
                | Self::Paged
                | Self::Load
                | Self::Graphics
                | Self::Compute
                | Self::Copy
                | Self::Encode
                | Self::Decode
        )
    }

    /// Whether it shows what changed since the mark.
    pub(crate) const fn is_change(self) -> bool {
        matches!(self, Self::VramChange | Self::SpillChange)
    }

    /// Its part of what changed in a row.
    fn change(self, row: Row<'_>) -> Option<Change> {
        let change = row.change?;
        Some(match self {
            Self::SpillChange => change.spill,
            _ => change.vram,
        })
    }

    /// Whether the column may be dropped where no row has a value for it.
    pub(super) const fn may_be_absent(self) -> bool {
        matches!(
            self,
            Self::Spill
                | Self::SpillChange
                | Self::Paged
                | Self::Graphics
                | Self::Compute
                | Self::Copy
                | Self::Encode
                | Self::Decode
                | Self::User
                | Self::Container
                | Self::Runtimes
        )
    }

    fn is_missing(self, row: Row<'_>) -> bool {
        let of_charge = |gap: fn(&Charge) -> Option<model::Gap>| {
            row.charge.map_or(Some(model::Gap::NotListed), gap)
        };
        if self == Self::SpillChange {
            return !matches!(self.change(row), Some(change) if change.bytes().is_some());
        }
        let gap = match self {
            Self::Spill => of_charge(|c| c.memory.spill.gap()),
            Self::Paged => of_charge(|c| c.memory.paged.gap()),
            Self::Graphics => of_charge(|c| c.engines.graphics.gap()),
            Self::Compute => of_charge(|c| c.engines.compute.gap()),
            Self::Copy => of_charge(|c| c.engines.copy.gap()),
            Self::Encode => of_charge(|c| one_of(&c.engines.encode, &c.engines.video).gap()),
            Self::Decode => of_charge(|c| one_of(&c.engines.decode, &c.engines.video).gap()),
            Self::User => row.process.user.gap(),
            Self::Container => row.process.container.gap(),
            Self::Runtimes => row.process.runtimes.gap(),
            Self::Device
            | Self::Instance
            | Self::Pid
            | Self::Name
            | Self::Type
            | Self::Model
            | Self::Vram
            | Self::VramChange
            | Self::SpillChange
            | Self::Load => None,
        };
        gap.is_some_and(|gap| !gap.is_pending())
    }

    /// The cell of `row`, at most `cells` wide where the text has to be cut in its middle.
    pub(crate) fn cell(self, row: Row<'_>, cells: u16, look: Look) -> Figure {
        let process = row.process;
        // What was measured at the time of the mark is not what is.
        let was = row.change.is_some_and(RowChange::is_gone);
        match self {
            _ if was && self.is_of_the_moment() => Figure::none(),
            Self::Device => row.charge.map_or_else(Figure::none, |charge| {
                Figure::measured(match charge.instance {
                    Some((gpu, _)) => format!("{}/{gpu}", charge.device_index),
                    None => charge.device_index.to_string(),
                })
            }),
            Self::Instance => row
                .charge
                .and_then(|charge| charge.instance)
                .map_or_else(Figure::none, |(gpu, compute)| {
                    Figure::measured(format!("{gpu}/{compute}"))
                }),
            Self::Pid => Figure::measured(process.key.to_string()),
            Self::Name => name(process, look),
            Self::Type => Figure::measured(process.category_label()),
            Self::Runtimes => figure::measured(&process.runtimes, look, |runtimes| {
                let names: Vec<&str> = runtimes.iter().map(|runtime| runtime.name).collect();
                if names.is_empty() {
                    "-".to_owned()
                } else {
                    names.join(" ")
                }
            }),
            Self::Model => model_name(process, cells, look),
            Self::Vram => charge_figure(row, look, |charge| figure::vram(charge, look)),
            Self::Spill => charge_figure(row, look, |charge| {
                figure::charged(&charge.memory.spill, look)
            }),
            Self::VramChange | Self::SpillChange => self
                .change(row)
                .map_or_else(Figure::none, |it| figure::change(it, look)),
            Self::Load => charge_figure(row, look, |c| figure::load(&c.engines.busiest, look)),
            Self::Paged => charge_figure(row, look, |c| figure::estimated(&c.memory.paged, look)),
            Self::Graphics => charge_figure(row, look, |c| percent(&c.engines.graphics, look)),
            Self::Compute => charge_figure(row, look, |c| percent(&c.engines.compute, look)),
            Self::Copy => charge_figure(row, look, |c| percent(&c.engines.copy, look)),
            Self::Encode => charge_figure(row, look, |c| {
                percent(one_of(&c.engines.encode, &c.engines.video), look)
            }),
            Self::Decode => charge_figure(row, look, |c| {
                percent(one_of(&c.engines.decode, &c.engines.video), look)
            }),
            Self::User => {
                figure::measured(&process.user, look, |user| figure::clean(user).into_owned())
            }
            Self::Container => figure::measured(&process.container, look, |container| {
                container
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |it| container_name(it, cells, look))
            }),
        }
    }

    fn key(self, row: Row<'_>) -> Key<'_> {
        fn words(reading: &Reading<Measured<Text>>) -> Key<'_> {
            reading.value().map_or(Key::None, |text| Key::Words(text))
        }
        fn load(reading: Option<&Reading<ChargedPercent>>) -> Key<'static> {
            reading
                .and_then(Reading::known)
                .map(ChargedPercent::value)
                .filter(|percent| percent.0.is_finite())
                .map_or(Key::None, |percent| Key::Number(percent.0))
        }
        fn size(reading: Option<&Reading<ChargedBytes>>) -> Key<'static> {
            reading
                .and_then(Reading::known)
                .map_or(Key::None, |known| Key::Number(known.value().as_f64()))
        }
        let process = row.process;
        match self {
            Self::Device => row
                .charge
                .map_or(Key::None, |c| Key::Number(f64::from(c.device_index))),
            Self::Instance => row
                .charge
                .and_then(|charge| charge.instance)
                .map_or(Key::None, |(gpu, compute)| {
                    Key::Number(f64::from(gpu) * 1000.0 + f64::from(compute))
                }),
            Self::Pid => Key::Number(f64::from(process.key.pid)),
            Self::Name => words(&process.name),
            Self::Type => Key::Words(process.category_label()),
            Self::Runtimes => process
                .runtimes
                .value()
                .and_then(|runtimes| runtimes.first())
                .map_or(Key::None, |first| Key::Words(first.name)),
            Self::Model => process
                .models
                .first()
                .map_or(Key::None, |model| Key::Words(&model.name)),
            Self::Vram => size(row.charge.map(|c| &c.memory.vram)),
            Self::VramChange | Self::SpillChange => {
                let change = self.change(row).and_then(Change::bytes);
                change.map_or(Key::None, |bytes| {
                    let size = model::Bytes(bytes.unsigned_abs()).as_f64();
                    Key::Number(if bytes < 0 { -size } else { size })
                })
            }
            Self::Spill => size(row.charge.map(|c| &c.memory.spill)),
            Self::Paged => {
                let paged = row.charge.and_then(|c| c.memory.paged.known());
                paged.map_or(Key::None, |it| Key::Number(it.low.as_f64()))
            }
            Self::Load => load(row.charge.map(|c| &c.engines.busiest)),
            Self::Graphics => load(row.charge.map(|c| &c.engines.graphics)),
            Self::Compute => load(row.charge.map(|c| &c.engines.compute)),
            Self::Copy => load(row.charge.map(|c| &c.engines.copy)),
            Self::Encode => load(
                row.charge
                    .map(|c| one_of(&c.engines.encode, &c.engines.video)),
            ),
            Self::Decode => load(
                row.charge
                    .map(|c| one_of(&c.engines.decode, &c.engines.video)),
            ),
            Self::User => words(&process.user),
            Self::Container => match process.container.value() {
                Some(Some(container)) => Key::Words(
                    container
                        .name
                        .value()
                        .map_or(&container.id, |named| &named.name),
                ),
                _ => Key::None,
            },
        }
    }

    /// The order of two rows by this column. Rows without a value come last in both directions.
    pub(crate) fn compare(self, a: Row<'_>, b: Row<'_>, descending: bool) -> Ordering {
        let turned = |order: Ordering| if descending { order.reverse() } else { order };
        match (self.key(a), self.key(b)) {
            (Key::None, Key::None) => Ordering::Equal,
            // A column has keys of one kind only, so that the kinds never meet.
            (Key::None, _) | (Key::Words(_), Key::Number(_)) => Ordering::Greater,
            (_, Key::None) | (Key::Number(_), Key::Words(_)) => Ordering::Less,
            (Key::Number(a), Key::Number(b)) => turned(a.total_cmp(&b)),
            (Key::Words(a), Key::Words(b)) => turned(compare_words(a, b)),
        }
    }
}

/// Letter case decides only between names that are otherwise equal.
fn compare_words(a: &str, b: &str) -> Ordering {
    let lower = |text: &str| {
        text.chars()
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    lower(a).cmp(&lower(b)).then_with(|| a.cmp(b))
}

/// One ring for both directions of video stands in where the direction is not told apart.
pub(crate) fn one_of<'a>(
    direction: &'a Reading<ChargedPercent>,
    both: &'a Reading<ChargedPercent>,
) -> &'a Reading<ChargedPercent> {
    if direction.known().is_none() && both.known().is_some() {
        both
    } else {
        direction
    }
}

fn percent(reading: &Reading<ChargedPercent>, look: Look) -> Figure {
    figure::owned(reading, look, |value| figure::percent(*value))
}

fn charge_figure(row: Row<'_>, look: Look, show: impl FnOnce(&Charge) -> Figure) -> Figure {
    row.charge
        .map_or_else(|| Figure::gap(model::Gap::NotListed, look), show)
}

/// The name, or in words why there is none.
pub(crate) fn name(process: &Process, look: Look) -> Figure {
    match &process.name {
        Reading::Known(known) if is_blank(&known.value) => Figure::measured("(no name)"),
        Reading::Known(known) => Figure::measured(figure::clean(&known.value).into_owned()),
        Reading::Missing(missing) => {
            let gap = Figure::gap(missing.gap, look);
            let text = match missing.gap {
                model::Gap::OutsideNamespace => "(outside)",
                model::Gap::Exited => "(exited)",
                model::Gap::NotFound => "(no name)",
                _ => return gap,
            };
            Figure {
                text: text.into(),
                ..gap
            }
        }
    }
}

fn model_name(process: &Process, cells: u16, look: Look) -> Figure {
    let Some(model) = process.models.first() else {
        let unseen = process.runtimes.gap();
        return unseen.map_or_else(Figure::none, |gap| Figure::gap(gap, look));
    };
    let mut name = figure::clean(&model.name).into_owned();
    if let Some(quantization) = model.quantization.value() {
        name.push(' ');
        name.push_str(&figure::clean(quantization));
    }
    let mut end = String::new();
    if process.models.len() > 1 {
        let _ = write!(end, " +{}", process.models.len() - 1);
    }
    if model.label == EvidenceLabel::Confirmed {
        end.push_str(" ✓");
    }
    let room = usize::from(cells).saturating_sub(crate::paint::width(&end));
    let mut text = crate::paint::cut_middle(&name, room, look);
    text.push_str(&end);
    Figure::measured(text)
}

/// What a container is called and its identifier; what is too long loses its middle, and before that
/// the identifier goes.
fn container_name(container: &Container, cells: u16, look: Look) -> String {
    let id = figure::clean(&container.id);
    let name = container.name.value();
    let name = name.filter(|named| !is_blank(&named.name));
    let named = match name {
        Some(named) if *named.name == *container.id => return id.into_owned(),
        Some(named) => figure::clean(&named.label()).into_owned(),
        None => container.runtime.to_owned(),
    };
    let both = format!("{named} {id}");
    let room = usize::from(cells);
    if crate::paint::width(&both) <= room {
        both
    } else if name.is_some() {
        crate::paint::cut_middle(&named, room, look)
    } else {
        id.into_owned()
    }
}

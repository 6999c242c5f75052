//! The columns of the process table: what each shows, how it sorts, and which of them fit.

use std::cmp::Ordering;
use std::fmt::Write as _;

use model::{
    Charge, Charged, ChargedBytes, ChargedPercent, Container, EvidenceLabel, Measured, Process,
    Reading, Text, names::is_blank,
};

pub(crate) use output::filter::Row;

use crate::figure::{self, Figure};
use crate::theme::Look;

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
    /// GPU-accessible system memory.
    Spill,
    /// Load of the busiest engine.
    Load,
    /// Encoder load.
    Encode,
    /// Decoder load.
    Decode,
    /// User.
    User,
    /// Container.
    Container,
}

/// How a column is laid out.
struct Shape {
    column: Column,
    title: &'static str,
    /// Least and largest width in cells.
    cells: (u16, u16),
    right: bool,
    /// Lower ones stay longer when the screen is narrow.
    priority: u8,
}

const fn shape(
    column: Column,
    title: &'static str,
    cells: (u16, u16),
    right: bool,
    priority: u8,
) -> Shape {
    Shape {
        column,
        title,
        cells,
        right,
        priority,
    }
}

/// All columns in display order.
const SHAPES: &[Shape] = &[
    shape(Column::Device, "GPU", (3, 3), true, 3),
    shape(Column::Instance, "MIG", (4, 5), true, 3),
    shape(Column::Pid, "PID", (8, 9), true, 0),
    shape(Column::Name, "NAME", (15, 20), false, 1),
    shape(Column::Type, "TYPE", (8, 9), false, 4),
    shape(Column::Runtimes, "RUNTIMES", (12, 30), false, 8),
    shape(Column::Model, "MODEL", (22, 44), false, 6),
    shape(Column::Vram, "VRAM", (8, 8), true, 2),
    shape(Column::Spill, "SPILL", (7, 8), true, 7),
    shape(Column::Load, "GPU%", (5, 5), true, 5),
    shape(Column::Encode, "ENC", (4, 4), true, 9),
    shape(Column::Decode, "DEC", (4, 4), true, 9),
    shape(Column::User, "USER", (8, 12), false, 10),
    shape(Column::Container, "CONTAINER", (12, 32), false, 11),
];

/// What a row is sorted by.
enum Key<'a> {
    Number(f64),
    Words(&'a str),
    /// Without a value: last in both directions.
    None,
}

/// A column in its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Placed {
    /// Which.
    pub(crate) column: Column,
    /// Its width.
    pub(crate) cells: u16,
    /// First cell, from the left edge of the table.
    pub(crate) x: u16,
}

/// The columns that fit, and what became of the others.
#[derive(Debug, Default)]
pub(crate) struct Arrangement {
    /// In display order.
    pub(crate) placed: Vec<Placed>,
    /// Left out for lack of width.
    pub(crate) hidden: usize,
    /// Left out because no row has a value: their titles.
    pub(crate) absent: Vec<&'static str>,
    /// Whether any size or load has a matched owner, so that the others leave room for its mark.
    pub(crate) size_marks: bool,
    pub(crate) load_marks: bool,
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
        matches!(
            self,
            Self::Vram | Self::Spill | Self::Load | Self::Encode | Self::Decode
        )
    }

    /// Whether the column may be dropped where no row has a value for it.
    const fn may_be_absent(self) -> bool {
        matches!(
            self,
            Self::Spill
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
        let gap = match self {
            Self::Spill => of_charge(|c| c.memory.spill.gap()),
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
            | Self::Load => None,
        };
        gap.is_some_and(|gap| !gap.is_pending())
    }

    /// The cell of `row`, at most `cells` wide where the text has to be cut in its middle.
    pub(crate) fn cell(self, row: Row<'_>, cells: u16, look: Look) -> Figure {
        let process = row.process;
        match self {
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
            Self::Load => charge_figure(row, look, |c| figure::load(&c.engines.busiest, look)),
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
            Self::Spill => size(row.charge.map(|c| &c.memory.spill)),
            Self::Load => load(row.charge.map(|c| &c.engines.busiest)),
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
fn one_of<'a>(
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

fn is_inferred<T: Copy>(reading: &Reading<Charged<T>>) -> bool {
    reading.known().is_some_and(|known| known.basis().is_some())
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

/// Chooses the columns for `width` cells.
pub(crate) fn arrange<'a>(
    width: u16,
    all_devices: bool,
    sort: Column,
    rows: &(impl Iterator<Item = Row<'a>> + Clone),
) -> Arrangement {
    let mut arrangement = Arrangement::default();
    let mut chosen: Vec<&Shape> = Vec::with_capacity(SHAPES.len());
    let some = rows.clone().next().is_some();
    let charges = || rows.clone().filter_map(|row| row.charge);
    arrangement.size_marks = charges().any(|on| is_inferred(&on.memory.vram));
    arrangement.load_marks = charges().any(|on| is_inferred(&on.engines.busiest));
    for shape in SHAPES {
        let column = shape.column;
        let in_instance = |row: Row<'_>| row.charge.is_some_and(|charge| charge.instance.is_some());
        let applies = match column {
            Column::Device => all_devices,
            Column::Instance => !all_devices && rows.clone().any(in_instance),
            _ => true,
        };
        if !applies {
            continue;
        }
        let absent = some
            && column.may_be_absent()
            && column != sort
            && rows.clone().all(|row| column.is_missing(row));
        if absent {
            arrangement.absent.push(shape.title);
        } else {
            chosen.push(shape);
        }
    }
    // One cell of margin for the selection mark, one between columns.
    let needed =
        |chosen: &[&Shape]| -> u16 { chosen.iter().map(|shape| shape.cells.0 + 1).sum::<u16>() };
    while needed(&chosen) > width && chosen.len() > 1 {
        let last = chosen
            .iter()
            .enumerate()
            .max_by_key(|(i, shape)| (shape.priority, *i))
            .map(|(i, _)| i);
        let Some(last) = last else { break };
        chosen.remove(last);
        arrangement.hidden += 1;
    }
    let mut spare = width.saturating_sub(needed(&chosen));
    let mut cells: Vec<u16> = chosen.iter().map(|shape| shape.cells.0).collect();
    let mut by_priority: Vec<usize> = (0..chosen.len()).collect();
    by_priority.sort_by_key(|i| chosen.get(*i).map(|shape| shape.priority));
    for i in by_priority {
        if let (Some(shape), Some(cells)) = (chosen.get(i), cells.get_mut(i)) {
            let more = (shape.cells.1 - shape.cells.0).min(spare);
            *cells += more;
            spare -= more;
        }
    }
    let mut x = 1;
    for (shape, cells) in chosen.iter().zip(cells) {
        arrangement.placed.push(Placed {
            column: shape.column,
            cells,
            x,
        });
        x = x.saturating_add(cells + 1);
    }
    arrangement
}

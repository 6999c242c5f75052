//! Which columns fit, and where they are.

use model::{Charged, Reading};

use super::{Column, Row};

/// How a column is laid out.
pub(super) struct Shape {
    pub(super) column: Column,
    pub(super) title: &'static str,
    /// Least and largest width in cells.
    pub(super) cells: (u16, u16),
    pub(super) right: bool,
    /// Lower ones stay longer when the screen is narrow.
    pub(super) priority: u8,
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
pub(super) const SHAPES: &[Shape] = &[
    shape(Column::Device, "GPU", (3, 3), true, 3),
    shape(Column::Instance, "MIG", (4, 5), true, 3),
    shape(Column::Pid, "PID", (8, 9), true, 0),
    shape(Column::Name, "NAME", (15, 20), false, 1),
    shape(Column::Type, "TYPE", (8, 9), false, 4),
    shape(Column::Runtimes, "RUNTIMES", (12, 30), false, 8),
    shape(Column::Model, "MODEL", (22, 44), false, 6),
    shape(Column::Vram, "VRAM", (8, 8), true, 2),
    shape(Column::VramChange, "ΔVRAM", (7, 7), true, 2),
    shape(Column::Spill, "SPILL", (7, 8), true, 7),
    shape(Column::SpillChange, "ΔSPILL", (7, 7), true, 7),
    shape(Column::Paged, "PAGED", (8, 8), true, 9),
    shape(Column::Load, "GPU%", (5, 5), true, 5),
    shape(Column::Graphics, "3D", (4, 4), true, ENGINES),
    shape(Column::Compute, "COMP", (5, 5), true, ENGINES + 1),
    shape(Column::Copy, "COPY", (5, 5), true, ENGINES + 2),
    shape(Column::Encode, "ENC", (4, 4), true, 10),
    shape(Column::Decode, "DEC", (4, 4), true, 10),
    shape(Column::User, "USER", (8, 12), false, 11),
    shape(Column::Container, "CONTAINER", (12, 32), false, 12),
];

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
    /// Columns that were moved out to the left.
    pub(crate) passed: usize,
    /// Whether the last of all columns is on the screen.
    pub(crate) has_last: bool,
    /// Left out because no row has a value: their titles.
    pub(crate) absent: Vec<&'static str>,
    /// Whether any size or load has a matched owner, so that the others leave room for its mark.
    pub(crate) size_marks: bool,
    pub(crate) load_marks: bool,
}

fn is_inferred<T: Copy>(reading: &Reading<Charged<T>>) -> bool {
    reading.known().is_some_and(|known| known.basis().is_some())
}

/// Priority of the columns of single engines.
const ENGINES: u8 = 13;

/// Cells beyond the least widths that they leave to the names of models and containers.
const ROOM_FOR_NAMES: u16 = 24;

/// Columns that stay where the others are moved sideways.
const fn is_pinned(column: Column) -> bool {
    matches!(column, Column::Device | Column::Pid | Column::Name)
}

/// Chooses the columns for `width` cells. Where `passed` columns were moved out to the left, those behind them follow
/// in order; else the more important ones stay.
pub(crate) fn arrange<'a>(
    width: u16,
    passed: usize,
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
            Column::VramChange | Column::SpillChange => {
                rows.clone().any(|row| row.change.is_some())
            }
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
    let end = chosen.last().map(|shape| shape.column);
    let movable = chosen
        .iter()
        .filter(|shape| !is_pinned(shape.column))
        .count();
    arrangement.passed = passed.min(movable.saturating_sub(1));
    let mut left = arrangement.passed;
    chosen.retain(|shape| {
        let goes = !is_pinned(shape.column) && left > 0;
        left -= usize::from(goes);
        !goes
    });
    let moved = arrangement.passed;
    arrangement.hidden = moved;
    // What an engine does comes only where names of models keep their room.
    let room = |chosen: &[&Shape]| {
        let engines = chosen.iter().any(|shape| shape.priority >= ENGINES);
        if engines && moved == 0 {
            width.saturating_sub(ROOM_FOR_NAMES)
        } else {
            width
        }
    };
    while needed(&chosen) > room(&chosen) && chosen.len() > 1 {
        let order = |(i, shape): (usize, &&Shape)| match moved {
            0 => (shape.priority, i),
            _ => (0, i),
        };
        let last = chosen
            .iter()
            .enumerate()
            .max_by_key(|it| order(*it))
            .map(|(i, _)| i);
        let Some(last) = last else { break };
        chosen.remove(last);
        arrangement.hidden += 1;
    }
    arrangement.has_last = chosen.last().map(|shape| shape.column) == end;
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

//! The process table.

use std::fmt::Write as _;

use model::{Device, Gap, ScanState, Vendor};
use output::compare::change::RowChange;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::columns::{self, Arrangement, Column, Row};
use crate::figure::Figure;
use crate::paint::{Strip, rule};
use crate::panel::{self, Form, Name, Panel, Room};
use crate::state::{Mark, first_row};
use crate::theme::Class;
use crate::view::View;

/// See the module.
pub(crate) struct Processes;

/// What lies under the mouse.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hit {
    /// The heading of a column.
    Heading(Column),
    /// A row, by its place in the whole list.
    Row(usize),
}

impl Panel for Processes {
    fn name(&self) -> Name {
        Name::Processes
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if view.has_no_device() {
            return Room::Nothing;
        }
        match Form::of(size) {
            Form::Line => Room::Nothing,
            Form::Small => Room::Rest(2),
            Form::Full => Room::Rest(7),
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let arrangement = arrange(view, area.width);
        let top = head(view.state.size);
        if top > 1 {
            draw_rule(view, &arrangement, area, buffer);
        }
        draw_headings(view, &arrangement, area, top.saturating_sub(1), buffer);
        let body = area.height.saturating_sub(top);
        if view.state.rows.is_empty() {
            let mut strip = Strip::new(buffer, look, area, top);
            strip.skip(1);
            let text = why_empty(view);
            strip.put(text, look.dim());
            return;
        }
        let page = usize::from(body);
        let state = view.state;
        let first = first_row(state.offset, state.cursor, page, state.rows.len());
        for (line, (place, row)) in (0..body).zip(view.rows().enumerate().skip(first)) {
            if let Some(row) = row {
                let selected = place == state.cursor;
                let y = top + line;
                draw_row(view, &arrangement, row, selected, area, y, buffer);
            }
        }
    }
}

/// Why there is no row: nothing is not the same as nothing seen.
fn why_empty(view: View<'_>) -> &'static str {
    let Some(snapshot) = view.snapshot else {
        return "waiting for the first answer";
    };
    let all = view.state.all_devices;
    let shown: Vec<&Device> = match view.device() {
        Some(device) if !all => vec![device],
        _ => snapshot.devices.iter().collect(),
    };
    let unasked = |device: &&Device| device.has_unasked_processes();
    let untold =
        |device: &&Device| unasked(device) && device.power_state.gap() == Some(Gap::PowerUnknown);
    // NVIDIA's driver lists everybody's; holders of the others are looked for one by one.
    let of_the_kernel = |device: &&Device| device.vendor != Vendor::Nvidia;
    if shown
        .iter()
        .any(|device| device.memory.attributed.lists_missing)
    {
        "the processes are not known: a list of the driver could not be read (n: why)"
    } else if shown.iter().any(untold) {
        "the processes are not known: the GPU may be asleep and is not asked"
    } else if shown.iter().any(unasked) {
        "the processes are not known: the GPU is asleep and is not asked"
    } else if snapshot.process_status.scan == ScanState::Partial {
        "the processes are not known: not all of them have been looked at"
    } else if snapshot.process_status.hidden > 0 && shown.iter().any(of_the_kernel) {
        "no process that can be looked at holds memory here; others cannot be (n: why)"
    } else if all {
        "no process holds memory on any GPU"
    } else {
        "no process holds memory on this GPU"
    }
}

/// Lines above the first row.
fn head(size: Size) -> u16 {
    match Form::of(size) {
        Form::Full => 2,
        Form::Small if size.height >= 12 => 2,
        Form::Small | Form::Line => 1,
    }
}

/// Rows on the screen.
pub(crate) fn page(view: View<'_>) -> usize {
    let size = view.state.size;
    let area = panel::area_of(view, Name::Processes, size);
    usize::from(area.height.saturating_sub(head(size)))
}

/// How many columns are moved out to the left, and whether there are more to the right.
pub(crate) fn sideways(view: View<'_>) -> (usize, bool) {
    let arrangement = arrange(view, view.state.size.width);
    (
        arrangement.passed,
        !arrangement.has_last || arrangement.hidden > arrangement.passed,
    )
}

/// The columns on the screen.
pub(crate) fn shown_columns(view: View<'_>) -> Vec<Column> {
    let placed = arrange(view, view.state.size.width).placed;
    placed.into_iter().map(|placed| placed.column).collect()
}

/// What lies at a place of the screen.
pub(crate) fn hit(view: View<'_>, x: u16, y: u16) -> Option<Hit> {
    let size = view.state.size;
    let area = panel::area_of(view, Name::Processes, size);
    let line = y.checked_sub(area.y).filter(|line| *line < area.height)?;
    let head = head(size);
    if line + 1 == head {
        let arrangement = arrange(view, area.width);
        let x = x.checked_sub(area.x)?;
        let mut placed = arrangement.placed.into_iter();
        let found = placed.find(|it| (it.x..it.x + it.cells + 1).contains(&x))?;
        return Some(Hit::Heading(found.column));
    }
    let state = view.state;
    let page = usize::from(area.height.saturating_sub(head));
    let first = first_row(state.offset, state.cursor, page, state.rows.len());
    let row = first + usize::from(line.checked_sub(head)?);
    (row < state.rows.len()).then_some(Hit::Row(row))
}

fn arrange(view: View<'_>, width: u16) -> Arrangement {
    let many = view
        .snapshot
        .is_some_and(|snapshot| snapshot.devices.len() > 1);
    columns::arrange(
        width,
        view.state.passed,
        view.state.all_devices && many,
        view.state.sort.column,
        &view.rows().flatten(),
    )
}

/// The heading of a column. Beside any device that is no card, system memory is called what it is on all of them.
fn heading(view: View<'_>, column: Column) -> &'static str {
    let mut charges = view.rows().flatten().filter_map(|row| row.charge);
    if column == Column::Spill && charges.any(|it| it.system_label() == model::SHARED_LABEL) {
        model::SHARED_LABEL
    } else {
        column.title()
    }
}

fn draw_rule(view: View<'_>, arrangement: &Arrangement, area: Rect, buffer: &mut Buffer) {
    let state = view.state;
    let rows = state.rows.len();
    let page = usize::from(area.height.saturating_sub(head(state.size)));
    let first = first_row(state.offset, state.cursor, page, rows);
    let mut title = "Processes".to_owned();
    if rows > page && page > 0 {
        let last = (first + page).min(rows);
        let _ = write!(title, " {}-{last} of {rows}", first + 1);
    } else if view.snapshot.is_some() {
        let _ = write!(title, " {rows}");
    }
    if let Some(filter) = &state.filter {
        let text = crate::figure::clean(filter.text()).into_owned();
        let room = usize::from(area.width / 3);
        let text = crate::paint::cut(&text, room, view.look());
        let _ = write!(title, " · filter: {text} · {} hidden", state.hidden);
    }
    if state.all_devices {
        title.push_str(" · all GPUs");
    }
    if let Some(mark) = &state.mark {
        let _ = write!(
            title,
            " · since {}",
            crate::figure::clock(mark.snapshot.at.wall_us)
        );
        if let Some(text) = device_change(view, mark) {
            let _ = write!(title, ": {text}");
        }
    }
    let arrow = if state.sort.descending { "▼" } else { "▲" };
    let sort = format!("sort {}{arrow}", heading(view, state.sort.column));
    let hidden = format!(
        "+{}: ←→",
        model::names::counted(arrangement.hidden, "column", "columns")
    );
    let absent = format!("{}: n/a here", arrangement.absent.join(" "));
    let mut notes = vec![sort.as_str()];
    if arrangement.hidden > 0 {
        notes.push(&hidden);
    }
    if !arrangement.absent.is_empty() {
        notes.push(&absent);
    }
    rule(buffer, view.look(), area, 0, &title, &notes);
}

/// How the memory in use on the device that is shown has changed since the mark.
fn device_change(view: View<'_>, mark: &Mark) -> Option<String> {
    let is = view.device()?;
    let was = mark.snapshot.devices.iter().find(|it| it.key == is.key)?;
    let (was, is) = (was.memory.used.value()?, is.memory.used.value()?);
    let bytes = i64::try_from(i128::from(is.0) - i128::from(was.0)).ok()?;
    Some(format!("used {}", output::format::difference(bytes)))
}

fn draw_headings(
    view: View<'_>,
    arrangement: &Arrangement,
    area: Rect,
    line: u16,
    buffer: &mut Buffer,
) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, line);
    strip.skip(1);
    for placed in &arrangement.placed {
        let column = placed.column;
        let sorted = column == view.state.sort.column;
        let arrow = match (sorted, view.state.sort.descending) {
            (false, _) => "",
            (true, true) => "▼",
            (true, false) => "▲",
        };
        let title = format!("{}{arrow}", heading(view, column));
        let style = if sorted {
            look.sorted_heading()
        } else {
            look.heading()
        };
        strip.field(&title, placed.cells, column.is_right(), style);
        strip.skip(1);
    }
}

fn draw_row(
    view: View<'_>,
    arrangement: &Arrangement,
    row: Row<'_>,
    selected: bool,
    area: Rect,
    line: u16,
    buffer: &mut Buffer,
) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, line);
    if selected {
        strip.put("▸", look.plain());
    } else {
        strip.skip(1);
    }
    let is_gone = row.change.is_some_and(RowChange::is_gone);
    for placed in &arrangement.placed {
        let Figure { mut text, class } = placed.column.cell(row, placed.cells, look);
        let has_marks = match placed.column {
            Column::Vram => arrangement.size_marks,
            Column::Load => arrangement.load_marks,
            _ => false,
        };
        if has_marks && class != Class::Inferred {
            text.to_mut().push_str("  ");
        }
        let style = match placed.column {
            // The selected row carries no colour of its own, so that it is one reversed band.
            _ if selected => look.plain(),
            _ if is_gone => look.dim(),
            Column::Type => look.category(row.process.category),
            Column::Name if class != Class::Missing => look.bold(),
            _ => look.class(class),
        };
        strip.field(&text, placed.cells, placed.column.is_right(), style);
        strip.skip(1);
    }
    if selected {
        strip.restyle(area, look.reversed());
    }
}

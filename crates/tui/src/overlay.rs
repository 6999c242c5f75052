//! What lies over the panels: help, the whole inspector, all notices, the sort menu. It never stops
//! the snapshots.

mod devices;
mod help;
mod provenance;

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::text::Line;

use crate::columns::Column;
use crate::dossier;
use crate::gaps;
use crate::paint::{Strip, rule};
use crate::panel::Form;
use crate::panels::notes;
use crate::prose::{self, Paragraph};
use crate::state::{Overlay, first_row};
use crate::view::View;

/// Draws what lies on top, if anything does.
pub(crate) fn draw(view: View<'_>, screen: Rect, buffer: &mut Buffer) {
    let Some(overlay) = view.state.overlay else {
        return;
    };
    let look = view.look();
    let area = area(screen);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
    let lines = lines(view, overlay, area.width);
    let page = usize::from(area.height.saturating_sub(1));
    let line = view.state.overlay_line;
    let first = if overlay.is_menu() {
        first_row(0, line, page, lines.len())
    } else {
        line.min(lines.len().saturating_sub(page))
    };
    let place = format!(
        "{}-{} of {}",
        (first + 1).min(lines.len()),
        (first + page).min(lines.len()),
        lines.len()
    );
    let mut hints = vec!["Esc:close"];
    if lines.len() > page {
        hints.push(&place);
    }
    rule(buffer, look, area, 0, &title(view, overlay), &hints);
    let body = Rect::new(
        area.x,
        area.y.saturating_add(1),
        area.width,
        area.height.saturating_sub(1),
    );
    prose::draw(buffer, look, body, &lines, first);
    if overlay.is_menu()
        && let Some(line) = view.state.overlay_line.checked_sub(first)
    {
        let line = model::units::saturating_u16(line);
        let mut strip = Strip::new(buffer, look, body, line);
        if strip.room() > 0 {
            strip.put("▸", look.plain());
            strip.restyle(body, look.reversed());
        }
    }
}

/// Between header and footer, or everything where the screen is small.
fn area(screen: Rect) -> Rect {
    match Form::of(screen.as_size()) {
        Form::Full => Rect::new(
            screen.x,
            screen.y.saturating_add(2),
            screen.width,
            screen.height.saturating_sub(3),
        ),
        Form::Small | Form::Line => screen,
    }
}

fn of_size(size: Size) -> Rect {
    area(Rect::new(0, 0, size.width, size.height))
}

/// Lines on the screen.
pub(crate) fn page(view: View<'_>) -> usize {
    usize::from(of_size(view.state.size).height.saturating_sub(1))
}

/// The last value that the line of the overlay may have.
pub(crate) fn last_line(view: View<'_>) -> usize {
    match view.state.overlay {
        None => 0,
        Some(overlay) => {
            let area = of_size(view.state.size);
            let lines = lines(view, overlay, area.width).len();
            let kept = if overlay.is_menu() { 1 } else { page(view) };
            lines.saturating_sub(kept)
        }
    }
}

/// The columns that the sort menu lists.
pub(crate) fn sortable(view: View<'_>) -> impl Iterator<Item = Column> {
    let all = view.state.all_devices;
    let split = view.device().is_some_and(model::Device::in_mig_mode);
    let mark = view.state.mark.as_ref();
    let compared = mark.is_some_and(|mark| mark.is_shown);
    Column::all().filter(move |column| match column {
        Column::Device => all,
        Column::Instance => split && !all,
        Column::VramChange | Column::SpillChange => compared,
        _ => true,
    })
}

fn title(view: View<'_>, overlay: Overlay) -> String {
    match overlay {
        Overlay::Help => "Help".to_owned(),
        Overlay::Inspector => view.selected().map_or_else(
            || "Inspector".to_owned(),
            |row| format!("Inspector {}", dossier::title(row, view.look())),
        ),
        Overlay::Provenance => view.selected().map_or_else(
            || "Provenance".to_owned(),
            |row| format!("Provenance of {}", dossier::title(row, view.look())),
        ),
        Overlay::Devices => "GPUs: Enter shows one".to_owned(),
        Overlay::Notices => "Notices".to_owned(),
        Overlay::Sort => "Sort by: Enter chooses, Enter again turns round".to_owned(),
    }
}

fn lines(view: View<'_>, overlay: Overlay, width: u16) -> Vec<Line<'static>> {
    let cells = width.saturating_sub(2);
    let look = view.look();
    match overlay {
        Overlay::Help => prose::wrap(&help::paragraphs(look), cells),
        Overlay::Inspector => view.selected().map_or_else(
            || dossier::device_lines(view, cells),
            |row| dossier::lines(view, row, cells),
        ),
        Overlay::Provenance => {
            let found = view.snapshot.zip(view.selected());
            let found = found.map_or_else(
                || vec![Paragraph::new("", look.plain(), 0).with("no row is selected", look.dim())],
                |(snapshot, row)| provenance::paragraphs(snapshot, row, look),
            );
            prose::wrap(&found, cells)
        }
        Overlay::Devices => devices::lines(view),
        Overlay::Notices => prose::wrap(&notices(view), cells),
        Overlay::Sort => sortable(view)
            .map(|column| {
                let sort = view.state.sort;
                let arrow = match (sort.column == column, sort.descending) {
                    (false, _) => "",
                    (true, true) => " ▼",
                    (true, false) => " ▲",
                };
                Line::from(format!(" {}{arrow}", column.title()))
            })
            .collect(),
    }
}

fn notices(view: View<'_>) -> Vec<Paragraph> {
    let look = view.look();
    let mut out: Vec<Paragraph> = notes(view)
        .iter()
        .map(|note| {
            Paragraph::new(note.sign(), note.style(look), 2)
                .with(format!("{}: ", note.subject), look.dim())
                .with(note.text.clone(), look.plain())
        })
        .collect();
    if out.is_empty() {
        out.push(Paragraph::new("", look.plain(), 0).with("nothing to report", look.dim()));
    }
    if let (Some(device), Some(snapshot)) = (view.device(), view.snapshot) {
        let before = out.len();
        gaps::of_device(snapshot, device, look, &mut out);
        if out.len() > before {
            let head = format!("Missing on GPU {}", device.index);
            out.insert(before, Paragraph::new("", look.plain(), 0));
            out.insert(before + 1, Paragraph::new(&head, look.title(), 0));
        }
    }
    out.push(Paragraph::new("", look.plain(), 0));
    out.push(Paragraph::new("Sources", look.title(), 0));
    let sources = view.snapshot.iter().flat_map(|snapshot| &snapshot.sources);
    for source in sources {
        let text = format!(
            "{}: {}",
            source.state.id(),
            crate::figure::clean(&source.detail)
        );
        let mut it = Paragraph::new(source.id, look.label(), 12).with(text, look.plain());
        if let Some(hint) = &source.hint {
            it.put(format!(" → {}", crate::figure::clean(hint)), look.plain());
        }
        out.push(it);
    }
    out
}

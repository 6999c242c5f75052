//! What is known of the selected process: its first lines. All of it is one key away.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::dossier;
use crate::paint::rule;
use crate::panel::{Form, Name, Panel, Room};
use crate::prose;
use crate::view::View;

/// See the module.
pub(crate) struct Inspector;

impl Panel for Inspector {
    fn name(&self) -> Name {
        Name::Inspector
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if Form::of(size) != Form::Full || !view.state.inspector || view.has_no_device() {
            return Room::Nothing;
        }
        let wanted = match size.height {
            0..30 => 8,
            30..50 => 16,
            _ => 20,
        };
        Room::Flexible {
            wanted,
            least: 6,
            rank: 2,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let Some(row) = view.selected() else {
            let hints = ["Enter:full screen", "i:hide"];
            rule(buffer, look, area, 0, "Inspector", &hints);
            let lines = dossier::device_lines(view, area.width.saturating_sub(2));
            prose::draw(buffer, look, below_rule(area), &lines, 0);
            return;
        };
        let lines = dossier::lines(view, row, area.width.saturating_sub(2));
        let page = usize::from(area.height.saturating_sub(1));
        let hidden = lines.len().saturating_sub(page);
        let enter = if hidden > 0 {
            let lines = model::names::counted(hidden, "line", "lines");
            format!("+{lines}, Enter:all")
        } else {
            "Enter:full screen".to_owned()
        };
        let title = format!("Inspector {}", dossier::title(row, look));
        rule(buffer, look, area, 0, &title, &[&enter, "i:hide"]);
        prose::draw(buffer, look, below_rule(area), &lines, 0);
    }
}

fn below_rule(area: Rect) -> Rect {
    let height = area.height.saturating_sub(1);
    Rect::new(area.x, area.y + 1, area.width, height)
}

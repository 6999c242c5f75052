//! In the place of the table where there is no GPU: what was tried, what was found, what to do.

use model::{Snapshot, SourceState};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::figure;
use crate::panel::{Name, Panel, Room};
use crate::prose::{self, Paragraph};
use crate::session::Session;
use crate::theme::Look;
use crate::view::View;

/// See the module.
pub(crate) struct Absence;

impl Panel for Absence {
    fn name(&self) -> Name {
        Name::Absence
    }

    fn room(&self, view: View<'_>, _size: Size) -> Room {
        if view.has_no_device() {
            Room::Rest(1)
        } else {
            Room::Nothing
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let Some(snapshot) = view.snapshot else {
            return;
        };
        let paragraphs = explanation(snapshot, &view.state.session, look);
        let lines = prose::wrap(&paragraphs, area.width.saturating_sub(2));
        prose::draw(buffer, look, area, &lines, 0);
    }
}

fn explanation(snapshot: &Snapshot, session: &Session, look: Look) -> Vec<Paragraph> {
    let line = |text: &str, style| Paragraph::new("", look.plain(), 0).with(text, style);
    let blank = || Paragraph::new("", look.plain(), 0);
    let mut out = Vec::with_capacity(16);
    out.push(if snapshot.pending {
        line("Looking for GPUs.", look.bold())
    } else {
        line("No GPU was found that can be read here.", look.warning())
    });
    if *session == Session::Live {
        let text = "retrying every 10 s · Enter: open the demonstration · q: quit";
        out.push(line(text, look.plain()));
    }
    out.push(blank());
    out.push(line("What was tried:", look.label()));
    for source in &snapshot.sources {
        let (word, style) = outcome(source.state, look);
        let mut it = Paragraph::new(&format!("  {}", source.id), look.bold(), 16);
        it.put(prose::glued(word), style);
        it.put(format!(": {}", figure::clean(&source.detail)), look.plain());
        out.push(it);
        if let Some(hint) = &source.hint {
            let hint = format!("→ {}", figure::clean(hint));
            out.push(Paragraph::new("", look.plain(), 16).with(hint, look.plain()));
        }
    }
    if snapshot.sources.is_empty() {
        out.push(line(
            "  nothing: no source is built for this platform",
            look.dim(),
        ));
    }
    for notice in &snapshot.notices {
        out.push(line(&figure::clean(&notice.text), look.warning()));
    }
    out
}

fn outcome(state: SourceState, look: Look) -> (&'static str, ratatui::style::Style) {
    match state {
        SourceState::Ok => ("answers", look.good()),
        SourceState::Absent => ("not here", look.plain()),
        SourceState::Error => ("fails", look.danger()),
        SourceState::Denied => ("not allowed", look.danger()),
        SourceState::Pending => ("has not answered yet", look.dim()),
        SourceState::TimedOut => ("does not answer", look.danger()),
        SourceState::Skipped => ("left alone", look.plain()),
        SourceState::NotApplicable => ("not applicable", look.dim()),
    }
}

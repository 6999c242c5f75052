//! Why there is no GPU to show.

use model::{Mode, Snapshot, SourceState};

use super::{header, page::Page};
use crate::format;

pub(super) fn no_gpu(snapshot: &Snapshot, width: usize) -> String {
    let mut page = Page::new(width);
    header::write(&mut page, snapshot);
    page.line("No GPU that could be read was found.");
    page.line("");
    page.line("looked for");
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(str::len).fold(0, usize::max);
    let ids = widest(&mut snapshot.sources.iter().map(|source| source.id));
    let states = widest(&mut snapshot.sources.iter().map(|source| source.state.id()));
    for source in &snapshot.sources {
        let label = format!("  {:ids$}  {:states$}  ", source.id, source.state.id());
        page.sentence(&label, &source.detail);
    }
    if snapshot.sources.is_empty() {
        page.line("  nothing: no source was tried");
    }
    page.line("");
    page.line("what to do");
    let mut hints = 0;
    for source in &snapshot.sources {
        if let Some(hint) = &source.hint {
            let label = format!("  {}  ", format::pad_end(source.id, ids));
            page.sentence(&label, hint);
            hints += 1;
        }
    }
    let pending = snapshot
        .sources
        .iter()
        .any(|it| it.state == SourceState::Pending);
    if hints == 0 && !pending {
        let advice = match snapshot.mode {
            Mode::NativeLinux | Mode::Wsl => "install the driver of the GPU and run this again",
            Mode::Container => "give the container access to the GPU, e.g. with --gpus all",
            Mode::Unsupported => {
                "run it on Linux or in WSL; readers for this system do not exist yet"
            }
        };
        page.sentence("  ", advice);
    }
    if pending {
        page.sentence("  ", "a source had not answered yet: run this again");
    }
    page.sentence("  ", "to see the program without a GPU: gputaskman demo");
    page.finish()
}

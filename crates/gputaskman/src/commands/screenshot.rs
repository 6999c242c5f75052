//! Draws the screen as a picture.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use model::Snapshot;
use raw::capture::Capture;
use tui::{Options, Picture, Session};

use super::{charset, demo, new_file, replay, report, screen, selection, selector};
use crate::cli::{Cli, Screenshot};
use crate::failure::{Failure, Outcome};
use crate::{printing, sampling};

pub(super) fn run(cli: &Cli, options: &Screenshot) -> Outcome {
    let (session, snapshots) = match &options.replay {
        Some(file) => {
            let name = replay::name(file);
            let snapshots = recorded(cli, replay::load(file)?)?;
            (Session::Replay { name }, snapshots)
        }
        None if options.demo => {
            let capture = demo::capture()?;
            let note = demo::note(&capture);
            (Session::Demo { note }, recorded(cli, capture)?)
        }
        None => (Session::Live, live(cli)?),
    };
    let last = snapshots.last().ok_or_else(replay::holds_nothing)?;
    let what = match &session {
        Session::Replay { name } => format!("recording {name}"),
        Session::Demo { .. } => "demonstration".to_owned(),
        Session::Live => "live machine".to_owned(),
    };
    let code = report::code(last);
    let interval = Duration::from_millis(last.sample_ms.max(1));
    let view = Options {
        session,
        theme: screen::theme(cli),
        truecolor: true,
        ascii: charset::is_ascii(cli, false),
        mouse: false,
        interval,
        wake: None,
    };
    let title = format!("gputaskman {}: {what}", output::VERSION);
    let shown = snapshots.iter().map(|snapshot| {
        if options.with_private {
            Arc::clone(snapshot)
        } else {
            Arc::new(output::privacy::hidden(snapshot))
        }
    });
    let picture = Picture::of(&view, options.size, shown).svg(&title);
    write(&options.output, &picture)?;
    Ok(code)
}

/// Every refresh of a recording, so that the charts have what was before.
fn recorded(cli: &Cli, capture: Capture) -> Result<Vec<Arc<Snapshot>>, Failure> {
    let capture = replay::as_asked(cli, capture)?;
    let snapshots: Vec<_> = sampling::replayed(&capture)
        .map(|(_, snapshot)| snapshot)
        .collect();
    if let Some(last) = snapshots.last() {
        selection::check(capture.manifest.settings.gpu.as_ref(), last)?;
    }
    Ok(snapshots)
}

fn live(cli: &Cli) -> Result<Vec<Arc<Snapshot>>, Failure> {
    let snapshot = report::take(cli)?;
    selection::check(selector(&cli.run), &snapshot)?;
    Ok(vec![snapshot])
}

/// Writes the picture to a new file, or to standard output.
fn write(path: &Path, picture: &str) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return printing::data(picture);
    }
    let what = format!("cannot write the picture {}", path.display());
    let mut file = new_file::create(path, &what)?;
    file.write_all(picture.as_bytes())
        .context(what)
        .map_err(Failure::failed)
}

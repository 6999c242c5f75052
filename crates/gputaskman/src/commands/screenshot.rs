//! Draws the screen as a picture.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::Snapshot;
use raw::capture::Capture;
use tui::{Options, Picture, Session};

use super::{charset, demo, machine, replay, report, screen, selection, selector};
use crate::cli::{Cli, Gpu, Screenshot};
use crate::failure::{Failure, Outcome};
use crate::{printing, sampling};

pub(super) fn run(cli: &Cli, options: &Screenshot) -> Outcome {
    let (session, snapshots) = match &options.replay {
        Some(file) => {
            let session = Session::Replay {
                name: replay::name(file),
            };
            (session, recorded(cli, replay::load(file)?)?)
        }
        None if options.demo => {
            let capture = demo::capture()?;
            let note = demo::note(&capture);
            (Session::Demo { note }, recorded(cli, capture)?)
        }
        None => (Session::Live, live(cli)?),
    };
    let Some(last) = snapshots.last() else {
        return Err(Failure::failed(anyhow::anyhow!(
            "the recording holds no refresh"
        )));
    };
    selection::check(selector(&cli.run), last)?;
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
    let title = format!("gputaskman {}: {}", output::VERSION, what(options));
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

fn what(options: &Screenshot) -> String {
    match &options.replay {
        Some(file) => format!("recording {}", replay::name(file)),
        None if options.demo => "demonstration".to_owned(),
        None => "live machine".to_owned(),
    }
}

/// Every refresh of a recording, so that the charts have what was before.
fn recorded(cli: &Cli, mut capture: Capture) -> Result<Vec<Arc<Snapshot>>, Failure> {
    if let Some(option) = cli.run.collecting_option() {
        return Err(Failure::usage(
            anyhow::anyhow!("{option} has no effect on what has been recorded already"),
            "without --replay and --demo it is this machine that is shown",
        ));
    }
    if let Some(Gpu::One(selector)) = &cli.run.gpu {
        capture.manifest.settings.gpu = Some(selector.clone());
    }
    let capture = Arc::new(capture);
    Ok(sampling::replayed(&capture)
        .map(|(_, snapshot)| snapshot)
        .collect())
}

fn live(cli: &Cli) -> Result<Vec<Arc<Snapshot>>, Failure> {
    let mut machine = machine(&cli.run)?;
    let late = || printing::note("the NVIDIA driver is being initialised; waiting up to 20 s");
    let snapshot = sampling::once(&mut machine, late)
        .map_err(|_| Failure::failed(anyhow::anyhow!("the machine ended before it answered")))?;
    Ok(vec![snapshot])
}

/// Writes the picture to a new file, or to standard output.
fn write(path: &Path, picture: &str) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return printing::data(picture);
    }
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(picture.as_bytes()));
    written.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AlreadyExists => "what exists is never overwritten: choose a new name",
            _ => "the folder must exist and be writable",
        };
        let what = format!("cannot write the picture {}", path.display());
        Failure::failed(anyhow::Error::new(error).context(what)).with_hint(hint)
    })
}

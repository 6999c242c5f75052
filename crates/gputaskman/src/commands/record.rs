//! Records this machine's raw answers.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use collect::{Collector, Pace};
use raw::capture::{Manifest, Recorder, RecordingMachine, RedactingMachine, Redaction};
use raw::{Machine, Relabelled};
use sources::LiveMachine;

use super::lines::Lines;
use super::selection::Check;
use super::{machine, new_file, report, selection, synthetic};
use crate::cli::{self, Cli};
use crate::failure::{DONE, Failure, INTERRUPTED, Outcome};
use crate::refreshes::Refreshes;
use crate::{printing, sampling};

pub(super) fn run(cli: &Cli, options: &cli::Record) -> Outcome {
    let level = match options.redact {
        cli::Redact::Strict => Redaction::Strict,
        cli::Redact::Paths => Redaction::Paths,
        cli::Redact::None => Redaction::None,
    };
    let live = checked_machine(cli)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let (flag, waker) = (Arc::clone(&interrupted), live.waker());
    sources::termination_signals(move |_| {
        flag.store(true, Ordering::SeqCst);
        waker.wake();
    })
    .context("cannot watch for signals")
    .map_err(Failure::failed)?;
    let origin = match &options.synthetic {
        Some(note) => synthetic(note),
        None => unnamed(live.facts().origin.clone(), level),
    };
    let machine = RedactingMachine::new(Relabelled::new(live, origin), level);
    let tool = format!("gputaskman {}", output::VERSION);
    let manifest = Manifest::new(machine.facts(), level, tool);
    let what = || format!("cannot write the recording {}", options.output.display());
    if options.output.as_os_str() == "-" {
        return Err(Failure::usage(
            anyhow::anyhow!("a recording goes to a file: standard output is for --json"),
            "name a file, e.g. -o machine.ndjson.gz",
        ));
    }
    let file = new_file::create(&options.output, &what())?;
    let sink = Sink::of(file, &options.output);
    let recorder = Recorder::new(sink, &manifest)
        .with_context(what)
        .map_err(Failure::failed)?;
    let mut machine = RecordingMachine::new(machine, recorder);
    printing::note(&format!(
        "recording to {} ({}); Ctrl-C ends it",
        options.output.display(),
        match level {
            Redaction::Strict =>
                "folders, users, hosts, files and models hidden; names of processes and of the GPU kept",
            Redaction::Paths =>
                "folders, users and hosts hidden; names of files, models, processes and of the GPU kept",
            Redaction::None => "nothing hidden",
        }
    ));
    let mut lines = Lines::of(manifest.settings.gpu.as_ref());
    let taken = take(cli, options, &mut machine, &mut lines, &interrupted)
        .and_then(|taken| lines.end().map(|()| taken));
    let finished = machine
        .finish()
        .and_then(Sink::finish)
        .with_context(what)
        .map_err(Failure::failed);
    let (code, refreshes) = match taken {
        // Refused for what was typed: nothing of it stays behind. The file is ours, it was not there before.
        Err(failure) if failure.is_usage() => {
            let _ = std::fs::remove_file(&options.output);
            return Err(failure);
        }
        taken => taken?,
    };
    finished?;
    let plural = if refreshes == 1 { "" } else { "es" };
    printing::note(&format!("{refreshes} refresh{plural} recorded"));
    Ok(code)
}

/// This machine, on which the GPU that was named has been looked for: beneath redaction UUIDs are
/// stand-ins, which neither what was typed nor a list of what is valid could be compared with.
fn checked_machine(cli: &Cli) -> Result<LiveMachine, Failure> {
    let Some(selector) = super::selector(&cli.run) else {
        return machine(&cli.run);
    };
    let mut settings = super::settings(&cli.run)?;
    let late = || printing::note("waiting for the driver");
    let looked = sampling::once(&mut machine(&cli.run)?, late);
    if let Ok(snapshot) = &looked {
        selection::check(Some(selector), snapshot)?;
    }
    let devices = looked.as_ref().map_or(&[][..], |it| it.devices.as_slice());
    settings.gpu = selection::without_uuid(selector.clone(), devices);
    super::machine_with(&cli.run, settings)
}

/// The note of a directory is its path, which is a name that redaction cannot see.
fn unnamed(origin: model::Origin, level: Redaction) -> model::Origin {
    match origin.kind {
        model::OriginKind::Directory if level != Redaction::None => model::Origin {
            note: Some("a directory".into()),
            ..origin
        },
        _ => origin,
    }
}

fn take<M: Machine>(
    cli: &Cli,
    options: &cli::Record,
    machine: &mut RecordingMachine<M, Sink>,
    lines: &mut Lines,
    interrupted: &AtomicBool,
) -> Result<(u8, u64), Failure> {
    let mut collector = Collector::new(machine.facts());
    let selector = machine.facts().settings.gpu.clone();
    let mut check = Check::default();
    let mut refreshes = Refreshes::default();
    let mut started_ns = None;
    let counted = |refreshes: &Refreshes| {
        let count = options.count;
        count.is_some_and(|count| refreshes.count() >= count)
    };
    let mut code = DONE;
    loop {
        let mut plan = collector.plan(Pace::Recording);
        // What is still outstanding of the last refresh asked for is no refresh more.
        plan.extra |= counted(&refreshes);
        let Ok(tick) = machine.begin_tick(&plan) else {
            break;
        };
        let snapshot = collector.tick(machine, tick);
        check.pass(selector.as_ref(), &snapshot)?;
        for refresh in refreshes.take(tick, &snapshot) {
            if cli.view.json {
                lines.print(&refresh)?;
            }
        }
        if machine.recorder().error().is_some() {
            // `finish` tells it.
            break;
        }
        let start = *started_ns.get_or_insert(tick.now.mono_ns);
        let seconds_up = options.duration.is_some_and(|duration| {
            u128::from(tick.now.mono_ns.saturating_sub(start)) >= duration.as_nanos()
        });
        if interrupted.load(Ordering::SeqCst) {
            code = INTERRUPTED;
            break;
        }
        if seconds_up || (counted(&refreshes) && !snapshot.pending) {
            code = report::code(&snapshot);
            break;
        }
    }
    if let Some(last) = refreshes.end()
        && cli.view.json
    {
        lines.print(&last)?;
    }
    Ok((code, refreshes.count()))
}

/// A capture file, compressed if its name says so.
enum Sink {
    Plain(BufWriter<File>),
    Gzip(Box<flate2::write::GzEncoder<BufWriter<File>>>),
}

impl Sink {
    fn of(file: File, path: &Path) -> Self {
        let file = BufWriter::new(file);
        let compressed = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        if compressed {
            let level = flate2::Compression::default();
            Self::Gzip(Box::new(flate2::write::GzEncoder::new(file, level)))
        } else {
            Self::Plain(file)
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            // Costs a few bytes a refresh, and what a killed recorder leaves can be read.
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

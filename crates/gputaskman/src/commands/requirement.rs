//! What a model file needs (`inspect`), and whether that fits beside what runs now (`fit`).

use std::path::Path;

use anyhow::Context as _;
use collect::requirement::{Failed, Subject, Wish};
use model::Text;
use raw::Settings;
use sources::{LiveMachine, Options};

use super::{charset, machine, report, selection, selector};
use crate::cli::{Cli, ModelFile, Switch};
use crate::failure::{DONE, Failure, Outcome};
use crate::{printing, sampling};

/// `inspect`.
pub(super) fn inspect(cli: &Cli, asked: &ModelFile) -> Outcome {
    let subject = read(&asked.file)?;
    let inspection = subject
        .inspect(&wish(cli, asked))
        .map_err(|failed| refused(&asked.file, failed))?;
    if cli.view.json {
        printing::data(&output::json::inspect(&inspection))?;
    } else {
        let width = printing::report_width();
        charset::text(cli, &output::text::inspection(&inspection, width))?;
    }
    Ok(DONE)
}

/// `fit`. It has answered, whatever the answer is; only without a GPU there is nothing to say.
pub(super) fn fit(cli: &Cli, asked: &ModelFile) -> Outcome {
    let subject = read(&asked.file)?;
    let mut machine = machine(&cli.run)?;
    let late = || printing::note("the NVIDIA driver is being initialised; waiting up to 20 s");
    let now = sampling::once(&mut machine, late)
        .map_err(|_| Failure::failed(anyhow::anyhow!("the machine ended before it answered")))?;
    selection::check(selector(&cli.run), &now)?;
    let fit = subject
        .fit(&wish(cli, asked), &now)
        .map_err(|failed| refused(&asked.file, failed))?;
    if cli.view.json {
        printing::data(&output::json::fit(&fit, &now))?;
    } else if now.devices.is_empty() {
        charset::text(cli, &output::text::no_gpu(&now))?;
    } else {
        charset::text(cli, &output::text::fit(&fit, printing::report_width()))?;
    }
    Ok(report::code(&now))
}

fn wish(cli: &Cli, asked: &ModelFile) -> Wish {
    Wish {
        context: asked.context,
        parallel: asked.parallel,
        unified: asked.unified(),
        type_k: asked.cache_type_k.or(asked.kv_type.map(|(keys, _)| keys)),
        type_v: asked
            .cache_type_v
            .or(asked.kv_type.map(|(_, values)| values)),
        gpu_layers: cli.run.gpu_layers,
        flash_attention: asked.flash_attn.and_then(Switch::is_on),
    }
}

/// Reads the file through a machine of its own, which knows nothing of `--root`: the user named a file here.
fn read(file: &Path) -> Result<Subject, Failure> {
    let what = || format!("cannot read the model file {}", file.display());
    let hint = "name a GGUF file; of a split model any part, such as NAME-00001-of-00003.gguf";
    // What is no file is told apart here, since a machine says of either that there is no such file.
    let meta = std::fs::metadata(file)
        .with_context(what)
        .map_err(|error| Failure::failed(error).with_hint(hint))?;
    if !meta.is_file() {
        let kind = if meta.is_dir() {
            "it is a folder"
        } else {
            "it is no regular file"
        };
        return Err(Failure::failed(anyhow::anyhow!("{kind}").context(what())).with_hint(hint));
    }
    let path = std::path::absolute(file)
        .with_context(what)
        .map_err(Failure::failed)?;
    let Some(path) = path.to_str().map(Text::from) else {
        return Err(
            Failure::failed(anyhow::anyhow!("its name is no UTF-8").context(what()))
                .with_hint("rename it, or name it through a link"),
        );
    };
    let mut machine = LiveMachine::new(Options {
        settings: Settings::default(),
        ..Options::default()
    });
    Subject::read(&mut machine, &path).map_err(|failed| refused(file, failed))
}

fn refused(file: &Path, failed: Failed) -> Failure {
    let about = |what: &str| format!("{what} {}", file.display());
    match failed {
        Failed::OtherFormat(why) => Failure::failed(
            anyhow::anyhow!("{why}").context(about("no GGUF file:")),
        )
        .with_hint("gputaskman shows models in other formats where a process has them loaded"),
        Failed::NotModel(why) => {
            // A file with another name is none by intention.
            let is_named_so = file
                .extension()
                .is_some_and(|it| it.eq_ignore_ascii_case("gguf"));
            let hint = if is_named_so {
                "only GGUF files are read; a download may be checked by its size or hash"
            } else {
                "only GGUF files are read"
            };
            Failure::failed(anyhow::anyhow!("{why}").context(about("no model that is read here:")))
                .with_hint(hint)
        }
        Failed::Impossible(why) => Failure::usage(
            anyhow::anyhow!("{why}").context(about("these settings do not go with")),
            "other values of -c, --parallel, --kv-unified, --kv-type or --flash-attn may",
        ),
        Failed::Unreadable(gap) => {
            let failure = Failure::failed(
                anyhow::anyhow!("{}", gap.sentence()).context(about("cannot read the model file")),
            );
            match gap.remedy() {
                Some(remedy) => failure.with_hint(remedy),
                None => failure.with_hint("the file must be readable by this user"),
            }
        }
        Failed::Ended => Failure::failed(anyhow::anyhow!("the machine ended before it answered")),
    }
}

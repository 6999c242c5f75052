//! The last column of a row: what the process runs.

use model::{Charge, Model, Process, Reading};

use super::notes::Notes;

/// Its first model with quantization and label, or its runtimes; then container and partition.
pub(super) fn what(
    notes: &mut Notes,
    subject: &str,
    process: &Process,
    charge: Option<&Charge>,
) -> String {
    let mut text = match process.models.as_slice() {
        [first, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{} [{}]{more}", title(first), first.label.id())
        }
        [] => runtimes(notes, subject, process),
    };
    // A row with a model has a line of its own for it.
    if let (Some(place), true) = (container(process), process.models.is_empty()) {
        text = format!("{text}  {place}");
    }
    if let Some((gpu, compute)) = charge.and_then(|it| it.instance) {
        text = format!("{text}  MIG {gpu}/{compute}");
    }
    text
}

/// Where it runs, if in a container.
pub(super) fn container(process: &Process) -> Option<String> {
    let container = process.container.value()?.as_ref()?;
    Some(format!("in {} {}", container.runtime, container.id))
}

fn title(model: &Model) -> String {
    match model.quantization.value() {
        Some(quantization) => format!("{} {quantization}", model.name),
        None => model.name.to_string(),
    }
}

/// The runtimes, `-` where it was looked and none was found.
pub(super) fn runtimes(notes: &mut Notes, subject: &str, process: &Process) -> String {
    match &process.runtimes {
        Reading::Known(runtimes) if runtimes.value.is_empty() => "-".into(),
        Reading::Known(runtimes) => {
            let names: Vec<&str> = runtimes.value.iter().map(|it| it.name).collect();
            names.join(", ")
        }
        Reading::Missing(missing) => notes.gap("RUNTIMES", subject, missing.gap).into(),
    }
}

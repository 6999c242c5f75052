//! The last column of a row: what the process runs.

use model::{Charge, Container, Model, Process, Reading};

use super::notes::Notes;
use crate::format;

/// Columns of a model's title that are left at least before what stands behind it is shortened.
const LEAST_OF_TITLE: usize = 4;

/// Its first model with quantization and label, or its runtimes; then the partition. Where the columns are fewer, the
/// title gives way first, since the label is what says how sure it is.
pub(super) fn what(
    notes: &mut Notes<'_>,
    subject: &str,
    process: &Process,
    charge: Option<&Charge>,
    room: usize,
) -> String {
    let partition = charge
        .and_then(|it| it.instance)
        .map_or_else(String::new, |(gpu, compute)| {
            format!("  MIG {gpu}/{compute}")
        });
    let text = match process.models.as_slice() {
        [first, rest @ ..] => {
            let title = title(first);
            let title = format::sanitize(&title);
            let label = format!(" [{}]", first.label.id());
            let (words, sign) = match rest.len() {
                0 => (String::new(), String::new()),
                more => (format!(" and {more} more"), format!(" +{more}")),
            };
            let behind = [
                format!("{label}{words}{partition}"),
                format!("{label}{sign}{partition}"),
                format!("{label}{sign}"),
                label,
            ];
            let least = format::display_width(&title).min(LEAST_OF_TITLE);
            for behind in &behind {
                let left = room.saturating_sub(format::display_width(behind));
                if left >= least {
                    return format!("{}{behind}", format::middle_ellipsis(&title, left));
                }
            }
            // Too narrow for any of it: then the title alone.
            return format::middle_ellipsis(&title, room).into_owned();
        }
        [] => {
            // Looked for and not found is one thing, not to be seen another.
            if let Some(gap) = process.runtimes.gap() {
                notes.gap("MODEL", subject, gap);
            }
            runtimes(notes, subject, process)
        }
    };
    let text = format!("{text}{partition}");
    format::middle_ellipsis(&format::sanitize(&text), room).into_owned()
}

/// The container, as short as the table wants it: what it is called and its identifier, one of them
/// where both are too long; `-` for none.
pub(super) fn container(container: Option<&Container>, columns: usize) -> String {
    let Some(container) = container else {
        return "-".into();
    };
    let id = || container.id.to_string();
    let (called, alone) = match container.name.value() {
        // The identifier of LXC is the name.
        Some(named) if *named.name == *container.id => return id(),
        Some(named) if model::names::is_blank(&named.name) => (container.runtime.to_owned(), id()),
        Some(named) => (named.label(), named.label()),
        None => (container.runtime.to_owned(), id()),
    };
    let both = format!("{called} {}", container.id);
    if format::display_width(&format::sanitize(&both)) <= columns {
        both
    } else {
        alone
    }
}

/// Runtime, identifier, name, pod. A name of which nothing can be seen is left out.
pub(super) fn place(notes: &mut Notes<'_>, subject: &str, container: &Container) -> Vec<String> {
    let name = notes.measured("container name", subject, &container.name, |it| {
        it.name.to_string()
    });
    let name = (!model::names::is_blank(&name.text)).then(|| format!("name {}", name.text));
    let pod = container.name.value().and_then(|it| {
        let pod = it.pod.as_ref()?;
        Some(match &it.namespace {
            Some(namespace) => format!("pod {namespace}/{pod}"),
            None => format!("pod {pod}"),
        })
    });
    let uid = container
        .pod_uid
        .as_ref()
        .map(|uid| format!("pod UID {uid}"));
    let first = format!("{} {}", container.runtime, container.id);
    let first = [first].into_iter().chain(name);
    first.chain(pod).chain(uid).collect()
}

fn title(model: &Model) -> String {
    match model.quantization.value() {
        Some(quantization) => format!("{} {quantization}", model.name),
        None => model.name.to_string(),
    }
}

/// The runtimes, `-` where it was looked and none was found.
pub(super) fn runtimes(notes: &mut Notes<'_>, subject: &str, process: &Process) -> String {
    match &process.runtimes {
        Reading::Known(runtimes) if runtimes.value.is_empty() => "-".into(),
        Reading::Known(runtimes) => {
            let names: Vec<&str> = runtimes.value.iter().map(|it| it.name).collect();
            names.join(", ")
        }
        Reading::Missing(missing) => notes.gap("RUNTIMES", subject, missing.gap).into(),
    }
}

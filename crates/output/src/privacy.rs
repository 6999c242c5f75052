//! A snapshot without what tells who and where: for pictures that are shown to others.
//!
//! Command lines, programs' paths, users, the host's name, serial identifiers and container identifiers are left out with
//! the reason `redacted`. Of every path in a text the file's name stays, which is often the model's name. Names of
//! processes and models stay: they are what such a picture is about.

use std::sync::Arc;

use model::{Container, Gap, Measured, Model, Process, Reading, Snapshot, Text};

/// Parts of addresses of model servers, which are no paths of this machine.
const ADDRESSES: [&str; 3] = ["/v1/", "/api/", "/engines/"];

/// The same moment without what is private.
pub fn hidden(snapshot: &Snapshot) -> Snapshot {
    let mut out = snapshot.clone();
    out.host.name = None;
    for source in &mut out.sources {
        shorten(&mut source.detail);
        source.hint.iter_mut().for_each(shorten);
    }
    for notice in &mut out.notices {
        shorten(&mut notice.text);
    }
    for device in &mut out.devices {
        leave_out(&mut device.uuid);
        for instance in &mut device.instances {
            leave_out(&mut instance.uuid);
        }
    }
    for process in &mut out.processes {
        hide_process(process);
    }
    out
}

fn hide_process(process: &mut Process) {
    leave_out(&mut process.exe);
    leave_out(&mut process.user);
    leave_out(&mut process.command_line);
    if let Reading::Known(known) = &mut process.container
        && let Some(container) = &mut known.value
    {
        hide_container(container);
    }
    for model in &mut process.models {
        hide_model(model);
    }
    let reported = process
        .segments_reported
        .iter_mut()
        .map(|it| &mut it.inputs);
    let estimated = process
        .segments_estimated
        .iter_mut()
        .map(|it| &mut it.inputs);
    let receipts = process.receipts.iter_mut().flat_map(|it| &mut it.lines);
    let inputs = reported
        .chain(estimated)
        .chain(receipts.map(|it| &mut it.inputs));
    for (_, value) in inputs.flatten() {
        shorten(value);
    }
    for said in process
        .server
        .iter_mut()
        .flat_map(|server| &mut server.said)
    {
        shorten(&mut said.value);
    }
}

fn hide_container(container: &mut Container) {
    container.id = "…".into();
    container.pod_uid = None;
}

fn hide_model(model: &mut Model) {
    if let Reading::Known(path) = &mut model.path {
        shorten(&mut path.value);
    }
    shorten(&mut model.name);
    let texts = model.evidence.iter_mut().map(|it| &mut it.detail);
    let texts = texts.chain(model.components.iter_mut().map(|it| &mut it.path));
    let texts = texts.chain(model.events.iter_mut().map(|it| &mut it.log));
    let texts = texts.chain(model.said.iter_mut().map(|it| &mut it.value));
    let texts = texts.chain(&mut model.store_names);
    for text in texts
        .chain(&mut model.conflict)
        .chain(&mut model.log_unused)
    {
        shorten(text);
    }
}

fn leave_out<T>(reading: &mut Reading<Measured<T>>) {
    if let Reading::Known(known) = reading {
        *reading = Reading::missing(Gap::Redacted, known.from);
    }
}

fn shorten(text: &mut Text) {
    if let Some(short) = without_folders(text) {
        *text = Arc::from(short);
    }
}

/// The text with `…/file` in place of each path of more than one step; `None` where there is none.
fn without_folders(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    for word in text.split_inclusive(char::is_whitespace) {
        match folders(word) {
            Some((from, to)) => {
                changed = true;
                out.push_str(&word[..from]);
                out.push('…');
                out.push_str(&word[to..]);
            }
            None => out.push_str(word),
        }
    }
    changed.then_some(out)
}

/// Where the folders of a path in `word` begin, and the last separator.
fn folders(word: &str) -> Option<(usize, usize)> {
    let is_separator = |c: char| c == '/' || c == '\\';
    let last = word.rfind(is_separator)?;
    // At the beginning of the word, or behind a sign that is no part of a path.
    let mut starts = word.char_indices().filter_map(|(at, c)| {
        let before = word[..at].chars().next_back();
        let is_free =
            before.is_none_or(|it| matches!(it, '"' | '\'' | '(' | '=' | ',' | '[' | '@'));
        let is_drive = c.is_ascii_alphabetic() && word[at + 1..].starts_with(":\\");
        let is_root = c == '/' || word[at..].starts_with("~/") || word[at..].starts_with("\\\\");
        (is_free && (is_root || is_drive)).then_some(at)
    });
    let from = starts.next()?;
    let is_address = ADDRESSES
        .iter()
        .any(|address| word[from..].starts_with(address));
    (from < last && !is_address).then_some((from, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_paths_the_files_name_stays() {
        for (text, short) in [
            (
                "mapped /models/q/x.gguf (1 s ago)",
                Some("mapped …/x.gguf (1 s ago)"),
            ),
            ("~/models/x.gguf", Some("…/x.gguf")),
            (r"C:\Users\ana\x.gguf", Some(r"…\x.gguf")),
            (r"\\nas\share\x.gguf", Some(r"…\x.gguf")),
            ("--model=/a/b", Some("--model=…/b")),
            ("(/home/ana/a b.gguf)", Some("(…/a b.gguf)")),
            (":8080/props model_path", None),
            (":8080/v1/models id", None),
            ("/api/ps", None),
            ("/info model_id", None),
            ("org/model", None),
            ("14/40 layers", None),
        ] {
            assert_eq!(without_folders(text).as_deref(), short, "{text}");
        }
    }

    /// Every text of a sample is preceded by a path that must not be left.
    #[test]
    fn nothing_private_is_left_in_any_document() {
        for (name, snapshot) in model::sample::all() {
            let hidden = hidden(&snapshot);
            let all = crate::json::to_line(&hidden) + &crate::text::report(&hidden, 200);
            for process in &snapshot.processes {
                let line = process.command_line.value().into_iter().flatten();
                let user = process.user.value().into_iter();
                let paths = process.models.iter().filter_map(|it| it.path.value());
                let id = process.container.value().into_iter().flatten();
                let texts = line.filter(|it| it.contains('/')).chain(paths);
                for text in texts.chain(process.exe.value()) {
                    assert!(!all.contains(&**text), "{name}: {text}");
                }
                for user in user {
                    assert!(!all.contains(&format!("\"user\":\"{user}\"")), "{name}");
                }
                for container in id {
                    assert!(!all.contains(&*container.id), "{name}: {}", container.id);
                }
            }
            if let Some(host) = &snapshot.host.name {
                assert!(!all.contains(&format!("\"{host}\"")), "{name}");
            }
        }
    }

    #[test]
    fn sizes_and_loads_stay_what_they_are() {
        let snapshot = model::sample::workstation();
        let hidden = hidden(&snapshot);
        for (before, after) in snapshot.processes.iter().zip(&hidden.processes) {
            assert_eq!(before.charges, after.charges);
            assert_eq!(before.name, after.name);
        }
        assert_eq!(snapshot.devices.len(), hidden.devices.len());
    }
}

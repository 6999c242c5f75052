//! Redaction: a machine that replaces names in answers by stand-ins before anyone sees them.
//!
//! It sits beneath the recorder, so what is shown while recording is what replays.

use std::sync::Arc;

use model::Text;

use super::arguments::{self, control_groups};
use super::format::Redaction;
use super::headers::Headers;
use super::model_files;
use super::pseudonyms::Pseudonyms;
use super::stores;
use super::vocabulary;
use crate::machine::{Answer, Ended, Machine, MachineFacts, Published, Stamped, Tick, TickPlan};
use crate::source::drm::DrmSweep;
use crate::source::logs::Field;
use crate::source::nvml::{CallAnswer, DeviceCall, InstanceCall, NvmlSweep, Output};
use crate::source::reads::{Inline, Question};
use crate::source::replies::{HttpReply, Reply};

/// A machine seen through stand-ins.
pub struct RedactingMachine<M> {
    inner: M,
    facts: MachineFacts,
    names: Pseudonyms,
    headers: Headers,
}

impl<M: Machine> RedactingMachine<M> {
    /// `inner` at this level. At [`Redaction::None`] every answer passes unchanged.
    pub fn new(inner: M, level: Redaction) -> Self {
        let mut facts = inner.facts().clone();
        if level != Redaction::None {
            // They name files and what somebody wrote in them.
            let hidden = |_: &Text| Text::from("one was left out; which and why is redacted");
            let problems = facts.settings.adapter_problems.iter().map(hidden);
            facts.settings.adapter_problems = problems.collect();
        }
        Self {
            inner,
            facts,
            names: Pseudonyms::new(level),
            headers: Headers::default(),
        }
    }

    fn passes(&self) -> bool {
        self.names.level() == Redaction::None
    }
}

impl<M: Machine> Machine for RedactingMachine<M> {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        self.inner.begin_tick(plan)
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        let published = self.inner.nvml();
        match published {
            Published::New(Stamped { at, value }) if !self.passes() => {
                let mut sweep = (*value).clone();
                hide_uuids(&mut sweep, &self.names);
                Published::New(Stamped {
                    at,
                    value: Arc::new(sweep),
                })
            }
            other => other,
        }
    }

    /// Numbers of drivers: the reader keeps nothing else ([`crate::drm::known_lines`]).
    fn drm(&mut self) -> Published<DrmSweep> {
        self.inner.drm()
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let answer = self.inner.inline(question)?;
        if self.passes() {
            return Ok(answer);
        }
        Ok(Stamped {
            at: answer.at,
            value: inline_reply(question, answer.value, &mut self.names),
        })
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        if self.passes() {
            return self.inner.post(question);
        }
        let Stamped { at, value } = self.inner.post(&restored(question, &self.names))?;
        let value = match (question, value) {
            (
                Question::File {
                    root, path, offset, ..
                },
                Reply::Bytes(bytes),
            ) if self.names.level() == Redaction::Strict => {
                let (headers, names) = (&mut self.headers, &self.names);
                Reply::Bytes(headers.window(*root, path, *offset, &bytes, names)?)
            }
            // What is no GGUF file was only looked at to find that out.
            (Question::File { offset: 0, .. }, Reply::Bytes(bytes))
                if !bytes.starts_with(b"GGUF") =>
            {
                let kept = bytes.get(..MAGIC_BYTES).unwrap_or(&bytes);
                let mut hidden = kept.to_vec();
                hidden.resize(bytes.len(), 0);
                Reply::Bytes(hidden.into())
            }
            (Question::SkipStrings { root, path, .. }, Reply::End(end)) => {
                self.headers.skipped(*root, path, end);
                Reply::End(end)
            }
            (Question::Stat { root, path }, Reply::Meta(meta)) => {
                self.headers.size(*root, path, meta.size);
                Reply::Meta(meta)
            }
            (question, value) => posted_reply(question, value, &mut self.names),
        };
        Ok(Stamped { at, value })
    }
}

/// Bytes by which a file is told not to be GGUF.
const MAGIC_BYTES: usize = 8;

fn hide_uuids(sweep: &mut NvmlSweep, names: &Pseudonyms) {
    for device in &mut sweep.devices {
        let own = device.calls.iter_mut();
        let own = own.filter(|(call, _)| *call == DeviceCall::Uuid);
        own.for_each(|(_, answer)| hide_uuid(answer, names));
        let instances = device.mig.iter_mut().flat_map(|mig| &mut mig.instances);
        for (_, answer) in instances
            .flat_map(|instance| &mut instance.calls)
            .filter(|(call, _)| *call == InstanceCall::Uuid)
        {
            hide_uuid(answer, names);
        }
    }
}

/// `GPU-` or `MIG-` stays, and in the older form of an instance's identifier its numbers do too.
fn hide_uuid(answer: &mut Answer<CallAnswer>, names: &Pseudonyms) {
    if let Ok(Stamped { value, .. }) = answer
        && let Output::Text(uuid) = &value.out
    {
        let (uuid, numbers) = uuid
            .split_once('/')
            .map_or((&**uuid, String::new()), |(it, rest)| {
                (it, format!("/{rest}"))
            });
        let (prefix, digits) = uuid.split_once('-').unwrap_or(("", uuid));
        let (prefix, digits) = match digits.strip_prefix("GPU-") {
            Some(digits) => (format!("{prefix}-GPU"), digits),
            None => (prefix.to_owned(), digits),
        };
        let hidden = format!("{prefix}-{}{numbers}", names.hexadecimal(digits));
        value.out = Output::Text(hidden.into());
    }
}

/// The question with its stand-ins translated back, to ask the machine beneath.
fn restored(question: &Question, names: &Pseudonyms) -> Question {
    let mut question = question.clone();
    match &mut question {
        Question::File { path, .. }
        | Question::SkipStrings { path, .. }
        | Question::ModelFile { path, .. }
        | Question::Stat { path, .. }
        | Question::Folder { path, .. }
        | Question::Manifest { path, .. }
        | Question::Log { path, .. } => *path = names.restore(path).into(),
        Question::Container { id, .. } => *id = names.restore(id).into(),
        Question::Maps(_)
        | Question::CommandLine(_)
        | Question::Environment(_)
        | Question::Links(_)
        | Question::OpenFiles(_)
        | Question::Listeners(_)
        | Question::Network(_)
        | Question::Forwarders
        | Question::UserName(_)
        | Question::DeviceName { .. }
        | Question::Journal { .. }
        | Question::App { .. }
        | Question::Http { .. } => {}
    }
    question
}

fn inline_reply(question: &Inline, reply: Reply, names: &mut Pseudonyms) -> Reply {
    match question {
        Inline::Cgroup(_) => text_reply(reply, |text| {
            lines(text, |line| control_groups::line(line, names))
        }),
        Inline::Small(path) if path.ends_with("/hostname") => {
            text_reply(reply, |text| names.word("host-", text.trim()))
        }
        Inline::Small(_)
        | Inline::Stat(_)
        | Inline::Status(_)
        | Inline::PidNamespace
        | Inline::Names(_) => reply,
    }
}

fn posted_reply(question: &Question, reply: Reply, names: &mut Pseudonyms) -> Reply {
    match (question, reply) {
        (Question::Maps(_), reply) => {
            text_reply(reply, |text| lines(text, |line| map_line(line, names)))
        }
        (Question::CommandLine(_), reply) => {
            text_reply(reply, |text| arguments::command_line(text, names))
        }
        (Question::Environment(_), reply) => {
            text_reply(reply, |text| arguments::environment(text, names))
        }
        (Question::UserName(0), reply) => reply,
        (Question::UserName(_), reply) => text_reply(reply, |text| names.word("user-", text)),
        (Question::Links(_) | Question::OpenFiles(_), Reply::Links(links)) => Reply::Links(
            links
                .into_iter()
                .map(|(name, link)| {
                    let redacted = match &*name {
                        "exe" => executable(&link, names),
                        "cwd" => names.folder(&link),
                        _ => names.path(&link),
                    };
                    (name, Text::from(redacted))
                })
                .collect(),
        ),
        (Question::OpenFiles(_), Reply::Open(mut files)) => {
            for file in &mut files {
                file.path = names.path(&file.path).into();
            }
            Reply::Open(files)
        }
        (Question::Container { .. }, Reply::Container(mut record)) => {
            record.name = names.word("container-", &record.name).into();
            record.pod = record.pod.map(|pod| names.word("pod-", &pod).into());
            let namespace = record.namespace;
            record.namespace = namespace.map(|it| names.word("namespace-", &it).into());
            Reply::Container(record)
        }
        (Question::ModelFile { .. }, Reply::Model(file)) => {
            Reply::Model(model_files::redacted(file, names))
        }
        (Question::Network(_), Reply::Network(mut network)) => {
            for address in &mut network.addresses {
                *address = names.word("address-", address).into();
            }
            Reply::Network(network)
        }
        (Question::Forwarders, Reply::Forwarders(mut all)) => {
            let forwards = all.iter_mut().flat_map(|it| &mut it.forwards);
            for address in forwards.filter_map(|it| it.address.as_mut()) {
                *address = names.word("address-", address).into();
            }
            Reply::Forwarders(all)
        }
        (Question::Folder { path, .. }, Reply::Folder(mut folder)) => {
            let all = folder.entries.iter_mut().flatten();
            all.for_each(|entry| stores::entry(path, entry, names));
            Reply::Folder(folder)
        }
        (Question::Manifest { .. }, Reply::Manifest(mut entries)) => {
            let all = entries.iter_mut();
            all.for_each(|entry| stores::manifest(entry, names));
            Reply::Manifest(entries)
        }
        (_, Reply::Log(mut excerpt)) => {
            let fields = excerpt.lines.iter_mut().flat_map(|line| &mut line.fields);
            fields.for_each(|field| log_field(field, names));
            Reply::Log(excerpt)
        }
        (Question::App { .. }, Reply::Bytes(bytes)) => {
            let name = String::from_utf8_lossy(&bytes);
            Reply::text(&model_name(&name, names))
        }
        (Question::App { .. }, Reply::Names(all)) => Reply::Names(
            all.iter()
                .map(|name| Text::from(model_name(name, names)))
                .collect(),
        ),
        (Question::Http { .. }, Reply::Http(mut http)) => {
            http_fields(&mut http, names);
            Reply::Http(http)
        }
        (_, reply) => reply,
    }
}

/// Numbers and words of closed sets stay; the rest names something.
fn log_field(field: &mut Field, names: &mut Pseudonyms) {
    match field {
        Field::Number(_) | Field::Word(_) => {}
        Field::Path(path) => *path = names.path(path).into(),
        Field::Name(name) => *name = model_name(name, names).into(),
    }
}

/// A model as a program calls it: the same stand-in wherever it is called so.
fn model_name(name: &str, names: &mut Pseudonyms) -> String {
    if names.level() == Redaction::Strict || name.contains(['/', '\\']) {
        names.path(name)
    } else {
        name.to_owned()
    }
}

/// The executable's own name stays: it is the name of the process, which is shown anyway.
fn executable(link: &str, names: &mut Pseudonyms) -> String {
    let redacted = names.path(link);
    match (redacted.rsplit_once('/'), link.rsplit_once('/')) {
        (Some((folder, _)), Some((_, name))) => format!("{folder}/{name}"),
        _ => redacted,
    }
}

/// Fields before the name in a line of `/proc/PID/maps`.
const MAP_FIELDS: usize = 5;

fn map_line(line: &str, names: &mut Pseudonyms) -> String {
    match line.find('/').and_then(|at| line.split_at_checked(at)) {
        Some((fields, path)) if fields.split_whitespace().count() <= MAP_FIELDS => {
            format!("{fields}{}", names.path(path))
        }
        // `[anon:NAME]`: any text.
        _ => line
            .split_whitespace()
            .take(MAP_FIELDS)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// What a server says is anybody's text: only numbers, switches and short words pass, and what names
/// a file or a model is treated as such.
fn http_fields(http: &mut HttpReply, names: &mut Pseudonyms) {
    for (field, value) in &mut http.fields {
        said(field, value, names);
    }
}

fn said(field: &str, value: &mut serde_json::Value, names: &mut Pseudonyms) {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        // Names of fields are text too, and no field that is kept has any below it.
        Value::Object(_) => *value = Value::Null,
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| said(field, value, names)),
        Value::String(text) => {
            let strict = names.level() == Redaction::Strict;
            if text.contains('/') || field.ends_with("model_path") {
                *text = names.path(text);
            } else if let Some(hidden) = arguments::without_address(text) {
                *text = hidden;
            } else if is_moment(field, text) || (!is_name(field) && vocabulary::is_plain(text)) {
                // When a model expires is nobody's name, and no more is a number or a type.
            } else if !is_short_word(text) || (strict && !is_kept(field, text)) {
                let prefix = if is_name(field) { "f" } else { "redacted-" };
                *text = names.word(prefix, text);
            }
        }
    }
}

/// The last name of a field's path, without the number of an element.
fn last_name(field: &str) -> &str {
    let last = field.rsplit('.').next().unwrap_or(field);
    last.split('[').next().unwrap_or(last)
}

/// Whether the field names something: its stand-in is a name's, the same wherever the name stands.
fn is_name(field: &str) -> bool {
    [
        "id",
        "name",
        "key",
        "root",
        "parent",
        "model",
        "model_id",
        "model_name",
        "model_alias",
        "result",
        "family",
    ]
    .contains(&last_name(field))
}

/// A build number, a role: letters, digits, dots and dashes.
fn is_short_word(text: &str) -> bool {
    text.len() <= 40
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// A date with its time, as in RFC 3339: digits and what separates them.
fn is_moment(field: &str, text: &str) -> bool {
    let is_date = |at: usize, byte: u8| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    (field.ends_with("expires_at") || field.ends_with("last_used"))
        && (19..=40).contains(&text.len())
        && text
            .bytes()
            .take(10)
            .enumerate()
            .all(|(at, byte)| is_date(at, byte))
        && text
            .bytes()
            .skip(10)
            .all(|b| b.is_ascii_digit() || b"TZ:.+-".contains(&b))
}

/// What a server says that is certainly nobody's name though it may look like one: its build (`b6123-0a1b2c3d`), its
/// role, what koboldcpp calls itself.
fn is_kept(field: &str, text: &str) -> bool {
    match last_name(field) {
        "build_info" => {
            let (number, commit) = text.split_once('-').unwrap_or((text, ""));
            number
                .strip_prefix('b')
                .unwrap_or(number)
                .bytes()
                .all(|b| b.is_ascii_digit())
                && commit.len() <= 40
                && (commit == "unknown" || commit.bytes().all(|b| b.is_ascii_hexdigit()))
        }
        "role" => ["router", "model", "child", "single"].contains(&text),
        "result" => text == "KoboldCpp",
        _ => text.is_empty(),
    }
}

fn text_reply(reply: Reply, redact: impl FnOnce(&str) -> String) -> Reply {
    match reply {
        Reply::Bytes(bytes) => Reply::text(&redact(&String::from_utf8_lossy(&bytes))),
        other => other,
    }
}

fn lines(text: &str, redact: impl FnMut(&str) -> String) -> String {
    let mut redacted: String = text.lines().map(redact).collect::<Vec<_>>().join("\n");
    if text.ends_with('\n') {
        redacted.push('\n');
    }
    redacted
}

//! Adapters as they are written: TOML to [`Adapter`], with the place of every mistake.

use model::Text;
use serde::Deserialize;
use toml::Spanned;

use super::{
    Adapter, AppEvent, AppLine, AppLog, AppModels, AppPaths, AppSettings, MAX_ADAPTER_BYTES,
    SettingsFormat, Zone,
};

/// Most entries of a list in an adapter.
const MAX_ENTRIES: usize = 64;

/// Longest text in an adapter.
const MAX_TEXT_BYTES: usize = 1_024;

/// Why an adapter cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}, line {line}, {key}: {problem}")]
pub struct BadAdapter {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, dotted.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    app: Spanned<String>,
    processes: Spanned<Vec<Spanned<String>>>,
    settings: Option<WrittenSettings>,
    log: Option<WrittenLog>,
    models: Option<WrittenModels>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSettings {
    format: SettingsFormat,
    key: Spanned<String>,
    linux: Option<Spanned<String>>,
    macos: Option<Spanned<String>>,
    windows: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLog {
    time: Option<Spanned<String>>,
    zone: Option<Spanned<String>>,
    lines: Spanned<Vec<WrittenLine>>,
    linux: Option<Spanned<String>>,
    macos: Option<Spanned<String>>,
    windows: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLine {
    event: AppEvent,
    contains: Spanned<String>,
    pattern: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenModels {
    extensions: Spanned<Vec<Spanned<String>>>,
    linux: Option<Spanned<String>>,
    macos: Option<Spanned<String>>,
    windows: Option<Spanned<String>>,
}

/// An adapter from the text of a file; `file` is what a mistake is reported with.
pub fn parse(file: &str, text: &str) -> Result<Adapter, BadAdapter> {
    let reader = Reader { file, text };
    if text.len() > MAX_ADAPTER_BYTES {
        let problem = format!("longer than {MAX_ADAPTER_BYTES} bytes");
        return Err(reader.bad(0, "file", problem));
    }
    let written: Written = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let key = reader.key_at(at);
        reader.bad(at, &key, error.message().to_owned())
    })?;
    reader.adapter(written)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

type Checked<T> = Result<T, BadAdapter>;

impl Reader<'_> {
    fn bad(&self, at: usize, key: &str, problem: impl Into<String>) -> BadAdapter {
        let before = self.text.get(..at).unwrap_or(self.text);
        BadAdapter {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    /// The key on the line at this offset, with the table above it.
    fn key_at(&self, at: usize) -> String {
        let start = self.text.get(..at).and_then(|before| before.rfind('\n'));
        let line = self.text.get(start.map_or(0, |start| start + 1)..);
        let line = line.and_then(|rest| rest.lines().next()).unwrap_or("");
        let above = self.text.get(..at).unwrap_or("");
        let table = above.lines().rev().find(|line| line.starts_with('['));
        let table = table.map_or("", |table| table.trim_matches(['[', ']', ' ']));
        let key = line.split('=').next().unwrap_or("").trim();
        match (table, key) {
            ("", "") => "file".to_owned(),
            ("", key) => key.to_owned(),
            (table, key) if key.starts_with('[') || key.is_empty() => table.to_owned(),
            (table, key) => format!("{table}.{key}"),
        }
    }

    fn text(&self, key: &str, written: &Spanned<String>) -> Checked<Text> {
        let text = written.get_ref();
        let at = written.span().start;
        if text.trim().is_empty() {
            return Err(self.bad(at, key, "is empty"));
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(self.bad(at, key, format!("is longer than {MAX_TEXT_BYTES} bytes")));
        }
        if text.chars().any(char::is_control) {
            return Err(self.bad(at, key, "holds a control character"));
        }
        Ok(text.as_str().into())
    }

    fn texts(&self, key: &str, written: &Spanned<Vec<Spanned<String>>>) -> Checked<Vec<Text>> {
        if written.get_ref().len() > MAX_ENTRIES {
            let at = written.span().start;
            return Err(self.bad(at, key, format!("has more than {MAX_ENTRIES} entries")));
        }
        let texts = written.get_ref().iter();
        texts.map(|text| self.text(key, text)).collect()
    }

    fn path(&self, key: &str, written: Option<&Spanned<String>>) -> Checked<Option<Text>> {
        let Some(written) = written else {
            return Ok(None);
        };
        let path = self.text(key, written)?;
        let bad = |problem: &str| self.bad(written.span().start, key, problem);
        if path.split('/').any(|part| part == "..") {
            return Err(bad("leads upwards with `..`"));
        }
        // It stands in recordings, which name no person.
        if ["/home/", "/Users/", "/root/"]
            .iter()
            .any(|home| path.starts_with(home))
        {
            return Err(bad("is below somebody's home: write ~/ in its place"));
        }
        let variable = path
            .strip_prefix('%')
            .and_then(|rest| rest.split_once("%/"));
        if !path.starts_with("~/") && !path.starts_with('/') && variable.is_none() {
            return Err(bad("starts with none of ~/, / and %VARIABLE%/"));
        }
        Ok(Some(path))
    }

    fn paths(
        &self,
        table: &str,
        linux: Option<&Spanned<String>>,
        macos: Option<&Spanned<String>>,
        windows: Option<&Spanned<String>>,
    ) -> Checked<AppPaths> {
        Ok(AppPaths {
            linux: self.path(&format!("{table}.linux"), linux)?,
            macos: self.path(&format!("{table}.macos"), macos)?,
            windows: self.path(&format!("{table}.windows"), windows)?,
        })
    }

    fn adapter(&self, written: Written) -> Checked<Adapter> {
        let processes = self.texts("processes", &written.processes)?;
        if processes.is_empty() {
            let at = written.processes.span().start;
            return Err(self.bad(at, "processes", "names no process"));
        }
        let settings = written.settings.map(|it| {
            let (linux, macos, windows) = (&it.linux, &it.macos, &it.windows);
            Ok(AppSettings {
                format: it.format,
                key: self.text("settings.key", &it.key)?,
                paths: self.paths("settings", linux.as_ref(), macos.as_ref(), windows.as_ref())?,
            })
        });
        let models = written.models.map(|it| {
            let (linux, macos, windows) = (&it.linux, &it.macos, &it.windows);
            Ok(AppModels {
                extensions: self.texts("models.extensions", &it.extensions)?,
                paths: self.paths("models", linux.as_ref(), macos.as_ref(), windows.as_ref())?,
            })
        });
        Ok(Adapter {
            app: self.text("app", &written.app)?,
            processes,
            settings: settings.transpose()?,
            log: written.log.map(|log| self.log(&log)).transpose()?,
            models: models.transpose()?,
        })
    }

    fn log(&self, written: &WrittenLog) -> Checked<AppLog> {
        let time = written.time.as_ref();
        let time = time.map(|time| self.text("log.time", time)).transpose()?;
        let zone = match &written.zone {
            None => Zone::Local,
            Some(zone) => super::filter::zone(zone.get_ref()).ok_or_else(|| {
                let problem = "is none of \"UTC\", \"local\" and an offset like \"+02:00\"";
                self.bad(zone.span().start, "log.zone", problem)
            })?,
        };
        if written.lines.get_ref().len() > MAX_ENTRIES {
            let problem = format!("has more than {MAX_ENTRIES} entries");
            return Err(self.bad(written.lines.span().start, "log.lines", problem));
        }
        let mut lines = Vec::new();
        for line in written.lines.get_ref() {
            let pattern = self.text("log.lines.pattern", &line.pattern)?;
            super::filter::pattern(&pattern).map_err(|problem| {
                self.bad(line.pattern.span().start, "log.lines.pattern", problem)
            })?;
            lines.push(AppLine {
                event: line.event,
                contains: self.text("log.lines.contains", &line.contains)?,
                pattern,
            });
        }
        let (linux, macos, windows) = (&written.linux, &written.macos, &written.windows);
        Ok(AppLog {
            time,
            zone,
            lines,
            paths: self.paths("log", linux.as_ref(), macos.as_ref(), windows.as_ref())?,
        })
    }
}

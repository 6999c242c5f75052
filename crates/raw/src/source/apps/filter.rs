//! What an adapter keeps of a log and of settings.

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use model::Text;
use regex_lite::{Regex, RegexBuilder};

use super::{Adapter, AppEvent, AppLog, MAX_SETTING_BYTES, SettingsFormat, Zone};
use crate::source::logs::{self, KeptLine, LineKind, LineTime};

/// Size of a compiled pattern. The longest of ours needs a tenth of it.
const PATTERN_BYTES: usize = 256 * 1024;

/// Microseconds of a minute.
const MINUTE_US: i64 = 60_000_000;

/// Bytes of a time; longer ones are none.
const MAX_TIME_BYTES: usize = 64;

/// A pattern, or what is wrong with it.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_BYTES).build();
    let regex = built.map_err(|error| error.to_string())?;
    let mut groups = regex.capture_names().flatten();
    match groups.find(|group| !["model", "time"].contains(group)) {
        Some(group) => Err(format!(
            "has a group `{group}`; only `model` and `time` are kept"
        )),
        None => Ok(regex),
    }
}

/// `UTC`, `local`, `+02:00`.
pub(super) fn zone(text: &str) -> Option<Zone> {
    match text {
        "UTC" | "utc" | "Z" => return Some(Zone::Ahead(0)),
        "local" => return Some(Zone::Local),
        _ => {}
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let part = |text: &str, below: i16| {
        let is_pair = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i16>().ok().filter(|n| is_pair && *n < below)
    };
    Some(Zone::Ahead(
        sign * (part(hours, 24)? * 60 + part(minutes, 60)?),
    ))
}

/// The compiled patterns of an adapter's log.
#[derive(Debug)]
pub struct AppFilter {
    log: AppLog,
    patterns: Vec<Regex>,
}

impl AppFilter {
    /// The patterns of this adapter; `None` where it has no log.
    pub fn new(adapter: &Adapter) -> Option<Self> {
        let log = adapter.log.clone()?;
        let patterns = log.lines.iter().map(|line| pattern(&line.pattern).ok());
        Some(Self {
            patterns: patterns.collect::<Option<_>>()?,
            log,
        })
    }

    /// The lines that a pattern matches: what they tell, when, and of which model. Nothing else of them.
    pub fn kept(&self, bytes: &[u8]) -> Vec<KeptLine> {
        // The line's own time is in the application's form, which only the adapter knows.
        let mut times = std::collections::VecDeque::new();
        let mut lines = logs::keep_with(bytes, |text, found| {
            let rules = self.log.lines.iter().zip(&self.patterns);
            let mut candidates = rules.filter(|(line, _)| text.contains(&*line.contains));
            let matched =
                candidates.find_map(|(line, pattern)| Some((line.event, pattern.captures(text)?)));
            let Some((event, groups)) = matched else {
                return;
            };
            let kind = match event {
                AppEvent::Loaded => LineKind::AppLoaded,
                AppEvent::Used => LineKind::AppUsed,
                AppEvent::Unloaded => LineKind::AppUnloaded,
            };
            let name = groups.name("model").map(|group| group.as_str());
            let name = name.map(logs::name_field);
            // What is called a model and cannot be one is something else's text.
            let Some(fields) = name.map_or(Some(Vec::new()), |name| Some(vec![name?])) else {
                return;
            };
            times.push_back(self.time(text, groups.name("time").map(|it| it.as_str())));
            found.push((kind, fields));
        });
        let dropped = times.len().saturating_sub(lines.len());
        for (line, time) in lines.iter_mut().zip(times.into_iter().skip(dropped)) {
            line.at = time.map(LineTime::Wall);
            line.by = None;
        }
        lines
    }

    /// Microseconds since 1970 of a line's time.
    fn time(&self, line: &str, group: Option<&str>) -> Option<i64> {
        let format = self.log.time.as_deref()?;
        let text = group.unwrap_or_else(|| line.trim_start());
        let mut end = text.len().min(MAX_TIME_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (time, _) = BrokenDownTime::parse_prefix(format, text.get(..end)?).ok()?;
        if let Ok(moment) = time.to_timestamp() {
            return Some(moment.as_microsecond());
        }
        let Zone::Ahead(minutes) = self.log.zone else {
            return None;
        };
        let civil: DateTime = time.to_datetime().ok()?;
        let as_utc = jiff::tz::Offset::UTC.to_timestamp(civil).ok()?;
        let as_utc = as_utc.as_microsecond();
        as_utc.checked_sub(i64::from(minutes) * MINUTE_US)
    }
}

/// The one value of an application's settings that is kept.
pub fn setting(format: SettingsFormat, key: &str, bytes: &[u8]) -> Option<Text> {
    let value = match format {
        SettingsFormat::Json => {
            let settings: serde_json::Value = serde_json::from_slice(bytes).ok()?;
            let mut names = key.split('.');
            let found = names.try_fold(&settings, |at, name| at.get(name))?;
            found.as_str()?.to_owned()
        }
        SettingsFormat::Ini => ini(&String::from_utf8_lossy(bytes), key)?,
    };
    let value = value.trim();
    let is_value = !value.is_empty()
        && value.len() <= MAX_SETTING_BYTES
        && !value.chars().any(char::is_control);
    is_value.then(|| value.into())
}

/// The value of `SECTION.KEY`.
fn ini(text: &str, key: &str) -> Option<String> {
    let (wanted, key) = key.split_once('.')?;
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.strip_suffix(']').unwrap_or(name);
        } else if section == wanted
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

//! Cases of logs: the lines of a log, and what they must be taken to tell.

use std::fs;
use std::path::Path;

use collect::logs::{Told, ToldPart, told_by_bytes};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[expect(dead_code, reason = "for a reader")]
    why: String,
    lines: Vec<String>,
    expect: Expected,
    /// Texts that must not survive the reading.
    #[serde(default)]
    never: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Code of the family; null where the lines tell nothing.
    family: Option<String>,
    #[serde(default)]
    complete: bool,
    #[serde(default)]
    models: Vec<ExpectedModel>,
    /// Kind and path of each event.
    #[serde(default)]
    events: Vec<(String, Option<String>)>,
    #[serde(default)]
    devices: Vec<(String, String)>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct ExpectedModel {
    path: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    draft: bool,
    /// Kind, placement, buffer, bytes.
    #[serde(default)]
    parts: Vec<(String, String, String, u64)>,
    #[serde(default)]
    context: Option<u64>,
    #[serde(default)]
    slots: Option<u64>,
    #[serde(default)]
    unified: Option<bool>,
    #[serde(default)]
    offloaded: Option<(u64, u64)>,
    #[serde(default)]
    cache_tokens: Option<u64>,
}

pub(crate) fn run(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let log = case.lines.join("\n");
    let kept = format!("{:?}", raw::logs::kept(log.as_bytes()));
    if let Some(leak) = case.never.iter().find(|text| kept.contains(*text)) {
        return Err(format!("{leak:?} was kept: {kept}"));
    }
    if case.never.iter().any(|text| !log.contains(text)) {
        return Err("a text that must not survive is not in the log".to_owned());
    }
    let all = told_by_bytes(log.as_bytes());
    let Some(family) = case.expect.family else {
        let nothing = all.iter().all(|told| told.models.is_empty());
        return nothing
            .then_some(())
            .ok_or_else(|| format!("tells {all:#?}"));
    };
    let told = all.iter().find(|told| told.family == family);
    let told = told.ok_or_else(|| format!("tells nothing of {family}, but {all:#?}"))?;
    let expected = case.expect.models;
    let (models, events, devices) = shown(told);
    if models != expected {
        return Err(format!("models:\n{models:#?}\nexpected:\n{expected:#?}"));
    }
    if events != case.expect.events {
        return Err(format!("events {events:?}"));
    }
    if devices != case.expect.devices {
        return Err(format!("devices {devices:?}"));
    }
    if told.complete != case.expect.complete {
        return Err(format!("complete: {}", told.complete));
    }
    Ok(())
}

type Shown = (
    Vec<ExpectedModel>,
    Vec<(String, Option<String>)>,
    Vec<(String, String)>,
);

fn shown(told: &Told) -> Shown {
    let part = |part: &ToldPart| {
        (
            part.kind.id().to_owned(),
            part.placement.id().to_owned(),
            part.device.to_string(),
            part.bytes.0,
        )
    };
    let models = told.models.iter().map(|model| {
        let mut parts: Vec<_> = model.parts.iter().map(part).collect();
        parts.sort();
        ExpectedModel {
            path: model.path.as_deref().map(str::to_owned),
            name: model.name.as_deref().map(str::to_owned),
            draft: model.is_draft,
            parts,
            context: model.context,
            slots: model.slots,
            unified: model.unified,
            offloaded: model.offloaded,
            cache_tokens: model.cache_tokens,
        }
    });
    let events = told.events.iter().map(|event| {
        let path = event.path.as_ref().or(event.name.as_ref());
        (event.kind.id().to_owned(), path.map(ToString::to_string))
    });
    let devices = told.devices.iter();
    let devices = devices.map(|(name, address)| (name.to_string(), address.to_string()));
    (models.collect(), events.collect(), devices.collect())
}

//! Looking at documents.

use serde_json::{Map, Value};

/// A leaf of a document: its path, its value, and its entry in the nearest `provenance`.
pub(crate) struct Leaf<'a> {
    pub(crate) path: String,
    pub(crate) value: &'a Value,
    pub(crate) entry: Option<&'a Value>,
}

impl Leaf<'_> {
    pub(crate) fn reason(&self) -> Option<&str> {
        self.entry?.get("reason")?.as_str()
    }
}

/// Every leaf outside `provenance`. Elements of lists are named by what identifies them, so that paths of two
/// documents can be compared; an empty list or object counts as a leaf.
pub(crate) fn leaves(document: &Value) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    walk(document, "", ("", None), &mut found);
    found
}

fn walk<'a>(
    value: &'a Value,
    path: &str,
    (start, map): (&str, Option<&'a Map<String, Value>>),
    found: &mut Vec<Leaf<'a>>,
) {
    let leaf = match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => true,
    };
    if leaf {
        let within = path.strip_prefix(start).unwrap_or(path);
        let entry = map.and_then(|map| map.get(within.trim_start_matches('.')));
        found.push(Leaf {
            path: path.to_owned(),
            value,
            entry,
        });
        return;
    }
    match value {
        Value::Object(fields) => {
            let own = fields.get("provenance").and_then(Value::as_object);
            let scope = if own.is_some() {
                (path, own)
            } else {
                (start, map)
            };
            for (key, field) in fields.iter().filter(|(key, _)| *key != "provenance") {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(field, &path, scope, found);
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                let path = format!("{path}.{}", name_of(element, number));
                walk(element, &path, (start, map), found);
            }
        }
        _ => {}
    }
}

/// Devices by index, processes by number, models and sources by id, parts by model, kind and place.
fn name_of(element: &Value, number: usize) -> String {
    let text = |key: &str| match element.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    if let Some(model) = text("model_id") {
        let rest = ["segment", "placement"].map(|key| text(key).unwrap_or_default());
        return format!("{model}-{}", rest.join("-"));
    }
    // The same number on the host is another process.
    if let (Some(Value::Null), Some(number)) = (element.get("pid"), text("foreign_pid")) {
        return format!("H:{number}");
    }
    // A process has a category too.
    [
        "pid",
        "foreign_pid",
        "id",
        "category",
        "device_index",
        "index",
        "name",
    ]
    .iter()
    .find_map(|key| text(key))
    .unwrap_or_else(|| number.to_string())
}

/// Every null says why, an empty list may, and nothing that has a value gives a reason.
#[track_caller]
pub(crate) fn every_null_has_its_reason(document: &Value) {
    for leaf in leaves(document) {
        if leaf.value.is_null() {
            assert!(leaf.reason().is_some(), "{} has no reason", leaf.path);
        } else if *leaf.value != serde_json::json!([]) {
            assert_eq!(leaf.reason(), None, "{} = {}", leaf.path, leaf.value);
        }
    }
}

/// An element of a list by a field.
#[track_caller]
pub(crate) fn with<'a>(list: &'a Value, key: &str, value: impl Into<Value>) -> &'a Value {
    let value = value.into();
    list.as_array()
        .unwrap()
        .iter()
        .find(|element| element[key] == value)
        .unwrap_or_else(|| panic!("no element with {key} = {value} in {list}"))
}

/// The process of this number, in whichever namespace the row is.
#[track_caller]
pub(crate) fn process(document: &Value, pid: u32) -> &Value {
    document["processes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|process| number_of(process) == pid)
        .unwrap_or_else(|| panic!("no process {pid} in {}", document["processes"]))
}

/// The driver's number of a process: its own, or in a nested PID namespace the host's.
pub(crate) fn number_of(process: &Value) -> u32 {
    let number = process["pid"].as_u64().or(process["foreign_pid"].as_u64());
    u32::try_from(number.unwrap()).unwrap()
}

/// The elements of a list.
#[track_caller]
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap()
}

/// A notice of this code about this.
#[track_caller]
pub(crate) fn has_notice(document: &Value, subject: &str, code: &str) {
    let found = list(document, "notices")
        .iter()
        .any(|notice| notice["subject"] == subject && notice["code"] == code);
    assert!(found, "{code} about {subject} in {}", document["notices"]);
}

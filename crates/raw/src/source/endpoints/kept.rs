//! What is kept of a body: values by path, and nothing else.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{BodyForm, Endpoint, MAX_ELEMENTS, MAX_FIELD_TEXT, MAX_FIELDS};

/// Longest number written as text.
const MAX_FIGURE_TEXT: usize = 32;

/// Series of one metric that are kept: a server has a handful of engines.
const MAX_SERIES: usize = 64;

/// The kept values of a body by path; nothing where the body is not in the endpoint's form.
pub(super) fn kept(body: &[u8], endpoint: Endpoint) -> BTreeMap<String, Value> {
    let body = match endpoint.form() {
        BodyForm::Json => serde_json::from_slice::<Value>(body).ok(),
        BodyForm::Metrics => std::str::from_utf8(body)
            .ok()
            .map(|text| metrics(text, endpoint.kept_fields())),
    };
    let mut found = BTreeMap::new();
    let Some(body) = body else { return found };
    for path in endpoint.kept_fields() {
        let steps: Vec<&str> = path.split('.').collect();
        let kept = if endpoint.is_text(path) {
            is_kept
        } else {
            is_figure
        };
        keep(&body, &steps, "", kept, &mut found);
    }
    found
}

/// Follows one path from `value`, whose own path is `at`.
fn keep(
    value: &Value,
    steps: &[&str],
    at: &str,
    kept: fn(&Value) -> bool,
    found: &mut BTreeMap<String, Value>,
) {
    let Some((step, rest)) = steps.split_first() else {
        if kept(value) && found.len() < MAX_FIELDS {
            found.insert(at.to_owned(), value.clone());
        }
        return;
    };
    let (name, each) = match step.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (*step, false),
    };
    let (inner, at) = match (name, at) {
        ("", _) => (Some(value), at.to_owned()),
        (_, "") => (value.get(name), name.to_owned()),
        _ => (value.get(name), format!("{at}.{name}")),
    };
    let Some(inner) = inner else { return };
    if !each {
        return keep(inner, rest, &at, kept, found);
    }
    let Value::Array(elements) = inner else {
        return;
    };
    if found.len() < MAX_FIELDS {
        found.insert(format!("{at}[]"), elements.len().into());
    }
    for (number, element) in elements.iter().enumerate().take(MAX_ELEMENTS) {
        keep(element, rest, &format!("{at}[{number}]"), kept, found);
    }
}

/// A kept name never carries what lies below it.
fn is_kept(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_FIELD_TEXT,
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// A number, a switch, or a number written as text, as labels of metrics are.
fn is_figure(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.len() <= MAX_FIGURE_TEXT
                && text.parse::<f64>().is_ok()
                && text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        }
        value => is_kept(value),
    }
}

/// The metrics that `kept` names, as an object of lists of series.
fn metrics(text: &str, kept: &[&str]) -> Value {
    let mut found = Map::new();
    let wanted = |name: &str| {
        kept.iter()
            .any(|path| path.split_once("[]").is_some_and(|(of, _)| of == name))
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        if !wanted(name) {
            continue;
        }
        let Some(series) = series(rest) else { continue };
        let all = found
            .entry(name)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all
            && all.len() < MAX_SERIES
        {
            all.push(series);
        }
    }
    Value::Object(found)
}

/// `{label="text",…} value`, the labels being optional.
fn series(text: &str) -> Option<Value> {
    let mut series = Map::new();
    let mut rest = text;
    if let Some(labels) = rest.strip_prefix('{') {
        rest = labels;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(behind) = rest.strip_prefix('}') {
                rest = behind;
                break;
            }
            let (label, behind) = rest.split_once("=\"")?;
            let end = end_of_text(behind)?;
            let (value, behind) = behind.split_at(end);
            // A label of that name would be taken for the value.
            if label != "value" {
                series.insert(label.to_owned(), value.into());
            }
            rest = behind.strip_prefix('"')?;
        }
    }
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    series.insert(
        "value".to_owned(),
        serde_json::Number::from_f64(value)?.into(),
    );
    Some(Value::Object(series))
}

/// Where an unescaped quotation mark stands.
fn end_of_text(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str, endpoint: Endpoint) -> Vec<(String, String)> {
        let all = kept(body.as_bytes(), endpoint);
        all.into_iter()
            .map(|(name, value)| (name, value.to_string()))
            .collect()
    }

    fn expected(of: &[(&str, &str)]) -> Vec<(String, String)> {
        of.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn of_a_slot_its_numbers_are_kept_and_what_was_written_in_it_is_not() {
        let body = r#"[{"id":0,"n_ctx":1024,"is_processing":false,"prompt":"canary"},
            {"id":1,"n_ctx":1024,"is_processing":true,"id_task":3,"n_prompt_tokens":24,
             "generated":"canary","params":{"grammar":"canary"},
             "next_token":[{"n_decoded":7,"stopping_word":"canary"}]}]"#;
        let wanted = [
            ("[0].id", "0"),
            ("[0].is_processing", "false"),
            ("[0].n_ctx", "1024"),
            ("[1].id", "1"),
            ("[1].id_task", "3"),
            ("[1].is_processing", "true"),
            ("[1].n_ctx", "1024"),
            ("[1].n_prompt_tokens", "24"),
            ("[1].next_token[0].n_decoded", "7"),
            ("[1].next_token[]", "1"),
            ("[]", "2"),
        ];
        assert_eq!(texts(body, Endpoint::LlamaSlots), expected(&wanted));
    }

    #[test]
    fn where_a_number_belongs_no_text_is_kept_of_any_endpoint() {
        for endpoint in Endpoint::ALL {
            for path in endpoint.kept_fields() {
                let is_text = endpoint.is_text(path);
                // The body that has a text, then a number written as one, at the end of this path.
                for (text, expected) in [("canary 1", is_text), ("12", true)] {
                    let body = path.rsplit('.').fold(Value::from(text), |below, step| {
                        let (name, each) = match step.strip_suffix("[]") {
                            Some(name) => (name, true),
                            None => (step, false),
                        };
                        let below = if each {
                            Value::from(vec![below])
                        } else {
                            below
                        };
                        match name {
                            "" => below,
                            name => Value::from(Map::from_iter([(name.to_owned(), below)])),
                        }
                    });
                    let steps: Vec<&str> = path.split('.').collect();
                    let kept = if is_text { is_kept } else { is_figure };
                    let mut found = BTreeMap::new();
                    keep(&body, &steps, "", kept, &mut found);
                    let has = found.values().any(|value| value == text);
                    assert_eq!(has, expected, "{path}: {text}");
                }
            }
        }
        let body = r#"[{"id":"canary","n_ctx":"canary","id_task":"canary","n_prompt_tokens":"canary",
            "next_token":[{"n_decoded":"canary"}]}]"#;
        let lengths = [("[0].next_token[]", "1"), ("[]", "1")];
        assert_eq!(texts(body, Endpoint::LlamaSlots), expected(&lengths));
    }

    #[test]
    fn a_kept_name_carries_nothing_below_it_and_no_long_text() {
        let long = "x".repeat(MAX_FIELD_TEXT + 1);
        for value in [
            r#"{"canary":1}"#.to_owned(),
            r#"["canary"]"#.to_owned(),
            format!("\"{long}\""),
        ] {
            let body = format!(r#"{{"model_path":{value},"total_slots":1}}"#);
            let kept = texts(&body, Endpoint::LlamaProps);
            assert_eq!(kept, expected(&[("total_slots", "1")]), "{value}");
        }
    }

    #[test]
    fn an_empty_list_is_an_answer_and_a_page_is_none() {
        assert_eq!(
            texts(r#"{"models":[]}"#, Endpoint::OllamaPs),
            expected(&[("models[]", "0")])
        );
        for body in ["<html>models</html>", "", "[1,2", "\"models\"", "null"] {
            assert_eq!(texts(body, Endpoint::OllamaPs), [], "{body}");
        }
    }

    #[test]
    fn a_long_list_is_cut_and_its_length_told() {
        let one = r#"{"name":"m","size":1}"#;
        let all = vec![one; 20_000].join(",");
        let kept = kept(
            format!(r#"{{"models":[{all}]}}"#).as_bytes(),
            Endpoint::OllamaPs,
        );
        assert_eq!(kept.get("models[]"), Some(&20_000.into()));
        assert_eq!(kept.len(), 2 * MAX_ELEMENTS + 1);
    }

    #[test]
    fn metrics_are_kept_by_name_and_label() {
        let body = concat!(
            "# HELP vllm:num_requests_running Number of requests\n",
            "vllm:num_requests_running{engine=\"0\",model_name=\"a \\\"b\\\" } c\"} 3.0\n",
            "vllm:num_requests_running{engine=\"1\"} 1.0 1700000000\n",
            "vllm:generation_tokens_total 12\n",
            "vllm:generation_tokens_total{ broken\n",
            "vllm:kv_cache_usage_perc NaN\n",
            "vllm:secret{prompt=\"canary\"} 1\n",
            "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27000\",value=\"x\"} 1.0\n",
        );
        let wanted = [
            ("vllm:cache_config_info[0].block_size", "\"16\""),
            ("vllm:cache_config_info[0].num_gpu_blocks", "\"27000\""),
            ("vllm:cache_config_info[]", "1"),
            ("vllm:generation_tokens_total[0].value", "12.0"),
            ("vllm:generation_tokens_total[]", "1"),
            ("vllm:num_requests_running[0].value", "3.0"),
            ("vllm:num_requests_running[1].value", "1.0"),
            ("vllm:num_requests_running[]", "2"),
        ];
        assert_eq!(texts(body, Endpoint::VllmMetrics), expected(&wanted));
    }
}

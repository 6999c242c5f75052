//! A real process that is started like a model server, has a real model file open and answers on loopback.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_nvml::build::Driver;
use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{every_null_has_its_reason, list, process, with};
use crate::support::models::{self, LLAMA, LLAMA_KV_PER_TOKEN, LLAMA_WEIGHTS};
use crate::support::{Folder, Program, captures, children, driver, skipped};

/// In a container the numbers of the driver are not looked up, which other tests show.
fn is_in_a_container() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let nested = namespace.as_os_str() != crate::support::machine::INITIAL_NAMESPACE;
    if nested {
        skipped("in a nested PID namespace real processes are not looked into");
    }
    nested
}

struct Server {
    process: children::Waiting,
    driver: Driver,
    model: PathBuf,
    log: PathBuf,
    _folder: Folder,
}

/// A server that answers with this; an empty answer is none.
fn server(settings: &[&str], answer: impl FnOnce(&Path) -> String) -> Server {
    let folder = Folder::new();
    let model = folder.write("models/tiny-Q4_K_M.gguf", models::whole(LLAMA));
    let log = folder.at("requests");
    let mut arguments = vec!["-m", model.to_str().unwrap()];
    arguments.extend(settings);
    let process = children::Start::new("llama-server", &arguments)
        .holding(&model)
        .serving(&answer(&model), &log)
        .start();
    let card = Device::new("NVIDIA RTX A4000").with_process(Process::new(
        process.pid(),
        Kind::Compute,
        3_u64 << 30,
    ));
    Server {
        driver: driver(Generation::R580, &Scenario::default().with_device(card)),
        process,
        model,
        log,
        _folder: folder,
    }
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn props(model: &Path) -> String {
    with_alias(model, &json!("canaryalias"))
}

fn with_alias(model: &Path, alias: &Value) -> String {
    let body = json!({
        "default_generation_settings": { "n_ctx": 2048, "prompt": "canaryprompt" },
        "total_slots": 2,
        "model_path": model,
        "model_alias": alias,
        "chat_template": "canarytemplate",
        "build_info": "b11434-test",
    });
    http("200 OK", &body.to_string())
}

impl Server {
    fn document(&self, line: &str) -> Value {
        let ran = Program::line(line).driver(&self.driver).run();
        let document = ran.ended(0).json();
        assert!(ran.took < Duration::from_secs(15), "{:?}", ran.took);
        every_null_has_its_reason(&document);
        document
    }

    fn requests(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let starts = ["GET ", "POST ", "PUT ", "DELETE ", "HEAD ", "OPTIONS "];
        log.lines()
            .filter(|line| starts.iter().any(|start| line.starts_with(start)))
            .map(str::to_owned)
            .collect()
    }
}

#[test]
fn an_open_model_is_shown_with_name_architecture_quantization_weights_and_cache() {
    if is_in_a_container() {
        return;
    }
    let server = server(&["-c", "4096", "-np", "1", "-ngl", "99"], props);
    let document = server.document("--json --no-probe");
    let row = process(&document, server.process.pid());
    assert_eq!(row["pid_namespace"], "local");
    assert_eq!(row["parent_pid"], std::process::id());
    let exe = std::env::current_exe().unwrap();
    assert_eq!(row["exe"], exe.to_str().unwrap());
    let model = with(&row["models"], "path", server.model.to_str().unwrap());
    assert_eq!(model["name"], "Tiny llama");
    assert_eq!(model["architecture"], "llama");
    assert_eq!(model["quantization"], "Q4_K_M");
    for field in ["architecture", "quantization"] {
        assert_eq!(model["provenance"][field]["class"], "measured");
    }
    let evidence: Vec<&Value> = list(model, "evidence")
        .iter()
        .map(|it| &it["source"])
        .collect();
    assert_eq!(evidence, ["open", "cmdline"]);
    let parts = list(row, "segments_estimated");
    let size = |segment: &str| -> u64 {
        let of = parts.iter().filter(|part| part["segment"] == segment);
        of.map(|part| part["bytes_high"].as_u64().unwrap()).sum()
    };
    assert_eq!(size("weights"), LLAMA_WEIGHTS);
    assert_eq!(size("kv"), 4096 * LLAMA_KV_PER_TOKEN);
    for part in parts {
        assert_eq!(part["provenance"]["bytes_low"]["class"], "estimated");
    }
    assert_eq!(row["server"], Value::Null);
    assert_eq!(
        server.requests(),
        Vec::<String>::new(),
        "it was asked against --no-probe"
    );
    let text = Program::line("--once --no-probe")
        .driver(&server.driver)
        .run();
    for words in ["Tiny llama", "llama", "Q4_K_M", "weights ~", "KV ~"] {
        assert!(
            text.ended(0).text().contains(words),
            "{words} in {}",
            text.text()
        );
    }
}

#[test]
fn a_server_that_answers_is_believed_as_reported() {
    if is_in_a_container() {
        return;
    }
    let server = server(&["-ngl", "99"], props);
    let document = server.document("--json");
    let row = process(&document, server.process.pid());
    let said = &row["server"];
    assert_eq!(said["state"], "ready", "{row}");
    assert_eq!(said["context"], 2048);
    assert_eq!(said["slots_total"], 2);
    assert_eq!(row["provenance"]["server.context"]["class"], "reported");
    assert_eq!(row["ports"], json!([said["port"]]));
    let model = with(&row["models"], "path", server.model.to_str().unwrap());
    let evidence: Vec<&Value> = list(model, "evidence")
        .iter()
        .map(|it| &it["source"])
        .collect();
    assert_eq!(evidence, ["api", "open", "cmdline"]);
    assert_eq!(model["label"], "confirmed");
    assert_eq!(model["context_used"], 2048);
    assert_eq!(model["provenance"]["context_used"]["class"], "reported");
    // Only what changes nothing was asked.
    let requests = server.requests();
    assert_eq!(
        requests,
        ["GET /props HTTP/1.1", "GET /slots HTTP/1.1"],
        "each once"
    );
    let printed = document.to_string();
    assert!(!printed.contains("canarytemplate") && !printed.contains("canaryprompt"));
}

#[test]
fn what_a_server_said_is_redacted_too() {
    if is_in_a_container() {
        return;
    }
    // One name, or several as newer servers say it.
    let several = |model: &Path| with_alias(model, &json!(["canaryalias"]));
    for server in [server(&[], props), server(&[], several)] {
        is_redacted(&server);
    }
}

fn is_redacted(server: &Server) {
    for level in ["strict", "paths"] {
        let folder = Folder::new();
        let file = folder.at("capture.ndjson");
        let recorded = Program::new(["record", "--json", "-i", "0.25", "--count", "2"])
            .args(["--redact", level, "-o", file.to_str().unwrap()])
            .driver(&server.driver)
            .run();
        recorded.ended(0);
        let text = captures::text(&file);
        assert!(text.contains("/props"), "it was asked");
        for canary in ["canarytemplate", "canaryprompt"] {
            assert!(!text.contains(canary), "{canary} at {level}");
        }
        assert_eq!(text.contains("canaryalias"), level == "paths");
        assert_eq!(text.contains("tiny-Q4_K_M"), level == "paths");
        let folder = server.model.parent().unwrap().parent().unwrap();
        assert!(!text.contains(folder.file_name().unwrap().to_str().unwrap()));
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.ended(0).text(), recorded.text(), "{level}");
    }
}

#[test]
fn servers_that_refuse_load_hang_or_lie_leave_the_rest_as_it_is() {
    if is_in_a_container() {
        return;
    }
    let body = "x".repeat(2 << 20);
    let hostile = json!({
        "default_generation_settings": { "n_ctx": u64::MAX },
        "total_slots": -1,
        "model_path": "/etc/passwd",
        "model_alias": ["\u{1b}[2J"],
    });
    let cases = [
        (
            http("401 Unauthorized", "{}"),
            "key_required",
            "key_required",
        ),
        (http("503 Service Unavailable", "{}"), "loading", "loading"),
        (http("404 Not Found", "{}"), "not_recognised", "not_there"),
        (
            http("501 Not Implemented", "{}"),
            "not_recognised",
            "disabled",
        ),
        (
            http("500 Internal Server Error", "{}"),
            "not_recognised",
            "unexpected 500",
        ),
        (String::new(), "unreachable", "failed timed_out"),
        (
            "no HTTP at all".to_owned(),
            "unreachable",
            "failed malformed",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{".to_owned(),
            "unreachable",
            "failed malformed",
        ),
        (
            children::ENDLESS.to_owned(),
            "unreachable",
            "failed over_bound",
        ),
        (
            children::DRIPPING.to_owned(),
            "unreachable",
            "failed timed_out",
        ),
        (
            http("302 Found\r\nLocation: http://127.0.0.1:1/props", ""),
            "not_recognised",
            "unexpected 302",
        ),
        (
            http("200 OK", &body[..100_000]),
            "not_recognised",
            "unexpected 200",
        ),
        (
            http("200 OK", "<html>props</html>"),
            "not_recognised",
            "unexpected 200",
        ),
        (http("200 OK", &hostile.to_string()), "ready", "ok"),
    ];
    for (answer, state, endpoint) in cases {
        let start: String = answer.chars().take(40).collect();
        let server = server(&["-c", "4096", "-np", "1", "-ngl", "99"], |_| answer);
        let document = server.document("--json");
        let row = process(&document, server.process.pid());
        assert_eq!(row["server"]["state"], state, "{start:?}");
        let props = &row["server"]["endpoints"]["/props"];
        let words = |key: &str| match &props[key] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let told: Vec<String> = ["state", "status", "reason"]
            .iter()
            .filter_map(|key| words(key))
            .collect();
        assert_eq!(told.join(" "), endpoint, "{start:?}");
        assert_eq!(
            row["devices"][0]["memory"]["vram_bytes"],
            3_u64 << 30,
            "{start:?}"
        );
        let model = with(&row["models"], "path", server.model.to_str().unwrap());
        assert_eq!(model["name"], "Tiny llama", "{start:?}");
        for request in server.requests() {
            assert_eq!(request, "GET /props HTTP/1.1", "{start:?}");
        }
    }
}

/// A server that tells what it was asked to write, as one does that was told to for debugging.
#[test]
fn what_people_wrote_to_a_server_leaves_no_trace() {
    if is_in_a_container() {
        return;
    }
    let folder = Folder::new();
    let (model, log) = (
        folder.write("tiny-Q4_K_M.gguf", models::whole(LLAMA)),
        folder.at("requests"),
    );
    let props = json!({
        "default_generation_settings": { "n_ctx": 2048, "prompt": "canaryprompt" }, "total_slots": 1,
        "model_path": model, "chat_template": "canarytemplate", "build_info": "b11434-unknown",
        "endpoint_slots": true, "is_sleeping": false,
    });
    let slots = json!([{
        "id": 0, "n_ctx": 2048, "is_processing": true, "id_task": 7, "n_prompt_tokens": 77,
        "prompt": "canaryprompt", "generated": "canarygenerated", "params": { "grammar": "canarygrammar" },
        "next_token": [{ "n_decoded": 5, "stopping_word": "canaryword" }],
    }]);
    let process = children::Start::new("llama-server", &["-m", model.to_str().unwrap()])
        .holding(&model)
        .serving_at(
            &[
                ("/props", http("200 OK", &props.to_string())),
                ("/slots", http("200 OK", &slots.to_string())),
            ],
            &log,
        )
        .start();
    let held = Process::new(process.pid(), Kind::Compute, 3_u64 << 30);
    let card = Device::new("NVIDIA RTX A4000").with_process(held);
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let canaries = [
        "canaryprompt",
        "canarytemplate",
        "canarygenerated",
        "canarygrammar",
        "canaryword",
    ];
    let lacks = |text: &str, what: &str| {
        for canary in canaries {
            assert!(!text.contains(canary), "{canary} in {what}");
        }
    };
    let document = Program::line("--json").driver(&driver).run();
    lacks(document.ended(0).text(), "JSON");
    let document = document.json();
    let row = crate::support::json::process(&document, process.pid());
    assert_eq!(row["server"]["slots_busy"], 1, "{}", row["server"]);
    assert_eq!(row["server"]["cached_tokens"], 77);
    assert_eq!(
        row["provenance"]["server.cached_tokens"]["class"],
        "reported"
    );
    let report = Program::line("--once").driver(&driver).run();
    lacks(report.ended(0).text(), "the report");
    for level in ["none", "paths", "strict"] {
        let file = folder.at(level);
        let recorded = Program::line("record --json -i 0.25 --count 4 --redact")
            .args([level, "-o"])
            .arg(&file)
            .driver(&driver)
            .run();
        lacks(recorded.ended(0).text(), "JSON of a recording");
        let text = captures::text(&file);
        assert!(
            text.contains("/slots") && text.contains("n_prompt_tokens"),
            "{level}"
        );
        lacks(&text, level);
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.ended(0).text(), recorded.text(), "{level}");
    }
}

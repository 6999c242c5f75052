//! What a server says of itself goes before what its files would need: a sleeping one has nothing loaded, one that says
//! what cannot be is not believed, and one that cannot be told from another on its port is not asked.

use std::path::Path;

use fake_nvml::build::Driver;
use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{every_null_has_its_reason, list, process};
use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Program, children, driver};

struct Server {
    process: children::Waiting,
    driver: Driver,
    _folder: Folder,
}

/// A process with a model open, whose server answers with what these make of the model's path.
fn server(answers: impl FnOnce(&Path) -> Vec<(&'static str, Value)>) -> Server {
    let folder = Folder::new();
    let model = folder.write("models/tiny-Q4_K_M.gguf", models::whole(LLAMA));
    let log = folder.at("requests");
    let reply = |body: &Value| {
        let body = body.to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let answers = answers(&model);
    let answers: Vec<(&str, String)> = answers
        .iter()
        .map(|(path, body)| (*path, reply(body)))
        .collect();
    let process = children::Start::new(
        "llama-server",
        &["-m", model.to_str().unwrap(), "-c", "4096"],
    )
    .holding(&model)
    .serving_at(&answers, &log)
    .start();
    let holder = Process::new(process.pid(), Kind::Compute, 3_u64 << 30);
    let card = Device::new("NVIDIA RTX A4000").with_process(holder);
    Server {
        driver: driver(Generation::R580, &Scenario::default().with_device(card)),
        process,
        _folder: folder,
    }
}

fn props(model: &Path, is_sleeping: bool) -> Value {
    json!({
        "default_generation_settings": { "n_ctx": 4096 }, "total_slots": 1, "model_path": model,
        "build_info": "b11434-unknown", "endpoint_slots": true, "is_sleeping": is_sleeping,
    })
}

fn document(server: &Server) -> Value {
    let ran = Program::line("--json").driver(&server.driver).run();
    let document = ran.ended(0).json();
    every_null_has_its_reason(&document);
    document
}

fn is_nested() -> bool {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    namespace.as_os_str() != crate::support::machine::INITIAL_NAMESPACE
}

#[test]
fn of_a_sleeping_server_no_part_is_told_as_its_model_is_unloaded() {
    if is_nested() {
        return;
    }
    for (is_sleeping, has_parts) in [(false, true), (true, false)] {
        let server = server(|model| vec![("/props", props(model, is_sleeping))]);
        let document = document(&server);
        let row = process(&document, server.process.pid());
        assert_eq!(row["server"]["state"] == "sleeping", is_sleeping);
        assert_eq!(!list(row, "segments_estimated").is_empty(), has_parts);
        assert_eq!(!row["receipt"].is_null(), has_parts);
        // What it would load stays named.
        assert_eq!(row["models"][0]["name"], "Tiny llama");
    }
}

#[test]
fn slots_that_say_nothing_are_not_shown_as_idle() {
    if is_nested() {
        return;
    }
    for (slots, reason, words) in [
        (json!([]), "not_found", None),
        (
            json!([{ "id": 0, "is_processing": 7 }]),
            "malformed",
            Some("busy n/a"),
        ),
    ] {
        let server = server(|model| vec![("/props", props(model, false)), ("/slots", slots)]);
        let document = document(&server);
        let row = process(&document, server.process.pid());
        assert_eq!(row["server"]["slots_busy"], Value::Null);
        assert_eq!(
            row["provenance"]["server.slots_busy"]["reason"], reason,
            "{row}"
        );
        let text = Program::line("--once").driver(&server.driver).run();
        let text = text.ended(0).text();
        assert!(!text.contains("busy 0"), "{text}");
        assert!(words.is_none_or(|words| text.contains(words)), "{text}");
    }
}

#[test]
fn a_server_that_names_a_file_that_is_no_model_is_contradicted() {
    if is_nested() {
        return;
    }
    let server = server(|model| {
        let other = model.with_file_name("notes.txt");
        std::fs::write(&other, "no model at all").unwrap();
        vec![("/props", props(&other, false))]
    });
    let document = document(&server);
    let row = process(&document, server.process.pid());
    let models = list(row, "models");
    let conflict = models.iter().find_map(|model| model["conflict"].as_str());
    let conflict = conflict.unwrap_or_else(|| panic!("{row}"));
    assert!(
        conflict.contains("notes.txt, which is no model"),
        "{conflict}"
    );
}

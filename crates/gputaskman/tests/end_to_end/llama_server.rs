//! A real llama.cpp server on the processor that maps a real model, listed by the simulated driver as a GPU client.
//!
//! `GPUTASKMAN_TEST_PYTHON` names a Python that has the server (`xllamacpp`) and the writer of model files (`gguf`);
//! `.ci/run python` makes one. Without it the test says that it was skipped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::{Folder, Program, driver, skipped};

const MIB: u64 = 1 << 20;

/// The server while it runs; it ends with its standard input.
struct Server(Child);

impl Server {
    fn start(python: &str, model: &Path, port: u16, settings: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/llama_server.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg("-m")
            .arg(model)
            .args(["-c", "4096", "-np", "1", "--port", &port.to_string()])
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("READY")));
        assert!(ready.is_some(), "the server did not start");
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _reaped = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// The Python with the server, or the reason why not is said.
fn python() -> Option<String> {
    let python = std::env::var("GPUTASKMAN_TEST_PYTHON").ok();
    if python.is_none() {
        skipped("real_llama_server: GPUTASKMAN_TEST_PYTHON is not set");
    }
    python
}

#[test]
fn a_real_server_is_shown_with_its_model_weights_and_cache_each_in_its_class() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let model = folder.path().join("tiny-llama-q8_0.gguf");
    let port = free_port();
    // A script that llama.cpp runs in: only its own words make it sure that it does not sleep.
    let awake = ["--sleep-idle-seconds", "-1"];
    let server = Server::start(&python, &model, port, &awake);
    let process = Process::new(server.0.id(), Kind::Compute, 512 * MIB);
    let device = Device {
        processes: vec![process],
        ..Device::default()
    };
    let driver = driver(Generation::R580, &Scenario::default().with_device(device));

    let ran = Program::line("--json").driver(&driver).run();
    ran.ended(0);
    let document = ran.json();
    let row = &document["processes"][0];
    let found = &row["models"][0];
    assert_eq!(found["name"], "Tiny test llama");
    assert_eq!(found["architecture"], "llama");
    assert_eq!(found["quantization"], "Q8_0");
    assert_eq!(found["label"], "confirmed");
    let kinds: Vec<&Value> = found["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["source"])
        .collect();
    assert_eq!(kinds, ["api", "mapped", "cmdline"]);
    assert_eq!(row["server"]["state"], "ready");
    assert_eq!(row["server"]["context"], 4096);
    assert_eq!(row["server"]["slots_total"], 1);
    // Nobody has asked it anything: the slot is idle and nothing is in its cache.
    assert_eq!(row["server"]["slots_busy"], 0, "{}", row["server"]);
    assert_eq!(row["server"]["cached_tokens"], 0);
    assert_eq!(
        row["server"]["endpoints"],
        json!({ "/props": { "state": "ok" }, "/slots": { "state": "ok" } })
    );

    let memory = &row["devices"][0];
    assert_eq!(memory["memory"]["vram_bytes"], 512 * MIB);
    assert_eq!(
        memory["provenance"]["memory.vram_bytes"]["class"],
        "measured"
    );
    let segment = |kind: &str| {
        let segments = row["segments_estimated"].as_array().unwrap();
        segments
            .iter()
            .find(|s| s["segment"] == kind)
            .unwrap_or_else(|| panic!("no {kind}: {row}"))
    };
    // 4 layers, 2 heads of 32 for keys and as many for values, 4096 cells, f16.
    let kv = segment("kv");
    assert_eq!(
        (&kv["bytes_low"], &kv["bytes_high"]),
        (&(4 * MIB).into(), &(4 * MIB).into())
    );
    let weights = segment("weights")["bytes_high"].as_u64().unwrap();
    let file = std::fs::metadata(&model).unwrap().len();
    assert!(
        weights < file && weights > file * 9 / 10,
        "{weights} of {file}"
    );
    assert_eq!(row["receipt"]["class"], "estimated");

    let text = Program::line("--once").driver(&driver).run();
    text.ended(0);
    for words in [
        "Tiny test llama",
        "Q8_0",
        "confirmed",
        "weights ~",
        "KV ~4.00M",
        "512M",
    ] {
        assert!(text.text().contains(words), "{words}: {}", text.text());
    }

    // Somebody asks it something; what was written and answered stays in its slot until the next request.
    let tokens = complete(port);
    let document = Program::line("--json").driver(&driver).run();
    let said = document.ended(0).json()["processes"][0]["server"].clone();
    assert_eq!(said["slots_busy"], 0, "{said}");
    let cached = said["cached_tokens"].as_u64().unwrap();
    // The last one generated was not read again, so that nothing of it is in the cache.
    assert_eq!(cached, tokens - 1, "{said}");
    drop(server);
}

/// One request as a user of the server makes it, until it is answered: tokens of its prompt and of the answer.
fn complete(port: u16) -> u64 {
    let body = json!({ "prompt": "the of the", "n_predict": 8, "cache_prompt": true }).to_string();
    let length = body.len();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = "POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let request = format!("{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let [start, end] = [answer.find('{').unwrap(), answer.rfind('}').unwrap()];
    let body: Value = serde_json::from_str(&answer[start..=end]).unwrap();
    let count = |field: &str| body[field].as_u64().unwrap();
    count("tokens_evaluated") + count("tokens_predicted")
}

/// How long a server of this test may take to fall asleep after its idle second, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_real_server_falls_asleep_while_it_is_watched_and_stays_asleep() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let model = folder.path().join("tiny-llama-q8_0.gguf");
    let server = Server::start(&python, &model, free_port(), &["--sleep-idle-seconds", "1"]);
    let process = Process::new(server.0.id(), Kind::Compute, 512 * MIB);
    let device = Device::default().with_process(process);
    let driver = driver(Generation::R580, &Scenario::default().with_device(device));
    let look = |line: &str| {
        let ran = Program::line(line).driver(&driver).run();
        ran.ended(0);
        ran
    };
    // Looking at it all the time does not keep it awake.
    let start = Instant::now();
    while look("--json").json()["processes"][0]["server"]["state"] != "sleeping" {
        assert!(start.elapsed() < PATIENCE, "it does not fall asleep");
    }
    let capture = folder.at("capture.ndjson");
    let watched = Program::line("record --json --redact none -i 0.25 --count 20 -o")
        .arg(&capture)
        .driver(&driver)
        .run();
    let snapshots = watched.ended(0).lines();
    let servers: Vec<&Value> = snapshots
        .iter()
        .map(|document| &document["processes"][0]["server"])
        .filter(|server| !server.is_null())
        .collect();
    assert!(servers.len() > 10, "{}", servers.len());
    for server in servers {
        assert_eq!(server["state"], "sleeping");
        assert_eq!(server["slots_busy"], Value::Null);
        assert_eq!(
            server["endpoints"],
            json!({ "/props": { "state": "ok" }, "/slots": { "state": "not_asked" } })
        );
    }
    // Nor has anything loaded its model again.
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.0.id())).unwrap();
    assert!(!maps.contains("tiny-llama-q8_0.gguf"), "{maps}");
}

//! Logs of processes: sizes that a program reports are beside what is measured, only while the log is of this start,
//! and nothing else of a log is in a recording.

use std::path::Path;
use std::time::{Duration, SystemTime};

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::support::json::{every_null_has_its_reason, list, process};
use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Machine, Program, Task, captures, driver};

const MODEL: &str = "/srv/models/tiny.gguf";
const LOG: &str = "/srv/logs/server.log";
const PID: u32 = 500;

/// What a server on one device prints while it loads, and a prompt.
const LINES: &str = "\
0.00.009.000 I system_info: n_threads = 8 (n_threads_batch = 8) / 16
0.00.010.000 I llama_prepare_model_devices: using device CUDA0 (NVIDIA RTX A4000) (0000:01:00.0) - 15221 MiB free
0.00.010.853 I srv    load_model: loading model '/srv/models/tiny.gguf'
0.00.012.320 I llama_model_loader: loaded meta data with 28 key-value pairs and 39 tensors from /srv/models/tiny.gguf (version GGUF V3 (latest))
0.00.015.949 I print_info: no_alloc              = 0
0.00.016.700 I load_tensors: offloaded 5/5 layers to GPU
0.00.016.801 I load_tensors:   CPU_Mapped model buffer size =     0.25 MiB
0.00.016.806 I load_tensors:        CUDA0 model buffer size =     4.50 MiB
0.00.017.094 I llama_context: constructing llama_context
0.00.017.186 I llama_kv_cache:      CUDA0 KV buffer size =     4.00 MiB
0.00.020.908 I sched_reserve:      CUDA0 compute buffer size =     9.50 MiB
0.00.020.909 I sched_reserve:  CUDA_Host compute buffer size =     1.50 MiB
0.00.027.577 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 2048, kv_unified = 'false'
0.00.048.227 I slot update_slots: id  0 | task 7 | prompt: 'canaryprompt, what is my password'
";

fn server(settings: &str) -> (Machine, Task) {
    let machine = Machine::new();
    machine.file(MODEL, models::whole(LLAMA));
    (machine, Task::llama_server(PID, MODEL, settings))
}

fn card() -> Scenario {
    let holder = Process::new(PID, Kind::Compute, 1_u64 << 30);
    Scenario::default().with_device(Device::new("NVIDIA RTX A4000").with_process(holder))
}

fn document(machine: &Machine) -> Value {
    let driver = driver(Generation::R580, &card());
    let program = Program::line("--json").driver(&driver);
    let document = program.root(machine.path()).run().ended(0).json();
    every_null_has_its_reason(&document);
    document
}

/// Sizes of class "reported": part, placement, device, bytes.
fn reported(row: &Value) -> Vec<Value> {
    let segments = list(row, "segments_reported").iter();
    let found = segments.map(|it| {
        assert_eq!(it["provenance"]["bytes"]["class"], "reported");
        assert_eq!(it["source"], "log");
        json!([
            it["segment"],
            it["placement"],
            it["device_index"],
            it["bytes"]
        ])
    });
    found.collect()
}

/// What names the model, and the model's events: kind, whether of this start, whether at a known time.
fn told(model: &Value) -> (Vec<&str>, Vec<Value>) {
    let evidence = list(model, "evidence").iter();
    let evidence = evidence.map(|it| it["source"].as_str().unwrap()).collect();
    let events = list(model, "events").iter();
    let events = events.map(|it| json!([it["event"], it["fresh"], !it["at"].is_null()]));
    (evidence, events.collect())
}

fn set_back(file: &Path, by: Duration) {
    let file = std::fs::File::options().append(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - by).unwrap();
}

const MIB: u64 = 1 << 20;

#[test]
fn a_log_gives_the_parts_that_the_program_reports() {
    // Relative to its working directory.
    let (machine, mut task) = server("--log-file logs/server.log");
    task.cwd = "/srv".to_owned();
    machine.add(&task);
    machine.file(LOG, LINES);
    let document = document(&machine);
    let row = process(&document, PID);
    let expected = [
        json!(["weights", "cpu", null, MIB / 4]),
        json!(["weights", "gpu", 0, 9 * MIB / 2]),
        json!(["kv", "gpu", 0, 4 * MIB]),
        json!(["compute", "gpu", 0, 19 * MIB / 2]),
        json!(["compute", "pinned_host", null, 3 * MIB / 2]),
    ];
    assert_eq!(reported(row), expected);
    // What lies on the device, and nothing of pinned or mapped memory.
    let remainder = (1 << 30) - 18 * MIB;
    assert_eq!(row["receipt"]["remainder_low_bytes"], remainder);
    assert_eq!(row["receipt"]["remainder_high_bytes"], remainder);
    let model = &row["models"][0];
    assert_eq!(model["context_used"], 2048);
    assert_eq!(model["label"], "confirmed");
    let (evidence, events) = told(model);
    assert_eq!(evidence, ["mapped", "cmdline", "log"]);
    assert_eq!(events, [json!(["loaded", true, false])]);
}

#[test]
fn a_size_that_is_rounded_to_zero_is_not_shown_as_nothing_and_memory_that_ran_out_is_told() {
    let (machine, mut task) = server("--log-file logs/server.log");
    task.cwd = "/srv".to_owned();
    machine.add(&task);
    let more = "\
0.00.027.000 I llama_context:  CUDA_Host  output buffer size =     0.00 MiB
0.01.000.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 128.00 MiB on device 0: cudaMalloc failed: out of memory
";
    machine.file(LOG, format!("{LINES}{more}"));
    let driver = driver(Generation::R580, &card());
    let program = Program::line("--once").driver(&driver);
    let ran = program.root(machine.path()).run();
    let text = String::from_utf8_lossy(&ran.ended(0).stdout).into_owned();
    assert!(text.contains("output <0.01M r"), "{text}");
    assert!(text.contains("out of memory, 128M wanted"), "{text}");
    assert!(text.contains("(out_of_memory)"), "{text}");
    let document = document(&machine);
    let (_, events) = told(&process(&document, PID)["models"][0]);
    assert!(
        events.contains(&json!(["out_of_memory", true, false])),
        "{events:?}"
    );
}

#[test]
fn standard_error_that_leads_to_a_file_is_a_log_and_says_the_same_as_a_second_one() {
    let (machine, mut task) = server("");
    task.open = vec![LOG.to_owned()];
    machine.add(&task);
    let errors = "/srv/logs/nohup.out";
    let flags = format!("proc/{PID}/fdinfo/2");
    machine.folder().write(&flags, "pos:\t0\nflags:\t0100001\n");
    machine.folder().link(&format!("proc/{PID}/fd/2"), errors);
    machine.file(errors, LINES);
    // Nothing is charged twice.
    machine.file(LOG, LINES);
    let document = document(&machine);
    let row = process(&document, PID);
    assert_eq!(reported(row).len(), 5);
    let log = |row: &Value| row["segments_reported"][0]["inputs"]["log"].clone();
    assert_eq!(log(row), "nohup.out");
    // One that is older than the process is none of its own, and the other counts.
    set_back(
        &machine.folder().at("srv/logs/nohup.out"),
        Duration::from_hours(6),
    );
    let document = self::document(&machine);
    let row = process(&document, PID);
    assert_eq!((reported(row).len(), log(row)), (5, json!("server.log")));
}

#[test]
fn what_is_open_for_reading_alone_is_no_log_of_the_process() {
    let (machine, mut task) = server("");
    task.open = vec![LOG.to_owned()];
    machine.add(&task);
    machine.file(LOG, LINES);
    // Another server's, whose end it shows; nor is one whose flags nothing tells.
    for (flags, expected) in [
        ("pos:\t0\nflags:\t0100000\nmnt_id:\t29\n", 0),
        ("pos:\t0\n", 0),
        ("pos:\t0\nflags:\t0100002\nmnt_id:\t29\n", 5),
    ] {
        let fdinfo = format!("proc/{PID}/fdinfo/10");
        machine.folder().write(&fdinfo, flags);
        let document = document(&machine);
        let row = process(&document, PID);
        assert_eq!(reported(row).len(), expected, "{flags}");
        let (evidence, events) = told(&row["models"][0]);
        assert_eq!(evidence.contains(&"log"), expected > 0);
        assert_eq!(events.is_empty(), expected == 0);
    }
}

#[test]
fn a_log_that_two_processes_write_is_of_neither() {
    let machine = Machine::new();
    machine.file(MODEL, models::whole(LLAMA));
    machine.file(LOG, LINES);
    let pids = [PID, PID + 1];
    for pid in pids {
        let mut task = Task::llama_server(pid, MODEL, "-c 4096");
        task.open = vec![LOG.to_owned()];
        machine.add(&task);
    }
    let card = pids
        .iter()
        .fold(Device::new("NVIDIA RTX A4000"), |card, pid| {
            card.with_process(Process::new(*pid, Kind::Compute, 1_u64 << 30))
        });
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let program = Program::line("--json").driver(&driver);
    let document = program.root(machine.path()).run().ended(0).json();
    for pid in pids {
        let row = process(&document, pid);
        assert_eq!(reported(row), Vec::<Value>::new());
        let (evidence, events) = told(&row["models"][0]);
        assert!(!evidence.contains(&"log") && events.is_empty());
    }
}

#[test]
fn a_load_of_other_settings_than_the_command_line_is_of_another_run() {
    // The log says two slots of 2048 tokens.
    for (settings, expected) in [("-np 2", 5), ("-np 4", 0), ("-np 2 -ngl 3", 0)] {
        let (machine, mut task) = server(settings);
        task.open = vec![LOG.to_owned()];
        machine.add(&task);
        machine.file(LOG, LINES);
        let document = document(&machine);
        let row = process(&document, PID);
        assert_eq!(reported(row).len(), expected, "{settings}");
        let fresh = if expected > 0 {
            json!(true)
        } else {
            Value::Null
        };
        let (_, events) = told(&row["models"][0]);
        assert_eq!(events, [json!(["loaded", fresh, false])], "{settings}");
    }
}

#[test]
fn a_log_of_before_the_start_is_history() {
    let (machine, mut task) = server("");
    task.open = vec![LOG.to_owned()];
    machine.add(&task);
    let file = machine.file(LOG, LINES);
    set_back(&file, Duration::from_hours(6));
    let document = document(&machine);
    let row = process(&document, PID);
    assert_eq!(reported(row), Vec::<Value>::new());
    let model = &row["models"][0];
    assert_eq!(model["context_used"], Value::Null);
    let (evidence, events) = told(model);
    assert_eq!(evidence, ["mapped", "cmdline"]);
    assert_eq!(events, [json!(["loaded", false, false])]);
}

#[test]
fn a_log_of_another_model_gives_no_sizes() {
    let (machine, mut task) = server("");
    task.open = vec![LOG.to_owned(), "/srv/db/000003.log".to_owned()];
    machine.add(&task);
    machine.file(LOG, LINES.replace("tiny.gguf", "other.gguf"));
    machine.file("/srv/models/other.gguf", models::whole(LLAMA));
    // A database's journal is called a log too.
    machine.file("/srv/db/000003.log", LINES);
    let document = document(&machine);
    let row = process(&document, PID);
    assert_eq!(reported(row), Vec::<Value>::new());
    let models = list(row, "models");
    assert_eq!(told(&models[0]).0, ["mapped", "cmdline"]);
    let (evidence, events) = told(&models[1]);
    assert_eq!(
        (evidence, models[1]["label"].as_str()),
        (vec!["log"], Some("history"))
    );
    // Nor does its file: it may have been unloaded since.
    let parts = list(row, "segments_estimated");
    assert!(!parts.is_empty());
    assert!(
        parts.iter().all(|part| part["model_id"] == models[0]["id"]),
        "{parts:?}"
    );
    assert_eq!(events, [json!(["loaded", true, false])]);
}

#[test]
fn of_a_log_a_recording_holds_what_a_rule_matched_and_replays_to_the_same() {
    let (machine, mut task) = server("");
    task.open = vec![LOG.to_owned()];
    machine.add(&task);
    machine.file(LOG, LINES);
    for level in ["none", "strict"] {
        let folder = Folder::new();
        let file = folder.at("capture.ndjson");
        let driver = driver(Generation::R580, &card());
        let program = Program::line("record --json -i 0.25 --count 2 --redact").arg(level);
        let program = program.arg("-o").arg(&file).driver(&driver);
        let ran = program.root(machine.path()).run();
        let shown = ran.ended(0).text().to_owned();
        let text = captures::text(&file);
        assert!(text.contains("17.18") || text.contains("4.50"), "{text}");
        for leak in ["canaryprompt", "password", "RTX A4000) ("] {
            assert!(!text.contains(leak), "{leak} at {level}");
            assert!(!shown.contains(leak), "{leak} at {level}");
        }
        assert_eq!(text.contains("tiny.gguf"), level == "none");
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.ended(0).text(), shown);
        let last: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
        assert_eq!(reported(process(&last, PID)).len(), 5, "{level}");
    }
}

/// Ollama's runner on a port of its own, and what Ollama logs of it.
fn runner(pid: u32, port: u16) -> Task {
    let line = format!("/usr/bin/ollama runner --model {MODEL} --port {port}");
    let mut task = Task::new(pid, "ollama").started_with(&line);
    task.uid = rustix::process::geteuid().as_raw();
    task.mapped.push(MODEL.to_owned());
    task
}

fn at(seconds_ago: u64) -> String {
    let at = SystemTime::now() - Duration::from_secs(seconds_ago);
    jiff::Timestamp::try_from(at).unwrap().to_string()
}

#[test]
fn ollamas_log_is_a_runners_where_it_is_the_only_one() {
    for others in [0, 1] {
        let machine = Machine::new();
        machine.file(MODEL, models::whole(LLAMA));
        let uid = rustix::process::geteuid().as_raw();
        let users = format!("root:x:0:0::/root:/bin/sh\nmona:x:{uid}:1000::/home/mona:/bin/sh\n");
        machine.file("/etc/passwd", users);
        machine.add(&runner(PID, 41_999));
        for other in 0..others {
            machine.add(&runner(600 + other, 42_000));
        }
        // The process has run for so long.
        let started = 20_000 - (100_000 + u64::from(PID)) / 100;
        let line =
            |ago, text: &str| format!("time={} level=INFO source=device.go:240 {text}\n", at(ago));
        let size = |what: &str, size: &str| format!("msg=\"{what}\" device=CUDA0 size=\"{size}\"");
        let start = |port: u16| {
            format!("msg=\"starting runner\" cmd=\"ollama runner --model {MODEL} --port {port}\"")
        };
        let log = [
            line(started + 1, &start(41_999)),
            line(started, &size("model weights", "1.5 MiB")),
            line(started, &size("kv cache", "2.0 MiB")),
            line(started, "msg=\"total memory\" size=\"3.5 MiB\""),
            line(started - 50, &start(42_000)),
            line(started - 50, &size("model weights", "9.0 MiB")),
        ];
        let home = if uid == 0 { "/root" } else { "/home/mona" };
        machine.file(&format!("{home}/.ollama/logs/server.log"), log.concat());
        let card = Device::new("NVIDIA RTX A4000");
        let holders = std::iter::once(PID).chain((0..others).map(|other| 600 + other));
        let card = holders.fold(card, |card, pid| {
            card.with_process(Process::new(pid, Kind::Compute, 1_u64 << 30))
        });
        let driver = driver(Generation::R580, &Scenario::default().with_device(card));
        let program = Program::line("--json").driver(&driver);
        let document = program.root(machine.path()).run().ended(0).json();
        let expected = match others {
            0 => vec![
                json!(["weights", "gpu", 0, 3 * MIB / 2]),
                json!(["kv", "gpu", 0, 2 * MIB]),
            ],
            _ => Vec::new(),
        };
        let row = process(&document, PID);
        assert_eq!(reported(row), expected, "{others} others");
    }
}

/// A machine with Handy, which has loaded a model since it started.
fn handy(settings: &str, log: &str) -> Machine {
    let machine = Machine::new();
    let uid = rustix::process::geteuid().as_raw();
    let users = format!("somebody:x:{uid}:1000::/home/mona:/bin/sh\n");
    machine.file("/etc/passwd", users);
    let mut task = Task::new(PID, "handy");
    task.uid = uid;
    machine.add(&task);
    let place = "/home/mona/.local/share/com.pais.handy";
    machine.file(&format!("{place}/settings_store.json"), settings);
    machine.file(&format!("{place}/logs/handy.log"), log);
    for name in ["ggml-small.bin", "notes.txt", "parakeet.onnx"] {
        machine.file(&format!("{place}/models/{name}"), "");
    }
    machine
}

/// A line of Handy's log, so long ago.
fn handys(seconds_ago: u64, text: &str) -> String {
    let at = at(seconds_ago);
    let (day, rest) = at.split_once('T').unwrap();
    let time = &rest[..8];
    format!("[{day}][{time}][handy_app_lib::managers::transcription][INFO] {text}\n")
}

const LOADED: &str = "Successfully loaded transcription model: handy/medium.gguf (took 2039ms)";
const UNLOADED: &str = "Model unloaded due to inactivity (took 75ms)";
const SETTINGS: &str = r#"{"settings":{"selected_model":"handy/medium.gguf","key":"canarykey"}}"#;
/// Longer than the machine has been up.
const BEFORE: u64 = 50_000;

#[test]
fn an_applications_log_tells_what_it_has_loaded_and_its_settings_only_what_it_would() {
    let said = handys(9, "Transcription result: canaryspeech of mine");
    let used = handys(9, "Transcription completed in 812ms");
    let (loaded, unloaded) = (handys(30, LOADED), handys(5, UNLOADED));
    let before = [handys(BEFORE, LOADED), handys(BEFORE - 60, UNLOADED)].concat();
    let this = [json!(["loaded", true, true]), json!(["used", true, true])];
    let stale = [
        json!(["loaded", false, true]),
        json!(["unloaded", false, true]),
    ];
    for (log, label, evidence, events) in [
        (
            [&*loaded, &used, &said].concat(),
            "history",
            vec!["log", "settings"],
            this.to_vec(),
        ),
        (
            [&*loaded, &used, &said, &unloaded].concat(),
            "candidate",
            vec!["settings"],
            [this.to_vec(), vec![json!(["unloaded", true, true])]].concat(),
        ),
        (before, "candidate", vec!["settings"], stale.to_vec()),
        (said.clone(), "candidate", vec!["settings"], Vec::new()),
    ] {
        let document = document(&handy(SETTINGS, &log));
        let models = list(process(&document, PID), "models");
        assert_eq!(models.len(), 1, "{models:#?}");
        assert_eq!(models[0]["label"], label, "{log}");
        assert_eq!(models[0]["name"], "handy/medium.gguf");
        assert_eq!(told(&models[0]), (evidence, events), "{log}");
    }
}

#[test]
fn what_is_only_installed_is_a_candidate() {
    let document = document(&handy("{}", ""));
    let models = list(process(&document, PID), "models");
    let names: Vec<&Value> = models.iter().map(|model| &model["name"]).collect();
    assert_eq!(names, ["ggml-small.bin", "parakeet.onnx"]);
    assert!(models.iter().all(|model| model["label"] == "candidate"));
}

#[test]
fn of_what_was_said_aloud_nothing_is_recorded() {
    let log = [
        handys(30, LOADED),
        handys(9, "Transcription result: canaryspeech of mine"),
        "canaryspeech on a second line\n".to_owned(),
    ];
    let machine = handy(SETTINGS, &log.concat());
    for level in ["none", "strict"] {
        let folder = Folder::new();
        let file = folder.at("capture.ndjson");
        let driver = driver(Generation::R580, &card());
        let program = Program::line("record --json -i 0.25 --count 2 --redact").arg(level);
        let program = program.arg("-o").arg(&file).driver(&driver);
        let ran = program.root(machine.path()).run();
        let shown = ran.ended(0).text().to_owned();
        let text = captures::text(&file);
        assert!(text.contains("app_loaded"), "{text}");
        for leak in ["canary", "mine"] {
            assert!(
                !text.contains(leak) && !shown.contains(leak),
                "{leak} at {level}"
            );
        }
        assert_eq!(text.contains("medium"), level == "none");
        let replayed = Program::line("replay --json").arg(&file).run();
        assert_eq!(replayed.ended(0).text(), shown);
        let last: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
        let models = list(process(&last, PID), "models");
        assert_eq!(told(&models[0]).0, ["log", "settings"], "{level}");
    }
}

#[test]
fn a_mistake_in_ones_own_adapter_is_named_and_the_others_go_on() {
    let folder = Folder::new();
    folder.write(
        "a-broken.toml",
        "app = \"Broken\"\nprocesses = [\"x\"]\nlgo = 1\n",
    );
    folder.write(
        "b-mine.toml",
        "app = \"Mine\"\nprocesses = [\"handy\"]\n[settings]\nformat = \"ini\"\nkey = \"General.model\"\nlinux = \"/srv/mine.ini\"\n",
    );
    folder.write("notes.txt", "no adapter");
    // Neither is waited for.
    let fifo = folder.at("c-pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    folder.link("d-linked.toml", &fifo.display().to_string());
    folder.link("e-device.toml", "/dev/zero");
    std::fs::create_dir(folder.at("f-folder.toml")).unwrap();
    let machine = handy(SETTINGS, "");
    machine.file("/srv/mine.ini", "[General]\nmodel=My own model\n");
    let driver = driver(Generation::R580, &card());
    let run = |program: Program| program.driver(&driver).root(machine.path()).run();
    let by_option = run(Program::line("--json --adapters").arg(folder.path()));
    let by_variable = run(Program::line("--json").env("GPUTASKMAN_ADAPTERS", folder.path()));
    for ran in [by_option, by_variable] {
        let document = ran.ended(0).json();
        let place = "a-broken.toml, line 3, lgo: unknown field `lgo`";
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        for (name, why) in [
            ("c-pipe.toml", "it is no regular file"),
            ("d-linked.toml", "it is no regular file"),
            ("e-device.toml", "it is no regular file"),
            ("f-folder.toml", "it is no regular file but a folder"),
        ] {
            let said = format!("{name}: {why}");
            assert!(ran.stderr.contains(&said), "{said}: {}", ran.stderr);
        }
        let models = list(process(&document, PID), "models");
        assert_eq!(models[0]["name"], "My own model");
        assert_eq!(models[0]["label"], "candidate");
    }
    let nowhere = folder.at("nowhere");
    let ran = run(Program::line("--json --adapters").arg(&nowhere));
    ran.refused(2, &["--adapters", "nowhere"]);
}

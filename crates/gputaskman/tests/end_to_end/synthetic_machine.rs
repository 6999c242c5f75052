//! A machine made of files below `--root`, with the processes that the simulated driver lists: what a model server has
//! in its memory, each figure with its class.

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::Value;

use crate::support::json::{list, process, with};
use crate::support::models::{
    self, LLAMA, LLAMA_FILE_BYTES, LLAMA_KV_PER_TOKEN, LLAMA_PARAMETERS, LLAMA_WEIGHTS,
};
use crate::support::{Machine, Program, Ran, Task, driver, json};

const MODEL: &str = "/home/mona/models/tiny-Q4_K_M.gguf";
const MEMORY: u64 = 3 << 30;

/// A card with these processes, three GiB each.
fn card(pids: &[u32]) -> Scenario {
    let card = pids
        .iter()
        .fold(Device::new("NVIDIA RTX A4000"), |card, pid| {
            card.with_process(Process::new(*pid, Kind::Compute, MEMORY).busy(40, 20))
        });
    Scenario::default().with_device(card)
}

fn run(machine: &Machine, pids: &[u32], line: &str) -> Ran {
    let driver = driver(Generation::R580, &card(pids));
    let ran = Program::line(line)
        .driver(&driver)
        .root(machine.path())
        .run();
    ran.ended(0);
    ran
}

fn document(machine: &Machine, pids: &[u32]) -> Value {
    let document = run(machine, pids, "--json").json();
    json::every_null_has_its_reason(&document);
    document
}

fn server(settings: &str) -> Machine {
    let machine = Machine::new();
    machine.file(MODEL, models::whole(LLAMA));
    let mut task = Task::llama_server(500, MODEL, settings);
    task.listening = vec![8080];
    machine.add(&task);
    machine
}

fn class(of: &Value, field: &str) -> Value {
    of["provenance"][field]["class"].clone()
}

#[test]
fn a_model_server_is_taken_apart_with_the_class_of_every_figure() {
    let machine = server("-c 4096 -np 1 -ngl 99 --api-key secret");
    let document = document(&machine, &[500]);
    let row = process(&document, 500);

    // Who it is.
    assert_eq!(row["name"], "llama-server");
    assert_eq!(row["exe"], "/usr/bin/llama-server");
    assert_eq!(row["user"], "mona");
    assert_eq!(row["parent_pid"], 1);
    assert_eq!(row["ports"], serde_json::json!([8080]));
    assert_eq!(row["container"], Value::Null);
    assert_eq!(row["provenance"]["container"]["reason"], "not_present");
    assert_eq!(row["category"], "llm");
    assert!(row["start_time"].is_string());

    // What it has.
    let model = with(&row["models"], "path", MODEL);
    for (field, value) in [
        ("name", Value::from("Tiny llama")),
        ("format", "gguf".into()),
        ("architecture", "llama".into()),
        ("quantization", "Q4_K_M".into()),
        ("parameters", LLAMA_PARAMETERS.into()),
        ("layers", 4.into()),
        ("context_trained", 8192.into()),
        ("size_on_disk_bytes", LLAMA_FILE_BYTES.into()),
    ] {
        assert_eq!(model[field], value, "{field}");
        if !["name", "format"].contains(&field) {
            assert_eq!(class(model, field), "measured", "{field}");
        }
    }
    let sources: Vec<&Value> = list(model, "evidence")
        .iter()
        .map(|it| &it["source"])
        .collect();
    assert_eq!(sources, ["mapped", "cmdline"]);
    assert_eq!(model["label"], "confirmed");

    // What of its memory that is: the embeddings stay in system memory, all else was asked onto the GPU.
    let parts = list(row, "segments_estimated");
    for part in parts {
        assert_eq!(class(part, "bytes_low"), "estimated");
        assert_eq!(part["method"], "gguf");
        let on_gpu = part["placement"] == "gpu";
        assert_eq!(part["device_index"].is_null(), !on_gpu, "{part}");
    }
    let sum = |segment: &str, placements: &[&str], end: &str| -> u64 {
        let wanted = |part: &&Value| {
            part["segment"] == segment && placements.iter().any(|place| part["placement"] == *place)
        };
        parts
            .iter()
            .filter(wanted)
            .map(|part| part[end].as_u64().unwrap())
            .sum()
    };
    let everywhere = ["gpu", "cpu"];
    for end in ["bytes_low", "bytes_high"] {
        assert_eq!(sum("weights", &everywhere, end), LLAMA_WEIGHTS);
        assert_eq!(sum("kv", &["gpu"], end), 4096 * LLAMA_KV_PER_TOKEN);
        assert_eq!(sum("kv", &["cpu"], end), 0);
    }

    // And what is left.
    let charge = &row["devices"][0];
    assert_eq!(charge["memory"]["vram_bytes"], MEMORY);
    assert_eq!(class(charge, "memory.vram_bytes"), "measured");
    let receipt = &row["receipt"];
    let rest = |end: &str| {
        let parts: u64 = ["weights", "kv", "compute"]
            .map(|segment| sum(segment, &["gpu"], end))
            .iter()
            .sum();
        i64::try_from(MEMORY).unwrap() - i64::try_from(parts).unwrap()
    };
    assert_eq!(receipt["measured_bytes"], MEMORY);
    assert_eq!(receipt["remainder_high_bytes"], rest("bytes_low"));
    assert_eq!(receipt["remainder_low_bytes"], rest("bytes_high"));
    assert_eq!(receipt["class"], "estimated");
}

#[test]
fn draft_and_adapter_are_lines_of_their_own_on_one_receipt() {
    let (draft, adapter) = (
        "/home/mona/models/draft.gguf",
        "/home/mona/models/adapter.gguf",
    );
    let settings = format!("-c 4096 -np 1 -ngl 99 -md {draft} -ngld 99 --lora {adapter} -fa on");
    let machine = server(&settings);
    machine.file(draft, models::whole(LLAMA));
    machine.file(adapter, models::whole(models::ADAPTER));
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    assert_eq!(list(row, "models").len(), 3);
    let receipts = list(row, "receipts");
    assert_eq!(receipts.len(), 1, "one row, one receipt");
    let lines = list(&receipts[0], "lines");
    let counted = |segment: &str| -> Vec<(u64, u64)> {
        let of_kind = |it: &&Value| it["segment"] == segment && it["standing"] == "counted";
        let ends = |it: &Value| ["bytes_low", "bytes_high"].map(|end| it[end].as_u64().unwrap());
        let found = lines.iter().filter(of_kind).map(ends);
        found.map(|[low, high]| (low, high)).collect()
    };
    // The draft model's weights, cache and buffers are one part, on top of those of its model.
    let (weights, kv, compute) = (
        counted("weights")[0],
        counted("kv")[0],
        counted("compute")[0],
    );
    let [own] = counted("draft")[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(
        own.0,
        weights.0 + kv.0 + compute.0,
        "the same file with the same context"
    );
    assert_eq!(own.1, weights.1 + kv.1 + compute.1);
    let [adapter] = counted("adapter")[..] else {
        panic!("{lines:?}")
    };
    assert!(adapter.0 > 0 && adapter.0 == adapter.1, "{adapter:?}");
    let parts = weights.0 + kv.0 + compute.0 + own.0 + adapter.0;
    let rest = i64::try_from(MEMORY).unwrap() - i64::try_from(parts).unwrap();
    assert_eq!(receipts[0]["remainder_high_bytes"], rest);
    assert_eq!(row["receipt"]["remainder_high_bytes"], rest);
}

#[test]
fn the_report_names_model_parts_and_estimates() {
    let machine = server("-c 4096 -np 1 -ngl 99");
    let ran = run(&machine, &[500], "--once");
    for words in [
        "llama-server",
        "Tiny llama",
        "llama",
        "Q4_K_M",
        "3.00 GiB",
        "weights ~",
        "KV ~4.00M",
    ] {
        assert!(ran.text().contains(words), "{words} in {}", ran.text());
    }
}

#[test]
fn settings_that_nothing_tells_leave_a_range_or_a_reason() {
    let machine = server("");
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    let weights = with(&row["segments_estimated"], "segment", "weights");
    assert_eq!(weights["placement"], "unknown");
    assert_eq!(weights["device_index"], Value::Null);
    let cache = with(&row["segments_estimated"], "segment", "kv");
    assert_eq!(cache["placement"], "unknown");
    assert!(
        cache["bytes_low"].is_null() || cache["bytes_low"] != 0,
        "{cache}"
    );
    // The assumption is the user's, and is told.
    let assumed = run(&machine, &[500], "--json --gpu-layers 99").json();
    let weights = with(
        &process(&assumed, 500)["segments_estimated"],
        "placement",
        "gpu",
    );
    assert!(
        weights["inputs"]["gpu_layers"]
            .as_str()
            .unwrap()
            .contains("--gpu-layers")
    );
}

#[test]
fn the_environment_of_a_server_counts_and_its_words_win() {
    let machine = Machine::new();
    machine.file(MODEL, models::whole(LLAMA));
    let mut task =
        Task::new(500, "llama-server").started_with("/usr/bin/llama-server -c 2048 -np 1");
    task.environment = vec![
        format!("LLAMA_ARG_MODEL={MODEL}"),
        "LLAMA_ARG_CTX_SIZE=8192".to_owned(),
        "LLAMA_ARG_N_GPU_LAYERS=99".to_owned(),
    ];
    machine.add(&task);
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    assert_eq!(row["models"][0]["name"], "Tiny llama");
    let cache = with(&row["segments_estimated"], "segment", "kv");
    assert_eq!(cache["bytes_high"], 2048 * LLAMA_KV_PER_TOKEN);
    assert_eq!(cache["placement"], "gpu");
}

#[test]
fn a_file_is_looked_for_where_the_process_sees_it() {
    let machine = Machine::new();
    // In its own root, relative to its own folder; the host has another file there.
    machine.file("/proc/500/root/srv/models/mine.gguf", models::whole(LLAMA));
    machine.file("/srv/models/mine.gguf", "not this one");
    let mut task = Task::new(500, "llama-server").started_with("llama-server -m mine.gguf");
    task.cwd = "/srv/models".to_owned();
    machine.add(&task);
    let document = document(&machine, &[500]);
    let model = &process(&document, 500)["models"][0];
    assert_eq!(model["path"], "/srv/models/mine.gguf");
    assert_eq!(model["architecture"], "llama");
}

#[test]
fn a_link_out_of_the_root_of_a_process_leads_nowhere() {
    let machine = Machine::new();
    let secret = machine.folder().at("outside.gguf");
    std::fs::write(&secret, models::whole(LLAMA)).unwrap();
    machine.folder().folder("proc/500/root/models");
    let links = [
        ("absolute", secret.to_str().unwrap().to_owned()),
        ("climbing", "../../../../outside.gguf".to_owned()),
        ("by-proc", "/proc/1/root/outside.gguf".to_owned()),
    ];
    let mut task = Task::new(500, "llama-server");
    for (name, target) in &links {
        machine
            .folder()
            .link(&format!("proc/500/root/models/{name}.gguf"), target);
        task.open.push(format!("/models/{name}.gguf"));
    }
    machine.add(&task);
    let document = document(&machine, &[500]);
    let models = list(process(&document, 500), "models");
    assert_eq!(models.len(), links.len());
    for model in models {
        assert_eq!(model["architecture"], Value::Null, "{model}");
        assert_eq!(model["provenance"]["architecture"]["reason"], "not_present");
    }
}

#[test]
fn no_models_reads_no_model_and_no_probe_asks_no_server() {
    let machine = server("-c 4096");
    let without = run(&machine, &[500], "--json --no-models").json();
    assert_eq!(process(&without, 500)["models"], serde_json::json!([]));
    assert_eq!(process(&without, 500)["name"], "llama-server");
    let unasked = run(&machine, &[500], "--json --no-probe").json();
    assert_eq!(process(&unasked, 500)["server"], Value::Null);
    for (document, code, keys) in [
        (&without, "models_off", &["models", "server"][..]),
        (&unasked, "probe_off", &["server"]),
    ] {
        for key in keys {
            let trace = &process(document, 500)["provenance"][*key];
            assert_eq!(trace["reason"], "disabled", "{key}");
        }
        let told = list(document, "notices");
        assert!(told.iter().any(|it| it["code"] == code), "{told:?}");
    }
    assert_eq!(process(&unasked, 500)["models"][0]["name"], "Tiny llama");
}

#[test]
fn an_unknown_namespace_is_not_taken_for_the_first() {
    let machine = server("-c 4096");
    let link = machine.folder().at("proc/self/ns/pid");
    std::fs::remove_file(&link).unwrap();
    machine.add_first_process();
    let document = document(&machine, &[500]);
    assert_eq!(document["host"]["pid_namespace"], "unknown");
    // It is matched like a number of another namespace, not looked up.
    let row = process(&document, 500);
    assert_eq!(row["foreign_pid"], 500);
    assert_eq!(row["pid_match"]["why"], "count");
}

#[test]
fn a_number_that_passed_to_a_younger_process_is_not_given_its_name() {
    let machine = Machine::new();
    let mut young = Task::new(500, "younger");
    // After the boot of a machine that is up for 20 000 s, an hour in the future.
    young.start_ticks = 2_400_000;
    machine.add(&young);
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    assert_eq!(row["name"], Value::Null);
    assert_eq!(row["provenance"]["name"]["reason"], "exited");
    assert_eq!(row["devices"][0]["memory"]["vram_bytes"], MEMORY);
}

#[test]
fn a_process_that_is_gone_keeps_its_row() {
    let machine = Machine::new();
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    assert_eq!(row["name"], Value::Null);
    assert_eq!(row["provenance"]["name"]["reason"], "exited");
    assert_eq!(row["devices"][0]["memory"]["vram_bytes"], MEMORY);
    assert_eq!(document["totals"]["measured_process_vram_bytes"], MEMORY);
}

#[test]
fn names_with_escapes_reach_no_terminal() {
    let machine = Machine::new();
    let mut task = Task::new(500, "x");
    task.name = "\u{1b}[31mred\u{7}".to_owned();
    task.arguments = vec!["\u{1b}]0;title\u{7}".to_owned(), "\u{9b}2J".to_owned()];
    task.cgroup = format!("0::/docker-{}\u{1b}[2J.scope\n", "ab".repeat(32));
    machine.add(&task);
    let text = run(&machine, &[500], "--once");
    assert!(
        !text.text().chars().any(|c| c.is_control() && c != '\n'),
        "{:?}",
        text.text()
    );
    let raw = run(&machine, &[500], "--json");
    assert!(
        !raw.text().chars().any(|c| c.is_control() && c != '\n'),
        "{:?}",
        raw.text()
    );
}

#[test]
fn a_file_that_took_the_place_of_a_mapped_model_is_not_taken_for_it() {
    let machine = Machine::new();
    machine.file(MODEL, models::whole(LLAMA));
    let mut task = Task::llama_server(500, MODEL, "-c 4096 -np 1 -ngl 99");
    for mapped in &mut task.mapped {
        if mapped == MODEL {
            mapped.push_str(" (deleted)");
        }
    }
    machine.add(&task);
    let document = document(&machine, &[500]);
    let row = process(&document, 500);
    let found = json::list(row, "models");
    assert_eq!(found.len(), 1, "{row}");
    let model = &found[0];
    assert_eq!(model["path"], MODEL);
    assert_eq!(model["label"], "confirmed");
    for field in ["architecture", "parameters", "size_on_disk_bytes"] {
        assert_eq!(model[field], Value::Null, "{field} is the other file's");
    }
    assert!(json::list(row, "segments_estimated").is_empty());
}

#[test]
fn a_model_cut_short_is_told() {
    let machine = Machine::new();
    let whole = models::whole(LLAMA);
    machine.file(MODEL, &whole[..whole.len() - 1000]);
    machine.add(&Task::llama_server(500, MODEL, "-c 4096 -np 1"));
    json::has_notice(&document(&machine, &[500]), "pid:500", "model_truncated");
}

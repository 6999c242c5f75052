//! In a PID namespace of its own the program does not know the driver's numbers: real namespaces, real processes, and
//! trees below `--root`.

use std::path::PathBuf;

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::{Value, json};

use crate::changes::Watched;
use crate::support::json::{every_null_has_its_reason, list, process};
use crate::support::models::{self, LLAMA};
use crate::support::{Folder, Machine, Program, Ran, Task, driver, skipped};

const MEMORY: u64 = 3 << 30;
const NESTED: &str = "pid:[4026532211]";
const MODEL: &str = "/home/mona/models/tiny-Q4_K_M.gguf";

fn card(pids: &[u32]) -> Scenario {
    let card = pids
        .iter()
        .fold(Device::new("NVIDIA RTX A4000"), |card, pid| {
            card.with_process(Process::new(*pid, Kind::Compute, MEMORY).busy(40, 20))
        });
    Scenario::default().with_device(card)
}

/// A shared library under the name of CUDA's driver library.
fn library(folder: &Folder) -> PathBuf {
    let driver = driver(Generation::R580, &Scenario::default());
    let file = driver.folder().join("libnvidia-ml.so.1");
    folder.write("libcuda.so.1", std::fs::read(file).unwrap())
}

/// Runs the program beside so many processes that have the library mapped; `None` where that is not allowed here.
fn run(others: usize, scenario: &Scenario, line: &str) -> Option<Ran> {
    let folder = Folder::new();
    let library = library(&folder);
    let driver = driver(Generation::R580, scenario);
    let program = Program::line(line).driver(&driver);
    let Some(program) = program.in_a_new_pid_namespace(others, &library) else {
        skipped("this user may not make a PID namespace");
        return None;
    };
    let ran = program.run();
    ran.ended(0);
    Some(ran)
}

fn document(others: usize, listed: &[u32]) -> Option<Value> {
    let document = run(others, &card(listed), "--json")?.json();
    every_null_has_its_reason(&document);
    assert_eq!(document["mode"], "container");
    assert_eq!(document["host"]["pid_namespace"], "nested");
    Some(document)
}

fn rows(document: &Value) -> Vec<(Value, Value, Value)> {
    list(document, "processes")
        .iter()
        .map(|row| {
            (
                row["foreign_pid"].clone(),
                row["name"].clone(),
                row["pid_match"]["mark"].clone(),
            )
        })
        .collect()
}

#[test]
fn as_many_entries_as_processes_with_the_library_are_sure_pairs_in_order_of_creation() {
    let Some(document) = document(2, &[51_044, 51_010]) else {
        return;
    };
    let rows = list(&document, "processes");
    assert_eq!(rows.len(), 2, "{document}");
    let mut pids = Vec::new();
    for (row, host) in rows.iter().zip([51_010, 51_044]) {
        assert_eq!(row["foreign_pid"], host);
        assert_eq!(row["pid_namespace"], "local");
        assert_eq!(row["name"], "sleep");
        assert_eq!(row["pid_match"], json!({"mark": "*", "why": "count"}));
        let on = &row["devices"][0];
        assert_eq!(on["memory"]["vram_bytes"], MEMORY);
        assert_eq!(on["vram_inferred_by"], "count");
        assert_eq!(on["provenance"]["memory.vram_bytes"]["class"], "inferred");
        assert_eq!(on["engines"]["gpu_pct"], 40.0);
        assert_eq!(on["provenance"]["engines.gpu_pct"]["class"], "inferred");
        pids.push(row["pid"].as_u64().unwrap());
    }
    assert!(pids.is_sorted(), "{pids:?}");
    let totals = &document["totals"]["measured_process_vram_bytes"];
    assert_eq!(
        *totals, 0,
        "a size with an inferred owner is in no measured sum"
    );
}

#[test]
fn with_an_entry_too_many_the_pairs_are_guesses_and_the_rest_is_outside() {
    let Some(document) = document(2, &[51_010, 51_044, 51_100]) else {
        return;
    };
    let rows = rows(&document);
    let guesses = rows.iter().filter(|(_, _, mark)| mark == "?").count();
    let outside: Vec<_> = rows.iter().filter(|(_, name, _)| name.is_null()).collect();
    assert_eq!((guesses, outside.len()), (2, 1), "{rows:?}");
    let text = run(2, &card(&[51_010, 51_044, 51_100]), "--once").unwrap();
    let text = text.text();
    assert!(
        text.contains("3.00G ?") && text.contains("H:51010"),
        "{text}"
    );
    assert!(
        text.contains("more processes than are visible here") || text.contains("(guessed_owners)")
    );
}

#[test]
fn a_process_with_the_library_and_no_entry_has_a_row_and_no_size() {
    let Some(document) = document(2, &[51_010]) else {
        return;
    };
    let rows = list(&document, "processes");
    assert_eq!(rows.len(), 2, "{document}");
    let unlisted = rows.iter().find(|row| row["devices"] == json!([]));
    let unlisted = unlisted.unwrap_or_else(|| panic!("{document}"));
    assert_eq!(unlisted["name"], "sleep");
    assert_eq!(unlisted["provenance"]["devices"]["reason"], "not_listed");
    let guess = rows.iter().find(|row| row["foreign_pid"] == 51_010);
    assert_eq!(guess.unwrap()["pid_match"]["why"], "more_local");
}

#[test]
fn an_equal_number_means_nothing() {
    // The shell is process 1 of its namespace and has no such library mapped.
    let Some(document) = document(0, &[1]) else {
        return;
    };
    assert_eq!(
        rows(&document),
        [(json!(1), Value::Null, Value::Null)],
        "the number 1 of the host is not the shell"
    );
}

#[test]
fn as_many_samples_of_other_numbers_as_entries_are_taken_in_order_as_guesses() {
    let Some(ran) = run(2, &Scenario::container_split(), "--json") else {
        return;
    };
    let document = ran.json();
    every_null_has_its_reason(&document);
    let rows = list(&document, "processes");
    assert_eq!(rows.len(), 2, "{document}");
    for row in rows {
        assert_eq!(row["pid_match"]["mark"], "*", "{row}");
        let on = &row["devices"][0];
        assert_eq!(on["engines"]["gpu_pct"], 30.0, "{row}");
        let load = &on["provenance"]["engines.gpu_pct"];
        assert_eq!(load["class"], "inferred", "{row}");
        let why = load["detail"].as_str().unwrap();
        assert!(
            why.contains("guess"),
            "a sure row does not make its load sure: {why}"
        );
    }
}

fn on_machine(machine: &Machine, listed: &[u32], line: &str) -> Ran {
    let driver = driver(Generation::R580, &card(listed));
    let ran = Program::line(line)
        .driver(&driver)
        .root(machine.path())
        .run();
    ran.ended(0);
    ran
}

#[test]
fn a_process_without_the_library_is_not_looked_up_by_an_equal_number() {
    let machine = Machine::in_namespace(NESTED);
    machine.file(MODEL, models::whole(LLAMA));
    let mut task = Task::llama_server(500, MODEL, "-c 4096");
    task.mapped.retain(|path| !path.contains("libcuda"));
    machine.add(&task);
    let document = on_machine(&machine, &[500], "--json").json();
    every_null_has_its_reason(&document);
    assert_eq!(document["mode"], "container");
    let row = process(&document, 500);
    assert_eq!(row["pid"], Value::Null);
    assert_eq!(row["foreign_pid"], 500);
    assert_eq!(row["pid_namespace"], "host");
    for field in [
        "name",
        "exe",
        "user",
        "command_line",
        "ports",
        "container",
        "runtimes",
    ] {
        assert_eq!(row[field], Value::Null, "{field}");
        assert_eq!(
            row["provenance"][field]["reason"], "outside_namespace",
            "{field}"
        );
    }
    assert_eq!(row["models"], json!([]));
    assert_eq!(row["devices"][0]["memory"]["vram_bytes"], MEMORY);
    let text = on_machine(&machine, &[500], "--once");
    assert!(text.text().contains("H:500"), "{}", text.text());
    for hidden in ["llama-server", "Tiny llama", "mona"] {
        assert!(!text.text().contains(hidden), "{hidden} in {}", text.text());
    }
}

#[test]
fn the_model_of_a_matched_process_is_found() {
    let machine = Machine::in_namespace(NESTED);
    machine.file(MODEL, models::whole(LLAMA));
    machine.add(&Task::llama_server(17, MODEL, "-c 4096"));
    let document = on_machine(&machine, &[90_500], "--json").json();
    every_null_has_its_reason(&document);
    let row = process(&document, 17);
    assert_eq!(row["foreign_pid"], 90_500);
    assert_eq!(row["pid_match"]["why"], "count");
    assert_eq!(row["models"][0]["name"], "Tiny llama");
}

#[test]
fn a_large_process_that_cannot_be_looked_into_leaves_only_guesses_and_a_small_one_does_not() {
    for (bytes, mark) in [(1_u64 << 30, "?"), ((1 << 30) - 1, "*")] {
        let machine = Machine::in_namespace(NESTED);
        machine.add(&Task::new(17, "seen"));
        let mut hidden = Task::new(18, "hidden");
        hidden.virtual_bytes = bytes;
        // More mapped files than are read, whoever asks: rights do not bind root.
        hidden.mapped = (0..20_000)
            .map(|n| format!("/usr/lib/a-very-long-name-of-a-library/of-many/libnumber{n}.so"))
            .collect();
        machine.add(&hidden);
        let document = on_machine(&machine, &[90_500], "--json").json();
        let row = process(&document, 17);
        assert_eq!(row["pid_match"]["mark"], mark, "{bytes}: {row}");
    }
}

#[test]
fn a_process_that_executes_another_program_without_the_library_is_no_owner_any_more() {
    let machine = Machine::in_namespace(NESTED);
    machine.add(&Task::new(17, "worker"));
    let image = |start: u64| {
        let stat = machine.folder().at("proc/17/stat");
        let text = std::fs::read_to_string(&stat).unwrap();
        // Fields 24 to 28: resident pages, their limit, where code begins and ends, where the stack begins.
        let (fields, _) = text.split_once(" 500 0").unwrap();
        std::fs::write(&stat, format!("{fields} 500 0 {start} {start} {start} 0\n")).unwrap();
    };
    image(4_194_304);
    let driver = driver(Generation::R580, &card(&[]));
    let watched = Watched::start(|program| program.driver(&driver).root(machine.path()));
    let is_candidate = |document: &Value| !list(document, "processes").is_empty();
    watched.until(is_candidate, |_| {});
    // Same name, same start, same size: only where the program lies tells.
    machine.folder().write("proc/17/maps", "");
    image(8_388_608);
    watched.until(|document| !is_candidate(document), |_| {});
    watched.end();
}

#[test]
fn where_the_first_process_is_hidden_others_may_be_and_nothing_is_sure() {
    let machine = Machine::in_namespace(NESTED);
    machine.add(&Task::new(17, "seen"));
    std::fs::remove_dir_all(machine.folder().at("proc/1")).unwrap();
    let document = on_machine(&machine, &[90_500], "--json").json();
    let row = process(&document, 17);
    assert_eq!(row["pid_match"], json!({"mark": "?", "why": "unreadable"}));
}

#[test]
fn a_process_that_has_ended_and_was_not_waited_for_holds_nothing() {
    let machine = Machine::in_namespace(NESTED);
    machine.add(&Task::new(17, "ended"));
    let stat = machine.folder().at("proc/17/stat");
    let text = std::fs::read_to_string(&stat).unwrap();
    std::fs::write(&stat, text.replace(") S ", ") Z ")).unwrap();
    let document = on_machine(&machine, &[90_500], "--json").json();
    let rows = rows(&document);
    assert_eq!(rows, [(json!(90_500), Value::Null, Value::Null)]);
}

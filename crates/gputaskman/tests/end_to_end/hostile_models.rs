//! Model files that are broken or meant to break a reader: a notice or a missing reading with its reason, in bounded
//! time, and everything else stays.

use std::path::Path;
use std::time::Duration;

use fake_nvml::{Device, Generation, Kind, Process, Scenario};
use serde_json::Value;

use crate::support::json::{list, process};
use crate::support::models::{self, LLAMA};
use crate::support::{Machine, Program, Task, driver, json};

/// A refresh waits at most 3 s for answers; the rest is the start of a program in a debug build on a busy machine.
const BOUND: Duration = Duration::from_secs(20);

/// The first of the servers with a file in question; they follow each other. The last has a good one.
const FIRST: u32 = 500;

fn path_of(number: usize) -> String {
    format!("/models/x{number}.gguf")
}

fn pid(number: usize) -> u32 {
    FIRST + u32::try_from(number).unwrap()
}

/// Servers with files that `place` puts in their places, and one with a good file. It has to be shown whatever the
/// others are.
fn shown(count: usize, place: impl FnOnce(&Machine)) -> Value {
    let machine = Machine::new();
    machine.folder().folder("models");
    place(&machine);
    machine.file("/models/good.gguf", models::whole(LLAMA));
    let mut card = Device::new("NVIDIA RTX A4000");
    let files = (0..count)
        .map(path_of)
        .chain(["/models/good.gguf".to_owned()]);
    for (number, file) in files.enumerate() {
        machine.add(&Task::llama_server(pid(number), &file, "-c 4096 -ngl 99"));
        card = card.with_process(Process::new(pid(number), Kind::Compute, 1_u64 << 30));
    }
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let run = |mode: &str| {
        let ran = Program::line(mode)
            .driver(&driver)
            .root(machine.path())
            .run();
        ran.ended(0);
        assert!(ran.took < BOUND, "{mode} took {:?}", ran.took);
        ran
    };
    assert!(run("--once").text().contains("Tiny llama"));
    let document = run("--json").json();
    json::every_null_has_its_reason(&document);
    assert_eq!(document["pending"], false);
    for notice in list(&document, "notices") {
        assert_ne!(notice["code"], "internal", "{notice}");
    }
    assert_eq!(
        process(&document, pid(count))["models"][0]["name"],
        "Tiny llama"
    );
    for number in 0..count {
        let row = process(&document, pid(number));
        assert_eq!(row["devices"][0]["memory"]["vram_bytes"], 1_u64 << 30);
    }
    document
}

/// The same with one file.
fn with_one(place: impl FnOnce(&Machine)) -> Value {
    shown(1, place)
}

/// The file is shown as what was named, with nothing known of its inside.
#[track_caller]
fn tells_nothing(document: &Value, number: usize, reason: &str) {
    let models = list(process(document, pid(number)), "models");
    assert_eq!(models.len(), 1, "{models:?}");
    for field in [
        "architecture",
        "quantization",
        "parameters",
        "layers",
        "context_trained",
    ] {
        assert_eq!(models[0][field], Value::Null, "{field} of {number}");
        assert_eq!(
            models[0]["provenance"][field]["reason"], reason,
            "{field} of {number}"
        );
    }
    for part in list(process(document, pid(number)), "segments_estimated") {
        assert_eq!(part["bytes_low"], Value::Null, "{part}");
    }
}

/// A notice names the file and says what is wrong.
#[track_caller]
fn has_notice(document: &Value, number: usize) {
    let found = list(document, "notices").iter().any(|notice| {
        let text = notice["text"].as_str().unwrap();
        notice["code"] == "model_unreadable" && text.starts_with(&path_of(number))
    });
    assert!(found, "{number}: {}", document["notices"]);
}

#[track_caller]
fn are_broken(contents: &[Vec<u8>]) {
    let document = shown(contents.len(), |machine| {
        for (number, content) in contents.iter().enumerate() {
            machine.file(&path_of(number), content);
        }
    });
    for number in 0..contents.len() {
        tells_nothing(&document, number, "malformed");
        has_notice(&document, number);
    }
}

#[test]
fn a_header_that_ends_too_soon_is_said() {
    let lengths = [
        0,
        1,
        3,
        4,
        7,
        8,
        23,
        24,
        25,
        100,
        500,
        1000,
        5000,
        9000,
        LLAMA.len() - 40,
    ];
    are_broken(&lengths.map(|length| LLAMA[..length].to_vec()));
}

#[test]
fn a_file_without_its_weights_is_read_for_what_it_says() {
    let document = with_one(|machine| drop(machine.file(&path_of(0), LLAMA)));
    let model = &process(&document, FIRST)["models"][0];
    assert_eq!(model["architecture"], "llama");
    assert_eq!(model["size_on_disk_bytes"], LLAMA.len());
}

#[test]
fn bytes_without_sense_are_said() {
    let mut contents = vec![
        vec![0; 4096],
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n".to_vec(),
        b"GGML".to_vec(),
        b"GGUF\x00\x00\x00\x03".to_vec(),
    ];
    for seed in 0..8 {
        contents.push(models::noise(seed, 40_000));
        let mut with_magic = models::noise(seed + 100, 40_000);
        with_magic[..8].copy_from_slice(b"GGUF\x03\0\0\0");
        contents.push(with_magic);
    }
    are_broken(&contents);
}

/// Magic, version 3, and these counts of tensors and metadata entries, then whatever follows.
fn counted(tensors: u64, entries: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(tensors.to_le_bytes());
    bytes.extend(entries.to_le_bytes());
    bytes.extend(rest);
    bytes.resize(bytes.len().max(8192), 0);
    bytes
}

/// A metadata entry's key and the number of its type.
fn entry(key: &str, kind: u32) -> Vec<u8> {
    let mut bytes = u64::try_from(key.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(key.as_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes
}

#[test]
fn counts_and_lengths_beyond_any_file_are_said() {
    let mut contents = Vec::new();
    let huge = [u64::MAX, u64::MAX / 2 + 1, 1 << 62, 1 << 40, 1 << 31];
    for count in huge {
        contents.push(counted(count, 1, &[]));
        contents.push(counted(1, count, &[]));
        // A key and a text of that length.
        contents.push(counted(0, 1, &count.to_le_bytes()));
        let text = [entry("general.name", 8), count.to_le_bytes().to_vec()].concat();
        contents.push(counted(0, 1, &text));
        // Arrays of numbers, of texts, of arrays.
        for element in [0_u32, 6, 8, 9, 77] {
            let array = [
                entry("tokenizer.ggml.tokens", 9),
                element.to_le_bytes().to_vec(),
                count.to_le_bytes().to_vec(),
            ];
            contents.push(counted(0, 1, &array.concat()));
        }
    }
    // Arrays in arrays in arrays.
    let mut nested = entry("a", 9);
    for _ in 0..600 {
        nested.extend(9_u32.to_le_bytes());
        nested.extend(1_u64.to_le_bytes());
    }
    contents.push(counted(0, 1, &nested));
    are_broken(&contents);
}

#[test]
fn numbers_of_a_model_that_cannot_be_give_no_size() {
    // Layers, heads and context as large as their types allow.
    for key in [
        "llama.block_count",
        "llama.context_length",
        "llama.attention.head_count_kv",
    ] {
        let mut bytes = models::whole(LLAMA);
        let at = bytes
            .windows(key.len())
            .position(|window| window == key.as_bytes())
            .unwrap();
        let value = at + key.len() + 4;
        bytes[value..value + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let document = with_one(|machine| drop(machine.file(&path_of(0), &bytes)));
        for part in list(process(&document, FIRST), "segments_estimated") {
            for end in ["bytes_low", "bytes_high"] {
                assert_ne!(part[end], 0, "{key}: {part}");
            }
        }
    }
}

#[test]
fn a_file_of_a_terabyte_of_nothing_is_read_in_bounded_time() {
    let document = with_one(|machine| {
        let path = machine.file(&path_of(0), LLAMA);
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    });
    let model = &process(&document, FIRST)["models"][0];
    assert_eq!(model["size_on_disk_bytes"], 1_u64 << 40);

    // A vocabulary without end: every length in it is zero.
    let document = with_one(|machine| {
        let start = [
            entry("tokenizer.ggml.tokens", 9),
            8_u32.to_le_bytes().to_vec(),
            (1_u64 << 36).to_le_bytes().to_vec(),
        ];
        let path = machine.file(&path_of(0), counted(0, 1, &start.concat()));
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
    });
    let model = &process(&document, FIRST)["models"][0];
    assert_eq!(model["architecture"], Value::Null);
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let command = |program: &str, path: &Path| {
        let made = std::process::Command::new(program)
            .arg(path)
            .status()
            .unwrap();
        assert!(made.success());
    };
    let document = with_one(|machine| command("mkfifo", &machine.folder().at("models/x0.gguf")));
    tells_nothing(&document, 0, "not_regular_file");
    let document = with_one(|machine| command("mkdir", &machine.folder().at("models/x0.gguf")));
    tells_nothing(&document, 0, "not_regular_file");
    let document = with_one(|machine| {
        let path = machine.folder().at("models/x0.gguf");
        drop(std::os::unix::net::UnixListener::bind(shortened(&path)).unwrap());
    });
    tells_nothing(&document, 0, "not_regular_file");
}

/// The same file by a path that fits into a socket's address.
fn shortened(path: &Path) -> std::path::PathBuf {
    let current = std::env::current_dir().unwrap();
    match path.strip_prefix(current) {
        Ok(relative) => relative.to_owned(),
        Err(_) => path.to_owned(),
    }
}

#[test]
fn a_link_that_leads_to_itself_leads_nowhere() {
    for (target, reason) in [
        ("x0.gguf", "not_regular_file"),
        ("y/../x0.gguf", "not_present"),
        ("/models/x0.gguf", "not_regular_file"),
        ("gone.gguf", "not_present"),
        ("/proc/self/mem", "not_present"),
    ] {
        let document = with_one(|machine| machine.folder().link("models/x0.gguf", target));
        tells_nothing(&document, 0, reason);
    }
}

#[test]
fn a_model_that_was_deleted_while_mapped_is_named_and_not_read_elsewhere() {
    let machine = Machine::new();
    machine.file(&path_of(0), models::whole(LLAMA));
    let mut task = Task::new(FIRST, "llama-server");
    task.mapped.push(format!("{} (deleted)", path_of(0)));
    machine.add(&task);
    let card = Device::new("NVIDIA RTX A4000").with_process(Process::new(
        FIRST,
        Kind::Compute,
        1_u64 << 30,
    ));
    let driver = driver(Generation::R580, &Scenario::default().with_device(card));
    let ran = Program::line("--json")
        .driver(&driver)
        .root(machine.path())
        .run();
    let document = ran.ended(0).json();
    json::every_null_has_its_reason(&document);
    tells_nothing(&document, 0, "not_present");
}

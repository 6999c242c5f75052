//! What a model file needs and whether that fits: the same arithmetic as of a running server, and refusals that say
//! what was tried.

use std::path::PathBuf;

use fake_nvml::{Code, Device, Fault, Generation, Scenario};
use serde_json::Value;

use crate::support::json::{self, list, with};
use crate::support::models::{
    self, LLAMA, LLAMA_FILE_BYTES, LLAMA_KV_PER_TOKEN, LLAMA_PARAMETERS, LLAMA_WEIGHTS,
};
use crate::support::{Folder, Program, driver};

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) fn model(folder: &Folder) -> PathBuf {
    folder.write("tiny.gguf", models::whole(LLAMA))
}

pub(crate) fn inspected(line: &str) -> Value {
    let folder = Folder::new();
    let ran = Program::line(&format!("inspect --json {line}"))
        .arg(model(&folder))
        .run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    document
}

pub(crate) fn part(need: &Value, segment: &str) -> u64 {
    let parts = list(need, "parts").iter();
    let of_kind = parts.filter(|it| it["segment"] == segment);
    of_kind.map(|it| it["bytes_high"].as_u64().unwrap()).sum()
}

#[test]
fn a_file_is_taken_apart_like_that_of_a_running_server() {
    let document = inspected("-c 4096 -ngl 99");
    assert_eq!(document["$schema"], "schema/inspect-1.json");
    let model = &document["model"];
    for (field, value) in [
        ("name", Value::from("Tiny llama")),
        ("architecture", "llama".into()),
        ("quantization", "Q4_K_M".into()),
        ("parameters", LLAMA_PARAMETERS.into()),
        ("size_on_disk_bytes", LLAMA_FILE_BYTES.into()),
        ("layers", 4.into()),
        ("kind", "llm".into()),
        ("truncated", false.into()),
    ] {
        assert_eq!(model[field], value, "{field}");
    }
    let need = &document["need"];
    assert_eq!(need["context"], 4096);
    assert_eq!(part(need, "weights"), LLAMA_WEIGHTS);
    assert_eq!(part(need, "kv"), 4096 * LLAMA_KV_PER_TOKEN);
    assert!(part(need, "compute") > 0);
    let everything: u64 = ["weights", "kv", "compute"]
        .map(|it| part(need, it))
        .iter()
        .sum();
    let sums = ["gpu_high_bytes", "cpu_high_bytes"].map(|end| need[end].as_u64().unwrap());
    assert_eq!(sums.iter().sum::<u64>(), everything);
    assert!(list(&document, "contexts").is_empty(), "one was asked for");
}

#[test]
fn settings_count_and_what_is_assumed_is_said() {
    let need = inspected("-c 4096 --kv-type q8_0,f16 --parallel 2")["need"].clone();
    // Keys of 34 bytes for 32 numbers, values of 64.
    assert_eq!(part(&need, "kv"), 4096 * 4 * 2 * (34 + 64));
    let settings = inspected("-c 4096 --kv-type q8_0");
    let given = |name: &str| with(&settings["settings"], "name", name)["given"].clone();
    assert_eq!(
        [given("context"), given("kv-type-v"), given("parallel")],
        [true, true, false]
    );
    let none = inspected("-c 4096 -ngl 0")["need"].clone();
    assert_eq!(none["gpu_low_bytes"], 0);
    assert_eq!(
        none["cpu_low_bytes"],
        LLAMA_WEIGHTS + 4096 * LLAMA_KV_PER_TOKEN
    );
}

#[test]
fn without_a_context_there_is_a_row_of_them_up_to_the_trained_one() {
    let document = inspected("");
    let contexts: Vec<&Value> = list(&document, "contexts")
        .iter()
        .map(|it| &it["context"])
        .collect();
    assert_eq!(contexts, [4096, 8192]);
    assert_eq!(document["need"]["context"], 8192);
    for need in list(&document, "contexts") {
        let tokens = need["context"].as_u64().unwrap();
        assert_eq!(part(need, "kv"), tokens * LLAMA_KV_PER_TOKEN);
    }
}

#[test]
fn the_report_names_every_part_and_every_setting() {
    let folder = Folder::new();
    let ran = Program::line("inspect").arg(model(&folder)).run();
    ran.ended(0);
    for words in [
        "Tiny llama",
        "weights",
        "KV",
        "compute",
        "assumed",
        "flash-attn on",
        "8192",
        "on the GPU",
    ] {
        assert!(ran.text().contains(words), "{words} in {}", ran.text());
    }
}

#[test]
fn a_split_model_is_read_whole_by_any_part_and_missing_parts_are_named() {
    let folder = Folder::new();
    let first = folder.write("s-00001-of-00002.gguf", models::whole(LLAMA));
    let ran = Program::line("inspect -c 512 --json").arg(&first).run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    let files = list(&document["model"], "files");
    assert_eq!(files.len(), 2);
    assert!(files[1]["size_bytes"].is_null());
    let weights = with(&document["need"]["parts"], "segment", "weights");
    assert!(weights["bytes_low"].is_null(), "half of it is no size");
    assert_eq!(document["need"]["parts_missing"], 1);
    let second = folder.write("s-00002-of-00002.gguf", models::whole(LLAMA));
    for given in [&first, &second] {
        let ran = Program::line("inspect -c 512 --json").arg(given).run();
        let document = ran.json();
        assert_eq!(part(&document["need"], "weights"), 2 * LLAMA_WEIGHTS);
    }
}

#[test]
fn a_split_model_of_many_parts_is_read_whole_and_what_is_not_looked_for_is_told() {
    let folder = Folder::new();
    let part = |number: u32, of: u32| format!("s-{number:05}-of-{of:05}.gguf");
    for number in 1..=70 {
        for of in [70, 99_999] {
            let file = folder.write(&part(number, of), LLAMA);
            let file = std::fs::File::options().append(true).open(file).unwrap();
            file.set_len(models::LLAMA_FILE_BYTES).unwrap();
        }
    }
    let inspected = |name: &str| {
        let file = folder.at(name);
        let ran = Program::line("inspect -c 512").arg(&file).run();
        ran.ended(0).text().to_owned()
    };
    let text = inspected(&part(1, 70));
    assert!(text.contains("70 of 70 parts found"), "{text}");
    assert!(!text.contains("missing"), "{text}");
    let text = inspected(&part(1, 99_999));
    let said = "70 of 99999 parts read, 99807 not looked for (limit 192)";
    assert!(text.contains(said), "{text}");
}

#[test]
fn weights_of_a_header_that_contradicts_itself_are_not_known() {
    let folder = Folder::new();
    let whole = models::whole(LLAMA);
    let twice = models::patched(&whole, b"blk.1.attn_k.weight", b"blk.0.attn_k.weight");
    let file = folder.write("twice.gguf", twice);
    let ran = Program::line("inspect -c 512").arg(&file).run();
    let text = ran.ended(0).text();
    assert!(text.contains("the file's header says what cannot be true"));
    assert!(text.contains("weights not known: the tensor \"blk.0.attn_k.weight\" stands twice"));
    let ran = Program::line("inspect -c 512 --json").arg(&file).run();
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    let weights = with(&document["need"]["parts"], "segment", "weights");
    assert!(weights["bytes_low"].is_null());
    assert!(ran.text().contains("impossible_header"));
    assert!(document["model"]["parameters"].is_null());
    // What goes by other numbers is as exact as before.
    assert!(part(&document["need"], "kv") > 0);
}

#[test]
fn what_is_no_model_is_refused_with_what_was_tried_and_nothing_on_stdout() {
    let folder = Folder::new();
    let whole = models::whole(LLAMA);
    let cut = whole.get(..100).unwrap();
    let mut huge = LLAMA.to_vec();
    huge.splice(8..16, u64::MAX.to_le_bytes());
    let cases = [
        (folder.at("nothing.gguf"), "No such file"),
        (folder.folder("folder.gguf"), "folder"),
        (
            folder.write("text.gguf", "hello, this is no model"),
            "not a GGUF file",
        ),
        (folder.write("empty.gguf", ""), "empty.gguf"),
        (folder.write("cut.gguf", cut), "incomplete"),
        (folder.write("huge.gguf", huge), "huge.gguf"),
    ];
    for (path, words) in cases {
        for command in ["inspect", "inspect --json", "fit", "fit --json"] {
            let name = path.display().to_string();
            Program::line(command)
                .arg(&path)
                .run()
                .refused(1, &[words, &name, "hint"]);
        }
    }
    let fifo = folder.at("fifo.gguf");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    Program::line("inspect")
        .arg(&fifo)
        .run()
        .refused(1, &["no regular file"]);
}

#[test]
fn settings_that_no_server_starts_with_are_refused() {
    let folder = Folder::new();
    let path = model(&folder);
    for (line, words) in [
        ("inspect --kv-type q9", "q9"),
        ("inspect -c 99999999999", "99999999999"),
        ("inspect --parallel 0", "0"),
        ("inspect --parallel 257", "1 to 256 slots"),
        ("inspect -np 1000", "1 to 256 slots"),
        ("inspect -c 4k", "without a unit"),
        ("inspect --no-kv-unified", "--parallel"),
        ("inspect --kv-type q8_0 -ctk f16", "cache-type-k"),
        (
            "inspect --flash-attn off --kv-type f16,q8_0",
            "flash attention",
        ),
        ("inspect --once", "--once"),
        ("inspect --gpu 0", "--gpu"),
        ("fit --gpu x", "x"),
    ] {
        let idle = driver(Generation::R580, &Scenario::idle());
        Program::line(line)
            .driver(&idle)
            .arg(&path)
            .run()
            .refused(2, &[words]);
    }
}

#[test]
fn a_file_cut_after_its_header_is_inspected_and_said_to_be_incomplete() {
    let folder = Folder::new();
    let path = folder.write("header.gguf", LLAMA);
    let ran = Program::line("inspect").arg(&path).run();
    ran.ended(0);
    assert!(
        ran.text().contains("shorter than the tensors"),
        "{}",
        ran.text()
    );
}

pub(crate) fn card(free_mib: u64) -> Device {
    let mut card = Device::new("NVIDIA RTX A4000");
    card.memory_total = (16_384 * MIB).into();
    card.memory_reserved = 0_u64.into();
    card.memory_used = ((16_384 - free_mib) * MIB).into();
    card
}

pub(crate) fn fitted(cards: &[u64], line: &str) -> Value {
    let folder = Folder::new();
    let scenario = cards
        .iter()
        .fold(Scenario::default(), |it, free| it.with_device(card(*free)));
    let driver = driver(Generation::R580, &scenario);
    let ran = Program::line(&format!("fit --json {line}"))
        .arg(model(&folder))
        .driver(&driver)
        .run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    document
}

#[test]
fn each_gpu_has_a_verdict_by_what_is_free_on_it() {
    let document = fitted(&[4000, 300, 100], "-c 8192");
    assert_eq!(document["$schema"], "schema/fit-1.json");
    let verdicts: Vec<&Value> = list(&document, "devices")
        .iter()
        .map(|it| &it["verdict"])
        .collect();
    // The driver's own share is 150 to 600 MiB.
    assert_eq!(verdicts, ["fits", "may_fit", "does_not_fit"]);
    let [roomy, tight, full] = list(&document, "devices") else {
        panic!("three devices")
    };
    assert_eq!(roomy["vram_free_bytes"], 4000 * MIB);
    let largest = |device: &Value| {
        ["sure", "maybe", "tried"]
            .map(|it| device[format!("largest_context_{it}")].as_u64().unwrap())
    };
    let [sure, maybe, tried] = largest(roomy);
    assert!(8192 < sure && sure < maybe && maybe < tried);
    let [sure, maybe, _] = largest(tight);
    assert_eq!(sure, 0);
    assert!(maybe > 8192);
    assert_eq!(full["largest_context_maybe"], 0);
    assert!(full["spare_high_bytes"].as_i64().unwrap() < 0);
    assert!(
        full["verdict_after_unload"].is_null(),
        "nothing is idle there"
    );
}

#[test]
fn where_free_memory_is_unknown_the_verdict_is_too() {
    let folder = Folder::new();
    let refused = Fault::returning("nvmlDeviceGetMemoryInfo_v2", Code::NOT_SUPPORTED);
    let older = Fault::returning("nvmlDeviceGetMemoryInfo", Code::NOT_SUPPORTED);
    let scenario = Scenario::default()
        .with_device(card(4000))
        .with_fault(refused)
        .with_fault(older);
    let driver = driver(Generation::R580, &scenario);
    let ran = Program::line("fit --json")
        .arg(model(&folder))
        .driver(&driver)
        .run();
    ran.ended(0);
    let device = &ran.json()["devices"][0];
    assert_eq!(device["verdict"], "unknown");
    assert!(device["vram_free_bytes"].is_null());
    let text = Program::line("fit")
        .arg(model(&folder))
        .driver(&driver)
        .run();
    text.ended(0);
    assert!(
        text.text().contains("not known whether it fits"),
        "{}",
        text.text()
    );
}

#[test]
fn without_a_gpu_there_is_an_explanation_and_code_three() {
    let folder = Folder::new();
    let empty = Folder::new();
    empty.folder("proc");
    empty.folder("sys");
    let ran = Program::line("fit")
        .arg(model(&folder))
        .root(empty.path())
        .run();
    ran.ended(3);
    assert!(ran.text().contains("looked for"), "{}", ran.text());
    let ran = Program::line("fit --json")
        .arg(model(&folder))
        .root(empty.path())
        .run();
    ran.ended(3);
    let document = ran.json();
    assert_eq!(document["devices"], Value::Array(Vec::new()));
    assert_eq!(document["inspection"]["model"]["name"], "Tiny llama");
}

//! What a server makes of what one asks for: sizes as llama.cpp b11549 logged them, and what is not known said to be so.

use fake_nvml::{Generation, Scenario};
use serde_json::Value;

use crate::requirement::{MIB, card, fitted, inspected, model, part};
use crate::support::json::{self, list, with};
use crate::support::models::{self, LLAMA, LLAMA_KV_PER_TOKEN};
use crate::support::{Folder, Program, Ran, driver};

fn bytes_of(need: &Value, segment: &str, end: &str) -> u64 {
    let parts = list(need, "parts").iter();
    let of_kind = parts.filter(|it| it["segment"] == segment && it["placement"] != "cpu");
    of_kind.map(|it| it[end].as_u64().unwrap()).sum()
}

fn inspected_as(header: &[u8], line: &str) -> Value {
    let folder = Folder::new();
    let path = folder.write("tiny.gguf", header);
    let ran = Program::line(&format!("inspect --json {line}"))
        .arg(&path)
        .run();
    ran.ended(0);
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    document
}

/// What llama-server b11549 logged without `-np`, with `-np 1`, `-np 3 --kv-unified` and `-np 4`, in KiB.
#[test]
fn without_slots_the_cache_lies_between_that_of_one_and_of_four_that_share_it() {
    let ends = |line: &str| {
        let need = inspected_as(models::GEMMA, line)["need"].clone();
        ["bytes_low", "bytes_high"].map(|end| bytes_of(&need, "kv", end) >> 10)
    };
    assert_eq!(ends("-c 8192"), [6656, 10_496]);
    assert_eq!(ends("-c 8192 --parallel 1"), [6656, 6656]);
    assert_eq!(ends("-c 8192 -np -1"), ends("-c 8192"));
    assert_eq!(ends("-c 8192 -np 3 --kv-unified"), [9216, 9216]);
    assert_eq!(ends("-c 8192 --parallel 4"), [14_336, 14_336]);
    assert_eq!(ends("-c 8192 -np 4 -no-kvu"), ends("-c 8192 -np 4"));
    let told = |line: &str| inspected_as(models::GEMMA, line)["remarks"].to_string();
    assert!(told("-c 8192").contains("4 slots"), "{}", told("-c 8192"));
    assert!(!told("-c 8192 -np 1").contains("4 slots"));
    // All its layers are full: it makes no difference.
    assert!(
        !inspected("-c 8192")["remarks"]
            .to_string()
            .contains("4 slots")
    );
}

#[test]
fn what_a_server_makes_of_a_context_and_a_batch_is_said() {
    for (line, made) in [
        ("-c 5000 --parallel 3", [5376, 1792, 512]),
        ("-c 300", [512, 512, 300]),
        ("-c 1 --parallel 1", [256, 256, 1]),
        ("-c 4096 --parallel 256", [65_536, 256, 512]),
    ] {
        let need = inspected(line)["need"].clone();
        let found =
            ["context_allocated", "context_per_slot", "batch"].map(|it| need[it].as_u64().unwrap());
        assert_eq!(found, made, "{line}");
        assert_eq!(part(&need, "kv"), made[0] * LLAMA_KV_PER_TOKEN);
    }
    let folder = Folder::new();
    let path = model(&folder);
    let text = |line: &str| {
        let ran = Program::line(line).arg(&path).run();
        ran.ended(0);
        ran.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let three = text("inspect -c 5000 --parallel 3");
    let words = "5376 tokens, which a server makes of 5000: 1792 a slot";
    assert!(three.contains(words), "{three}");
    // One token of 256 that there is room for.
    assert!(!text("inspect -c 1").contains("1 tokens"));
}

#[test]
fn a_context_beyond_the_trained_one_is_told_of() {
    let told = |line: &str| inspected(line)["remarks"].to_string();
    assert!(told("-c 16384").contains("8192"), "{}", told("-c 16384"));
    for line in ["-c 8192", "-c 16384 --parallel 2", ""] {
        assert_eq!(told(line), "[]", "{line}");
    }
}

#[test]
fn the_verdict_and_the_largest_context_never_contradict_each_other() {
    for asked in [300, 8192, 100_000, 3_000_000, 30_000_000] {
        for free in [700, 1500, 4000] {
            let document = fitted(&[free], &format!("-c {asked}"));
            let device = &document["devices"][0];
            let largest = |it: &str| device[it].as_u64().unwrap();
            let (sure, maybe) = (
                largest("largest_context_sure"),
                largest("largest_context_maybe"),
            );
            let allowed = match device["verdict"].as_str().unwrap() {
                "fits" => asked <= sure,
                "may_fit" => sure < asked && asked <= maybe,
                _ => asked > maybe,
            };
            assert!(allowed, "{asked} with {free} MiB: {device}");
        }
    }
    let folder = Folder::new();
    let driver = driver(
        Generation::R580,
        &Scenario::default().with_device(card(4000)),
    );
    let ran = Program::line("fit")
        .arg(model(&folder))
        .driver(&driver)
        .run();
    let words = "largest that fits: 8192, as trained; beyond that";
    assert!(ran.text().contains(words), "{}", ran.text());
}

#[test]
fn what_a_missing_part_of_a_model_takes_is_nowhere_a_zero() {
    let folder = Folder::new();
    let first = folder.write("s-00001-of-00002.gguf", models::whole(LLAMA));
    let ran = Program::line("inspect -c 512 -ngl 0 --json")
        .arg(&first)
        .run();
    let document = ran.json();
    json::every_null_has_its_reason(&document);
    for end in ["gpu_high_bytes", "cpu_high_bytes"] {
        assert!(document["need"][end].is_null(), "{end}");
    }
    let driver = driver(
        Generation::R580,
        &Scenario::default().with_device(card(4000)),
    );
    let fit = |form: &str| Program::line(form).arg(&first).driver(&driver).run();
    let device = fit("fit --json").json()["devices"][0].clone();
    assert_eq!(device["verdict"], "may_fit");
    assert!(device["spare_low_bytes"].is_null());
    assert!(device["spare_high_bytes"].as_i64().unwrap() > 0);
    let text = fit("fit");
    assert!(text.text().contains("spare at most"), "{}", text.text());
    // Nobody is there who could be idle.
    assert!(!text.text().contains("idle"), "{}", text.text());
}

/// What commands say of a file of this name where there is one card with 4000 MiB free.
fn beside_a_card(name: &str, header: &[u8]) -> impl Fn(&str) -> Ran + use<> {
    let folder = Folder::new();
    let path = folder.write(name, header);
    let driver = driver(
        Generation::R580,
        &Scenario::default().with_device(card(4000)),
    );
    move |line| {
        let _kept = &folder;
        Program::line(line).arg(&path).driver(&driver).run()
    }
}

#[test]
fn the_buffers_of_a_projector_are_unknown_and_it_brings_no_context_of_its_own() {
    let run = beside_a_card("mmproj.gguf", &models::projector());
    let document = run("fit --json").json();
    json::every_null_has_its_reason(&document);
    let need = &document["inspection"]["need"];
    assert!(with(&need["parts"], "segment", "compute")["bytes_low"].is_null());
    assert!(need["cpu_high_bytes"].is_null());
    let device = &document["devices"][0];
    assert_eq!(device["verdict"], "may_fit");
    assert_eq!(device["overhead_high_bytes"], 0);
    let text = run("inspect");
    assert!(text.text().contains("beside a model"), "{}", text.text());
    assert!(!text.text().contains("CUDA"), "{}", text.text());
    assert!(
        text.text().contains("n/a (a part of unknown size)"),
        "{}",
        text.text()
    );
}

#[test]
fn buffers_in_system_memory_are_counted_where_layers_are_on_the_gpu() {
    let host = |line: &str| -> Option<u64> {
        let need = inspected(line)["need"].clone();
        let parts = list(&need, "parts").iter();
        let mut buffers = parts.filter(|it| it["segment"] == "compute" && it["placement"] == "cpu");
        buffers.next().map(|it| it["bytes_low"].as_u64().unwrap())
    };
    // The mask alone has 4 MiB; a server with Vulkan logged 5.01 MiB.
    for line in ["-c 4096", "-c 4096 -ngl 2"] {
        let least = host(line).unwrap();
        assert!((4 * MIB..=5 * MIB).contains(&least), "{line}: {least}");
    }
    assert_eq!(host("-c 4096 -ngl 0"), None);
}

#[test]
fn a_model_without_a_cache_has_no_settings_of_one_and_no_row_of_contexts() {
    let document = inspected_as(models::MAMBA, "");
    let settings: Vec<&str> = list(&document, "settings")
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(settings, ["parallel", "gpu-layers", "ubatch"]);
    assert!(list(&document, "contexts").is_empty());
    let need = &document["need"];
    assert!(need["context"].is_null());
    // 228 KiB a slot, as logged: 0.22 MiB for one, 0.89 MiB for four.
    let ends = ["bytes_low", "bytes_high"].map(|end| bytes_of(need, "state", end) >> 10);
    assert_eq!(ends, [228, 912]);
    assert!(!document.to_string().contains("flash_attention"));
}

#[test]
fn spellings_of_llama_cpp_mean_the_same() {
    for (theirs, ours) in [
        (
            "-c 4096 -np 2 -ctk q8_0 -fa on",
            "-c 4096 --parallel 2 --kv-type q8_0,f16 --flash-attn on",
        ),
        ("-c 4096 -ngl auto -np -1 -fa auto", "-c 4096"),
        ("-c 4096 -kvu -np 2", "-c 4096 --kv-unified --parallel 2"),
    ] {
        assert_eq!(
            inspected(theirs)["need"]["parts"],
            inspected(ours)["need"]["parts"]
        );
    }
    let all = inspected("-c 4096 -ngl all");
    let layers = with(&all["settings"], "name", "gpu-layers");
    assert_eq!(
        (&layers["value"], &layers["given"]),
        (&"all".into(), &true.into())
    );
}

#[test]
fn a_download_is_doubted_only_where_a_file_claims_to_be_gguf() {
    let folder = Folder::new();
    for (name, doubted) in [("page.gguf", true), ("notes.txt", false)] {
        let path = folder.write(name, "hello, this is no model");
        let ran = Program::line("inspect").arg(&path).run();
        ran.refused(1, &["no model that is read here"]);
        assert_eq!(ran.stderr.contains("download"), doubted, "{name}");
    }
}

#[test]
fn of_a_cache_of_unknown_size_there_is_no_largest_context() {
    // An architecture without a rule, with a name as long.
    let header = models::patched(&models::whole(LLAMA), b"llama", b"lhama");
    let run = beside_a_card("new.gguf", &header);
    let document = run("fit --json").json();
    json::every_null_has_its_reason(&document);
    let device = &document["devices"][0];
    assert_eq!(device["verdict"], "may_fit");
    assert!(device["largest_context_maybe"].is_null());
    let reason = &device["provenance"]["largest_context_maybe"]["reason"];
    assert_eq!(reason, "unknown_architecture");
    let text = run("fit");
    assert!(
        text.text().contains("largest that fits: n/a"),
        "{}",
        text.text()
    );
}

//! What llama.cpp logged for its caches, case by case.

use gguf::kv::{CacheKind, CacheType, KvSettings, WhyNot, estimate};
use gguf::placement::{Offload, cache};

use crate::fixtures::header;

/// Settings as flags give them: those of a server whose command line is known, with flash attention, which `auto`
/// chose in these runs.
pub(crate) fn settings(flags: &str) -> KvSettings {
    let mut settings = KvSettings {
        context: Some(0),
        flash_attention: Some(true),
        ..KvSettings::llama_server_defaults()
    };
    let mut batch = 2048;
    let mut words = flags.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap();
        match word {
            "-c" => settings.context = Some(value().parse().unwrap()),
            "-np" => {
                settings.parallel = Some(value().parse().unwrap());
                settings.unified = Some(false);
            }
            "-kvu" | "--kv-unified" => settings.unified = Some(true),
            "-ub" => settings.ubatch = Some(value().parse().unwrap()),
            "-b" => batch = value().parse().unwrap(),
            "-ctk" => settings.type_k = CacheType::from_name(value()),
            "-ctv" => settings.type_v = CacheType::from_name(value()),
            "-fa" => settings.flash_attention = Some(value() == "on"),
            "--swa-full" => settings.swa_full = true,
            // Nothing to do with memory, or with weights alone.
            "--metrics" | "--embedding" => {}
            "-lv" | "-lm" => drop(value()),
            other => panic!("{other}"),
        }
    }
    settings.ubatch = settings.ubatch.map(|ubatch| ubatch.min(batch));
    settings
}

/// A buffer as logged, in hundredths of a MiB.
type Logged = (CacheKind, u64);

use CacheKind::{Full, State, Windowed};

/// Model, flags, and the "KV buffer size" and "RS buffer size" lines of llama-server b11434 on a CPU.
const CASES: &[(&str, &str, &[Logged])] = &[
    ("llama-f16", "", &[(Full, 800)]),
    ("llama-f16", "-c 4096 -np 2", &[(Full, 400)]),
    ("llama-f16", "-c 4096 -np 1", &[(Full, 400)]),
    ("llama-f16", "-c 4096 -np 4", &[(Full, 400)]),
    ("llama-f16", "-c 4096 -np 3", &[(Full, 450)]),
    ("llama-f16", "-c 4096 -np 4 -kvu", &[(Full, 400)]),
    ("llama-f16", "-c 1000 -np 1", &[(Full, 100)]),
    (
        "llama-f16",
        "-c 4096 -np 1 -ctk q8_0 -ctv q8_0",
        &[(Full, 212)],
    ),
    (
        "llama-f16",
        "-c 4096 -np 1 -ctk q4_0 -ctv q4_0",
        &[(Full, 112)],
    ),
    ("llama-f16", "-c 4096 -np 1 -ctk q8_0", &[(Full, 306)]),
    ("llama-f16", "-c 4096 -np 1 -fa on", &[(Full, 400)]),
    ("llama-f16", "-c 4096 -np 1 -fa off", &[(Full, 400)]),
    (
        "llama-f16",
        "-c 4096 -np 1 -b 2048 -ub 2048",
        &[(Full, 400)],
    ),
    ("llama-f16", "-c 2048 -np 2", &[(Full, 200)]),
    ("llama-q4_0", "-c 4096 -np 1", &[(Full, 400)]),
    ("llama-q4_k_m", "-c 4096 -np 1", &[(Full, 400)]),
    ("llama-big", "-c 8192 -np 2", &[(Full, 12_800)]),
    ("draft-f16", "-c 2048 -np 1", &[(Full, 100)]),
    ("qwen2-f16", "-c 4096 -np 1", &[(Full, 600)]),
    ("qwen3-f16", "-c 4096 -np 1", &[(Full, 600)]),
    ("qwen3moe-q4_0", "-c 4096 -np 1", &[(Full, 600)]),
    (
        "gemma3-q8_0",
        "-c 4096 -np 1",
        &[(Full, 200), (Windowed, 250)],
    ),
    (
        "gemma3-q8_0",
        "-c 32768 -np 1",
        &[(Full, 1600), (Windowed, 250)],
    ),
    ("gemma3-q8_0", "-c 4096", &[(Full, 200), (Windowed, 625)]),
    ("gemma3-q8_0", "-c 8192", &[(Full, 400), (Windowed, 625)]),
    (
        "gemma3-q8_0",
        "-c 8192 -np 3 -kvu",
        &[(Full, 400), (Windowed, 500)],
    ),
    ("gemma3-q8_0", "-c 300", &[(Full, 25), (Windowed, 125)]),
    ("gemma4-f16", "-c 4096", &[(Full, 400), (Windowed, 312)]),
    ("gptoss-mxfp4", "-c 8192", &[(Full, 1200), (Windowed, 150)]),
    ("mamba-f16", "-c 4096", &[(State, 89)]),
    ("lfm2-f16", "-c 4096", &[(Full, 600), (State, 4)]),
    (
        "gemma3-q8_0",
        "-c 8192 -np 4",
        &[(Full, 400), (Windowed, 1000)],
    ),
    (
        "gemma3-q8_0",
        "-c 4096 -np 1 --swa-full",
        &[(Full, 200), (Windowed, 1000)],
    ),
    (
        "gemma3-q8_0",
        "-c 4096 -np 1 -ub 1024",
        &[(Full, 200), (Windowed, 375)],
    ),
    (
        "gemma3-q8_0",
        "-c 768 -np 1",
        &[(Full, 38), (Windowed, 188)],
    ),
    (
        "gemma4-f16",
        "-c 4096 -np 1",
        &[(Full, 400), (Windowed, 125)],
    ),
    (
        "gemma4-f16",
        "-c 4096 -np 1 -fa off",
        &[(Full, 400), (Windowed, 312)],
    ),
    (
        "gptoss-mxfp4",
        "-c 4096 -np 1",
        &[(Full, 600), (Windowed, 112)],
    ),
    ("mamba-f16", "-c 4096 -np 1", &[(State, 22)]),
    ("mamba-f16", "-c 4096 -np 4", &[(State, 89)]),
    ("lfm2-f16", "-c 4096 -np 1", &[(Full, 600), (State, 1)]),
    ("lfm2-f16", "-c 4096 -np 4", &[(Full, 600), (State, 4)]),
    ("deepseek2-f16", "-c 4096 -np 1", &[(Full, 750)]),
    ("deepseek2-f16", "-c 4096 -np 1 -fa off", &[(Full, 750)]),
    ("decision-f16", "-c 4096 -np 1", &[(Full, 200)]),
];

/// Whether `bytes` print as `logged` with two decimals. Halves may go either way: 2.125 was logged as 2.12.
fn prints_as(bytes: u64, logged: u64) -> bool {
    let scaled = bytes * 200;
    let least = (2 * logged).saturating_sub(1) << 20;
    let most = (2 * logged + 1) << 20;
    least <= scaled && scaled <= most
}

#[test]
fn every_logged_buffer_is_computed_exactly() {
    for (name, flags, logged) in CASES {
        let estimate = estimate(&header(name), &settings(flags)).unwrap();
        let total: u64 = estimate.parts.iter().map(|part| part.bytes.low).sum();
        assert_eq!(
            (estimate.low, estimate.high),
            (total, total),
            "{name} {flags}"
        );
        let parts: Vec<CacheKind> = estimate.parts.iter().map(|part| part.kind).collect();
        let kinds: Vec<CacheKind> = logged.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(parts, kinds, "{name} {flags}");
        for (part, (_, logged)) in estimate.parts.iter().zip(*logged) {
            assert!(
                prints_as(part.bytes.low, *logged),
                "{name} {flags}: {part:?} is not {logged}"
            );
        }
    }
}

#[test]
fn every_logged_buffer_lies_between_the_bounds_when_nothing_is_known() {
    for (name, flags, logged) in CASES {
        let known = settings(flags);
        let settings = KvSettings {
            // Contexts below what a server shrinks to by itself must be known.
            context: known
                .context
                .filter(|tokens| *tokens != 0 && *tokens < 4096),
            swa_full: known.swa_full,
            ..KvSettings::default()
        };
        let estimate = estimate(&header(name), &settings).unwrap();
        let total: u64 = logged.iter().map(|(_, logged)| logged).sum();
        // Each line is rounded by up to half a hundredth.
        let slack = logged.len() as u64;
        let low = (estimate.low * 100) >> 20;
        let high = ((estimate.high * 100) >> 20) + 1;
        assert!(
            low <= total + slack && total <= high + slack,
            "{name} {flags}: {low} to {high}"
        );
    }
}

#[test]
fn cells_are_counted_in_all_slots_together() {
    let cells = |name, flags| -> Vec<(u64, u64)> {
        let estimate = estimate(&header(name), &settings(flags)).unwrap();
        estimate
            .parts
            .iter()
            .map(|part| (part.layers, part.cells.0))
            .collect()
    };
    assert_eq!(cells("llama-f16", ""), [(4, 8192)]);
    assert_eq!(cells("llama-f16", "-c 4096 -np 3"), [(4, 3 * 1536)]);
    assert_eq!(cells("gemma3-q8_0", "-c 4096"), [(2, 4096), (10, 2560)]);
    assert_eq!(
        cells("gemma3-q8_0", "-c 8192 -np 4"),
        [(2, 4 * 2048), (10, 4 * 1024)]
    );
    assert_eq!(cells("gemma4-f16", "-c 4096 -np 1"), [(1, 4096), (5, 1024)]);
    assert_eq!(
        cells("gptoss-mxfp4", "-c 4096 -np 1"),
        [(3, 4096), (3, 768)]
    );
    assert_eq!(cells("lfm2-f16", "-c 4096 -np 1"), [(3, 4096), (5, 0)]);
}

/// Vulkan build, batch of 512 (513 for gemma3), `-ngl`, and CPU and GPU buffers in hundredths of a MiB.
#[test]
fn each_layer_has_its_cache_on_its_device() {
    for (name, flags, gpu_layers, cpu, gpu) in [
        ("llama-f16", "-c 4096 -np 1", 2, 300, 100),
        ("llama-f16", "-c 4096 -np 1", 99, 0, 400),
        ("llama-big", "-c 4096 -np 1", 8, 3600, 2800),
        ("llama-big", "-c 4096 -np 1", 99, 0, 6400),
        ("llama-big", "-c 4096 -np 1", 0, 6400, 0),
        ("gemma3-q8_0", "-c 4096 -np 1 -ub 513", 99, 0, 512),
        ("lfm2-f16", "-c 4096 -np 1", 4, 201, 400),
        ("qwen3moe-q4_0", "-c 4096 -np 1", 99, 0, 600),
    ] {
        let estimate = estimate(&header(name), &settings(flags)).unwrap();
        let offload = Offload {
            gpus: 1,
            gpu_layers: Some(gpu_layers),
            ..Offload::default()
        };
        let placement = cache(&estimate, &offload).devices;
        assert!(
            prints_as(placement.cpu.low, cpu),
            "{name} {gpu_layers}: {placement:?}"
        );
        assert!(
            prints_as(placement.gpu.high, gpu),
            "{name} {gpu_layers}: {placement:?}"
        );
    }
}

#[test]
fn an_encoder_has_no_cache() {
    let result = estimate(&header("bert-f16"), &settings("-c 512"));
    assert_eq!(result, Err(WhyNot::NonCausal));
}

#[test]
fn an_adapter_has_no_cache_of_its_own() {
    let result = estimate(&header("lora-f32"), &settings("-c 512"));
    assert_eq!(result, Err(WhyNot::Missing("block_count")));
}

/// The server exited with "failed to create context".
#[test]
fn quantized_values_need_flash_attention() {
    let header = header("llama-f16");
    let result = estimate(&header, &settings("-c 4096 -np 1 -ctv q8_0 -fa off"));
    assert!(matches!(result, Err(WhyNot::Impossible(_))));
    let auto = KvSettings {
        flash_attention: None,
        ..settings("-c 4096 -np 1 -ctv q8_0")
    };
    assert!(estimate(&header, &auto).unwrap().range().is_exact());
}

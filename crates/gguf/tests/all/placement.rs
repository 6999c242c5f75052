//! On which devices weights and caches lie. The sizes that llama.cpp logged are in `cases/` and `logs.rs`; here are the
//! rules, and what becomes of them where something is not known.

use gguf::Range;
use gguf::kv::estimate;
use gguf::placement::{
    Home, Layout, MAX_OVERRIDES, MAX_PATTERN_BYTES, NotReadable, Offload, Overrides, Repack, Split,
    SplitMode, cache, place, read_mapping,
};
use gguf::weights::{ExpertsOnCpu, Weights};
use proptest::prelude::*;

use crate::builder::Builder;
use crate::fixtures::{FIXTURES, header};
use crate::kv_cases::settings;

/// Offloading to so many GPUs.
fn to_gpus(gpus: u32, gpu_layers: u64) -> Offload {
    Offload {
        gpus,
        gpu_layers: Some(gpu_layers),
        repack: Repack::Off,
        ..Offload::default()
    }
}

fn with_pattern(value: &str) -> Offload {
    let mut overrides = Overrides::default();
    overrides.push_pattern(value);
    Offload {
        overrides,
        ..to_gpus(2, 99)
    }
}

fn devices(layers: u64, gpu_layers: u64, shares: &[f32]) -> Vec<Option<u32>> {
    let offload = Offload {
        split: Split::Shares(shares.to_vec()),
        ..to_gpus(3, gpu_layers)
    };
    let layout = Layout::of(layers, &offload);
    let all = layout.layers.iter().chain([&layout.output]);
    all.map(|home| match home {
        Home::Gpu(gpu) => Some(*gpu),
        Home::Cpu => None,
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn layers_are_shared_out_by_cumulative_ratios() {
    let on = |gpus: &[i64]| -> Vec<Option<u32>> {
        gpus.iter().map(|gpu| u32::try_from(*gpu).ok()).collect()
    };
    assert_eq!(devices(5, 99, &[1.0, 1.0, 1.0]), on(&[0, 0, 1, 1, 2, 2]));
    // Places 0/6 to 5/6 against 0.5, 0.75 and 1.
    assert_eq!(devices(5, 99, &[2.0, 1.0, 1.0]), on(&[0, 0, 0, 1, 1, 2]));
    assert_eq!(devices(5, 3, &[1.0, 1.0, 1.0]), on(&[-1, -1, -1, 0, 1, 2]));
    assert_eq!(devices(5, 99, &[0.0, 1.0]), on(&[1; 6]));
    // Missing ratios are 0, those of GPUs that do not exist are not counted.
    assert_eq!(devices(3, 99, &[1.0]), on(&[0; 4]));
    assert_eq!(devices(3, 99, &[1.0, 1.0, 0.0, 9.0]), on(&[0, 0, 1, 1]));
    // Free memory in bytes serves as well.
    assert_eq!(devices(3, 99, &[16e9, 8e9, 8e9]), on(&[0, 0, 1, 2]));
}

#[test]
fn ratios_that_are_none_leave_the_gpu_open() {
    for shares in [
        vec![],
        vec![0.0, 0.0],
        vec![f32::NAN, 1.0],
        vec![-1.0, 2.0],
        vec![f32::INFINITY],
    ] {
        let offload = Offload {
            split: Split::Shares(shares.clone()),
            ..to_gpus(2, 99)
        };
        assert_eq!(Layout::of(4, &offload).output, Home::SomeGpu, "{shares:?}");
    }
}

#[test]
fn the_sum_over_gpus_is_known_when_the_split_is_not() {
    for fixture in FIXTURES {
        let header = header(fixture.name);
        let one = place([&header], &to_gpus(1, 99)).devices;
        let two = place([&header], &to_gpus(2, 99)).devices;
        assert_eq!(one.cpu, two.cpu, "{}", fixture.name);
        assert_eq!(one.gpu.low, two.gpu.low, "{}", fixture.name);
        // A rope table of 256 bytes may exist on both.
        assert!(two.gpu.high - one.gpu.high <= 256, "{}", fixture.name);
        for gpu in &two.gpus {
            assert_eq!(
                (gpu.low, gpu.high >= one.gpu.low),
                (0, true),
                "{}",
                fixture.name
            );
        }
    }
}

#[test]
fn every_tensor_is_somewhere() {
    for fixture in FIXTURES {
        let header = header(fixture.name);
        let weights = Weights::of(&header);
        let twice = if weights.tied {
            weights.token_embedding
        } else {
            0
        };
        for gpu_layers in [0, 1, 2, 5, 99] {
            let plan = place([&header], &to_gpus(1, gpu_layers));
            let (gpu, cpu) = (plan.devices.gpu, plan.devices.cpu);
            let least = weights.total;
            assert!(
                gpu.high + cpu.high >= least,
                "{} {gpu_layers}",
                fixture.name
            );
            assert!(
                gpu.low + cpu.low <= least + twice + 256,
                "{} {gpu_layers}",
                fixture.name
            );
            assert_eq!(plan.devices.gpus, [gpu], "{} {gpu_layers}", fixture.name);
        }
    }
}

#[test]
fn unknown_gpu_layers_leave_everything_open_but_the_input() {
    let header = header("llama-f16");
    let offload = Offload {
        gpu_layers: None,
        ..to_gpus(2, 0)
    };
    let plan = place([&header], &offload);
    assert_eq!(plan.devices.cpu, Range::between(262_144, 4_989_952));
    assert_eq!(plan.devices.gpu, Range::between(0, 4_989_952 - 262_144));
    assert_eq!(plan.mapped, [Range::between(262_144, 4_989_952)]);
}

#[test]
fn one_gpu_has_everything_without_a_split() {
    let header = header("llama-f16");
    let offload = Offload {
        mode: SplitMode::None,
        main_gpu: 1,
        ..to_gpus(2, 99)
    };
    let plan = place([&header], &offload);
    assert_eq!(plan.devices.gpus[0], Range::exact(0));
    assert_eq!(plan.devices.gpus[1], plan.devices.gpu);
    assert!(plan.devices.gpu.is_exact());
}

#[test]
fn rows_are_shared_out_within_their_rounding() {
    let header = header("llama-big");
    let offload = Offload {
        mode: SplitMode::Row,
        split: Split::Shares(vec![3.0, 1.0]),
        main_gpu: 1,
        ..to_gpus(2, 99)
    };
    let plan = place([&header], &offload);
    assert!(plan.devices.gpu.is_exact());
    let [first, second] = plan.devices.gpus[..] else {
        panic!()
    };
    let quarter = plan.devices.gpu.low / 4;
    assert!(
        first.contains(3 * quarter) && !first.contains(2 * quarter),
        "{first:?}"
    );
    assert!(
        second.contains(quarter) && !second.contains(2 * quarter),
        "{second:?}"
    );
    // Caches are on the main GPU.
    let kv = estimate(&header, &settings("-c 4096 -np 1")).unwrap();
    let caches = cache(&kv, &offload).devices;
    assert_eq!(caches.gpus, [Range::exact(0), kv.range()]);
}

#[test]
fn with_split_tensors_only_the_sum_is_known() {
    let header = header("llama-f16");
    let offload = Offload {
        mode: SplitMode::Tensor,
        ..to_gpus(2, 99)
    };
    let plan = place([&header], &offload);
    let sum = 4_989_952 - 262_144;
    // Nine norms of 1 KiB may be on both.
    assert_eq!(plan.devices.gpu, Range::between(sum, sum + 9 * 1024));
    assert!(plan.devices.gpus.iter().all(|gpu| gpu.low == 0));
}

#[test]
fn caches_follow_their_layers() {
    let header = header("gemma3-q8_0");
    let kv = estimate(&header, &settings("-c 4096 -np 1")).unwrap();
    let offload = Offload {
        split: Split::Shares(vec![1.0, 1.0]),
        ..to_gpus(2, 99)
    };
    let plan = cache(&kv, &offload);
    // Layers 0 to 6 and 7 to 11: full are 5 and 11.
    let mib = |n: u64| Range::exact(n << 18);
    assert_eq!(plan.parts[0].1.gpus, [mib(4), mib(4)]);
    assert_eq!(plan.parts[1].1.gpus, [mib(6), mib(4)]);
    assert_eq!(plan.devices.gpu, kv.range());
    let on_cpu = Offload {
        kv_on_cpu: true,
        ..offload
    };
    assert_eq!(cache(&kv, &on_cpu).devices.cpu, kv.range());
}

#[test]
fn the_first_pattern_that_matches_decides() {
    let header = header("qwen3moe-q4_0");
    let layout = |value| place([&header], &with_pattern(value)).devices;
    let expert = 147_456;
    let all = place([&header], &to_gpus(1, 99)).devices.gpu.low;
    let devices = layout(r"blk\.0\.ffn_up_exps=CUDA1,exps=CPU");
    assert_eq!(devices.gpu, Range::exact(all - 17 * expert));
    assert_eq!(devices.gpus[1].low, expert);
    let devices = layout(r"exps=CPU,blk\.0\.ffn_up_exps=CUDA1");
    assert_eq!(devices.gpu, Range::exact(all - 18 * expert));
    // Anywhere in the name, unless it is anchored.
    let devices = layout(r"^ffn=CPU");
    assert_eq!(devices.gpu, Range::exact(all));
    let devices = layout(r"blk\.(4|5)\.ffn_(gate|up)_exps\.weight$=Vulkan_Host");
    assert_eq!(devices.gpu, Range::exact(all - 4 * expert));
}

#[test]
fn patterns_and_expert_switches_go_by_their_order() {
    let header = header("qwen3moe-q4_0");
    let mut overrides = Overrides::default();
    overrides.push_pattern(r"blk\.0\..*exps=CUDA0");
    overrides.push_experts(ExpertsOnCpu::FirstLayers(2));
    let offload = Offload {
        overrides,
        ..to_gpus(1, 99)
    };
    let all = place([&header], &to_gpus(1, 99)).devices.gpu.low;
    let plan = place([&header], &offload);
    assert_eq!(plan.devices.gpu, Range::exact(all - 3 * 147_456));
}

#[test]
fn patterns_that_cannot_be_read_leave_the_place_open() {
    let header = header("qwen3moe-q4_0");
    let total = Weights::of(&header).total;
    let long = format!("{}=CPU", "a".repeat(MAX_PATTERN_BYTES + 1));
    for value in [
        "(?=exps)=CPU",
        r"(a)\1=CPU",
        "(unclosed=CPU",
        "no buffer",
        "a{1000}{1000}{1000}=CPU",
        &long,
    ] {
        let offload = with_pattern(value);
        assert!(offload.overrides.is_unreadable(), "{value}");
        let plan = place([&header], &offload);
        assert_eq!(plan.devices.gpu, Range::between(0, total), "{value}");
        assert_eq!(plan.devices.cpu, Range::between(0, total), "{value}");
    }
    // A buffer that is none of the GPUs leaves open only what it concerns.
    for value in ["exps=CUDA7", "exps=RPC[10.0.0.1:50052]", "exps=AMX"] {
        let plan = place([&header], &with_pattern(value));
        let experts = 18 * 147_456;
        assert_eq!(
            plan.devices.gpu.high - plan.devices.gpu.low,
            experts,
            "{value}"
        );
    }
}

#[test]
fn too_many_patterns_leave_the_place_open() {
    let mut overrides = Overrides::default();
    for _ in 0..=MAX_OVERRIDES {
        overrides.push_pattern("nothing=CPU");
    }
    assert!(overrides.is_unreadable());
}

#[test]
fn unknown_expert_placement_is_a_range() {
    let header = header("qwen3moe-q4_0");
    let mut overrides = Overrides::default();
    overrides.push_experts(ExpertsOnCpu::Unknown);
    let offload = Offload {
        overrides,
        ..to_gpus(1, 99)
    };
    let all = place([&header], &to_gpus(1, 99)).devices.gpu.low;
    let plan = place([&header], &offload);
    assert_eq!(plan.devices.gpu, Range::between(all - 18 * 147_456, all));
}

#[test]
fn layers_for_prediction_may_not_be_loaded() {
    let model = |offload: &Offload| {
        let header = Builder::model(
            "glm4moe",
            &[("block_count", 2), ("nextn_predict_layers", 1)],
        )
        .tensor("token_embd.weight", &[8], 0, 0)
        .tensor("output.weight", &[8], 0, 32)
        .tensor("blk.0.attn_norm.weight", &[8], 0, 64)
        .tensor("blk.1.attn_norm.weight", &[8], 0, 96)
        .read()
        .unwrap();
        place([&header], offload).devices.gpu
    };
    assert_eq!(model(&to_gpus(1, 99)), Range::between(64, 96));
    let used = Offload {
        prediction: Some(true),
        ..to_gpus(1, 99)
    };
    assert_eq!(model(&used), Range::exact(96));
}

#[test]
fn a_rope_table_exists_on_each_device_with_layers() {
    let header = header("gemma4-f16");
    let weights = Weights::of(&header);
    let plan = place([&header], &to_gpus(1, 7));
    assert_eq!(
        plan.devices.gpu.low + plan.devices.cpu.low,
        weights.total + weights.token_embedding + 256
    );
    let split = Offload {
        split: Split::Shares(vec![1.0, 1.0]),
        ..to_gpus(2, 99)
    };
    let gpus = place([&header], &split).devices;
    assert_eq!(
        gpus.gpu.low,
        place([&header], &to_gpus(1, 99)).devices.gpu.low + 256
    );
    assert_eq!(gpus.gpus[0].low + gpus.gpus[1].low, gpus.gpu.low);
}

#[test]
fn only_the_embedding_stays_when_everything_is_offloaded() {
    for name in [
        "lfm2-f16",
        "gemma3-q8_0",
        "llama-big",
        "mamba-f16",
        "deepseek2-f16",
    ] {
        let header = header(name);
        let embedding = Weights::of(&header).token_embedding;
        let plan = place([&header], &to_gpus(1, 99));
        assert_eq!(plan.devices.cpu, Range::exact(embedding), "{name}");
        assert_eq!(plan.mapped, [Range::exact(embedding)], "{name}");
    }
    // Tables and the norm of the embedding, which an encoder has on the first layer's device.
    let header = header("bert-f16");
    let plan = place([&header], &to_gpus(1, 99));
    assert_eq!(plan.devices.cpu, Range::exact(262_144 + 2048 + 524_288));
}

#[test]
fn what_is_repacked_depends_on_the_processor() {
    let bytes = |name: &str, repack| {
        let offload = Offload {
            repack,
            ..Offload::default()
        };
        place([&header(name)], &offload).repacked
    };
    let matrices = 1_327_104;
    assert_eq!(bytes("llama-q4_0", Repack::Avx2), Range::exact(matrices));
    assert_eq!(bytes("llama-q4_0", Repack::Neon), Range::exact(matrices));
    assert_eq!(bytes("llama-q4_0", Repack::Off), Range::exact(0));
    assert_eq!(
        bytes("llama-q4_0", Repack::Unknown),
        Range::between(0, matrices)
    );
    assert_eq!(bytes("llama-q8_0", Repack::Avx2), Range::exact(0));
    assert!(bytes("llama-q8_0", Repack::Neon).low > 0);
    assert_eq!(bytes("llama-q6_k", Repack::Avx512), Range::exact(0));
    assert!(bytes("llama-q6_k", Repack::Neon).low > 0);
}

#[test]
fn with_a_gpu_it_is_not_known_what_is_repacked() {
    let offload = Offload {
        repack: Repack::Avx2,
        ..to_gpus(1, 0)
    };
    let plan = place([&header("llama-q4_0")], &offload);
    assert_eq!(plan.repacked, Range::between(0, 1_327_104));
}

#[test]
fn a_tied_embedding_is_repacked_as_output() {
    let header = Builder::model("gemma3", &[("block_count", 1)])
        .tensor("token_embd.weight", &[32, 8], 2, 0)
        .read()
        .unwrap();
    let offload = Offload {
        repack: Repack::Avx2,
        ..Offload::default()
    };
    let plan = place([&header], &offload);
    assert_eq!(plan.repacked, Range::exact(8 * 18));
    assert_eq!(plan.devices.cpu, Range::exact(2 * 8 * 18));
    assert_eq!(plan.mapped, [Range::exact(8 * 18)]);
}

#[test]
fn alignment_adds_little() {
    for fixture in FIXTURES {
        let plan = place([&header(fixture.name)], &to_gpus(1, 99));
        assert!(
            plan.padding < fixture.tensors as u64 * 1024,
            "{}",
            fixture.name
        );
    }
}

/// The last page of llama-big, which stays mapped.
const TAIL: (u64, u64) = (0xb7f_6000, 4096);

/// Model, what was mapped of it, `-ngl`, and the "model buffer size" of all GPUs together in hundredths of a MiB, as
/// the Vulkan build left and logged it.
#[test]
fn a_mapping_tells_the_layers_on_gpus() {
    let size = |bytes: u64| (bytes * 100 + (1 << 19)) >> 20;
    let big = |len| [(0x5000, len), TAIL];
    for (name, mapped, gpu_layers, gpu) in [
        ("llama-big", &big(548 << 10)[..], (17, u64::MAX), 18_341),
        ("llama-big", &big(106_432 << 10), (8, 8), 8054),
        ("llama-big", &big(0xa11_6000), (3, 3), 2339),
        (
            "llama-f16",
            &[(0x3000, 0x2a_2000), (0x4c_5000, 4096)],
            (3, 3),
            238,
        ),
        (
            "lfm2-f16",
            &[(0x4000, 0x78_7000), (0x9e_c000, 4096)],
            (3, 3),
            263,
        ),
        (
            "llama-q4_0",
            &[(0x3000, 0xb_f000), (0x15_b000, 4096)],
            (3, 3),
            67,
        ),
        (
            "qwen3moe-q4_0",
            &[(0x4000, 0x23_9000), (0x34_6000, 4096)],
            (3, 3),
            111,
        ),
        ("gemma3-q8_0", &[(0x5000, 0x5d_3000)], (3, 3), 127),
    ] {
        let found = read_mapping(&header(name), mapped).unwrap();
        assert_eq!(found.gpu_layers, gpu_layers, "{name}");
        assert_eq!(size(found.gpu.low), gpu, "{name}");
        assert!(found.gpu.is_exact(), "{name}");
        assert!(found.unmapped <= found.gpu.low, "{name}");
        let layers = header(name).block_count().unwrap();
        let first = (layers + 1).saturating_sub(gpu_layers.0);
        assert_eq!(found.first_gpu_layer, Some(first), "{name}");
    }
}

#[test]
fn where_everything_is_mapped_the_output_may_be_on_a_gpu() {
    let none = read_mapping(&header("llama-big"), &[(0x5000, 188_360 << 10)]).unwrap();
    assert_eq!((none.first_gpu_layer, none.gpu_layers), (None, (0, 1)));
    assert_eq!(none.gpu, Range::between(0, 557_056 + 4096));
}

/// With `-ngl 3` all of gemma4 stayed mapped, because its last tensor is the rope table.
#[test]
fn a_table_at_the_end_keeps_everything_mapped() {
    let header = header("gemma4-f16");
    let found = read_mapping(&header, &[(0x5000, 0xde_f000)]).unwrap();
    assert_eq!((found.first_gpu_layer, found.gpu_layers), (None, (0, 12)));
    let logged = place([&header], &to_gpus(1, 3)).devices.gpu.low;
    assert!(found.gpu.contains(logged) && !found.gpu.is_exact());
    let all = read_mapping(&header, &[(0x5000, 0x41_000)]).unwrap();
    assert_eq!(all.gpu_layers, (13, u64::MAX));
}

/// A CPU with AVX2 repacked the matrices, so that the span ended with a norm.
#[test]
fn a_mapping_without_repacked_weights_is_not_taken_for_layers_on_gpus() {
    let header = header("llama-q4_0");
    let mapped = [(0x3000, 0x12_3000)];
    assert_eq!(read_mapping(&header, &mapped), Err(NotReadable::Scattered));
}

/// Caches on each GPU in hundredths of a MiB, as logged with so many Vulkan devices with as much free memory each:
/// `-c 4096 -np 1`, batches of 512, by part and GPU; 0 where there is no line.
#[test]
fn caches_on_several_gpus_are_those_llama_cpp_logged() {
    for (name, gpus, gpu_layers, parts) in [
        ("llama-f16", 2, 99, &[&[300, 100][..]][..]),
        ("llama-f16", 2, 3, &[&[200, 0]]),
        ("llama-f16", 3, 99, &[&[200, 200, 0]]),
        ("llama-f16", 3, 4, &[&[200, 100, 0]]),
        ("llama-big", 2, 99, &[&[3600, 2800]]),
        ("llama-big", 3, 99, &[&[2400, 2400, 1600]]),
        ("llama-big", 3, 4, &[&[800, 400, 0]]),
        ("qwen3moe-q4_0", 2, 99, &[&[400, 200]]),
        ("qwen3moe-q4_0", 3, 99, &[&[300, 200, 100]]),
        ("gemma3-q8_0", 2, 99, &[&[100, 100], &[188, 125]]),
        ("gemma3-q8_0", 3, 99, &[&[0, 100, 100], &[156, 94, 62]]),
        ("gemma3-q8_0", 3, 4, &[&[0, 100, 0], &[62, 0, 0]]),
        ("gemma4-f16", 2, 99, &[&[400, 0], &[156, 0]]),
        ("gemma4-f16", 3, 99, &[&[0, 400, 0], &[156, 0, 0]]),
        ("lfm2-f16", 2, 99, &[&[200, 400], &[1, 0]]),
        ("lfm2-f16", 3, 99, &[&[200, 200, 200], &[0, 0, 0]]),
    ] {
        let flags = if name.starts_with("gemma") {
            "-c 4096 -np 1 -ub 513"
        } else {
            "-c 4096 -np 1"
        };
        let offload = Offload {
            split: Split::Shares(vec![2048.0; 3]),
            ..to_gpus(gpus, gpu_layers)
        };
        let kv = estimate(&header(name), &settings(flags)).unwrap();
        let plan = cache(&kv, &offload);
        assert_eq!(plan.parts.len(), parts.len(), "{name}");
        for ((kind, found), logged) in plan.parts.iter().zip(parts) {
            for (bytes, logged) in found.gpus.iter().zip(*logged) {
                let context = format!("{name} {gpus} {gpu_layers} {kind:?}: {found:?}");
                assert!(bytes.is_exact(), "{context}");
                // Hundredths, rounded either way.
                assert!(
                    (bytes.low * 100).abs_diff(logged << 20) <= 1 << 19,
                    "{context}"
                );
            }
        }
    }
}

#[test]
fn what_stays_of_each_number_of_layers_is_recognised() {
    for fixture in FIXTURES {
        let header = header(fixture.name);
        let Some(layers) = header.block_count() else {
            continue;
        };
        for page in [4096, 16_384, 65_536] {
            for gpu_layers in 0..=layers + 1 {
                let plan = place([&header], &to_gpus(1, gpu_layers));
                // The span starts with the first tensor in all of them.
                let start = header.data_offset / page * page;
                let end = (header.data_offset + plan.mapped[0].low).next_multiple_of(page);
                let found = read_mapping(&header, &[(start, end - start)]).unwrap();
                let (low, high) = found.gpu_layers;
                let context = format!("{} {page} {gpu_layers}: {found:?}", fixture.name);
                assert!(low <= gpu_layers && gpu_layers <= high, "{context}");
                assert!(found.gpu.low <= plan.devices.gpu.low, "{context}");
                assert!(plan.devices.gpu.high <= found.gpu.high, "{context}");
            }
        }
    }
}

#[test]
fn a_mapping_that_tells_nothing_says_why() {
    let header = header("llama-big");
    let read = |mapped: &[(u64, u64)]| read_mapping(&header, mapped).unwrap_err();
    assert_eq!(read(&[]), NotReadable::NothingMapped);
    assert_eq!(read(&[TAIL]), NotReadable::NothingMapped);
    assert_eq!(read(&[(0x100_0000, 64 << 20)]), NotReadable::InputNotMapped);
    // Ends within a layer, or is in two pieces.
    assert_eq!(read(&[(0, 60 << 20)]), NotReadable::Scattered);
    let last = (184 << 20) - (12 << 20);
    assert_eq!(
        read(&[(0, 1 << 20), (last, 20 << 20)]),
        NotReadable::Scattered
    );
    let adapter = self::header("lora-f32");
    assert_eq!(
        read_mapping(&adapter, &[(0, 1 << 20)]),
        Err(NotReadable::NoLayers)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever is known, the least is not above the most, and knowing more never leaves the bounds of knowing less.
    #[test]
    fn knowing_more_narrows_the_range(
        which in 0..FIXTURES.len(),
        gpus in 0_u32..4,
        gpu_layers in 0_u64..20,
        shares in prop::collection::vec(0.0_f32..10.0, 0..4),
        pattern in "[a-z_.\\\\|()*=,0-9]{0,12}",
    ) {
        let header = header(FIXTURES[which].name);
        let mut overrides = Overrides::default();
        if !pattern.is_empty() {
            overrides.push_pattern(&format!("{pattern}=CPU"));
        }
        let known = Offload {
            gpus,
            gpu_layers: Some(gpu_layers),
            split: Split::Shares(shares),
            repack: Repack::Avx2,
            overrides: overrides.clone(),
            ..Offload::default()
        };
        let split_unknown = Offload { split: Split::Unknown, ..known.clone() };
        let unknown = Offload { gpu_layers: None, repack: Repack::Unknown, ..split_unknown.clone() };
        let plans = [known, split_unknown, unknown].map(|offload| place([&header], &offload));
        for (more, less) in plans.iter().zip(plans.iter().skip(1)) {
            let mut pairs = vec![
                (more.devices.gpu, less.devices.gpu),
                (more.devices.cpu, less.devices.cpu),
                (more.repacked, less.repacked),
            ];
            pairs.extend(more.devices.gpus.iter().copied().zip(less.devices.gpus.iter().copied()));
            pairs.extend(more.mapped.iter().copied().zip(less.mapped.iter().copied()));
            for (more, less) in pairs {
                prop_assert!(more.low <= more.high);
                prop_assert!(less.low <= more.low && more.high <= less.high, "{more:?} {less:?}");
            }
        }
    }
}

#[test]
fn a_model_without_layers_has_weights_all_the_same() {
    let header = header("lora-f32");
    let plan = place([&header], &to_gpus(1, 99));
    assert!(plan.devices.gpu.high + plan.devices.cpu.high >= 65_536);
}

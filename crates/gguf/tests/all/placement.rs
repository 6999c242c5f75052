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

/// The parts of llama-big that were mapped with so many layers on a GPU, and its size there in hundredths of a MiB.
const TAIL: (u64, u64) = (0xb7f_6000, 4096);

#[test]
fn a_mapping_tells_the_layers_on_gpus() {
    let header = header("llama-big");
    let size = |bytes: u64| (bytes * 100 + (1 << 19)) >> 20;
    let all = read_mapping(&header, &[(0x5000, 548 << 10), TAIL]).unwrap();
    assert_eq!(
        (all.first_gpu_layer, all.gpu_layers),
        (Some(0), (17, u64::MAX))
    );
    assert_eq!((size(all.gpu.low), all.gpu.is_exact()), (18_341, true));
    let some = read_mapping(&header, &[TAIL, (0x5000, 106_432 << 10)]).unwrap();
    assert_eq!((some.first_gpu_layer, some.gpu_layers), (Some(9), (8, 8)));
    assert_eq!((size(some.gpu.low), some.gpu.is_exact()), (8054, true));
    assert!(some.unmapped < some.gpu.low);
    // The output may be on a GPU all the same.
    let none = read_mapping(&header, &[(0x5000, 188_360 << 10)]).unwrap();
    assert_eq!((none.first_gpu_layer, none.gpu_layers), (None, (0, 1)));
    assert_eq!((none.gpu.low, size(none.gpu.high)), (0, 54));
}

#[test]
fn a_mapping_that_tells_nothing_says_why() {
    let header = header("llama-big");
    let read = |mapped: &[(u64, u64)]| read_mapping(&header, mapped).unwrap_err();
    assert_eq!(read(&[]), NotReadable::NothingMapped);
    assert_eq!(read(&[TAIL]), NotReadable::NothingMapped);
    assert_eq!(read(&[(0x100_0000, 64 << 20)]), NotReadable::InputNotMapped);
    // Ends within a layer; or the last layer is mapped and others are not.
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

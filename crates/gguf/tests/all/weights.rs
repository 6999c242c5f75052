//! Where weights lie, against what llama.cpp logged.

use gguf::Range;
use gguf::placement::{Devices, Offload, Overrides, Repack, place};
use gguf::weights::{ExpertsOnCpu, Weights, bytes_outside};

use crate::builder::Builder;
use crate::fixtures::header;

/// Hundredths of a MiB, as llama.cpp rounds them in its log.
fn hundredths(bytes: u64) -> u64 {
    (bytes * 100 + (1 << 19)) >> 20
}

/// With `-ngl gpu_layers` on one GPU, nothing repacked.
fn placed(name: &str, gpu_layers: u64, experts: ExpertsOnCpu) -> Devices {
    let mut overrides = Overrides::default();
    overrides.push_experts(experts);
    let offload = Offload {
        gpus: 1,
        gpu_layers: Some(gpu_layers),
        repack: Repack::Off,
        overrides,
        ..Offload::default()
    };
    place([&header(name)], &offload).devices
}

/// Vulkan build, October 2026: `-ngl`, and the GPU's "model buffer size" in hundredths of a MiB.
#[test]
fn weights_on_the_gpu_are_those_llama_cpp_logged() {
    for (name, gpu_layers, expected) in [
        ("llama-f16", 2, 132),
        ("llama-f16", 99, 451),
        ("llama-big", 8, 8054),
        ("llama-big", 99, 18_341),
        ("gemma3-q8_0", 99, 696),
        ("lfm2-f16", 4, 376),
        ("qwen3moe-q4_0", 99, 319),
    ] {
        let placement = placed(name, gpu_layers, ExpertsOnCpu::None);
        let (low, high) = (
            hundredths(placement.gpu.low),
            hundredths(placement.gpu.high),
        );
        assert!(
            low <= expected && expected <= high,
            "{name} {gpu_layers}: {low} to {high}"
        );
        assert!(high - low <= 1, "{name} {gpu_layers}: {low} to {high}");
    }
}

#[test]
fn all_weights_are_on_the_cpu_without_gpu_layers() {
    for (name, expected) in [
        ("llama-f16", 476),
        ("llama-big", 18_394),
        ("gemma3-q8_0", 696),
    ] {
        let weights = Weights::of(&header(name));
        let placement = placed(name, 0, ExpertsOnCpu::None);
        assert_eq!(placement.gpu, Range::exact(0));
        assert_eq!(placement.cpu, Range::exact(weights.total));
        assert_eq!(hundredths(weights.total), expected, "{name}");
    }
}

/// Which weights a build repacks depends on the processor; a tied embedding that is repacked to multiply with stays as it
/// is to look up in.
#[test]
fn a_tied_embedding_may_be_in_system_memory_twice_where_repacking_is_unknown() {
    let offload = Offload {
        gpus: 1,
        gpu_layers: Some(0),
        ..Offload::default()
    };
    let cpu = place([&header("gemma3-q8_0")], &offload).devices.cpu;
    assert_eq!(cpu, Range::between(7_298_048, 7_437_312));
    let cpu = place([&header("llama-f16")], &offload).devices.cpu;
    assert!(cpu.is_exact());
}

/// What stayed mapped of llama-big, by `-ngl`, and the GPU's "model buffer size" in hundredths of a MiB.
#[test]
fn what_is_no_longer_mapped_is_on_the_gpu() {
    let header = header("llama-big");
    let tail = (0xb7f_6000, 4096);
    let outside = |mapped: &[(u64, u64)]| hundredths(bytes_outside(&header, mapped));
    assert_eq!(outside(&[(0x5000, 188_360 << 10)]), 0);
    // The output matrix lies before the first layer, within the span, though it is on the GPU; pages are rounded.
    let output = 53;
    let partly = outside(&[tail, (0x5000, 106_432 << 10)]) + output;
    assert!((8053..=8054).contains(&partly), "{partly}");
    let all = outside(&[(0x5000, 548 << 10), tail]);
    assert!((18_340..=18_341).contains(&all), "{all}");
    assert_eq!(outside(&[]), 18_394);
    assert_eq!(outside(&[(0, u64::MAX), (5, u64::MAX)]), 0);
    assert_eq!(
        bytes_outside(&header, &[(0x5000, 8192), (0x6000, 8192)]),
        192_876_544 - 12_288 + 384
    );
}

#[test]
fn tied_embeddings_exist_twice_when_offloaded() {
    let weights = Weights::of(&header("gemma3-q8_0"));
    assert!(weights.tied);
    let placement = placed("gemma3-q8_0", 99, ExpertsOnCpu::None);
    assert_eq!(
        placement.gpu.low + placement.cpu.low,
        weights.total + weights.token_embedding
    );
    assert!(!Weights::of(&header("llama-f16")).tied);
}

#[test]
fn experts_can_stay_on_the_cpu() {
    let weights = Weights::of(&header("qwen3moe-q4_0"));
    let experts: u64 = weights.layers.iter().map(|layer| layer.experts).sum();
    assert_eq!(experts, 6 * 3 * 147_456);
    let gpu = |experts| placed("qwen3moe-q4_0", 99, experts).gpu;
    let all = gpu(ExpertsOnCpu::None).low;
    assert_eq!(gpu(ExpertsOnCpu::All), Range::exact(all - experts));
    assert_eq!(
        gpu(ExpertsOnCpu::FirstLayers(2)),
        Range::exact(all - experts / 3)
    );
    assert_eq!(
        gpu(ExpertsOnCpu::Unknown),
        Range::between(all - experts, all)
    );
}

#[test]
fn layers_add_up_to_the_whole() {
    let weights = Weights::of(&header("gemma4-f16"));
    let layers: u64 = weights.layers.iter().map(|layer| layer.bytes).sum();
    assert_eq!(
        layers + weights.input + weights.output + weights.other,
        weights.total
    );
    assert_eq!(weights.layers.len(), 12);
    assert_eq!(weights.uncertain, 0);
}

#[test]
fn parts_of_a_split_model_add_up() {
    let first = Builder::model("llama", &[("block_count", 2)])
        .tensor("token_embd.weight", &[8], 0, 0)
        .read()
        .unwrap();
    let second = Builder::new()
        .tensor("blk.1.ffn_norm.weight", &[8], 0, 0)
        .tensor("output.weight", &[8], 0, 32)
        .read()
        .unwrap();
    let weights = Weights::of_parts([&first, &second]);
    assert_eq!(
        (weights.total, weights.layers[1].bytes, weights.other),
        (96, 32, 0)
    );
    assert!(!weights.tied);
    assert!(Weights::of(&first).tied);
}

#[test]
fn layers_beyond_the_block_count_are_not_lost() {
    let weights = Weights::of(
        &Builder::model("llama", &[("block_count", 1)])
            .tensor("blk.0.a", &[8], 0, 0)
            .tensor("blk.9.a", &[8], 0, 32)
            .tensor("blk.x.a", &[8], 0, 64)
            .read()
            .unwrap(),
    );
    assert_eq!((weights.total, weights.other), (96, 64));
}

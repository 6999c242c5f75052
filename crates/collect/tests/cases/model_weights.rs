//! `model-weights`: settings and a model's header give the weights on each device that llama.cpp logs.

use std::fs;
use std::path::Path;

use gguf::placement::{Offload, Overrides, Repack, Split, SplitMode, place};
use gguf::weights::ExpertsOnCpu;
use gguf::{Header, Range, ReadAt, read_header};
use serde::Deserialize;

use super::kv_cache::{FILE_LEN, header_bytes};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it is about, for a reader.
    #[serde(default)]
    #[expect(dead_code, reason = "for a reader of the case")]
    why: String,
    header: String,
    #[serde(default)]
    file_bytes: Option<u64>,
    command_line: Vec<String>,
    /// GPUs the program uses.
    #[serde(default)]
    gpus: u32,
    /// What the processor repacks; left out: nothing is.
    #[serde(default)]
    repack: Option<String>,
    /// Whether a GPU backend pins weights in system memory; left out: not known.
    #[serde(default)]
    pinned: Option<bool>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// "model buffer size" of each GPU, MiB.
    #[serde(default)]
    gpus_mib: Option<Vec<f64>>,
    /// That of all GPUs together.
    #[serde(default)]
    gpu_mib: Option<f64>,
    /// What the CPU uses, copied and not repacked.
    #[serde(default)]
    cpu_mib: Option<f64>,
    #[serde(default)]
    mapped_mib: Option<f64>,
    #[serde(default)]
    repacked_mib: Option<f64>,
    #[serde(default = "rounding")]
    tolerance_mib: f64,
    /// The result may be a range, as long as the figure lies in it.
    #[serde(default)]
    within: bool,
}

/// llama.cpp rounds to two decimals.
fn rounding() -> f64 {
    0.005
}

/// A header that is the start of a file of this length.
struct Start {
    bytes: Vec<u8>,
    len: u64,
}

impl ReadAt for Start {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// Runs one case.
pub(crate) fn run(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let bytes = header_bytes(file, &case.header)?;
    let len = case.file_bytes.unwrap_or(FILE_LEN);
    let header: Header =
        read_header(&mut Start { bytes, len }).map_err(|error| error.to_string())?;
    let plan = place([&header], &offload(&case)?);
    let expected = &case.expect;
    let plain = Range::between(
        plan.devices.cpu.low.saturating_sub(plan.repacked.high),
        plan.devices.cpu.high.saturating_sub(plan.repacked.low),
    );
    let mapped = plan.mapped.first().copied().unwrap_or_default();
    for (what, wanted, found) in [
        ("gpu_mib", expected.gpu_mib, plan.devices.gpu),
        ("cpu_mib", expected.cpu_mib, plain),
        ("mapped_mib", expected.mapped_mib, mapped),
        ("repacked_mib", expected.repacked_mib, plan.repacked),
    ] {
        if let Some(wanted) = wanted {
            compare(what, wanted, found, expected)?;
        }
    }
    if let Some(wanted) = &expected.gpus_mib {
        let found = &plan.devices.gpus;
        if wanted.len() != found.len() {
            return Err(format!("gpus_mib: {} GPUs computed", found.len()));
        }
        for (wanted, found) in wanted.iter().zip(found) {
            compare("gpus_mib", *wanted, *found, expected)?;
        }
    }
    Ok(())
}

/// The settings on a command line; one that is not known is a mistake in the case.
fn offload(case: &Case) -> Result<Offload, String> {
    let mut offload = Offload {
        gpus: case.gpus,
        pinned: case.pinned,
        repack: match case.repack.as_deref() {
            None => Repack::Off,
            Some("avx2") => Repack::Avx2,
            Some("avx512") => Repack::Avx512,
            Some("neon") => Repack::Neon,
            Some("unknown") => Repack::Unknown,
            Some(other) => return Err(format!("no processor {other}")),
        },
        ..Offload::default()
    };
    let mut overrides = Overrides::default();
    let mut words = case.command_line.iter().skip(1);
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-cmoe" | "--cpu-moe") {
            overrides.push_experts(ExpertsOnCpu::All);
            continue;
        }
        let value = words.next().ok_or(format!("{word} without a value"))?;
        let number = || value.parse().map_err(|_| format!("{word} {value}"));
        match word.as_str() {
            "-m" | "--model" | "-c" | "-np" => {}
            "-ngl" | "--gpu-layers" => offload.gpu_layers = Some(number()?),
            "-mg" | "--main-gpu" => {
                offload.main_gpu = value.parse().map_err(|_| format!("{word} {value}"))?;
            }
            "-ts" | "--tensor-split" => {
                let shares: Result<_, _> = value.split(',').map(str::parse).collect();
                offload.split = Split::Shares(shares.map_err(|_| format!("{word} {value}"))?);
            }
            "-sm" | "--split-mode" => {
                offload.mode = match value.as_str() {
                    "layer" => SplitMode::Layer,
                    "none" => SplitMode::None,
                    "row" => SplitMode::Row,
                    "tensor" => SplitMode::Tensor,
                    other => return Err(format!("no split mode {other}")),
                };
            }
            "-ot" | "--override-tensor" => overrides.push_pattern(value),
            "-ncmoe" | "--n-cpu-moe" => {
                overrides.push_experts(ExpertsOnCpu::FirstLayers(number()?));
            }
            other => return Err(format!("the runner knows no {other}")),
        }
    }
    offload.overrides = overrides;
    Ok(offload)
}

fn compare(what: &str, wanted: f64, found: Range, expected: &Expected) -> Result<(), String> {
    let mib = |bytes: u64| {
        // Sizes of these models are far below where an f64 loses bytes.
        #[expect(clippy::cast_precision_loss, reason = "compared within a tolerance")]
        let bytes = bytes as f64;
        bytes / f64::from(1 << 20)
    };
    let (low, high) = (mib(found.low), mib(found.high));
    // A half is rounded either way.
    let slack = expected.tolerance_mib + 1e-9;
    let fits = if expected.within {
        low - slack <= wanted && wanted <= high + slack
    } else {
        found.is_exact() && (low - wanted).abs() <= slack
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "{what}: {wanted} expected, {low:.4} to {high:.4} computed"
        ))
    }
}

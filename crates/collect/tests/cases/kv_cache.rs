//! `kv-cache`: a command line, an environment and a model's header give the weights and the cache that llama.cpp logs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collect::Collector;
use model::{Bytes, Estimated, Placement, Process, Segment, SegmentKind};
use raw::{Machine as _, TickPlan};
use serde::Deserialize;

use super::machine::{FOLDER, Memory};

/// Refreshes until everything has been asked; answers come at once, so that two are enough.
const REFRESHES: usize = 3;

/// How far the tensor table's last bytes may lie behind the header, where a case does not say how long the file is.
pub(crate) const FILE_LEN: u64 = 1 << 40;

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
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Lines of `/proc/PID/maps`.
    #[serde(default)]
    maps: Vec<String>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(default)]
    kv_mib: Option<f64>,
    #[serde(default)]
    kv_gpu_mib: Option<f64>,
    #[serde(default)]
    kv_cpu_mib: Option<f64>,
    #[serde(default)]
    weights_bytes: Option<u64>,
    #[serde(default)]
    weights_gpu_mib: Option<f64>,
    #[serde(default)]
    weights_cpu_mib: Option<f64>,
    /// Whether it stays unknown where the weights are.
    #[serde(default)]
    weights_unplaced: bool,
    #[serde(default = "hundredth")]
    tolerance_mib: f64,
    /// The estimate may be a range, as long as the figure lies in it.
    #[serde(default)]
    within: bool,
}

/// llama.cpp logs two decimals.
fn hundredth() -> f64 {
    0.01
}

/// Runs one case.
pub(crate) fn run(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let process = collected(&case, header_bytes(file, &case.header)?)?;
    let expected = &case.expect;
    let kv = |place| {
        let (keys, states) = (
            sum(&process, SegmentKind::Kv, place)?,
            sum(&process, SegmentKind::State, place)?,
        );
        Ok::<_, String>((keys.0 + states.0, keys.1 + states.1))
    };
    let weights = |place| sum(&process, SegmentKind::Weights, Some(place));
    for (what, wanted, found) in [
        (
            "weights_gpu_mib",
            expected.weights_gpu_mib,
            weights(Placement::Gpu),
        ),
        (
            "weights_cpu_mib",
            expected.weights_cpu_mib,
            weights(Placement::Cpu),
        ),
        ("kv_mib", expected.kv_mib, kv(None)),
        ("kv_gpu_mib", expected.kv_gpu_mib, kv(Some(Placement::Gpu))),
        ("kv_cpu_mib", expected.kv_cpu_mib, kv(Some(Placement::Cpu))),
    ] {
        if let Some(wanted) = wanted {
            compare(what, wanted, found?, expected)?;
        }
    }
    let is_unplaced =
        |one: &Segment<_>| one.kind == SegmentKind::Weights && one.placement == Placement::Unknown;
    if process.segments_estimated.iter().any(is_unplaced) != expected.weights_unplaced
        && !case.maps.is_empty()
    {
        return Err("weights_unplaced: not as expected".to_owned());
    }
    if let Some(wanted) = expected.weights_bytes {
        let (low, high) = sum(&process, SegmentKind::Weights, None)?;
        if !(low <= wanted && wanted <= high) {
            return Err(format!(
                "weights_bytes: {wanted} expected, {low} to {high} computed"
            ));
        }
    }
    Ok(())
}

/// The model's header: beside the case, or among the fixtures of the reader.
pub(crate) fn header_bytes(case: &Path, name: &str) -> Result<Vec<u8>, String> {
    let beside = case.with_file_name(name);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../gguf/fixtures/headers")
        .join(name);
    let found = [beside, ours].into_iter().find(|path| path.is_file());
    let path = found.ok_or_else(|| format!("there is no header {name}"))?;
    fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Where the model file is: the path that the case names with `-m` or in the environment.
fn model_path(case: &Case) -> String {
    let words = &case.command_line;
    let after = |flag: &&String| ["-m", "--model"].contains(&flag.as_str());
    let flag = words
        .iter()
        .zip(words.iter().skip(1))
        .find(|(flag, _)| after(flag));
    let named = flag
        .map(|(_, value)| value.as_str())
        .or_else(|| words.iter().find_map(|word| word.strip_prefix("--model=")))
        .or_else(|| case.environment.get("LLAMA_ARG_MODEL").map(String::as_str))
        .unwrap_or("model.gguf");
    if named.starts_with('/') {
        named.to_owned()
    } else {
        format!("{FOLDER}/{named}")
    }
}

/// The process as a collector shows it.
fn collected(case: &Case, header: Vec<u8>) -> Result<Process, String> {
    let len = case.file_bytes.unwrap_or(FILE_LEN);
    let mut machine = Memory::new(model_path(case), header, len);
    machine.command_line = case.command_line.join("\0") + "\0";
    for line in &case.maps {
        machine.maps += &[line, "\n"].concat();
    }
    for (name, value) in &case.environment {
        machine.environment += &[name, "=", value, "\0"].concat();
    }
    let mut collector = Collector::new(machine.facts());
    let mut last = None;
    for _ in 0..REFRESHES {
        let tick = machine
            .begin_tick(&TickPlan::default())
            .map_err(|_| "ended")?;
        last = Some(collector.tick(&mut machine, tick));
    }
    let snapshot = last.ok_or("no refresh")?;
    if let Some(notice) = snapshot
        .notices
        .iter()
        .find(|notice| notice.code == "internal")
    {
        return Err(notice.text.to_string());
    }
    match &*snapshot.processes {
        [process] if process.models.len() == 1 => Ok(process.clone()),
        [process] => Err(format!("{} models instead of one", process.models.len())),
        rows => Err(format!("{} processes instead of one", rows.len())),
    }
}

/// Sum of the parts of a kind, in one place or wherever they are; a missing one is an error.
fn sum(
    process: &Process,
    kind: SegmentKind,
    place: Option<Placement>,
) -> Result<(u64, u64), String> {
    let wanted = |segment: &&Segment<Estimated<Bytes>>| {
        segment.kind == kind && place.is_none_or(|place| segment.placement == place)
    };
    let mut total = (0, 0);
    for segment in process.segments_estimated.iter().filter(wanted) {
        match segment.bytes.known() {
            Some(bytes) => total = (total.0 + bytes.low.0, total.1 + bytes.high.0),
            None => {
                return Err(format!(
                    "no estimate: {:?} {:?}",
                    segment.bytes, segment.inputs
                ));
            }
        }
    }
    Ok(total)
}

fn compare(
    what: &str,
    wanted: f64,
    (low, high): (u64, u64),
    expected: &Expected,
) -> Result<(), String> {
    let mib = |bytes: u64| {
        // Sizes of caches are far below where an f64 loses bytes.
        #[expect(clippy::cast_precision_loss, reason = "compared within a tolerance")]
        let bytes = bytes as f64;
        bytes / f64::from(1 << 20)
    };
    let (low, high) = (mib(low), mib(high));
    let slack = expected.tolerance_mib;
    let fits = if expected.within {
        low - slack <= wanted && wanted <= high + slack
    } else {
        (low - wanted).abs() <= slack && (high - wanted).abs() <= slack
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "{what}: {wanted} expected, {low:.3} to {high:.3} computed"
        ))
    }
}

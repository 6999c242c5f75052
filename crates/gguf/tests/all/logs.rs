//! Real logs of llama.cpp in folders named by `FIXTURES_DIR`: every buffer they tell is computed from header and flags.
//!
//! A folder has subfolders with logs (`NAME.log`), `headers/tiny-MODEL.header.gguf` and, beside logs of one server, a
//! `table.json` with each case's flags. Where there is no table, the settings are those that the log prints. A line
//! that is not explained is a failure, as is a computed buffer without a line.

#![allow(
    clippy::disallowed_methods,
    reason = "a runner walks the folders it is given"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gguf::compute::{self, LogitRows, pipelined};
use gguf::kv::{self, CacheKind, Era, KvSettings, WhyNot};
use gguf::placement::{Devices, Offload, Repack, Split, cache, place};
use gguf::{Header, Range};

use crate::kv_cases::settings;

/// Logs round to two decimals.
const ROUNDING_MIB: f64 = 0.005;

/// A line "DEVICE KIND buffer size = N MiB".
#[derive(Debug, Clone, PartialEq)]
struct Buffer {
    device: String,
    kind: String,
    mib: f64,
    line: usize,
}

/// One context of a model, with what the log says of its settings.
#[derive(Debug, Default)]
struct Context {
    said: BTreeMap<String, String>,
    buffers: Vec<Buffer>,
}

/// A model that was loaded, once.
#[derive(Debug, Default)]
struct Load {
    model: String,
    /// A dry run to fit the settings: nothing is allocated, and sizes are 0.
    dry: bool,
    offloaded: Option<u64>,
    /// Names of the GPUs used, and MiB that were free on each.
    gpus: Vec<(String, f32)>,
    buffers: Vec<Buffer>,
    adapters: Vec<String>,
    contexts: Vec<Context>,
}

fn buffer(text: &str, line: usize) -> Option<Buffer> {
    let (before, after) = text.split_once(" buffer size")?;
    let number = after.trim_start().strip_prefix('=')?.trim_start();
    let mib = number.split_whitespace().next()?.parse().ok()?;
    let mut words: Vec<&str> = before.split_whitespace().collect();
    let kinds = ["model", "KV", "RS", "LoRA", "compute", "output"];
    let last = words.pop()?;
    let (kind, device) = if kinds.contains(&last) {
        (last, words.pop()?)
    } else {
        // Before 2025 weights had no word of their own.
        ("model", last)
    };
    Some(Buffer {
        device: device.into(),
        kind: kind.into(),
        mib,
        line,
    })
}

/// "using device Vulkan0 (NAME) (unknown id) - 2048 MiB free".
fn device(text: &str) -> Option<(String, f32)> {
    let (_, rest) = text.split_once("using device ")?;
    let (_, free) = rest.rsplit_once(" - ")?;
    let name = rest.split_whitespace().next()?;
    let free = free.split_whitespace().next()?.parse().ok()?;
    Some((name.to_owned(), free))
}

/// The file name in `tiny-NAME.gguf` after `marker`.
fn model_after(text: &str, marker: &str) -> Option<String> {
    let (_, rest) = text.split_once(marker)?;
    let end = rest.find(".gguf")?;
    let name = rest.get(..end)?.rsplit(['/', '\'']).next()?;
    Some(name.trim_start_matches("tiny-").to_owned())
}

fn loads(log: &str) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for (line, text) in (1..).zip(log.lines()) {
        if text.contains("loaded meta data with") {
            loads.push(Load {
                model: model_after(text, " from ").unwrap_or_default(),
                ..Load::default()
            });
        }
        let Some(load) = loads.last_mut() else {
            assert!(buffer(text, line).is_none(), "a buffer of no model: {text}");
            continue;
        };
        if text.contains("no_alloc") && text.trim_end().ends_with("= 1") {
            load.dry = true;
        }
        load.gpus.extend(device(text));
        if let Some((_, rest)) = text.split_once("offloaded ") {
            load.offloaded = rest.split('/').next().and_then(|count| count.parse().ok());
        }
        if text.contains("loading lora adapter") {
            load.adapters.extend(model_after(text, " from "));
        }
        let is_context =
            text.contains("llama_context:") || text.contains("llama_new_context_with_model:");
        let mut words = text.split_whitespace().rev();
        let assigned = match (words.next(), words.next(), words.next()) {
            (Some(value), Some("="), Some(key)) => Some((key.to_owned(), value.to_owned())),
            _ => None,
        };
        let old = text.contains("llama_new_context_with_model: n_ctx ");
        if text.contains("constructing llama_context") || old {
            load.contexts.push(Context::default());
        }
        if let (true, Some((key, value)), Some(context)) =
            (is_context, assigned, load.contexts.last_mut())
        {
            let value = value.trim_end_matches("\\n\"}").to_owned();
            context.said.entry(key).or_insert(value);
        }
        if let Some(buffer) = buffer(text, line) {
            match load.contexts.last_mut() {
                Some(context) if buffer.kind != "model" && buffer.kind != "LoRA" => {
                    context.buffers.push(buffer);
                }
                _ => load.buffers.push(buffer),
            }
        }
    }
    loads
}

/// Which rules the build follows, by what it logs.
fn era(log: &str) -> Era {
    if log.contains("n_ctx_seq") {
        Era::Current
    } else if log.contains("KV self size") {
        Era::FullWindows
    } else {
        Era::OwnCaches
    }
}

fn settings_said(log: &str, context: &Context) -> KvSettings {
    let number = |key: &str| context.said.get(key).and_then(|value| value.parse().ok());
    let flash_attention = match context.said.get("flash_attn").map(String::as_str) {
        Some("0" | "disabled") => false,
        Some("auto") => !log.contains("set to disabled"),
        _ => true,
    };
    KvSettings {
        context: number("n_ctx").map(u64::from),
        parallel: number("n_seq_max").or(Some(1)),
        unified: Some(
            context
                .said
                .get("kv_unified")
                .is_some_and(|said| said == "true"),
        ),
        ubatch: number("n_ubatch"),
        flash_attention: Some(flash_attention),
        era: era(log),
        ..KvSettings::llama_server_defaults()
    }
}

fn offload(log: &str, load: &Load) -> Offload {
    // A build with several CPU backends names the one it chose after the processor.
    let avx2 = (log.contains("AVX2 = 1") && log.contains("| REPACK = 1"))
        || log.contains("libggml-cpu-haswell");
    Offload {
        gpus: u32::try_from(load.gpus.len()).unwrap(),
        gpu_layers: load.offloaded,
        split: Split::Shares(load.gpus.iter().map(|(_, free)| *free).collect()),
        pinned: log.contains("_Host ").then_some(true),
        repack: if log.contains(" AVX512") || log.contains("AMX_INT8 = 1") {
            Repack::Unknown
        } else if avx2 {
            Repack::Avx2
        } else {
            Repack::Off
        },
        ..Offload::default()
    }
}

/// What was compared.
#[derive(Debug, Default)]
struct Report {
    logs: usize,
    exact: BTreeMap<String, usize>,
    in_range: usize,
    dry: usize,
    not_computed: BTreeMap<String, usize>,
    problems: Vec<String>,
}

fn mib(bytes: u64) -> f64 {
    let kib = u32::try_from(bytes / 1024).unwrap();
    let rest = u32::try_from(bytes % 1024).unwrap();
    f64::from(kib) / 1024.0 + f64::from(rest) / f64::from(1 << 20)
}

impl Report {
    fn problem(&mut self, log: &Path, text: &str) {
        self.problems.push(format!("{}: {text}", log.display()));
    }

    /// Compares the lines of one kind with computed sizes by device, in their order.
    fn compare(&mut self, log: &Path, lines: &[&Buffer], computed: &[(String, Range)]) {
        let mut left: Vec<&(String, Range)> = computed.iter().collect();
        for line in lines {
            let Some(place) = left.iter().position(|(device, _)| *device == line.device) else {
                self.problem(
                    log,
                    &format!("line {}: nothing computed: {line:?}", line.line),
                );
                continue;
            };
            let (_, range) = left.remove(place);
            let fits = range.is_exact() && (mib(range.low) - line.mib).abs() <= ROUNDING_MIB + 1e-9;
            if fits {
                *self.exact.entry(line.kind.clone()).or_default() += 1;
            } else {
                let (low, high) = (mib(range.low), mib(range.high));
                self.problem(log, &format!("{line:?}: computed {low:.4} to {high:.4}"));
            }
        }
        for (device, range) in left {
            self.problem(log, &format!("no line for {device}: {range:?}"));
        }
    }
}

fn named(devices: &Devices, load: &Load) -> Vec<(String, Range)> {
    let names = load.gpus.iter().map(|(name, _)| name.clone());
    std::iter::once("CPU".to_owned())
        .chain(names)
        .zip(std::iter::once(devices.cpu).chain(devices.gpus.iter().copied()))
        .filter(|(_, bytes)| bytes.high > 0)
        .collect()
}

fn compare_weights(report: &mut Report, path: &Path, log: &str, load: &Load, header: &Header) {
    let lines: Vec<&Buffer> = load.buffers.iter().filter(|b| b.kind == "model").collect();
    let plan = place([header], &offload(log, load));
    let mut computed: Vec<(String, Range)> = named(&plan.devices, load)
        .into_iter()
        .filter(|(device, _)| device != "CPU")
        .collect();
    if plan.repacked.high > 0 {
        computed.push(("CPU_REPACK".into(), plan.repacked));
    }
    // Without mapping, and before 2025 with it too, what the CPU uses is one sum.
    if lines.iter().any(|line| line.device == "CPU") {
        assert!(plan.repacked.is_exact() && plan.devices.cpu.is_exact());
        let plain = plan.devices.cpu.low - plan.repacked.low;
        computed.push(("CPU".into(), Range::exact(plain)));
    } else {
        computed.extend(plan.mapped.iter().map(|span| ("CPU_Mapped".into(), *span)));
    }
    report.compare(path, &lines, &computed);
}

fn compare_caches(
    report: &mut Report,
    (path, log): (&Path, &str),
    context: &Context,
    load: &Load,
    header: &Header,
    settings: &KvSettings,
) {
    let of_kind = |kind: &str| -> Vec<&Buffer> {
        context
            .buffers
            .iter()
            .filter(|buffer| buffer.kind == kind)
            .collect()
    };
    let offload = offload(log, load);
    let (mut keys, mut states) = (Vec::new(), Vec::new());
    match kv::estimate(header, settings) {
        Ok(estimate) => {
            for (kind, devices) in cache(&estimate, &offload).parts {
                let list = if kind == CacheKind::State {
                    &mut states
                } else {
                    &mut keys
                };
                list.extend(named(&devices, load));
            }
        }
        Err(WhyNot::NonCausal) => {}
        Err(why) => report.problem(path, &why.to_string()),
    }
    report.compare(path, &of_kind("KV"), &keys);
    report.compare(path, &of_kind("RS"), &states);

    let range = compute::estimate(header, settings, LogitRows::Unknown);
    let several = load.gpus.len() > 1;
    let range = range.map(|range| if several { pipelined(range) } else { range });
    for line in of_kind("compute") {
        let Ok(range) = range else {
            *report
                .not_computed
                .entry("compute of an encoder".into())
                .or_default() += 1;
            continue;
        };
        if line.device.ends_with("_Host") {
            *report
                .not_computed
                .entry("compute in host memory".into())
                .or_default() += 1;
        } else if mib(range.low) - ROUNDING_MIB <= line.mib
            && line.mib <= mib(range.high) + ROUNDING_MIB
        {
            report.in_range += 1;
        } else {
            report.problem(path, &format!("{line:?}: {range:?}"));
        }
    }
    *report.not_computed.entry("output".into()).or_default() += of_kind("output").len();
}

fn compare(report: &mut Report, path: &Path, flags: Option<&str>, header: &dyn Fn(&str) -> Header) {
    // Names and texts in a log need not be UTF-8.
    let log = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    report.logs += 1;
    for load in loads(&log) {
        if load.dry {
            report.dry += 1;
            continue;
        }
        let model = header(&load.model);
        if !load.buffers.is_empty() {
            compare_weights(report, path, &log, &load, &model);
        }
        let adapters: Vec<(String, Range)> = load
            .adapters
            .iter()
            .map(|name| {
                (
                    "CPU_Mapped".into(),
                    Range::exact(header(name).tensor_bytes()),
                )
            })
            .collect();
        let lines: Vec<&Buffer> = load.buffers.iter().filter(|b| b.kind == "LoRA").collect();
        report.compare(path, &lines, &adapters);
        for context in &load.contexts {
            let settings = match flags {
                Some(flags) => settings(flags),
                None => settings_said(&log, context),
            };
            compare_caches(report, (path, &log), context, &load, &model, &settings);
        }
    }
}

/// The flags of each case, by the name of its log.
fn table(folder: &Path) -> BTreeMap<String, String> {
    let Ok(text) = fs::read_to_string(folder.join("table.json")) else {
        return BTreeMap::new();
    };
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    let text = |case: &serde_json::Value, key: &str| case[key].as_str().unwrap().to_owned();
    let cases = cases.as_array().unwrap().iter();
    cases
        .map(|case| (text(case, "case"), text(case, "flags")))
        .collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| extension.is_empty() || path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

/// Folders with headers and logs among those of `FIXTURES_DIR` and one level below.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("FIXTURES_DIR").unwrap_or_default();
    let mut folders = Vec::new();
    for folder in std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()) {
        let below = files(&folder, "").into_iter();
        let all = std::iter::once(folder.clone()).chain(below);
        folders.extend(all.filter(|folder| folder.join("headers").is_dir()));
    }
    folders
}

#[test]
fn every_buffer_in_real_logs_is_computed() {
    let mut report = Report::default();
    for folder in folders() {
        let header = |name: &str| {
            let path = folder.join(format!("headers/tiny-{name}.header.gguf"));
            let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            gguf::read_header(&mut &*bytes).unwrap()
        };
        for logs in files(&folder, "") {
            let flags = table(&logs);
            for path in files(&logs, "log") {
                let name = path.file_stem().unwrap().to_string_lossy();
                compare(
                    &mut report,
                    &path,
                    flags.get(&*name).map(String::as_str),
                    &header,
                );
            }
        }
    }
    let mut stderr = std::io::stderr();
    if report.logs == 0 {
        writeln!(
            stderr,
            "SKIPPED: every_buffer_in_real_logs_is_computed: FIXTURES_DIR names no folder with headers/ and logs"
        )
        .unwrap();
        return;
    }
    let exact: usize = report.exact.values().sum();
    writeln!(
        stderr,
        "{} logs: {exact} lines computed exactly {:?}, {} compute buffers within their bounds, {} dry runs left out, \
         not computed {:?}",
        report.logs, report.exact, report.in_range, report.dry, report.not_computed
    )
    .unwrap();
    assert!(
        report.problems.is_empty(),
        "{} problems:\n{}",
        report.problems.len(),
        report.problems.join("\n")
    );
    assert!(exact > 0, "logs without a line that was compared");
}

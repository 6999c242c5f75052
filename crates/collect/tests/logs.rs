//! Real logs of llama.cpp, those in `fixtures/logs` and those below the folders of `FIXTURES_DIR`: what the parser tells
//! of each is compared with a reading of the same lines that shares nothing with it, with the program's own memory
//! table, and with `table.json` where it lies beside.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a runner walks folders and fails loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use collect::logs::{LoadedModel, Told, told_by_bytes};
use model::SegmentKind;

/// Hundredths of a `MiB`, as llama.cpp prints sizes, by kind and buffer.
type Sums = BTreeMap<(&'static str, String), u64>;

const KINDS: [(&str, &str); 6] = [
    (" model buffer size", "weights"),
    (" KV buffer size", "kv"),
    (" RS buffer size", "state"),
    (" compute buffer size", "compute"),
    (" output buffer size", "output"),
    (" LoRA buffer size", "adapter"),
];

/// The sums of a log's last load, read with nothing but `split`.
fn read_apart(log: &str) -> Sums {
    let mut sums = Sums::new();
    // Compute and output lines by context: the last one of each.
    let mut last: BTreeMap<(u32, &'static str, String), u64> = BTreeMap::new();
    let (mut context, mut is_planned) = (0, false);
    for line in log.lines() {
        if line.contains("load_model: loading model '") {
            sums.clear();
            last.clear();
        }
        if line.contains("no_alloc ") {
            is_planned = line.trim_end_matches("\\n\"}").trim_end().ends_with('1');
        }
        let opens = line.contains("constructing llama_context");
        if opens || line.contains("llama_new_context_with_model: n_ctx ") {
            context += 1;
        }
        // 2024 says only `buffer size`.
        let plain = line.replace("CPU buffer size", "CPU model buffer size");
        let Some((before, behind, kind)) = KINDS.iter().find_map(|(needle, kind)| {
            let (before, behind) = plain.split_once(needle)?;
            Some((before, behind, *kind))
        }) else {
            continue;
        };
        let Some(size) = behind.trim_start().strip_prefix('=') else {
            continue;
        };
        if is_planned {
            continue;
        }
        let device = before.split_whitespace().last().unwrap().to_owned();
        let number = size.split_whitespace().next().unwrap();
        let (whole, part) = number.split_once('.').unwrap();
        let hundredths = whole.parse::<u64>().unwrap() * 100 + part.parse::<u64>().unwrap();
        if ["compute", "output"].contains(&kind) {
            last.insert((context, kind, device), hundredths);
        } else {
            *sums.entry((kind, device)).or_default() += hundredths;
        }
    }
    for ((_, kind, device), size) in last {
        *sums.entry((kind, device)).or_default() += size;
    }
    sums
}

/// What the parser tells, in the same form; a draft model's parts are of a kind of their own and are left out.
fn told_sums(told: &Told) -> Sums {
    let mut sums = Sums::new();
    let models = told.models.iter().filter(|model| !model.is_draft);
    for part in models.flat_map(|model| &model.parts) {
        let hundredths = (part.bytes.0 * 100 + (1 << 19)) >> 20;
        *sums
            .entry((part.kind.id(), part.device.to_string()))
            .or_default() += hundredths;
    }
    sums
}

fn total(model: &LoadedModel, kind: SegmentKind) -> u64 {
    let parts = model.parts.iter().filter(|part| part.kind == kind);
    parts.map(|part| part.bytes.0).sum()
}

/// `| - Host | self = model + context + compute |` of the last table in the log.
fn last_table_row(log: &str) -> Option<[u64; 4]> {
    let row = log.lines().rfind(|line| line.contains("|   - Host "))?;
    let numbers: Vec<u64> = row
        .rsplit('|')
        .nth(1)?
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    numbers.try_into().ok()
}

/// A log up to where its program begins to end: after that it holds nothing.
fn before_the_end(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let log = String::from_utf8_lossy(&bytes).into_owned();
    let end = log.find("cleaning up before exit").unwrap_or(log.len());
    let start_of_line = log[..end].rfind('\n').map_or(0, |at| at + 1);
    log[..if end == log.len() { end } else { start_of_line }].to_owned()
}

fn logs() -> Vec<PathBuf> {
    fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() && depth > 0 {
                walk(&path, depth - 1, found);
            } else if path.extension().is_some_and(|it| it == "log") {
                found.push(path);
            }
        }
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/logs");
    let others = std::env::var_os("FIXTURES_DIR").unwrap_or_default();
    let mut found = Vec::new();
    walk(&own, 3, &mut found);
    assert!(!found.is_empty(), "no log in {}", own.display());
    for folder in std::env::split_paths(&others).filter(|it| !it.as_os_str().is_empty()) {
        walk(&folder, 3, &mut found);
    }
    found.sort();
    found
}

#[test]
fn every_log_tells_what_its_own_lines_say() {
    let mut compared = 0;
    let logs = logs();
    for path in &logs {
        let log = before_the_end(path);
        let all = told_by_bytes(log.as_bytes());
        let apart = read_apart(&log);
        let told = all.iter().find(|told| told.family == "llama.cpp");
        let Some(told) = told else {
            assert!(apart.is_empty(), "{}: {apart:?}", path.display());
            continue;
        };
        // A draft model's buffers lie among the others in a reading that knows no models.
        if told.models.iter().any(|model| model.is_draft) {
            let all: u64 = told
                .models
                .iter()
                .flat_map(|model| &model.parts)
                .map(|part| (part.bytes.0 * 100 + (1 << 19)) >> 20)
                .sum();
            assert_eq!(all, apart.values().sum::<u64>(), "{}", path.display());
            compared += 1;
            continue;
        }
        // After the server put its model away and had not loaded it again there is none.
        if !told.models.is_empty() {
            assert_eq!(told_sums(told), apart, "{}", path.display());
            compared += usize::from(!apart.is_empty());
        }
    }
    let note = format!("{compared} of {} logs have sizes, and agree\n", logs.len());
    std::io::stderr().write_all(note.as_bytes()).unwrap();
    assert!(compared > 0);
}

/// The program sums its buffers itself when it ends, in whole `MiB` that are cut off.
#[test]
fn sizes_agree_with_the_programs_own_table() {
    let mut compared = 0;
    for path in logs() {
        let all = told_by_bytes(before_the_end(&path).as_bytes());
        let whole = fs::read(&path).unwrap();
        let row = last_table_row(&String::from_utf8_lossy(&whole));
        let told = all.iter().find(|told| told.family == "llama.cpp");
        let (Some(told), Some(row)) = (told, row) else {
            continue;
        };
        let [model] = told.models.as_slice() else {
            continue;
        };
        // On a device too, where the table has further rows; or repacked, where it has one of their own.
        let is_host = |device: &str| ["CPU", "CPU_Mapped"].contains(&device);
        if model.parts.is_empty() || !model.parts.iter().all(|it| is_host(&it.device)) {
            continue;
        }
        let context = total(model, SegmentKind::Kv) + total(model, SegmentKind::State);
        let sizes = [
            total(model, SegmentKind::Weights),
            context,
            total(model, SegmentKind::Compute),
        ];
        for (bytes, mib) in sizes.into_iter().zip(&row[1..]) {
            // Output buffers of some hundred KiB count as context there.
            let is_near = (bytes >> 20).abs_diff(*mib) <= 1;
            assert!(is_near, "{}: {bytes} bytes, {mib} MiB", path.display());
        }
        compared += 1;
    }
    assert!(compared > 0);
}

/// Where a table of the runs lies beside the logs, its figures of cache and state are the parser's.
#[test]
fn sizes_agree_with_the_table_of_the_runs() {
    let mut compared = 0;
    for path in logs() {
        let table = path.with_file_name("table.json");
        let Ok(table) = fs::read_to_string(&table) else {
            continue;
        };
        let table: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(case) = table.iter().find(|case| case["case"] == name.as_str()) else {
            continue;
        };
        let actual = case["actual_mib"].as_f64().unwrap();
        let all = told_by_bytes(before_the_end(&path).as_bytes());
        let told = all.iter().find(|told| told.family == "llama.cpp");
        let told = told.unwrap_or_else(|| panic!("{}", path.display()));
        let parts = told.models.iter().flat_map(|model| &model.parts);
        let cache = parts.filter(|it| [SegmentKind::Kv, SegmentKind::State].contains(&it.kind));
        let mib = model::Bytes(cache.map(|part| part.bytes.0).sum()).as_f64() / f64::from(1 << 20);
        assert!((mib - actual).abs() < 0.011, "{}: {mib}", path.display());
        compared += 1;
    }
    if compared == 0 {
        let skipped = b"SKIPPED: FIXTURES_DIR names no folder with logs and their table.json\n";
        std::io::stderr().write_all(skipped).unwrap();
    }
}

/// The buffers that the program frees when it ends are those it said to have made.
#[test]
fn every_load_comes_to_its_end_where_a_server_says_so() {
    for path in logs() {
        let log = before_the_end(&path);
        let all = told_by_bytes(log.as_bytes());
        let llama = all.iter().find(|told| told.family == "llama.cpp");
        let Some(told) = llama else { continue };
        let is_loaded = log.contains("initializing, n_slots") && !told.models.is_empty();
        if is_loaded {
            assert!(told.complete, "{}", path.display());
            let slots = told.models[0].slots;
            assert!(slots.is_some(), "{}", path.display());
        }
    }
}

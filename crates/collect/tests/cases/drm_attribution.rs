//! `amd-fdinfo` and `drm-attribution`: what processes have open, as the kernel prints it; whose the memory is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collect::drm::Limits;
use collect::drm::{
    Attribution, Columns, Descriptor, DeviceFacts, Fdinfo, Holder, Node, Row, Sample, Video,
};
use model::{Gap, PciAddress};
use serde::Deserialize;
use serde_json::Value;

/// The device of a case; texts that name another one get other numbers.
const DEVICE: u32 = 0;

#[derive(Deserialize)]
struct Case {
    device: CaseDevice,
    samples: Vec<CaseSample>,
}

#[derive(Deserialize)]
struct CaseDevice {
    pdev: String,
    #[serde(default)]
    vcn_major: Option<u32>,
}

#[derive(Deserialize)]
struct CaseSample {
    t: f64,
    procs: Vec<CaseProcess>,
    #[serde(default = "complete")]
    scan_complete: bool,
    #[serde(default)]
    vram_used: Option<u64>,
    expect: Expected,
}

/// A device on which `/dev/kfd` can be used, and of which no size is known.
const ROCM: DeviceFacts = DeviceFacts {
    has_user_queues: true,
    limits: Limits {
        vram: None,
        system: None,
    },
};

const fn complete() -> bool {
    true
}

#[derive(Deserialize)]
struct CaseProcess {
    pid: u32,
    start: u64,
    #[serde(default = "complete")]
    fds_readable: bool,
    #[serde(default)]
    fds: Vec<CaseDescriptor>,
}

#[derive(Deserialize)]
struct CaseDescriptor {
    #[serde(alias = "target")]
    link: String,
    fdinfo: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    rows: BTreeMap<u32, ExpectedRow>,
    #[serde(default)]
    vram_attributed: Option<u64>,
    #[serde(default)]
    vram_unattributed: Option<u64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct ExpectedRow {
    vram: Option<u64>,
    spill: Option<u64>,
    reason: Option<String>,
    vram_resident: Option<u64>,
    gtt_resident: Option<u64>,
    engines: Option<BTreeMap<String, Option<f64>>>,
    engine_reason: Option<String>,
}

/// Runs one case of `amd-fdinfo`.
pub(crate) fn run_samples(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let device = PciAddress::parse(&case.device.pdev);
    let video = match case.device.vcn_major {
        Some(4..) => Video::Unified,
        Some(_) => Video::Split,
        None => Video::Unknown,
    };
    let mut attribution = Attribution::default();
    for given in &case.samples {
        let at_ns = nanoseconds(given.t);
        let sample = sample(&given.procs, given.scan_complete, at_ns, device);
        let rows: Vec<Row> = attribution.take(&sample, |_| ROCM);
        let rows = rows.iter().filter(|row| row.slot == DEVICE);
        let mut found = BTreeMap::new();
        let mut attributed = 0;
        for row in rows {
            attributed += row.vram.unwrap_or(0);
            found.insert(row.pid, printed(row, video));
        }
        if !same(&found, &given.expect.rows) {
            let expected = &given.expect.rows;
            return Err(format!(
                "at {} s: expected {expected:?}\nfound {found:?}",
                given.t
            ));
        }
        let expect = &given.expect;
        if expect.vram_attributed.is_some_and(|sum| sum != attributed) {
            return Err(format!("at {} s: {attributed} bytes are charged", given.t));
        }
        let rest = given.vram_used.map(|used| used.saturating_sub(attributed));
        if expect.vram_unattributed.is_some() && expect.vram_unattributed != rest {
            return Err(format!("at {} s: {rest:?} bytes are left", given.t));
        }
    }
    Ok(())
}

/// Shares of time need not agree in their last digit.
fn same(found: &BTreeMap<u32, ExpectedRow>, expected: &BTreeMap<u32, ExpectedRow>) -> bool {
    let rounded = |rows: &BTreeMap<u32, ExpectedRow>| {
        let rows = rows.iter().map(|(pid, row)| {
            let engines = row.engines.clone().map(|engines| {
                let round = |load: f64| (load * 1000.0).round() / 1000.0;
                engines
                    .into_iter()
                    .map(|(name, load)| (name, load.map(round)))
                    .collect()
            });
            let row = ExpectedRow {
                engines,
                reason: row.reason.as_ref().map(|code| code.replace('-', "_")),
                engine_reason: row
                    .engine_reason
                    .as_ref()
                    .map(|code| code.replace('-', "_")),
                ..*row
            };
            format!("{pid} {row:?}")
        });
        rows.collect::<Vec<String>>()
    };
    rounded(found) == rounded(expected)
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1000.0)
        .round()
        .to_string()
        .parse::<u64>()
        .unwrap()
        * 1_000_000
}

fn printed(row: &Row, video: Video) -> ExpectedRow {
    let code = |gap: Gap| gap.code().to_owned();
    let engines = row.loads.as_ref().map(|loads| {
        let it = Columns::of("amdgpu", video, loads);
        let columns = [
            ("gfx", it.graphics),
            ("compute", it.compute),
            ("copy", it.copy),
            ("video", it.video),
            ("decode", it.decode),
            ("encode", it.encode),
        ];
        let column = |(name, load): (&str, Result<f64, Gap>)| (name.to_owned(), load.ok());
        columns.into_iter().map(column).collect()
    });
    ExpectedRow {
        vram: row.vram.ok(),
        spill: row.system.ok(),
        reason: row.reasons.first().copied().map(code),
        vram_resident: row.vram_resident.ok(),
        gtt_resident: row.system_resident.ok(),
        engine_reason: engines.as_ref().err().map(|gap| code(**gap)),
        engines: engines.ok(),
    }
}

fn sample(
    processes: &[CaseProcess],
    is_complete: bool,
    at_ns: u64,
    device: Option<PciAddress>,
) -> Sample {
    let holders = processes
        .iter()
        .filter(|process| process.fds_readable)
        .map(|process| Holder {
            pid: process.pid,
            start_ticks: Some(process.start),
            parent: None,
            has_only_forked: false,
            keeps_sessions: false,
            has_kfd: process.fds.iter().any(|fd| fd.link == "/dev/kfd"),
            descriptors: process
                .fds
                .iter()
                .filter_map(|fd| descriptor(fd, at_ns, device))
                .collect(),
        });
    let unreadable = processes.iter().filter(|process| !process.fds_readable);
    Sample {
        searched_ns: at_ns,
        is_complete,
        holders: holders.collect(),
        unreadable: unreadable.map(|process| process.pid).collect(),
    }
}

fn descriptor(fd: &CaseDescriptor, at_ns: u64, device: Option<PciAddress>) -> Option<Descriptor> {
    let (link, is_deleted) = match fd.link.strip_suffix(" (deleted)") {
        Some(link) => (link, true),
        None => (fd.link.as_str(), false),
    };
    let node = link.strip_prefix("/dev/dri/")?;
    let text = match fd.fdinfo.as_deref() {
        None | Some("EACCES") => Err(Gap::Permission),
        Some(text) => Ok(Fdinfo::parse(text)),
    };
    let named = text.as_ref().ok().and_then(|text| text.pci);
    let slot = match (named, device) {
        (Some(named), Some(device)) if named != device => {
            1 + (u32::from(named.bus) << 8
                | u32::from(named.device) << 3
                | u32::from(named.function))
        }
        _ => DEVICE,
    };
    Some(Descriptor {
        slot,
        node: if node.starts_with("card") {
            Node::Primary
        } else {
            Node::Render
        },
        is_deleted,
        at_ns,
        text,
    })
}

#[derive(Deserialize)]
struct Verdicts {
    cases: Vec<Verdict>,
}

/// One look, and what it allows to be said.
#[derive(Deserialize)]
struct Verdict {
    #[serde(default)]
    name: String,
    processes: Vec<LookedAt>,
    #[serde(default = "complete")]
    scan_complete: bool,
    expect: BTreeMap<u32, Charged>,
    #[serde(default)]
    process_status: Option<ProcessStatus>,
}

#[derive(Deserialize)]
struct LookedAt {
    pid: u32,
    start: u64,
    /// A list, or `"EACCES"`.
    fds: Value,
}

#[derive(Deserialize)]
struct ProcessStatus {
    unreadable: usize,
}

#[derive(Deserialize)]
struct Charged {
    vram: Option<u64>,
    gtt: Option<u64>,
    reason: Option<String>,
    /// `ok`, `n/a`, `first_sample`, null (nothing is timed), or loads by engine.
    engines: Value,
}

/// Runs one case of `drm-attribution`.
pub(crate) fn run_verdict(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Verdict = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    verdict(&case)
}

/// Runs a file with a list of such cases, and says how many there are.
pub(crate) fn run_verdicts(file: &Path) -> Result<usize, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let file: Verdicts = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    for case in &file.cases {
        verdict(case).map_err(|problem| format!("{}: {problem}", case.name))?;
    }
    Ok(file.cases.len())
}

/// Looks at nothing, then at the case, then at the case again: so that the first look sees new clients and the second
/// has something to compare with.
fn verdict(case: &Verdict) -> Result<(), String> {
    let processes: Vec<CaseProcess> = case
        .processes
        .iter()
        .map(|process| {
            let fds = serde_json::from_value(process.fds.clone());
            CaseProcess {
                pid: process.pid,
                start: process.start,
                fds_readable: fds.is_ok(),
                fds: fds.unwrap_or_default(),
            }
        })
        .collect();
    let mut attribution = Attribution::default();
    let mut look = |second: u64, processes: &[CaseProcess], is_complete| {
        let sample = sample(processes, is_complete, second * 1_000_000_000, None);
        (attribution.take(&sample, |_| ROCM), sample.unreadable.len())
    };
    look(1, &[], true);
    let (first, _) = look(2, &processes, case.scan_complete);
    let (second, unreadable) = look(3, &processes, case.scan_complete);
    if let Some(status) = &case.process_status
        && status.unreadable != unreadable
    {
        return Err(format!("{unreadable} processes are unreadable"));
    }
    let pids = |rows: &[Row]| rows.iter().map(|row| row.pid).collect::<Vec<_>>();
    let expected: Vec<u32> = case.expect.keys().copied().collect();
    if pids(&second) != expected {
        return Err(format!("expected {expected:?}, found {:?}", pids(&second)));
    }
    for (first, row) in first.iter().zip(&second) {
        let expected = &case.expect[&row.pid];
        let reason = row.reasons.first().map(|gap| gap.code());
        // A value that is there and no number has a reason of its own.
        let named = match expected.reason.as_deref() {
            Some("incomplete") if reason == Some("unreadable_value") => reason,
            other => other,
        };
        if (row.vram.ok(), row.system.ok(), reason) != (expected.vram, expected.gtt, named) {
            return Err(format!("process {}: {row:?}", row.pid));
        }
        let fits = match &expected.engines {
            Value::String(word) if word == "ok" => row.loads.is_ok(),
            Value::String(word) if word == "n/a" => row.loads.is_err(),
            Value::String(word) if word == "first_sample" => first.loads == Err(Gap::FirstSample),
            Value::Null => row.loads == Err(Gap::Kfd),
            Value::Object(engines) => row.loads.as_ref().is_ok_and(|loads| {
                let it = Columns::of("amdgpu", Video::Unknown, loads);
                engines.get("gfx").and_then(Value::as_f64) == it.graphics.ok()
            }),
            other => return Err(format!("engines: {other}")),
        };
        if !fits {
            return Err(format!(
                "process {}: engines {:?}, then {:?}",
                row.pid, first.loads, row.loads
            ));
        }
    }
    Ok(())
}

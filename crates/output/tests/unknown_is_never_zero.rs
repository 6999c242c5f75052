//! Takes away one reading after the other: the JSON value becomes null with the reason, and the
//! report says `n/a` (or `…` for what is pending) with the same reason, never a number.

use model::{Gap, Process, Provenance, Reading, Snapshot, Source, sample};
use output::{json, text};
use serde_json::Value;

/// A reading that can be taken away: where it is in JSON, whether the report shows it, and how.
struct Field {
    at: &'static str,
    in_report: bool,
    take: fn(&mut Snapshot, Gap),
}

fn asked() -> Provenance {
    Provenance {
        source: Source::Nvml,
        counter: "taken away",
        at: sample::AT,
    }
}

fn take<C>(reading: &mut Reading<C>, gap: Gap) {
    *reading = Reading::missing(gap, asked());
}

/// The language model server, which is the first process of the workstation.
fn server(snapshot: &mut Snapshot) -> &mut Process {
    &mut snapshot.processes[0]
}

macro_rules! fields {
    ($($shown:ident $at:literal => |$it:ident| $reading:expr;)*) => {
        vec![$(Field {
            at: $at,
            in_report: fields!(@ $shown),
            take: |$it: &mut Snapshot, gap| take($reading, gap),
        }),*]
    };
    (@ shown) => { true };
    (@ only_json) => { false };
}

fn fields() -> Vec<Field> {
    fields! {
        shown "devices/0/name" => |s| &mut s.devices[0].name;
        only_json "devices/0/uuid" => |s| &mut s.devices[0].uuid;
        shown "devices/0/pci" => |s| &mut s.devices[0].pci;
        shown "devices/0/driver" => |s| &mut s.devices[0].driver;
        shown "devices/0/cuda" => |s| &mut s.devices[0].cuda;
        shown "devices/0/power_state" => |s| &mut s.devices[0].power_state;
        shown "devices/0/memory.vram_total_bytes" => |s| &mut s.devices[0].memory.total;
        shown "devices/0/memory.vram_used_bytes" => |s| &mut s.devices[0].memory.used;
        shown "devices/0/memory.vram_free_bytes" => |s| &mut s.devices[0].memory.free;
        shown "devices/0/memory.vram_reserved_bytes" => |s| &mut s.devices[0].memory.reserved;
        shown "devices/0/memory.vram_unattributed_bytes"
            => |s| &mut s.devices[0].memory.unattributed;
        shown "devices/0/memory.shared_total_bytes" => |s| &mut s.devices[0].memory.shared_total;
        shown "devices/0/memory.shared_used_bytes" => |s| &mut s.devices[0].memory.shared_used;
        shown "devices/0/gpu_pct" => |s| &mut s.devices[0].gpu;
        shown "devices/0/memory_activity_pct" => |s| &mut s.devices[0].memory_activity;
        shown "devices/0/encoder_pct" => |s| &mut s.devices[0].encoder;
        shown "devices/0/decoder_pct" => |s| &mut s.devices[0].decoder;
        shown "devices/0/core_clock_mhz" => |s| &mut s.devices[0].core_clock;
        shown "devices/0/memory_clock_mhz" => |s| &mut s.devices[0].memory_clock;
        shown "devices/0/video_clock_mhz" => |s| &mut s.devices[0].video_clock;
        shown "devices/0/temperature_celsius" => |s| &mut s.devices[0].temperature;
        shown "devices/0/power_watts" => |s| &mut s.devices[0].power;
        shown "devices/0/power_limit_watts" => |s| &mut s.devices[0].power_limit;
        shown "devices/0/fan_pct" => |s| &mut s.devices[0].fan;
        shown "devices/0/pcie_rx_bytes_per_s" => |s| &mut s.devices[0].pcie_rx;
        shown "devices/0/pcie_tx_bytes_per_s" => |s| &mut s.devices[0].pcie_tx;
        shown "devices/0/pcie_gen" => |s| &mut s.devices[0].pcie_generation;
        shown "devices/0/pcie_width" => |s| &mut s.devices[0].pcie_width;
        shown "devices/0/performance_state" => |s| &mut s.devices[0].performance_state;
        // The report shows what calls for attention, and no gap there.
        only_json "devices/0/jpeg_pct" => |s| &mut s.devices[0].jpeg;
        only_json "devices/0/ofa_pct" => |s| &mut s.devices[0].ofa;
        only_json "devices/0/details.clocks_event_reasons"
            => |s| &mut s.devices[0].details.clocks_event_reasons;
        only_json "devices/0/details.clocks_event_reasons_mask"
            => |s| &mut s.devices[0].details.clocks_event_reasons;
        only_json "devices/0/details.clocks_event_reasons_supported"
            => |s| &mut s.devices[0].details.clocks_event_reasons_supported;
        only_json "devices/0/details.total_energy_millijoules"
            => |s| &mut s.devices[0].details.total_energy;
        only_json "devices/0/details.persistence_mode"
            => |s| &mut s.devices[0].details.persistence;
        only_json "devices/0/details.compute_mode" => |s| &mut s.devices[0].details.compute_mode;
        only_json "devices/0/details.ecc_mode" => |s| &mut s.devices[0].details.ecc.on;
        only_json "devices/0/details.ecc_mode_pending"
            => |s| &mut s.devices[0].details.ecc.on_after_reset;
        only_json "devices/0/details.ecc_volatile_corrected"
            => |s| &mut s.devices[0].details.ecc.volatile.corrected;
        only_json "devices/0/details.ecc_volatile_uncorrected"
            => |s| &mut s.devices[0].details.ecc.volatile.uncorrected;
        only_json "devices/0/details.ecc_aggregate_corrected"
            => |s| &mut s.devices[0].details.ecc.aggregate.corrected;
        only_json "devices/0/details.ecc_aggregate_uncorrected"
            => |s| &mut s.devices[0].details.ecc.aggregate.uncorrected;
        only_json "devices/0/details.retired_pages_single_bit"
            => |s| &mut s.devices[0].details.retired_pages.single_bit;
        only_json "devices/0/details.retired_pages_double_bit"
            => |s| &mut s.devices[0].details.retired_pages.double_bit;
        only_json "devices/0/details.retired_pages_pending"
            => |s| &mut s.devices[0].details.retired_pages.pending;
        only_json "devices/0/details.remapped_rows_correctable"
            => |s| &mut s.devices[0].details.remapped_rows.correctable;
        only_json "devices/0/details.remapped_rows_uncorrectable"
            => |s| &mut s.devices[0].details.remapped_rows.uncorrectable;
        only_json "devices/0/details.remapped_rows_pending"
            => |s| &mut s.devices[0].details.remapped_rows.pending;
        only_json "devices/0/details.remapped_rows_failed"
            => |s| &mut s.devices[0].details.remapped_rows.failed;
        only_json "devices/0/details.nvlinks" => |s| &mut s.devices[0].details.nvlinks;
        only_json "devices/0/details.vbios_version" => |s| &mut s.devices[0].details.vbios;
        only_json "devices/0/details.board_part_number"
            => |s| &mut s.devices[0].details.board_part_number;
        shown "processes/0/name" => |s| &mut server(s).name;
        only_json "processes/0/exe" => |s| &mut server(s).exe;
        only_json "processes/0/user" => |s| &mut server(s).user;
        only_json "processes/0/command_line" => |s| &mut server(s).command_line;
        only_json "processes/0/parent_pid" => |s| &mut server(s).parent;
        only_json "processes/0/start_time" => |s| &mut server(s).started;
        only_json "processes/0/ports" => |s| &mut server(s).ports;
        only_json "processes/0/container" => |s| &mut server(s).container;
        shown "processes/0/runtimes" => |s| &mut server(s).runtimes;
        shown "processes/0/devices/0/memory.vram_bytes"
            => |s| &mut server(s).charges[0].memory.vram;
        shown "processes/0/devices/0/memory.spill_bytes"
            => |s| &mut server(s).charges[0].memory.spill;
        only_json "processes/0/devices/0/memory.commit_bytes"
            => |s| &mut server(s).charges[0].memory.commit;
        shown "processes/0/devices/0/memory.paged_bytes"
            => |s| &mut server(s).charges[0].memory.paged;
        shown "processes/0/devices/0/engines.gpu_pct"
            => |s| &mut server(s).charges[0].engines.busiest;
        only_json "processes/0/devices/0/engines.graphics_pct"
            => |s| &mut server(s).charges[0].engines.graphics;
        only_json "processes/0/devices/0/engines.compute_pct"
            => |s| &mut server(s).charges[0].engines.compute;
        only_json "processes/0/devices/0/engines.memory_pct"
            => |s| &mut server(s).charges[0].engines.memory;
        only_json "processes/0/devices/0/engines.copy_pct"
            => |s| &mut server(s).charges[0].engines.copy;
        only_json "processes/0/devices/0/engines.encode_pct"
            => |s| &mut server(s).charges[0].engines.encode;
        only_json "processes/0/devices/0/engines.decode_pct"
            => |s| &mut server(s).charges[0].engines.decode;
        only_json "processes/0/devices/0/engines.jpeg_pct"
            => |s| &mut server(s).charges[0].engines.jpeg;
        only_json "processes/0/devices/0/engines.ofa_pct"
            => |s| &mut server(s).charges[0].engines.ofa;
        only_json "processes/0/devices/0/engines.video_pct"
            => |s| &mut server(s).charges[0].engines.video;
        shown "processes/0/models/0/size_on_disk_bytes" => |s| &mut server(s).models[0].size_on_disk;
        shown "processes/0/models/0/architecture" => |s| &mut server(s).models[0].architecture;
        shown "processes/0/models/0/quantization" => |s| &mut server(s).models[0].quantization;
        shown "processes/0/models/0/parameters" => |s| &mut server(s).models[0].parameters;
        shown "processes/0/models/0/layers" => |s| &mut server(s).models[0].layers;
        shown "processes/0/models/0/context_trained"
            => |s| &mut server(s).models[0].context_trained;
        // In the report what was asked for stands in for what is used.
        only_json "processes/0/models/0/context_used" => |s| &mut server(s).models[0].context_used;
        only_json "processes/0/models/0/context_requested"
            => |s| &mut server(s).models[0].context_requested;
        shown "processes/0/segments_reported/0/bytes"
            => |s| &mut server(s).segments_reported[0].bytes;
        shown "processes/0/segments_estimated/0/bytes_low"
            => |s| &mut server(s).segments_estimated[0].bytes;
        shown "processes/0/segments_estimated/1/bytes_high"
            => |s| &mut server(s).segments_estimated[1].bytes;
    }
}

/// The value at `devices/0/memory.used` and its entry in the map of `devices/0`.
fn value_and_entry(document: &Value, at: &str) -> (Value, Value) {
    let (object, path) = at.rsplit_once('/').unwrap_or_default();
    let object = document
        .pointer(&format!("/{object}"))
        .unwrap_or(&Value::Null);
    let value = object.pointer(&format!("/{}", path.replace('.', "/")));
    let entry = object.get("provenance").and_then(|map| map.get(path));
    (
        value.cloned().unwrap_or(Value::Bool(false)),
        entry.cloned().unwrap_or_default(),
    )
}

fn check(field: &Field, gap: Gap) {
    let Field { at, .. } = field;
    let mut snapshot = sample::workstation();
    (field.take)(&mut snapshot, gap);

    let document: Value = serde_json::from_str(&json::to_line(&snapshot)).unwrap_or_default();
    let (value, entry) = value_and_entry(&document, at);
    assert_eq!(value, Value::Null, "{at}");
    let class = if gap.is_pending() {
        "pending"
    } else {
        "unavailable"
    };
    assert_eq!(entry["class"], class, "{at}");
    assert_eq!(entry["reason"], gap.code(), "{at}");
    assert_eq!(entry["counter"], "taken away", "{at}");

    if field.in_report {
        let report = text::report(&snapshot, 1000);
        let mark = if gap.is_pending() {
            "  \u{2026} "
        } else {
            "  n/a "
        };
        let note = report
            .lines()
            .find(|line| line.starts_with(mark) && line.contains(&format!("({}", gap.code())));
        assert!(note.is_some(), "{at} is not explained:\n{report}");
    }
}

#[test]
fn a_reading_taken_away_is_null_and_not_available() {
    for field in fields() {
        check(&field, Gap::Malformed);
        check(&field, Gap::DriverError(-7));
        check(&field, Gap::Pending);
    }
}

#[test]
fn what_the_report_prints_for_it_is_not_a_number() {
    let plain = text::report(&sample::workstation(), 1000);
    for field in fields().into_iter().filter(|field| field.in_report) {
        let mut snapshot = sample::workstation();
        (field.take)(&mut snapshot, Gap::Malformed);
        let report = text::report(&snapshot, 1000);
        let body = |text: &str| {
            let cells = text.split("\nnotes\n").next().unwrap_or_default();
            cells.matches("n/a").count()
        };
        // What was missing before has no more cells; what the notes alone speak of has none.
        let gone_before = ["decoder_pct", "shared", "spill", "paged", "power_state"];
        if !gone_before.iter().any(|name| field.at.contains(name)) {
            assert!(body(&report) > body(&plain), "{}:\n{report}", field.at);
        }
    }
}

#[test]
fn the_drivers_own_code_is_kept() {
    let mut snapshot = sample::workstation();
    take(&mut snapshot.devices[0].gpu, Gap::DriverError(-7));
    let document = serde_json::to_value(json::snapshot(&snapshot)).unwrap();
    let (_, entry) = value_and_entry(&document, "devices/0/gpu_pct");
    assert_eq!(entry["detail"], "return code -7");
    assert!(text::report(&snapshot, 100).contains("code is -7"));
}

#[test]
fn every_line_fits_its_width() {
    for (name, snapshot) in sample::all() {
        for width in [60, 80, 100, 137] {
            for line in text::report(&snapshot, width).lines() {
                let columns = output::format::display_width(line);
                assert!(columns <= width, "{name} at {width}: {columns} {line}");
                assert!(!line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }
}

#[test]
fn how_sure_a_model_is_stands_whole_in_its_row_or_not_at_all() {
    let labels = ["[confirmed]", "[likely]", "[candidate]", "[history]"];
    let mut seen = 0;
    for (name, snapshot) in [
        ("workstation", sample::workstation()),
        ("served", sample::served()),
    ] {
        for width in 60..=140 {
            let report = text::report(&snapshot, width);
            // Rows of processes begin with a number; what belongs to a row is indented further.
            let rows = report.lines().filter(|line| {
                line.split_whitespace()
                    .next()
                    .is_some_and(|word| word.len() > 3 && word.bytes().all(|b| b.is_ascii_digit()))
            });
            for row in rows {
                let whole = labels.iter().filter(|label| row.contains(*label)).count();
                assert_eq!(row.matches(']').count(), whole, "{name} at {width}: {row}");
                assert_eq!(row.matches('[').count(), whole, "{name} at {width}: {row}");
                seen += whole;
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

//! Text and numbers that a view must not pass on as they are.

use super::containers;
use super::models::model;
use super::parts::{
    COMPUTE, LISTED, charge, device, from, load, notice, nvml, owned, process, snapshot,
};
use crate::process::{ChargedBytes, Process};
use crate::reading::{Measured, Reading, Source};
use crate::snapshot::{Severity, Snapshot};
use crate::units::{Bytes, Celsius, Percent, Watts};
use crate::workload::{Category, EvidenceKind};

/// Untrusted text everywhere: escapes, line breaks, direction overrides, wide and long names; and
/// numbers that cannot be drawn.
pub fn hostile() -> Snapshot {
    let names = [
        "\u{1b}[31mred\u{7}\u{1b}]0;title\u{7}",
        "abc\u{202e}txt.exe\u{2066}\u{200f}",
        "line\nbreak\ttab\r",
        "\u{8d85}\u{9577}\u{3044}\u{540d}\u{524d}\u{306e}\u{51e6}\u{7406}\u{7a0b}\u{5e8f}",
        "e\u{301}\u{301}\u{301}\u{301}\u{301}mile\u{200d}\u{feff}\u{1f469}\u{200d}\u{1f680}",
        "",
        "\u{9b}2J\u{85}\u{2028}after",
    ];
    let mut processes: Vec<Process> = names
        .iter()
        .zip(200_u32..)
        .map(|(name, pid)| {
            let on = charge(0, COMPUTE, owned(u64::from(pid)), 5.0);
            process(pid, name, Category::Other, "none", on)
        })
        .collect();
    if let Some(first) = processes.first_mut() {
        let long = "\u{540d}very-long-model-name\u{202e}-".repeat(12);
        first.models = vec![model(
            "m1",
            &long,
            &[(EvidenceKind::Open, "\u{1b}[2J/models/\nx.gguf")],
        )];
        first.category = Category::Llm;
        first.models.iter_mut().for_each(|model| {
            model.quantization = nvml("Q4\u{1b}[0m\n_K".into(), "general.file_type");
        });
    }
    if let Some(second) = processes.get_mut(1) {
        second.container = containers::hostile();
    }
    if let Some(charge) = processes
        .last_mut()
        .and_then(|process| process.charges.last_mut())
    {
        charge.memory.vram = Reading::Known(ChargedBytes::Measured(Measured {
            value: Bytes(u64::MAX),
            from: from(Source::Nvml, LISTED),
        }));
        charge.engines.busiest = load(Percent(f64::NAN), "nvmlDeviceGetProcessUtilization");
    }
    let mut only = device(
        0,
        "GPU \u{1b}[1m\u{202e}\u{5de8}\u{5927}\n\u{5de8}\u{5927}",
        16_376,
        9000,
    );
    only.gpu = nvml(Percent(f64::INFINITY), "nvmlDeviceGetUtilizationRates.gpu");
    only.power = nvml(Watts(f64::NAN), "nvmlDeviceGetPowerUsage");
    only.temperature = nvml(Celsius(-5.0), "nvmlDeviceGetTemperature");
    only.categories_normalized = true;
    let mut it = snapshot(vec![only], processes);
    it.host.name = Some("host\u{7}\nname\u{202e}".into());
    it.notices.push(notice(
        "memory_adds_up_to_more",
        Severity::Warning,
        "gpu:0\n",
        "rows \u{1b}[5madd up\nto more than the driver's figure",
    ));
    it
}

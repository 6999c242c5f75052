//! The driver of the demonstration: two cards whose figures change from call to call.

use fake_nvml::{Device, Kind, Process, ProcessSample, Scenario, Value};

use super::desktop;

const MIB: u64 = 1 << 20;

/// Refreshes after which the figures begin anew.
const TURNS: u64 = 60;

/// Process numbers of the programs, in the order of [`desktop`].
pub(super) const PIDS: [u32; desktop::COUNT] = [
    1632, 2210, 3301, 8841, 9127, 10_422, 11_031, 11_877, 3822, 7716, 12_650, 9904,
];
pub(super) const XWAYLAND: u32 = 2417;

/// Goes up and down between two figures, with a little noise; `period` refreshes for both ways.
fn wave(low: u64, high: u64, period: u64, phase: u64) -> Vec<u64> {
    let span = high - low;
    (0..TURNS)
        .map(|turn| {
            let at = (turn + phase) % period;
            let up = at.min(period - at) * 2 * span / period;
            let noise = (turn * 7 + phase * 13) % 5 * span / 40;
            (low + up + noise).min(high)
        })
        .collect()
}

fn mib(figures: &[u64]) -> Value {
    figures.iter().map(|n| n * MIB).collect::<Vec<_>>().into()
}

fn sample(sm: Vec<u64>, memory: Vec<u64>) -> ProcessSample {
    ProcessSample {
        sm: sm.into(),
        memory: memory.into(),
        ..ProcessSample::default()
    }
}

fn process(pid: u32, kind: Kind, memory: &[u64], sm: Vec<u64>, bandwidth: Vec<u64>) -> Process {
    Process {
        sample: Some(sample(sm, bandwidth)),
        ..Process::new(pid, kind, mib(memory))
    }
}

/// Figure by figure, the sum of the processes' memory and of what nobody is charged with.
fn used(parts: &[&[u64]], rest: u64) -> Value {
    let turns = parts.iter().map(|part| part.len()).min().unwrap_or(0);
    let sums: Vec<u64> = (0..turns)
        .map(|turn| rest + parts.iter().filter_map(|part| part.get(turn)).sum::<u64>())
        .collect();
    mib(&sums)
}

/// The two cards.
pub(super) fn scenario() -> Scenario {
    Scenario::default()
        .with_device(first())
        .with_device(second())
}

fn still(figure: u64) -> Vec<u64> {
    std::iter::repeat_n(figure, usize::try_from(TURNS).unwrap_or(0)).collect()
}

fn first() -> Device {
    let [
        xorg,
        shell,
        firefox,
        llama,
        ollama,
        comfy,
        whisper,
        ffmpeg,
        code,
        _,
        blender,
        _,
    ] = PIDS;
    let shell_memory = wave(160, 196, 22, 3);
    let firefox_memory = wave(380, 470, 34, 9);
    let comfy_memory = wave(1410, 2980, 30, 0);
    let blender_memory = wave(590, 660, 26, 6);
    let whisper_memory = wave(1120, 1190, 14, 2);
    let browser = Process {
        sample: Some(ProcessSample {
            decoder: wave(5, 9, 18, 0).into(),
            ..sample(wave(2, 9, 12, 1), wave(1, 4, 12, 1))
        }),
        ..Process::new(firefox, Kind::Both, mib(&firefox_memory))
    };
    let encoding = Process {
        sample: Some(ProcessSample {
            encoder: wave(34, 47, 16, 0).into(),
            decoder: wave(12, 18, 16, 4).into(),
            ..sample(wave(1, 4, 10, 0), wave(1, 3, 10, 0))
        }),
        ..Process::new(ffmpeg, Kind::Compute, 384 * MIB)
    };
    let processes = vec![
        process(
            xorg,
            Kind::Graphics,
            &still(214),
            wave(1, 4, 9, 0),
            wave(1, 2, 9, 0),
        ),
        process(
            shell,
            Kind::Graphics,
            &shell_memory,
            wave(1, 5, 11, 2),
            wave(1, 3, 11, 2),
        ),
        browser,
        process(
            llama,
            Kind::Compute,
            &still(10_038),
            wave(22, 61, 24, 0),
            wave(18, 52, 24, 0),
        ),
        process(
            ollama,
            Kind::Compute,
            &still(5466),
            wave(0, 17, 40, 20),
            wave(0, 14, 40, 20),
        ),
        process(
            comfy,
            Kind::Compute,
            &comfy_memory,
            wave(4, 28, 30, 0),
            wave(2, 19, 30, 0),
        ),
        process(
            whisper,
            Kind::Compute,
            &whisper_memory,
            wave(0, 12, 14, 2),
            wave(0, 8, 14, 2),
        ),
        encoding,
        // An editor that has not drawn for a while: the driver has no sample of it.
        Process::new(code, Kind::Graphics, 146 * MIB),
        process(
            blender,
            Kind::Both,
            &blender_memory,
            wave(2, 11, 26, 6),
            wave(1, 6, 26, 6),
        ),
        Process::new(XWAYLAND, Kind::Graphics, Value::NOT_AVAILABLE).busy(1, 0),
    ];
    Device {
        uuid: "GPU-40900000-1111-4222-8333-444455556666".to_owned(),
        pci: "00000000:01:00.0".to_owned(),
        pci_device_id: 0x2684_10DE.into(),
        memory_total: (24_564 * MIB).into(),
        memory_reserved: (456 * MIB).into(),
        memory_used: used(
            &[
                &shell_memory,
                &firefox_memory,
                &comfy_memory,
                &whisper_memory,
                &blender_memory,
            ],
            214 + 10_038 + 5466 + 384 + 146 + 612,
        ),
        utilization_gpu: wave(58, 97, 24, 0).into(),
        utilization_memory: wave(31, 66, 24, 0).into(),
        utilization_encoder: wave(34, 47, 16, 0).into(),
        utilization_decoder: wave(18, 27, 16, 4).into(),
        clock_graphics: wave(2520, 2745, 24, 0).into(),
        clock_sm: wave(2520, 2745, 24, 0).into(),
        clock_memory: 10_501.into(),
        clock_video: wave(1950, 2145, 16, 0).into(),
        temperature: wave(61, 69, 48, 0).into(),
        power_usage: wave(243_000, 371_000, 24, 0).into(),
        power_limit: 450_000.into(),
        power_enforced_limit: 450_000.into(),
        power_default_limit: 450_000.into(),
        fan_speed: wave(38, 52, 48, 4).into(),
        pcie_tx: wave(120_000, 1_900_000, 30, 0).into(),
        pcie_rx: wave(240_000, 3_400_000, 30, 5).into(),
        performance_state: 2.into(),
        processes,
        ..Device::new("NVIDIA GeForce RTX 4090")
    }
}

fn second() -> Device {
    let [xorg, _, _, _, _, _, _, _, _, train, _, embed] = PIDS;
    let train_memory = wave(9020, 9610, 20, 0);
    let processes = vec![
        process(
            train,
            Kind::Compute,
            &train_memory,
            wave(86, 97, 20, 0),
            wave(52, 71, 20, 0),
        ),
        process(
            embed,
            Kind::Compute,
            &still(1472),
            wave(0, 9, 15, 3),
            wave(0, 5, 15, 3),
        ),
        Process::new(xorg, Kind::Graphics, 6 * MIB),
    ];
    Device {
        uuid: "GPU-30600000-1111-4222-8333-444455556666".to_owned(),
        pci: "00000000:06:00.0".to_owned(),
        pci_device_id: 0x2504_10DE.into(),
        compute_minor: 6.into(),
        architecture: 7.into(),
        memory_total: (12_288 * MIB).into(),
        memory_reserved: (246 * MIB).into(),
        memory_used: used(&[&train_memory], 1472 + 6 + 288),
        utilization_gpu: wave(93, 99, 20, 0).into(),
        utilization_memory: wave(55, 74, 20, 0).into(),
        clock_graphics: wave(1800, 1890, 20, 0).into(),
        clock_sm: wave(1800, 1890, 20, 0).into(),
        clock_memory: 7300.into(),
        clock_video: 1650.into(),
        temperature: wave(70, 76, 60, 0).into(),
        power_usage: wave(158_000, 169_500, 20, 0).into(),
        power_limit: 170_000.into(),
        power_enforced_limit: 170_000.into(),
        power_default_limit: 170_000.into(),
        // Cooled by water: the card has no fan to tell of.
        fans: 0.into(),
        fan_speed: Value::NOT_AVAILABLE,
        fan_rpm: Value::NOT_AVAILABLE,
        pcie_tx: wave(40_000, 210_000, 20, 0).into(),
        pcie_rx: wave(90_000, 640_000, 20, 3).into(),
        pcie_width: 8.into(),
        performance_state: 2.into(),
        clocks_event_reasons: 4.into(),
        processes,
        ..Device::new("NVIDIA GeForce RTX 3060")
    }
}

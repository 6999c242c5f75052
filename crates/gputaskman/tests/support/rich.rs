//! A machine with something of everything, and a driver that lists its processes.

use fake_nvml::{Device, Ecc, Link, Scenario};

use super::models::{self, LLAMA};
use super::{Machine, Task};

/// Three servers with models (one in a container, one with a broken file), a listener, some processes without
/// anything, and three of the driver's numbers that nobody has.
pub(crate) fn machine() -> (Machine, Scenario) {
    let machine = Machine::new();
    machine.file("/models/a-q4_k_m.gguf", models::whole(LLAMA));
    machine.file("/models/b.gguf", LLAMA);
    machine.file("/models/broken.gguf", &LLAMA[..1000]);
    let id = "0123456789abcdef".repeat(4);
    let mut server = Task::llama_server(4004, "/models/a-q4_k_m.gguf", "-c 4096 -np 1 -ngl 99");
    server.listening = vec![8080];
    let mut contained = Task::llama_server(4005, "/models/b.gguf", "-c 2048 -ctk q8_0");
    contained.cgroup = format!("0::/system.slice/docker-{id}.scope\n");
    let mut relative = Task::llama_server(4006, "./broken.gguf", "");
    relative.cwd = "/models".to_owned();
    relative.mapped.clear();
    for task in [&server, &contained, &relative] {
        machine.add(task);
    }
    for pid in [4001, 4002, 4003, 4007, 4008, 4009] {
        machine.add(&Task::new(pid, "worker"));
    }
    let mut scenario = Scenario::workstation();
    for device in &mut scenario.devices {
        details(device);
    }
    (machine, scenario)
}

/// Errors, links, and engines that few cards have, all of them telling.
fn details(device: &mut Device) {
    device.clocks_event_reasons = 0x1204.into();
    device.board_part_number = Some("900-5G133-1700-000".to_owned());
    device.ecc = Ecc {
        pending: Some(0.into()),
        volatile_corrected: 3.into(),
        volatile_uncorrected: 1.into(),
        aggregate_corrected: 40.into(),
        aggregate_uncorrected: 2.into(),
        ..Ecc::on()
    };
    device.retired_pages_single_bit = 2.into();
    device.retired_pages_double_bit = 1.into();
    device.retired_pages_pending = 1.into();
    device.remapped_rows_correctable = 4.into();
    device.remapped_rows_uncorrectable = 5.into();
    device.remapped_rows_pending = 1.into();
    device.remapped_rows_failed = 1.into();
    device.nvlinks = vec![Link::to("0000:C5:00.0"), Link::default()];
    device.utilization_jpeg = 21.into();
    device.utilization_ofa = 22.into();
    let sampled = device
        .processes
        .iter_mut()
        .filter_map(|process| process.sample.as_mut());
    for sample in sampled.take(1) {
        (sample.jpeg, sample.ofa) = (31.into(), 32.into());
    }
}

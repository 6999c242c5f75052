//! A machine with something of everything, and a driver that lists its processes.

use fake_nvml::Scenario;

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
    (machine, Scenario::workstation())
}

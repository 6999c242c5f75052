//! The captures below `fixtures/captures/`: one folder each, with what it proves.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use fake_nvml::build::Driver;
use fake_nvml::{Code, Generation, Scenario};

use super::active;
use super::desktop::{self, Models};
use super::recording::{Length, Program};
use super::tree::{self, Card, Process, Tree};
use crate::gguf_file;

/// Options of `captures`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only these folders
    names: Vec<String>,
}

/// A capture, how its machine is made, and what it is for.
struct Capture {
    /// System, GPU and workload: the folder's name.
    name: &'static str,
    /// What this capture is there to show.
    proves: &'static str,
    generation: Option<Generation>,
    length: Length,
    scenario: fn() -> Scenario,
    tree: fn(name: &str) -> Result<Tree>,
}

const CAPTURES: &[Capture] = &[
    Capture {
        name: "linux-rtx4080-workstation",
        proves: "twelve programs of all kinds on a current driver: models with their evidence, a container, a size \
            that the driver hides, rows without a load sample",
        generation: Some(Generation::R580),
        length: Length::Refreshes(3),
        scenario: Scenario::workstation,
        tree: workstation,
    },
    Capture {
        name: "linux-rtx4080-workstation-r390",
        proves: "the same machine on a library with the symbols of 2018: same processes and memory, and a reason \
            where a call is missing",
        generation: Some(Generation::R390),
        length: Length::Refreshes(3),
        scenario: Scenario::workstation,
        tree: workstation,
    },
    Capture {
        name: "linux-8xh100-mig",
        proves: "eight GPUs with 200 processes, the last GPU in MIG mode with a hole in its slots and MPS clients",
        generation: Some(Generation::R580),
        length: Length::Refreshes(2),
        scenario: Scenario::servers,
        tree: servers,
    },
    Capture {
        name: "linux-none-no-driver",
        proves: "no NVIDIA library and a card of another maker: what was looked for is said",
        generation: None,
        length: Length::Refreshes(2),
        scenario: Scenario::empty,
        tree: |name| {
            let card = Card {
                address: "0000:03:00.0",
                vendor: "0x1a03",
                power: "active",
                driver: Some("ast"),
            };
            Tree::new(name, tree::FIRST_NAMESPACE, &[card])
        },
    },
    Capture {
        name: "linux-amd-processor",
        proves: "a processor with AMD graphics: a model in system memory, a table of sensors that is mostly empty",
        generation: None,
        length: Length::Refreshes(3),
        scenario: Scenario::empty,
        tree: |name| Tree::written_down(name, "amd-processor.tree"),
    },
    Capture {
        name: "linux-hybrid-laptop",
        proves: "a laptop whose NVIDIA card sleeps while the processor's Intel graphics draws the desktop: the sleeping \
            one is not asked, and no size of it is invented",
        generation: None,
        length: Length::Refreshes(3),
        scenario: Scenario::empty,
        tree: |name| Tree::written_down(name, "hybrid-laptop.tree"),
    },
    Capture {
        name: "linux-a100-container",
        proves: "in a nested PID namespace no number of the driver is looked up: two entries are matched to the two \
            processes with CUDA's library mapped, and load samples under other numbers are guesses in order",
        generation: Some(Generation::R580),
        length: Length::Refreshes(3),
        scenario: || with_memory_used(Scenario::container_split(), 2400),
        tree: |name| {
            let tree = Tree::new(name, tree::NESTED_NAMESPACE, &[active("0000:01:00.0")])?;
            // Another process that has a number which the driver's list has too.
            for (pid, name) in [(324, "bash"), (1, "init")] {
                let mut other = worker(pid, name);
                other.maps.clear();
                tree.process(&other)?;
            }
            tree.process(&worker(17, "python3"))?;
            tree.process(&worker(23, "python3"))?;
            Ok(tree)
        },
    },
    Capture {
        name: "linux-2xa4000-hanging",
        proves: "the second GPU never answers: the first is shown, and nothing is blanked or invented",
        generation: Some(Generation::R580),
        length: Length::Refreshes(4),
        scenario: || with_memory_used(Scenario::hanging(), 1400),
        tree: |name| {
            let cards = [active("0000:01:00.0"), active("0000:02:00.0")];
            let tree = Tree::new(name, tree::FIRST_NAMESPACE, &cards)?;
            tree.process(&worker(6001, "python3"))?;
            tree.process(&worker(6002, "python3"))?;
            Ok(tree)
        },
    },
    Capture {
        name: "linux-rtx4080-not-loaded",
        proves: "the library is there and its kernel module is not loaded",
        generation: Some(Generation::R580),
        length: Length::Refreshes(2),
        scenario: || Scenario {
            init: Code::DRIVER_NOT_LOADED,
            ..Scenario::idle()
        },
        tree: |name| {
            let card = Card {
                driver: None,
                ..active("0000:01:00.0")
            };
            Tree::new(name, tree::FIRST_NAMESPACE, &[card])
        },
    },
    Capture {
        name: "linux-rtx4080-version-mismatch",
        proves: "library and kernel module are of different versions, as after an update without a restart",
        generation: Some(Generation::R580),
        length: Length::Refreshes(2),
        scenario: || Scenario {
            init: Code::LIB_RM_VERSION_MISMATCH,
            ..Scenario::idle()
        },
        tree: |name| Tree::new(name, tree::FIRST_NAMESPACE, &[active("0000:01:00.0")]),
    },
    Capture {
        name: "linux-2xrtx3060-asleep",
        proves: "all GPUs are suspended: they are listed from the bus, as asleep, no figure is invented, and the driver, \
            which would wake them, is not asked",
        generation: Some(Generation::R580),
        length: Length::Seconds(2),
        scenario: Scenario::idle,
        tree: |name| {
            let asleep = |address| Card {
                power: "suspended",
                ..active(address)
            };
            let cards = [asleep("0000:01:00.0"), asleep("0000:06:00.0")];
            Tree::new(name, tree::FIRST_NAMESPACE, &cards)
        },
    },
];

/// Records all captures, or the named ones.
pub fn run(options: &Options) -> Result<String> {
    for name in &options.names {
        let known = CAPTURES.iter().any(|capture| capture.name == name);
        ensure!(known, "there is no capture called {name}");
    }
    let wanted = |capture: &&Capture| {
        options.names.is_empty() || options.names.iter().any(|name| name == capture.name)
    };
    let program = Program::build()?;
    let program = &program;
    // Side by side: a machine without a GPU is looked at every ten seconds only.
    let results: Vec<Result<String>> = thread::scope(|scope| {
        let threads: Vec<_> = CAPTURES
            .iter()
            .filter(wanted)
            .map(|capture| scope.spawn(move || make(capture, program)))
            .collect();
        let joined = |thread: thread::ScopedJoinHandle<'_, Result<String>>| match thread.join() {
            Ok(result) => result,
            Err(_) => Err(anyhow!("a recording panicked")),
        };
        threads.into_iter().map(joined).collect()
    });
    results.into_iter().collect()
}

fn make(capture: &Capture, program: &Program) -> Result<String> {
    let name = capture.name;
    let folder = crate::repository().join("fixtures/captures").join(name);
    let note = format!(
        "synthetic: a simulated driver and a made-up process tree; no real hardware ({name})"
    );
    let tree = (capture.tree)(name)?;
    let driver = capture
        .generation
        .map(|generation| Driver::new(generation, &(capture.scenario)()));
    let file = folder.join("capture.ndjson");
    program
        .record(&tree, driver.as_ref(), capture.length, &note, &file)
        .with_context(|| name.to_owned())?;
    fs::write(folder.join("capture.toml"), manifest(capture))?;
    Ok(format!("{name}: {} bytes\n", size(&file)?))
}

fn size(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file)?.len())
}

fn manifest(capture: &Capture) -> String {
    let driver = match capture.generation {
        Some(generation) => format!("simulated, generation {}", generation.name()),
        None => "none".to_owned(),
    };
    format!(
        "origin = \"synthetic\"\ndriver = \"{driver}\"\nkernel = \"{} (made up)\"\n\
         made_by = \"cargo run -p xtask -- captures {}\"\nproves = \"\"\"\n{}\"\"\"\n",
        tree::KERNEL,
        capture.name,
        capture.proves
    )
}

/// The scenario with as much memory used on each card as its processes need, MiB.
fn with_memory_used(mut scenario: Scenario, mib: u64) -> Scenario {
    for device in &mut scenario.devices {
        device.memory_used = (mib << 20).into();
    }
    scenario
}

fn workstation(name: &str) -> Result<Tree> {
    let tree = Tree::new(name, tree::FIRST_NAMESPACE, &[active("0000:01:00.0")])?;
    let models = Models {
        chat: gguf_file::LLAMA_8B,
        chat_file: "llama-3.1-8b-instruct-q4_k_m.gguf",
        second: gguf_file::LLAMA_3B,
        embedder: gguf_file::MINILM,
        embedder_file: "all-minilm-l6-v2-f16.gguf",
    };
    let pids = std::array::from_fn(|number| 4001 + u32::try_from(number).unwrap_or(0));
    desktop::add(&tree, pids, &models)?;
    Ok(tree)
}

fn servers(name: &str) -> Result<Tree> {
    const CARDS: [&str; 8] = [
        "0000:1b:00.0",
        "0000:2b:00.0",
        "0000:3b:00.0",
        "0000:4b:00.0",
        "0000:5b:00.0",
        "0000:6b:00.0",
        "0000:7b:00.0",
        "0000:8b:00.0",
    ];
    let tree = Tree::new(name, tree::FIRST_NAMESPACE, &CARDS.map(active))?;
    for pid in 20_001..=20_200 {
        tree.process(&worker(pid, "python3"))?;
    }
    Ok(tree)
}

/// A process that computes with `PyTorch`.
fn worker(pid: u32, name: &'static str) -> Process {
    Process {
        pid,
        parent: 1,
        user: 1001,
        name,
        started: 250_000,
        arguments: ["/srv/ml/bin/python3", "worker.py"]
            .map(str::to_owned)
            .to_vec(),
        exe: "/usr/bin/python3.13",
        folder: "/srv/ml",
        maps: vec![
            "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05".to_owned(),
            "/srv/ml/lib/site-packages/torch/lib/libtorch_cuda.so".to_owned(),
        ],
        cgroup: "/system.slice/workers.service".to_owned(),
        ..Process::default()
    }
}

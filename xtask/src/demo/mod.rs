//! Makes the captures that come with the program: the demonstration, and `fixtures/captures/`.
//!
//! Nothing here draws a capture by hand. A made-up machine (a root folder, a simulated driver) is recorded by the
//! program itself, so that a capture holds what the program asks for today. Linux only.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use fake_nvml::Generation;
use fake_nvml::build::Driver;

mod desktop;
mod fixtures;
mod moving;
mod recording;
mod tree;

use crate::gguf_file;
use desktop::Models;
use recording::{Length, Program};
use tree::{Card, Tree};

pub use fixtures::{Options as CapturesOptions, run as captures};

/// What the demonstration says of itself.
const NOTE: &str = "synthetic: made by the program recording a simulated driver and a made-up process tree; \
    no real hardware";

/// Refreshes in the demonstration, one a second.
const REFRESHES: u32 = 60;

/// What the demonstration may add to the program.
const MOST_BYTES: u64 = 400 << 10;

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The capture that is replaced
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Records the demonstration. Takes a minute, as long as it shows.
pub fn run(options: &Options) -> Result<String> {
    let built_in = crate::repository().join("crates/gputaskman/demo.ndjson.gz");
    let out = options.out.as_ref().unwrap_or(&built_in);
    let program = Program::build()?;
    let cards = [active("0000:01:00.0"), active("0000:06:00.0")];
    let tree = Tree::new("demo", tree::FIRST_NAMESPACE, &cards)?;
    let models = Models {
        chat: gguf_file::QWEN3_14B,
        chat_file: "qwen3-14b-q4_k_m.gguf",
        second: gguf_file::LLAMA_8B,
        embedder: gguf_file::BGE_M3,
        embedder_file: "bge-m3-f16.gguf",
    };
    desktop::add(&tree, moving::PIDS, &models)?;
    tree.process(&desktop::xwayland(moving::XWAYLAND))?;
    let driver = Driver::new(Generation::R580, &moving::scenario());
    program.record(
        &tree,
        Some(&driver),
        Length::Refreshes(REFRESHES),
        NOTE,
        out,
    )?;
    let size = std::fs::metadata(out)?.len();
    ensure!(
        size <= MOST_BYTES,
        "{size} bytes are more than {MOST_BYTES}"
    );
    Ok(format!("{}: {size} bytes\n", out.display()))
}

/// An NVIDIA card that is awake.
const fn active(address: &'static str) -> Card {
    Card {
        address,
        vendor: "0x10de",
        power: "active",
        driver: Some("nvidia"),
    }
}

//! A simulated NVIDIA driver library, for tests on machines without an NVIDIA GPU.
//!
//! The packages under `generations/` are shared libraries that export what `libnvidia-ml.so.1` of
//! one driver generation exports. This crate holds everything behind the symbols: the scenario
//! file, the calls, and what tests need to build and place such a library ([`build`]). README.md
//! has the scenario format and the limits.
//!
//! It must not be linked into the program, and it takes no part of the program: what it believes
//! about the ABI is written down a second time here, so that a mistake on one side shows.

mod answers;
pub mod build;
mod code;
mod details;
mod device;
pub mod ffi;
mod generation;
mod layout;
mod library;
mod lists;
mod process;
mod ready;
mod scenario;
mod symbols;
mod value;
mod world;

pub use code::Code;
pub use device::{Device, Ecc, Instance, Link, Mig};
pub use generation::Generation;
pub use library::Library;
pub use process::{Kind, Pid, Process, ProcessSample, SampleRules};
pub use scenario::{Fault, Quirks, Scenario};
pub use value::Value;

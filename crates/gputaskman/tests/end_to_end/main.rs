//! The program as a user has it: the real binary, the real loader of a simulated driver, real processes, a real
//! pseudo terminal. Each module proves one promise.
//!
//! The simulated driver is found by `LD_LIBRARY_PATH`, signals and `/proc` are Linux: elsewhere there is nothing here.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests start programs, watch the time and fail loudly"
)]

#[path = "../support/mod.rs"]
mod support;

mod answers_removed;
mod canaries;
mod changes;
mod containers;
mod details;
mod drm_charges;
mod drm_machines;
mod every_key;
mod forecast;
mod generations;
mod hostile_models;
mod kinds;
mod llama_server;
mod logs;
mod mig;
mod nested;
mod no_gpu;
mod other_formats;
mod published_ports;
mod real_processes;
mod record_replay;
mod refused_captures;
mod requirement;
mod scenarios;
mod screenshot;
mod selected_gpu;
mod server_words;
mod sleeping;
mod synthetic_machine;
mod terminal;
mod usage;

//! What a live terminal program costs while it runs, seen from outside: processor time, memory, wake-ups, bytes written
//! to the terminal, and the time until the first picture.
//!
//! The program gets a pseudo terminal of a fixed size whose output a thread reads and interprets, as a terminal
//! emulator would. Without a program of its own to run it measures this repository's, on the machines whose cost
//! docs/measured-by.md tells. Figures come from Linux's `/proc`, so on other systems this only says that it cannot.

mod cases;
mod model_server;
mod options;
mod proc_files;
mod report;
mod run;
mod screen;
mod terminal;

#[cfg(test)]
mod tests;

pub use model_server::serve_if_asked;
pub use options::Options;
pub use run::run;

//! Loads the library of each generation as a program would, and calls it through its symbols.

mod details;
mod faults;
mod ffi;
mod figures;
mod lists;
mod processes_apart;
mod samples;
mod symbols;

//! Facts about the processes that hold GPU memory: who they are, what they were started with, what
//! they have mapped. Everything is keyed by number and start time.

mod containers;
mod facts;
mod nested;
mod poll;
mod watched;

pub(crate) use facts::{Facts, arguments, command_line, link};
pub(crate) use nested::Nested;
pub(crate) use poll::Poll;
pub(crate) use watched::{Identity, Processes, Watched, reference};

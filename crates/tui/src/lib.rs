//! The terminal interface: draws snapshots and reacts to keys.
//!
//! A [`Message`] changes the state, the state and the last snapshot are drawn, and nothing happens
//! between messages. Panels only format what the snapshot says: they sort and scale, they compute no
//! quantity of their own. This crate reads no files and knows no operating system.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod app;
mod canvas;
mod columns;
mod contents;
mod device;
mod dossier;
mod figure;
mod gaps;
mod glyph;
mod history;
mod keys;
mod overlay;
mod paint;
mod panel;
mod panels;
mod picture;
mod prompt;
mod prose;
mod run;
mod screen;
mod session;
mod stage;
mod state;
mod terminal;
mod theme;
mod view;
mod widgets;

#[cfg(test)]
mod tests;

pub use keys::key_names;
pub use picture::{MOST_CELLS, Picture};
pub use run::run;
pub use session::{Exit, Message, Options, Session, Wake};
pub use stage::Stage;
pub use theme::Theme;

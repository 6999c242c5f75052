//! Signals that ask the program to end.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Hands every termination signal to `notify` on a thread of its own, outside the signal handler.
pub(crate) fn on_termination(notify: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                notify(signal);
            }
        })
        .map(drop)
}

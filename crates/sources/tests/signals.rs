//! Termination signals reach the program instead of ending it.
#![cfg(target_os = "linux")]

use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

#[test]
fn termination_signals_are_told_by_number_and_end_nothing() {
    let (sender, signals) = channel();
    sources::termination_signals(move |signal| sender.send(signal).unwrap()).unwrap();
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::INT, 2)] {
        kill_process(getpid(), signal).unwrap();
        let told = signals.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(told, number);
    }
}

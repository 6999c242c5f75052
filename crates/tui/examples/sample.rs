//! Shows a hand-made snapshot in the terminal: `cargo run --example sample -- NAME [ascii] [mono]`.
//! `panic` lets the thread that sends fail after three snapshots, `late` sends one only,
//! `replay` five.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tui::{Message, Options, Session, Theme};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    let all = model::sample::all();
    let found = all.into_iter().find(|(name, _)| has(name));
    let snapshot = found.map_or_else(model::sample::workstation, |(_, snapshot)| snapshot);
    let session = if has("replay") {
        Session::Replay {
            name: "a-recorded-evening.ndjson".to_owned(),
        }
    } else {
        Session::Live
    };
    let options = Options {
        session,
        theme: if has("mono") {
            Theme::Mono
        } else {
            Theme::Auto
        },
        ascii: has("ascii"),
        truecolor: true,
        mouse: !has("nomouse"),
        interval: Duration::from_secs(1),
        wake: None,
    };
    let (sender, inbox) = mpsc::channel();
    let feed = sender.clone();
    let (late, fails, ends) = (has("late"), has("panic"), has("replay"));
    let (_keep, pause) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        for tick in 0_u32.. {
            let mut next = snapshot.clone();
            next.tick += u64::from(tick);
            next.at.wall_us += i64::from(tick) * 1_000_000;
            for device in &mut next.devices {
                let wave = f64::from(tick) / 4.0 + f64::from(device.index);
                device.gpu = device
                    .gpu
                    .map(|_| model::Percent((50.0 + 48.0 * wave.sin()).round()));
                device.power = device
                    .power
                    .map(|_| model::Watts(180.0 + 120.0 * (wave * 0.7).cos()));
            }
            assert!(!fails || tick < 3, "a thread that fails on purpose");
            if feed.send(Message::Snapshot(Arc::new(next))).is_err() {
                return;
            }
            if late || (ends && tick == 4) {
                break;
            }
            let _ = pause.recv_timeout(Duration::from_secs(1));
        }
        if ends {
            let _ = feed.send(Message::Ended("the capture is over".to_owned()));
        }
        let _ = pause.recv();
    });
    let exit = tui::run(options, inbox, sender)?;
    writeln!(std::io::stdout(), "{exit:?}")?;
    Ok(())
}

use clap::Parser;

use super::{Options, run};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn measure(arguments: &[&str]) -> anyhow::Result<serde_json::Value> {
    let line = [
        "measure",
        "--json",
        "--runs",
        "1",
        "--settle",
        "0.2",
        "--seconds",
        "0.5",
    ];
    let line = Line::parse_from(line.iter().chain(arguments));
    Ok(serde_json::from_str(&run(&line.options)?)?)
}

/// Ctrl-C ends these programs at once.
const QUIT: [&str; 2] = ["--quit-keys", "\u{3}"];

#[test]
fn a_busy_program_costs_what_it_uses_and_an_idle_one_nothing() {
    if std::env::consts::OS != "linux" {
        assert!(measure(&["--", "true"]).is_err());
        return;
    }
    let cost = |script: &str| {
        let report = measure(&[&QUIT[..], &["--", "sh", "-c", script]].concat()).unwrap();
        let figure = |name: &str| report["figures"][name]["median"].as_f64().unwrap();
        assert!(
            figure("rss_mib") > 0.1 && figure("peak_mib") > 0.1,
            "{report}"
        );
        assert!(figure("first_frame_ms") > 0.0, "{report}");
        (
            figure("cpu_ms_per_refresh"),
            figure("terminal_bytes_per_refresh"),
        )
    };
    // A refresh is a second here. Both cores may be taken by others, so the lower bound is low.
    let (busy, silent) = cost("printf ready; while :; do :; done");
    assert!((50.0..=1100.0).contains(&busy), "{busy} ms");
    assert!(silent.abs() < 0.5, "{silent} bytes");
    let (idle, _) = cost("printf ready; sleep 60");
    assert!(idle < 20.0, "{idle} ms");
}

#[test]
fn a_program_that_ends_by_itself_is_an_error_that_shows_its_screen() {
    if std::env::consts::OS == "linux" {
        let error = measure(&["--", "sh", "-c", "printf no-terminal-here"]).unwrap_err();
        assert!(
            format!("{error:#}").contains("no-terminal-here"),
            "{error:#}"
        );
    }
}

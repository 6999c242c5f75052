//! Adapters: those that come with the program, mistakes in others, and what they let through.

use super::*;
use crate::source::logs::{KeptLine, LineKind, LineTime};

fn handy() -> Adapter {
    let found = built_in().into_iter().find(|it| &*it.app == "Handy");
    found.unwrap()
}

fn kept(log: &str) -> Vec<KeptLine> {
    AppFilter::new(&handy()).unwrap().kept(log.as_bytes())
}

#[test]
fn every_adapter_that_comes_with_the_program_can_be_used() {
    for (file, text) in BUILT_IN {
        let adapter = parse(file, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(adapter.log.is_none() || AppFilter::new(&adapter).is_some());
    }
    assert_eq!(built_in().len(), BUILT_IN.len());
}

#[test]
fn an_adapter_survives_writing_and_reading() {
    for adapter in built_in() {
        let written = serde_json::to_string(&adapter).unwrap();
        assert_eq!(serde_json::from_str::<Adapter>(&written).unwrap(), adapter);
    }
}

#[test]
fn ones_own_adapter_goes_before_one_that_comes_with_the_program() {
    let own = Adapter {
        processes: vec!["other".into()],
        ..handy()
    };
    let all = all(std::slice::from_ref(&own));
    let handys: Vec<_> = all.iter().filter(|it| it.app == own.app).collect();
    assert_eq!(handys, [&own]);
    assert!(all.len() > 1);
}

/// A log of Handy, with what a person said in it.
const LOG: &str = "\
[2026-07-02][08:14:56][handy_app_lib::managers::transcription][DEBUG] Starting to load model: handy/medium.gguf
[2026-07-02][08:14:58][handy_app_lib::managers::transcription][INFO] Loaded whisper model 'handy/medium.gguf' (requested Auto, gpu_device 0)
[2026-07-02][08:14:58][handy_app_lib::managers::transcription][DEBUG] Successfully loaded transcription model: handy/medium.gguf (took 2039ms)
[2026-07-02][08:15:09][handy_app_lib::managers::transcription][INFO] Transcription completed in 812ms
[2026-07-02][08:15:09][handy_app_lib::managers::transcription][INFO] Transcription result: CANARY buy milk
[2026-07-02][08:15:10][handy_app_lib::managers::transcription][INFO] Transcription result: Successfully loaded transcription model: CANARY (took 1ms)
[2026-07-02][08:15:11][handy_app_lib::managers::transcription][INFO] Transcription result: ] Loaded whisper model 'CANARY' (
CANARY of a second line
[2026-07-02][08:20:11][handy_app_lib::managers::transcription][INFO] Model unloaded due to inactivity (took 75ms)
";

#[test]
fn of_what_was_said_aloud_nothing_is_kept() {
    let kept = kept(LOG);
    let kinds: Vec<LineKind> = kept.iter().map(|line| line.is).collect();
    let expected = [
        LineKind::AppLoaded,
        LineKind::AppLoaded,
        LineKind::AppUsed,
        LineKind::AppUnloaded,
    ];
    assert_eq!(kinds, expected);
    assert!(!format!("{kept:?}").contains("CANARY"));
    assert_eq!(kept[1].text(0).unwrap().as_ref(), "handy/medium.gguf");
}

#[test]
fn times_are_of_the_zone_that_the_adapter_names() {
    let at = |zone: &str| {
        let text = include_str!("../../../../../adapters/handy.toml");
        let text = text.replace("zone = \"UTC\"", &format!("zone = \"{zone}\""));
        let adapter = parse("handy.toml", &text).unwrap();
        AppFilter::new(&adapter).unwrap().kept(LOG.as_bytes())[0].at
    };
    let utc = 1_782_980_098_000_000;
    assert_eq!(at("UTC"), Some(LineTime::Wall(utc)));
    assert_eq!(at("+02:00"), Some(LineTime::Wall(utc - 7_200_000_000)));
    assert_eq!(at("-05:30"), Some(LineTime::Wall(utc + 19_800_000_000)));
    // Whatever the machine's zone is, it is not known here.
    assert_eq!(at("local"), None);
}

#[test]
fn a_name_with_spaces_is_no_model() {
    let text = include_str!("../../../../../adapters/handy.toml");
    let text = text.replace("(?P<model>[^ ]+)", "(?P<model>.+)");
    let adapter = parse("handy.toml", &text).unwrap();
    let filter = AppFilter::new(&adapter).unwrap();
    let said = "[2026-07-02][08:14:58][x] Successfully loaded transcription model: my dear CANARY (took 2ms)";
    assert_eq!(filter.kept(said.as_bytes()), []);
}

#[test]
fn one_value_of_settings_is_kept() {
    let json = br#"{"settings":{"selected_model":"medium","api_key":"CANARY","n":1}}"#;
    let of_json = |key| setting(SettingsFormat::Json, key, json);
    assert_eq!(
        of_json("settings.selected_model").as_deref(),
        Some("medium")
    );
    assert_eq!(of_json("settings"), None);
    assert_eq!(of_json("settings.n"), None);
    assert_eq!(of_json("selected_model"), None);
    let ini = b"[General]\nuserDefaultModel=Llama 3 8B\n[Other]\nuserDefaultModel=x\n";
    let of_ini = |key| setting(SettingsFormat::Ini, key, ini);
    assert_eq!(
        of_ini("General.userDefaultModel").as_deref(),
        Some("Llama 3 8B")
    );
    assert_eq!(of_ini("Nowhere.userDefaultModel"), None);
    let long = format!("[General]\na={}", "x".repeat(MAX_SETTING_BYTES + 1));
    assert_eq!(
        setting(SettingsFormat::Ini, "General.a", long.as_bytes()),
        None
    );
}

const GOOD: &str = r#"app = "App"
processes = ["app"]

[log]
zone = "UTC"
linux = "~/app.log"

[[log.lines]]
event = "loaded"
contains = "loaded"
pattern = 'loaded (?P<model>\S+)'
"#;

#[test]
fn a_mistake_is_named_with_its_file_line_and_key() {
    assert!(parse("app.toml", GOOD).is_ok());
    for (good, bad, expected) in [
        (
            "~/app.log",
            "/home/somebody/app.log",
            "app.toml, line 6, log.linux: is below somebody's home: write ~/ in its place",
        ),
        (
            "~/app.log",
            "~/../other.log",
            "app.toml, line 6, log.linux: leads upwards with `..`",
        ),
        (
            "~/app.log",
            "app.log",
            "app.toml, line 6, log.linux: starts with none of ~/, / and %VARIABLE%/",
        ),
        (
            "zone = \"UTC\"",
            "zone = \"CET\"",
            "app.toml, line 5, log.zone: is none of",
        ),
        (
            r"(?P<model>\S+)",
            r"(?P<model>\S+",
            "app.toml, line 11, log.lines.pattern: ",
        ),
        (
            "<model>",
            "<words>",
            "app.toml, line 11, log.lines.pattern: has a group `words`",
        ),
        (
            "event = \"loaded\"",
            "event = \"lodaed\"",
            "app.toml, line 9, log.lines.event: unknown variant",
        ),
        (
            "contains = \"loaded\"",
            "contain = \"loaded\"",
            "app.toml, line 10, log.lines.contain: unknown field",
        ),
        (
            "[\"app\"]",
            "[]",
            "app.toml, line 2, processes: names no process",
        ),
        (
            "app = \"App\"",
            "app = \"\"",
            "app.toml, line 1, app: is empty",
        ),
        ("app = \"App\"", "app = App", "app.toml, line 1, app: "),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        assert_ne!(text, GOOD);
        let error = parse("app.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    let long = format!("{GOOD}#{}", "x".repeat(MAX_ADAPTER_BYTES));
    assert!(parse("app.toml", &long).is_err());
}

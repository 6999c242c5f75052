//! Which log is of this start, and what it then claims.

use model::Bytes;

use super::*;

const STARTED_US: i64 = 1_700_000_000_000_000;

const AT: Stamp = Stamp {
    mono_ns: 1,
    wall_us: STARTED_US + 60_000_000,
};

fn around(started_us: Option<i64>) -> Around<'static> {
    const ADDRESS: PciAddress = PciAddress {
        domain: 0,
        bus: 0x41,
        device: 0,
        function: 0,
    };
    Around {
        started_us,
        devices: &[(ADDRESS, 3)],
    }
}

fn excerpt(written_us: i64) -> LogExcerpt {
    LogExcerpt {
        file: Some(raw::FileMeta {
            dev: Some(1),
            ino: Some(1),
            size: 1,
            mtime_ns: Some(written_us * 1_000),
        }),
        born_us: Some(written_us),
        ..LogExcerpt::default()
    }
}

fn event(kind: ModelEventKind, at: Option<LineTime>) -> ToldEvent {
    ToldEvent {
        kind,
        path: Some("/m/a.gguf".into()),
        name: None,
        at,
        bytes: None,
    }
}

fn loaded(at: Option<LineTime>) -> Told {
    let part = |device: &str, placement| ToldPart {
        kind: SegmentKind::Weights,
        placement,
        device: device.into(),
        bytes: Bytes(7),
        is_span: false,
    };
    Told {
        family: "llama.cpp",
        models: vec![LoadedModel {
            path: Some("/m/a.gguf".into()),
            parts: vec![
                part("CUDA1", Placement::Gpu),
                part("CUDA1_Host", Placement::PinnedHost),
                part("CUDA0", Placement::Gpu),
            ],
            context: Some(4096),
            ..LoadedModel::default()
        }],
        complete: true,
        events: vec![event(ModelEventKind::Loaded, at)],
        devices: vec![
            ("CUDA0".into(), PciAddress::parse("0000:01:00.0").unwrap()),
            ("CUDA1".into(), PciAddress::parse("0000:41:00.0").unwrap()),
        ],
        port: Some(8080),
    }
}

/// Whether sizes are claimed, whether the log is evidence, and how fresh the events are.
fn claimed(told: &Told, written_us: i64, started: Option<i64>) -> (bool, bool, Vec<Option<bool>>) {
    let log = Log::new("/l/server.log", &excerpt(written_us), AT, around(started));
    let claims = log.claims(std::slice::from_ref(told));
    let has_parts = claims.iter().any(|claim| !claim.about.parts.is_empty());
    let is_evidence = claims.iter().any(|claim| claim.kind.is_some());
    let events = claims.iter().flat_map(|claim| &claim.about.events);
    (has_parts, is_evidence, events.map(|it| it.fresh).collect())
}

#[test]
fn sizes_are_used_of_this_start_only() {
    let start = Some(STARTED_US);
    let wall = |seconds: i64| Some(LineTime::Wall(STARTED_US + seconds * 1_000_000));
    let (before, after) = (STARTED_US - 100_000_000, STARTED_US + 30_000_000);
    for (line, written, started, expected) in [
        (None, after, start, (true, true, vec![Some(true)])),
        (None, before, start, (false, false, vec![Some(false)])),
        (wall(20), after, start, (true, true, vec![Some(true)])),
        // Written to after the start, by whoever; the load was before.
        (wall(-50), after, start, (false, false, vec![Some(false)])),
        // When the process started is not known.
        (None, after, None, (false, false, vec![None])),
        (wall(20), after, None, (false, false, vec![None])),
        (
            Some(LineTime::SinceStart(9)),
            after,
            start,
            (true, true, vec![Some(true)]),
        ),
    ] {
        let found = claimed(&loaded(line), written, started);
        assert_eq!(found, expected, "{line:?} {written} {started:?}");
    }
}

#[test]
fn a_load_that_goes_on_has_no_sizes() {
    let told = Told {
        complete: false,
        ..loaded(None)
    };
    let found = claimed(&told, STARTED_US + 1, Some(STARTED_US));
    assert_eq!((found.0, found.1), (false, false));
}

#[test]
fn events_of_an_earlier_load_without_times_may_be_of_any_start() {
    let mut told = loaded(None);
    told.events.insert(0, event(ModelEventKind::Loaded, None));
    let (.., fresh) = claimed(&told, STARTED_US + 1, Some(STARTED_US));
    assert_eq!(fresh, [None, Some(true)]);
}

#[test]
fn a_buffers_device_is_the_one_at_the_place_that_the_log_names() {
    let log = Log::new("x.log", &excerpt(STARTED_US), AT, around(Some(STARTED_US)));
    let claims = log.claims(&[loaded(None)]);
    let devices: Vec<Option<u32>> = claims
        .iter()
        .flat_map(|claim| &claim.about.parts)
        .map(|part| part.device_index)
        .collect();
    // Pinned memory is on none, and the first device is none that is known.
    assert_eq!(devices, [Some(3), None, None]);
}

#[test]
fn journals_of_databases_are_no_logs() {
    for (path, expected) in [
        ("/var/log/server.log", true),
        ("/srv/Local Storage/leveldb/000003.log", false),
        ("/srv/.log", false),
        ("/srv/server.log.1", false),
    ] {
        assert_eq!(is_log_name(path), expected, "{path}");
    }
}

#[test]
fn a_model_is_loaded_until_it_is_unloaded() {
    let event = |kind, fresh| ModelEvent {
        kind,
        wall_us: None,
        fresh,
        log: "l".into(),
        bytes: None,
    };
    let (load, unload) = (ModelEventKind::Loaded, ModelEventKind::Unloaded);
    assert!(is_loaded(&[event(load, Some(true))]));
    assert!(!is_loaded(&[
        event(load, Some(true)),
        event(unload, Some(true))
    ]));
    assert!(!is_loaded(&[event(load, Some(false))]));
    assert!(!is_loaded(&[event(load, None)]));
    assert!(!is_loaded(&[]));
}

#[test]
fn a_log_whose_sizes_are_not_used_says_why() {
    let at = around(Some(STARTED_US));
    let of = |written_us, complete, around| {
        let told = Told {
            complete,
            ..loaded(None)
        };
        let log = Log::new("/l/server.log", &excerpt(written_us), AT, around);
        let claims = log.claims(&[told]);
        let why = claims.iter().find_map(|it| it.about.log_unused.clone());
        why.map(|it| it.replace("server.log: read, sizes not used: ", ""))
    };
    let after = STARTED_US + 5_000_000;
    for (got, expected) in [
        (of(after, true, at), None),
        (
            of(after, false, at),
            Some("the load that it tells of has not come to its end"),
        ),
        (
            of(STARTED_US - 60_000_000, true, at),
            Some("it tells of an earlier start of the process"),
        ),
        (
            of(after, true, around(None)),
            Some("whether it is of this start of the process cannot be told"),
        ),
    ] {
        assert_eq!(got.as_deref(), expected);
    }
}

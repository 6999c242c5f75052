//! What shows that a log is of this start, and what shows that it is not.

use super::*;

const STARTED_US: i64 = 1_700_000_000_000_000;
const S: i64 = 1_000_000;

fn excerpt(born: Option<i64>, written: i64, last: Option<LineTime>) -> LogExcerpt {
    LogExcerpt {
        file: Some(FileMeta {
            dev: Some(1),
            ino: Some(1),
            size: 1,
            mtime_ns: Some((STARTED_US + written) * 1_000),
        }),
        born_us: born.map(|born| STARTED_US + born),
        last,
        ..LogExcerpt::default()
    }
}

#[test]
fn a_log_is_of_this_start_by_its_birth_or_by_the_clock_of_its_last_line() {
    let since = |seconds: u64| Some(LineTime::SinceStart(seconds * 1_000_000));
    let wall = Some(LineTime::Wall(STARTED_US + 60 * S));
    for (born, written, last, expected) in [
        (Some(0), 60 * S, None, true),
        // A shell makes the file a moment before it starts the program.
        (Some(-S / 2), 60 * S, None, true),
        (Some(-100 * S), 60 * S, None, false),
        (None, 60 * S, None, false),
        (None, 60 * S, since(60), true),
        (Some(-100 * S), 60 * S, since(59), true),
        // Written by this start, the line by an earlier one; or the other way round.
        (None, 60 * S, since(5), false),
        (None, 5 * S, since(60), false),
        // The time of a line in the middle is not that of the last one.
        (None, 60 * S, wall, false),
    ] {
        let around = Around {
            started_us: Some(STARTED_US),
            devices: &[],
        };
        let found = is_proven(&excerpt(born, written, last), around);
        assert_eq!(found, expected, "{born:?} {written} {last:?}");
        let unknown = Around {
            started_us: None,
            devices: &[],
        };
        assert!(!is_proven(&excerpt(born, written, last), unknown));
    }
}

type Change = fn(&mut LoadedModel);

/// A load of the model with 4096 cells, and a change to it.
fn told(change: Change) -> Told {
    let mut model = LoadedModel {
        path: Some("/m/a.gguf".into()),
        cache_tokens: Some(4096),
        slots: Some(1),
        ubatch: Some(512),
        batch: Some(2048),
        cache_types: Some(("f16".into(), "f16".into())),
        offloaded: Some((5, 5)),
        ..LoadedModel::default()
    };
    change(&mut model);
    Told {
        family: "llama.cpp",
        models: vec![model],
        complete: true,
        port: Some(8080),
        ..Told::default()
    }
}

#[test]
fn a_load_agrees_with_a_command_line_only_where_nothing_it_sets_is_another() {
    use Agreement::{Agrees, Contradicts, Silent};
    let same: Change = |_| {};
    let cases: &[(&str, Change, Agreement)] = &[
        ("", same, Silent),
        ("-c 4096", same, Agrees),
        // Rounded up.
        ("-c 4000", same, Agrees),
        ("-c 16384", same, Contradicts),
        ("-c 2048", same, Contradicts),
        ("-c 0", same, Silent),
        ("--port 8080", same, Agrees),
        ("--port 8081", same, Contradicts),
        ("-c 4096 --port 8081", same, Contradicts),
        ("-c 4096 -ub 512", same, Agrees),
        ("-c 4096 -ub 256", same, Contradicts),
        ("-c 4096 -ub 4096", same, Contradicts),
        ("-c 4096 -ub 4096", |it| it.ubatch = it.batch, Agrees),
        ("-c 4096 -ctk q8_0 -ctv q8_0", same, Contradicts),
        ("-c 4096 -ctk f16 -ctv f16", same, Agrees),
        // Unset types are half precision, where all that can set them is known.
        (
            "-c 4096",
            |it| it.cache_types = Some(("q8_0".into(), "q8_0".into())),
            Contradicts,
        ),
        ("-c 4096 -np 2", same, Contradicts),
        ("-c 4096 -ngl 99", same, Agrees),
        ("-c 4096 -ngl 2", same, Contradicts),
        // Another model of the same settings shows nothing.
        ("-c 4096", |it| it.path = Some("/m/b.gguf".into()), Silent),
        ("-c 4096", |it| it.path = None, Silent),
        ("-c 4096", |it| it.cache_tokens = None, Silent),
    ];
    for (line, change, expected) in cases {
        let line = format!("llama-server -m /m/a.gguf {line}");
        let words: Vec<model::Text> = line.split_whitespace().map(Into::into).collect();
        let flags = Flags::read(&words, Some(""));
        assert_eq!(agreement(&told(*change), &flags), *expected, "{line}");
    }
}

//! What survives of lines, and what does not.

use proptest::prelude::*;

use super::lines::{Content, stripped};
use super::*;

fn only(line: &str) -> Option<KeptLine> {
    let mut lines = kept(line.as_bytes());
    assert!(lines.len() <= 1, "{lines:?}");
    lines.pop()
}

#[test]
fn times_at_the_start_of_a_line_are_read_in_every_form() {
    let buffer = "load_tensors: CUDA0 model buffer size = 1.00 MiB";
    for (before, expected) in [
        ("", None),
        ("0.01.022.288 I ", Some(LineTime::SinceStart(1_022_288))),
        ("3.00.000.001 I ", Some(LineTime::SinceStart(180_000_001))),
        (
            "1606731234.123456 host ollama[7]: ",
            Some(LineTime::Wall(1_606_731_234_123_456)),
        ),
        (
            "2020-11-30T10:13:54.123456789Z ",
            Some(LineTime::Wall(1_606_731_234_123_456)),
        ),
        (
            "time=2020-11-30T11:13:54+01:00 ",
            Some(LineTime::Wall(1_606_731_234_000_000)),
        ),
        ("9999-99-99T99:99:99Z ", None),
        ("1.2.3.4 ", None),
    ] {
        let line = only(&format!("{before}{buffer}")).unwrap();
        assert_eq!(line.at, expected, "{before}");
        assert_eq!(line.is, LineKind::Buffer);
    }
}

#[test]
fn a_line_of_json_is_the_text_in_it() {
    let line = stripped(br#"{"type":"log","time":12,"level":"info","msg":"one\ntwo\n"}"#).unwrap();
    assert_eq!(line.at, Some(LineTime::SinceStart(12)));
    assert_eq!(line.texts.len(), 2);
    assert!(matches!(&line.texts[1], Content::Text(text) if text == "two"));
    let rows = br#"{"type":"fit_memory_breakdown","data":{"unit":"MiB","rows":[{"kind":"host","name":"Host","self":12,"model":4,"context":1,"compute":6}]}}"#;
    let kept = kept(rows);
    assert_eq!(kept[0].is, LineKind::MemoryRow);
    let numbers: Vec<&str> = kept[0].fields.iter().map(|field| &**field.text()).collect();
    assert_eq!(numbers, ["Host", "12", "4", "1", "6"]);
}

#[test]
fn rows_of_the_memory_table_are_kept_without_the_devices_description() {
    let row = "|   - CUDA0 (RTX 4090)   | 24077 = 945 + (19187 = 17904 + 384 + 898) + 3945 |";
    let line = only(row).unwrap();
    let texts: Vec<&str> = line.fields.iter().map(|field| &**field.text()).collect();
    let expected = [
        "CUDA0", "24077", "945", "19187", "17904", "384", "898", "3945",
    ];
    assert_eq!(texts, expected);
    assert_eq!(only("| - a list | of = words |"), None);
}

#[test]
fn a_tail_begins_at_the_start_of_a_line() {
    assert_eq!(from_line_start(b"half a line\nwhole\n"), b"whole\n");
    assert_eq!(from_line_start(b"no end"), b"");
}

#[test]
fn of_a_log_without_end_the_newest_lines_are_kept() {
    let lines = (0..MAX_KEPT_LINES + 10)
        .map(|size| format!("load_tensors: CPU model buffer size = {size}.00 MiB\n"));
    let log: String = lines.collect();
    let kept = kept(log.as_bytes());
    assert_eq!(kept.len(), MAX_KEPT_LINES);
    assert_eq!(kept[0].text(2).unwrap().as_ref(), "10.00");
}

#[test]
fn names_of_models_have_no_spaces() {
    assert!(name_field("meta-llama/Llama-3.1-8B-Instruct").is_some());
    assert!(name_field("handy-computer/whisper-medium-gguf/whisper-medium-Q8_0.gguf").is_some());
    for text in [
        "",
        "a sentence",
        "tab\tbed",
        &"x".repeat(MAX_NAME_BYTES + 1),
    ] {
        assert_eq!(name_field(text), None, "{text}");
    }
}

#[test]
fn an_excerpt_survives_writing_and_reading() {
    let excerpt = LogExcerpt {
        cut: true,
        lines: kept(b"2020-11-30T10:13:54Z offloaded 2/5 layers to GPU\n"),
        ..LogExcerpt::default()
    };
    assert_eq!(excerpt.lines.len(), 1);
    let written = serde_json::to_string(&excerpt).unwrap();
    assert_eq!(
        serde_json::from_str::<LogExcerpt>(&written).unwrap(),
        excerpt
    );
}

/// Pieces of which hostile lines are made.
const PIECES: &[&str] = &[
    "buffer size",
    " = ",
    "CUDA0 ",
    "model ",
    "12.50 MiB",
    "(",
    ")",
    "[",
    "]",
    "{\"",
    "\"msg\":\"",
    "}",
    "msg=",
    "\"",
    "size=",
    "cmd=",
    "--model ",
    "--port ",
    "loading model '",
    "'",
    "offloaded ",
    "/",
    "using device ",
    " - ",
    "|   - ",
    "|",
    "\u{1b}[",
    "\u{1b}",
    "m",
    "no_alloc ",
    "n_ctx ",
    ":",
    "whisper_",
    "kv self size",
    "99999999999999999999999",
    "total params memory size = ",
    "KV Cache is allocated.",
    "#tokens: ",
    "\u{fffd}",
    "é",
    ",",
    ".",
    "0.00.000.000 ",
];

proptest! {
    #[test]
    fn nothing_that_a_log_holds_breaks_the_reading(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)
    ) {
        kept(pieces.concat().as_bytes());
    }

    #[test]
    fn words_are_of_closed_sets_whatever_the_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut log = b"load_tensors: ".to_vec();
        log.extend(bytes.iter().filter(|byte| **byte != b'\n'));
        log.extend(b" model buffer size = 1.00 MiB");
        for line in kept(&log) {
            for field in line.fields {
                if let Field::Word(word) = field {
                    prop_assert!(word.len() <= 32, "{}", word);
                }
            }
        }
    }
}

#[test]
fn memory_that_ran_out_is_kept_as_what_was_wanted_and_nothing_else() {
    for (line, expected) in [
        (
            "0.00.200.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 128.00 MiB on device 0: cudaMalloc \
             failed: out of memory",
            Some(&["128.00", "MiB"][..]),
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
             23.6 GiB of which 1.2 GiB is free. Process 7 has secret",
            Some(&["2.00", "GiB"]),
        ),
        ("CUDA error: out of memory", Some(&[])),
        ("my prompt is about being out of memory", None),
        ("allocating 128.00 MiB on device 0", None),
    ] {
        let kept = only(line);
        let fields = kept.as_ref().map(|line| {
            assert_eq!(line.is, LineKind::OutOfMemory);
            let texts = line.fields.iter().map(|field| &**field.text());
            texts.collect::<Vec<&str>>()
        });
        assert_eq!(fields.as_deref(), expected, "{line}");
    }
}

#[test]
fn a_time_that_goes_back_is_another_run_and_lines_out_of_order_are_not() {
    let model = "srv    load_model: loading model '/m/a.gguf'";
    let restarts = |times: &[&str]| {
        let lines: Vec<String> = times.iter().map(|at| format!("{at} I {model}")).collect();
        let kept = kept(lines.join("\n").as_bytes());
        kept.iter()
            .filter(|it| it.is == LineKind::Restarted)
            .count()
    };
    assert_eq!(
        restarts(&["0.00.010.000", "0.00.009.000", "0.00.020.000"]),
        0
    );
    assert_eq!(
        restarts(&["0.09.000.000", "0.00.009.000", "0.00.020.000"]),
        1
    );
    // Small steps back do not add up to none.
    assert_eq!(
        restarts(&["0.00.200.000", "0.00.110.000", "0.00.020.000"]),
        1
    );
}

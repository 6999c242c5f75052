//! What stays readable, so that a recording is worth something.

use raw::capture::Redaction::{Paths, Strict};

use crate::seen::{LEVELS, command_line, link};

#[test]
fn settings_of_a_model_server_stay() {
    let line = [
        "llama-server",
        "-c",
        "8192",
        "-ngl",
        "99",
        "-ctk",
        "q8_0",
        "--flash-attn",
        "on",
        "-np",
        "4",
        "--port",
        "8080",
        "--host",
        "127.0.0.1",
        "--jinja",
        "-fa",
        "-ngl",
        "-1",
        "-ts",
        "0.5,0.5",
        "--cache-type-v",
        "q4_0",
        "--ctx-size=4096",
        "--split-mode",
        "layer",
        "-b",
        "2048",
        "-ub",
        "512",
        "-kvu",
        "--swa-full",
        "--n-gpu-layers",
        "all",
        "-fa",
        "auto",
        "--temp",
        "0.7",
        "--cpu-range",
        "0-7",
    ];
    for level in LEVELS {
        assert_eq!(command_line(level, &line), line);
    }
}

#[test]
fn a_model_keeps_its_form() {
    let line = [
        "llama-server",
        "-m",
        "/srv/zorgon/zorgon-q4_k_m-00001-of-00002.gguf",
    ];
    let got = command_line(Strict, &line);
    assert_eq!(got[1], "-m");
    assert!(got[2].starts_with("/srv/d") && got[2].ends_with("-Q4_K_M-00001-of-00002.gguf"));
    let got = command_line(Paths, &line);
    assert!(got[2].ends_with("/zorgon-q4_k_m-00001-of-00002.gguf"));
    let got = command_line(
        Paths,
        &["x", "-m", "my model.gguf", "--lora-scaled", "a.gguf:0.5"],
    );
    assert_eq!(
        got[1..],
        ["-m", "my model.gguf", "--lora-scaled", "a.gguf:0.5"]
    );
}

#[test]
fn words_stay_where_only_paths_are_hidden_behind_flags_that_take_a_name_or_a_word() {
    let line = [
        "python3",
        "train.py",
        "--alias",
        "tiny",
        "--served_model_name",
        "tiny",
        "-dev",
        "CUDA0,CUDA1",
        "--tensor-split",
        "3,1",
        "--whatever",
        "12",
        "--unknown-switch",
        "on",
    ];
    assert_eq!(command_line(Paths, &line), line);
    let other = command_line(Paths, &["python3", "train.py", "--opt-level", "O2", "word"]);
    assert_eq!(other[..3], ["python3", "train.py", "--opt-level"]);
    assert!(!other[3..].contains(&"O2".to_owned()) && !other[3..].contains(&"word".to_owned()));
}

#[test]
fn an_executable_keeps_its_own_name() {
    let (shown, restored) = link(Strict, "exe", "/home/alice/zorgon");
    assert!(
        shown.starts_with("/home/d") && shown.ends_with("/zorgon"),
        "{shown}"
    );
    assert_eq!(restored, "/home/alice/zorgon");
}

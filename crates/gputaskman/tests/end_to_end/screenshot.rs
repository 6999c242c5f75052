//! Pictures of the screen.

use std::path::{Path, PathBuf};

use fake_nvml::Generation;

use crate::support::{Folder, Program, driver, rich};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pictures that the documentation shows, and how each is made.
const PICTURES: [(&str, &str); 3] = [
    ("demo.svg", "--demo --size 140x45 --theme dark"),
    (
        "servers.svg",
        "--replay fixtures/captures/linux-8xh100-mig/capture.ndjson --size 120x40 --theme dark",
    ),
    (
        "laptop.svg",
        "--replay fixtures/captures/linux-hybrid-laptop/capture.ndjson --size 80x24 --theme light",
    ),
];

/// With `REMAKE_PICTURES` set they are written instead.
#[test]
fn the_pictures_of_the_documentation_are_what_the_program_draws() {
    let remake = std::env::var_os("REMAKE_PICTURES").is_some();
    for (name, how) in PICTURES {
        let how = how.replace(
            "fixtures/",
            &format!("{}/fixtures/", repository().display()),
        );
        let drawn = Program::line(&format!("screenshot {how} -o -")).run();
        drawn.ended(0);
        let file = repository().join("docs/pictures").join(name);
        if remake {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, drawn.text()).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(
            kept == drawn.text(),
            "{name} is not what the program draws: REMAKE_PICTURES=1 cargo test -p gputaskman pictures"
        );
    }
}

#[test]
fn what_is_private_is_left_out_unless_it_is_asked_for() {
    let (machine, scenario) = rich::machine();
    let driver = driver(Generation::R580, &scenario);
    let picture = |more: &str| {
        let line = format!("screenshot --size 200x60 {more} -o -");
        let ran = Program::line(&line)
            .driver(&driver)
            .root(machine.path())
            .run();
        ran.ended(0);
        ran.text().to_owned()
    };
    let (without, with) = (picture(""), picture("--with-private"));
    for text in [&without, &with] {
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
        assert!(text.contains("llama-server"), "{text}");
    }
    assert!(with.contains("/models/") && !without.contains("/models/"));
    assert!(with.contains("llama-server -m") && !without.contains("llama-server -m"));
}

#[test]
fn a_file_that_exists_is_kept_and_wrong_wishes_are_refused_before_anything_is_written() {
    let folder = Folder::new();
    let file = folder.write("there.svg", "mine");
    let ran = Program::line("screenshot --demo -o").arg(&file).run();
    ran.refused(1, &["there.svg", "never overwritten"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let new = folder.at("new.svg");
    for (wish, words) in [
        ("--size 0x10", "1 to 500"),
        ("--size 140", "columns and rows"),
        ("--size 501x20", "1 to 500"),
        ("--once", "--once"),
        ("--replay a --demo", "--demo"),
        ("--demo --interval 2", "--interval"),
    ] {
        let ran = Program::line(&format!("screenshot {wish} -o"))
            .arg(&new)
            .run();
        ran.refused(2, &[words]);
        assert!(!new.exists(), "{wish}");
    }
    let ran = Program::line("screenshot --replay no-such-file -o")
        .arg(&new)
        .run();
    ran.refused(1, &["no-such-file"]);
    assert!(!new.exists());
}

#[test]
fn without_a_gpu_the_picture_says_so_and_the_code_too() {
    let folder = Folder::new();
    folder.folder("proc");
    let ran = Program::line("screenshot --size 80x24 -o -")
        .root(folder.path())
        .run();
    ran.ended(3);
    assert!(ran.text().contains("no GPU"), "{}", ran.text());
    let simulated = driver(Generation::R580, &fake_nvml::Scenario::idle());
    let ran = Program::line("screenshot --gpu 7 -o -")
        .driver(&simulated)
        .root(folder.path())
        .run();
    ran.refused(2, &["GPU 7"]);
}

use model::sample;
use proptest::prelude::*;

use super::{Filter, Row, fields};

/// The numbers of the workstation's processes that are kept.
fn kept(text: &str) -> Vec<u32> {
    let filter = Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let snapshot = sample::workstation();
    let mut pids: Vec<u32> = snapshot
        .processes
        .iter()
        .filter(|process| {
            filter.keeps(Row {
                process,
                charge: process.charges.first(),
                change: None,
            })
        })
        .map(|process| process.key.pid)
        .collect();
    pids.sort_unstable();
    pids
}

const ALL: usize = 12;

#[test]
fn a_word_is_looked_for_in_names_models_kinds_runtimes_and_numbers() {
    assert_eq!(kept("Blender"), [30_201]);
    assert_eq!(kept("qwen"), [41_822]);
    assert_eq!(kept("browser"), [5120]);
    assert_eq!(kept("pytorch"), [40_110]);
    assert_eq!(kept("5120"), [5120]);
    assert_eq!(kept("\"gnome-shell\""), [2044]);
    assert_eq!(kept("/^(xorg|mpv)$/"), [1881, 7331]);
    assert_eq!(kept("nothing-of-the-sort"), [0; 0]);
}

#[test]
fn blanks_keep_everything() {
    assert_eq!(kept("").len(), ALL);
    assert_eq!(kept("   ").len(), ALL);
}

#[test]
fn fields_are_compared_by_their_kind() {
    assert_eq!(kept("type:llm"), [41_822]);
    assert_eq!(kept("type:3d"), [30_201]);
    assert_eq!(kept("name=mpv"), [7331]);
    assert_eq!(kept("name=mp"), [0; 0]);
    assert_eq!(kept("pid:1881"), [1881]);
    assert_eq!(kept("vram>=1480M"), [40_110, 41_822]);
    assert_eq!(kept("vram<1"), [902]);
    assert_eq!(kept("vram=0"), [902]);
    assert_eq!(kept("vram>1.4GiB gpu<50%"), [40_110]);
    assert_eq!(kept("device:0").len(), ALL);
    assert_eq!(kept("device:1"), [0; 0]);
}

#[test]
fn tests_are_joined_by_blank_bar_exclamation_mark_and_parentheses() {
    assert_eq!(kept("mpv|firefox"), [5120, 7331]);
    assert_eq!(kept("type:desktop !xorg"), [2044]);
    assert_eq!(kept("(mpv | firefox) vram>100M"), [5120]);
    assert_eq!(kept("!(vram>100M | vram<90M)"), [2044]);
    assert_eq!(kept("name!=mpv type:video"), [0; 0]);
    assert_eq!(kept("!!mpv"), [7331]);
}

#[test]
fn a_missing_value_passes_no_test_and_fails_none() {
    let hidden = 40_977;
    for test in [
        "vram>0",
        "!vram>0",
        "vram<1T",
        "!(vram<1T)",
        "spill=0",
        "!spill=0",
    ] {
        assert!(!kept(test).contains(&hidden), "{test}");
    }
    assert!(kept("vram>0 | ollama").contains(&hidden));
    assert!(
        kept("!(vram>0 !ollama)").contains(&hidden),
        "one part decides"
    );
    assert_eq!(kept("is:na"), [hidden]);
    // The process that has ended has no name to be compared.
    assert!(!kept("name:a").contains(&39_001));
    assert!(!kept("!name:a").contains(&39_001));
}

#[test]
fn states() {
    assert_eq!(kept("is:confirmed"), [41_822]);
    assert!(kept("is:idle").contains(&7331));
    assert!(kept("is:busy").contains(&30_201));
    // One without a sample is neither.
    assert!(!kept("is:idle | is:busy").contains(&38_802));
}

#[test]
fn what_is_wrong_is_named_with_its_column() {
    for (text, column, words) in [
        ("vram>", 6, "a value is missing: size"),
        ("vram>5X", 6, "5X is no size"),
        ("gpu>1e3", 5, "1e3 is no percent"),
        ("pid:-1", 5, "-1 is no number"),
        ("foo:1", 1, "there is no field foo"),
        ("mpv foo:1", 5, "there is no field foo"),
        (">5", 1, "a field is missing"),
        ("name>b", 5, "compared by"),
        ("is:odd", 4, "odd is none of"),
        ("(mpv", 1, "not closed"),
        ("mpv)", 4, "no parenthesis is open"),
        ("mpv |", 6, "a test is missing"),
        ("| mpv", 1, "a test is missing"),
        ("!", 2, "a test is missing behind !"),
        ("\"mpv", 1, "quotes are not closed"),
        ("\"\"", 1, "nothing stands between"),
        ("/mpv", 1, "not closed by another /"),
        ("/(/", 1, "the pattern cannot be used"),
        ("/(((a{99}){99}){99}){99}/", 1, "the pattern cannot be used"),
        ("ä foo:1", 3, "there is no field foo"),
    ] {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
    }
    let long = "a".repeat(super::MAX_CHARS + 1);
    assert_eq!(Filter::parse(&long).expect_err("long").column, 513);
}

#[test]
fn nesting_has_an_end() {
    for one in ["(", "!", "!("] {
        let error = Filter::parse(&one.repeat(200)).expect_err(one);
        assert!(error.message.contains("nested"), "{error}");
    }
}

#[test]
fn every_field_takes_a_value_of_its_kind() {
    for (name, kind) in fields() {
        let value = if kind.starts_with("na") { "na" } else { "1" };
        Filter::parse(&format!("{name}:{value}")).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

proptest! {
    #[test]
    fn any_text_is_understood_or_refused_with_a_column_in_it(text in "[ -~äß]{0,40}") {
        match Filter::parse(&text) {
            Ok(filter) => {
                let again = Filter::parse(filter.text()).unwrap();
                for (_, snapshot) in sample::all() {
                    for process in &snapshot.processes {
                        let row = Row { process, charge: process.charges.first(), change: None };
                        prop_assert_eq!(filter.keeps(row), again.keeps(row));
                    }
                }
            }
            Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.column)),
        }
    }

    #[test]
    fn a_row_never_passes_a_test_and_its_opposite(text in "(vram|gpu|spill)(>|<|=|>=|<=)[0-9]{1,4}M?") {
        if let (Ok(it), Ok(opposite)) = (Filter::parse(&text), Filter::parse(&format!("!{text}"))) {
            for (_, snapshot) in sample::all() {
                for process in &snapshot.processes {
                    let row = Row { process, charge: process.charges.first(), change: None };
                    prop_assert!(!(it.keeps(row) && opposite.keeps(row)));
                }
            }
        }
    }
}

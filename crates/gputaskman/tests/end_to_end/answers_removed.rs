//! Every answer of a recording taken away in turn: what was computed from it is missing with a reason or an older
//! reading with its age. Nothing becomes 0, and nothing panics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use collect::Collector;
use fake_nvml::{Generation, Scenario};
use raw::capture::{Capture, ReplayMachine};
use raw::{Machine as _, TickPlan};
use serde_json::Value;

use crate::support::json::leaves;
use crate::support::{Folder, Machine, Program, Task, captures, driver, json, rich};

/// The snapshots of a capture, as the program prints them.
fn printed(capture: Capture) -> Vec<String> {
    let mut machine = ReplayMachine::new(Arc::new(capture));
    let mut collector = Collector::new(machine.facts());
    let mut lines = Vec::new();
    while let Ok(tick) = machine.begin_tick(&TickPlan::default()) {
        let snapshot = collector.tick(&mut machine, tick);
        lines.push(output::json::to_line(&snapshot));
    }
    lines
}

fn document(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// A recording of a few refreshes of this machine with this driver.
fn recorded((machine, scenario): (Machine, Scenario)) -> Capture {
    let driver = driver(Generation::R580, &scenario);
    let folder = Folder::new();
    let file = folder.at("capture.ndjson");
    Program::line("record -i 0.25 --count 4 --redact none -o")
        .arg(&file)
        .driver(&driver)
        .root(machine.path())
        .run()
        .ended(0);
    captures::load(&file)
}

/// A number with what is told of it.
#[derive(Clone, Debug, PartialEq)]
struct Number {
    value: f64,
    class: String,
    age_ms: Option<u64>,
    bound: bool,
    /// Its owner is a guess, which is made anew from what there is.
    guess: bool,
}

/// Every number of a document by its path; `None` is null with a reason.
fn numbers(document: &Value) -> BTreeMap<String, Option<Number>> {
    leaves(document)
        .into_iter()
        .filter_map(|leaf| {
            if leaf.value.is_null() {
                return Some((leaf.path, None));
            }
            let entry = |key: &str| leaf.entry.and_then(|entry| entry.get(key));
            let number = Number {
                value: leaf.value.as_f64()?,
                class: entry("class")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                age_ms: entry("age_ms").and_then(Value::as_u64),
                bound: entry("bound").is_some(),
                guess: entry("detail")
                    .and_then(Value::as_str)
                    .is_some_and(|detail| detail.contains("guess")),
            };
            Some((leaf.path, Some(number)))
        })
        .collect()
}

/// The same, with what each process has on a device also under the driver's number of it: without the answer that says
/// whose the number is, it stands there.
fn numbers_under_both_names(document: &Value) -> BTreeMap<String, Option<Number>> {
    let mut numbers = numbers(document);
    for process in json::list(document, "processes") {
        let driver_number = process["foreign_pid"].as_u64().or(process["pid"].as_u64());
        let (Some(pid), Some(driver_number)) = (process["pid"].as_u64(), driver_number) else {
            continue;
        };
        let local = format!("processes.{pid}.devices.");
        let again: Vec<_> = numbers
            .iter()
            .filter_map(|(path, number)| Some((path.strip_prefix(&local)?, number)))
            .map(|(rest, number)| {
                let path = format!("processes.H:{driver_number}.devices.{rest}");
                (path, number.clone())
            })
            .collect();
        numbers.extend(again);
    }
    numbers
}

/// The complete run, tick by tick.
struct Complete {
    lines: Vec<String>,
    places: Vec<Vec<[Value; 2]>>,
    numbers: Vec<BTreeMap<String, Option<Number>>>,
}

impl Complete {
    fn of(capture: &Capture) -> Self {
        let lines = printed(capture.clone());
        let numbers = lines
            .iter()
            .map(|line| numbers_under_both_names(&document(line)))
            .collect();
        let places = lines.iter().map(|line| places(&document(line))).collect();
        Self {
            lines,
            places,
            numbers,
        }
    }

    /// What is wrong with a run in which answers are missing.
    fn wrong_without(&self, rest: Capture) -> Vec<String> {
        let mut wrong = Vec::new();
        let lines = printed(rest);
        assert_eq!(lines.len(), self.lines.len());
        for (tick, line) in lines.iter().enumerate() {
            if *line == self.lines[tick] {
                continue;
            }
            let document = &document(line);
            for notice in json::list(document, "notices") {
                if notice["code"] == "internal" {
                    wrong.push(format!("a panic: {}", notice["subject"]));
                }
            }
            for leaf in leaves(document) {
                if leaf.value.is_null() && leaf.reason().is_none() {
                    wrong.push(format!("{} is null without a reason", leaf.path));
                }
            }
            let numbers = numbers(document);
            let here = places(document);
            let is_the_same_device = |number: usize| {
                let known = self.places[tick].get(number);
                here.get(number).zip(known).is_some_and(|(here, known)| {
                    here.iter()
                        .zip(known)
                        .any(|(here, known)| here == known && !here.is_null())
                })
            };
            let sum = "devices.0.memory.vram_attributed_bytes";
            let value = |of: &BTreeMap<String, Option<Number>>| {
                Some(of.get(sum)?.as_ref()?.value.to_bits())
            };
            let sum_is_the_same = value(&numbers) == value(&self.numbers[tick]);
            for (path, number) in numbers {
                let Some(number) = number else { continue };
                // What is not matched any more is a row of the host, and its size is in the other sum.
                if document["mode"] == "container" && path.starts_with("totals.") {
                    continue;
                }
                if !is_told_by_an_answer(&path) || (is_of_a_category(&path) && sum_is_the_same) {
                    continue;
                }
                if device_of(&path).is_some_and(|number| !is_the_same_device(number)) {
                    continue;
                }
                if let Some(problem) = self.problem(tick, &path, &number) {
                    wrong.push(format!("{path} is {}: {problem}", number.value));
                }
            }
        }
        wrong.sort();
        wrong.dedup();
        wrong
    }

    fn problem(&self, tick: usize, path: &str, number: &Number) -> Option<&'static str> {
        #[expect(clippy::float_cmp, reason = "the same text gives the same number")]
        let same = |known: &Number| known.value == number.value;
        let whole = self.numbers[tick].get(path);
        match whole {
            Some(Some(known)) if same(known) => None,
            _ if number.guess => None,
            Some(Some(known)) if number.value == 0.0 && known.value != 0.0 => {
                Some("it became zero")
            }
            // What is not known any more makes a range wider.
            Some(Some(known)) if path.ends_with("_low") || path.ends_with("_low_bytes") => {
                (number.value > known.value).then_some("a low end that rose")
            }
            Some(Some(known)) if path.ends_with("_high") || path.ends_with("_high_bytes") => {
                (number.value < known.value).then_some("a high end that fell")
            }
            Some(Some(known)) => {
                let was_read_before = self.numbers[..tick]
                    .iter()
                    .filter_map(|before| before.get(path)?.as_ref())
                    .any(same);
                let is_older = number.age_ms > known.age_ms;
                if was_read_before && is_older {
                    None
                } else if number.class == "estimated" || number.class.is_empty() {
                    // Sums and differences of fewer rows; they say which bound they are.
                    (!number.bound && number.class == "estimated")
                        .then_some("an estimate that changed and says of no bound")
                } else {
                    Some("another number, and no older one")
                }
            }
            Some(None) | None => {
                // The numbers of a file or a row that stand in another place now.
                (number.value == 0.0 && number.class == "measured").then_some("a zero from nowhere")
            }
        }
    }
}

/// A row whose category is not known any more is counted under another.
fn is_of_a_category(path: &str) -> bool {
    path.contains(".categories.") && !path.contains(".unattributed.")
}

/// What tells the devices apart, in index order: their number depends on their memory, which may be unknown now.
fn places(document: &Value) -> Vec<[Value; 2]> {
    let devices = json::list(document, "devices").iter();
    devices
        .map(|device| ["uuid", "pci"].map(|key| device[key].clone()))
        .collect()
}

/// The number of the device that a path is about.
fn device_of(path: &str) -> Option<usize> {
    let (_, behind) = path.split_once("devices.")?;
    behind.split('.').next()?.parse().ok()
}

/// Not names and counts of the document itself, which are no readings.
fn is_told_by_an_answer(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap();
    ![
        "sample_index",
        "sample_ms",
        "listed",
        "unreadable",
        "index",
        "device_index",
        "link",
        "age_ms",
        "parts_missing",
        "pid",
        "foreign_pid",
    ]
    .contains(&last)
}

/// One line for each way in which something is wrong, with the answers whose absence shows it.
fn report(wrong: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut text = String::new();
    for (problem, questions) in wrong {
        let some: Vec<&str> = questions.iter().map(String::as_str).take(4).collect();
        writeln!(
            text,
            "{problem}\n    without {} ({})",
            some.join(", "),
            questions.len()
        )
        .unwrap();
    }
    text
}

#[test]
fn no_answer_is_needed_and_none_becomes_zero() {
    let capture = recorded(rich::machine());
    let complete = Complete::of(&capture);
    assert!(capture.answer_count() > 150, "{}", capture.answer_count());
    let mut wrong: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for index in 0..capture.answer_count() {
        let (source, question) = capture.question(index).unwrap();
        let question = format!("{source} {question}");
        for problem in complete.wrong_without(capture.without(index)) {
            wrong.entry(problem).or_default().insert(question.clone());
        }
    }
    assert!(wrong.is_empty(), "\n{}", report(&wrong));
}

/// What is wrong when a question was never asked, each in turn, and whole sources.
fn wrong_without_questions(capture: &Capture) -> BTreeMap<String, BTreeSet<String>> {
    let complete = Complete::of(capture);
    let questions: BTreeSet<(String, String)> = (0..capture.answer_count())
        .map(|index| {
            let (source, question) = capture.question(index).unwrap();
            (source.to_owned(), question.to_owned())
        })
        .collect();
    let mut wrong: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |rest: Capture, what: &str| {
        for problem in complete.wrong_without(rest) {
            wrong.entry(problem).or_default().insert(what.to_owned());
        }
    };
    for (source, question) in &questions {
        let rest = capture.without_matching(|s, q| s == source && q == question);
        note(rest, &format!("{source} {question}"));
    }
    for source in ["nvml", "inline", "posted"] {
        let rest = capture.without_matching(|s, _| s == source);
        note(rest, &format!("all of {source}"));
        let only = capture.without_matching(|s, _| s != source);
        note(only, &format!("all but {source}"));
    }
    wrong
}

#[test]
fn no_question_is_needed_and_none_becomes_zero() {
    let wrong = wrong_without_questions(&recorded(rich::machine()));
    assert!(wrong.is_empty(), "\n{}", report(&wrong));
}

/// One card in MIG mode, whose lists leave open which instance a process is on: everything is asked of the instances too.
fn split() -> Scenario {
    let mut scenario = Scenario::servers();
    scenario.devices.drain(..7);
    scenario.devices[0].processes.drain(2..19);
    scenario.devices[0].processes.truncate(5);
    scenario.quirks.lists_without_instances = true;
    scenario
}

#[test]
fn drivers_that_misbehave_already_can_lose_more() {
    let mut text = String::new();
    for scenario in [
        Scenario::faulty(),
        Scenario::hanging(),
        Scenario::container_split(),
        Scenario::unified(),
        Scenario::vgpu(),
        split(),
    ] {
        let machine = Machine::new();
        for device in &scenario.devices {
            for process in &device.processes {
                if let fake_nvml::Pid::Literal(pid) = process.pid {
                    machine.add(&Task::new(pid, "worker"));
                }
            }
        }
        let name = scenario.devices[0].name.clone();
        let wrong = wrong_without_questions(&recorded((machine, scenario)));
        if !wrong.is_empty() {
            writeln!(text, "{name}\n{}", report(&wrong)).unwrap();
        }
    }
    assert!(text.is_empty(), "\n{text}");
}

#[test]
fn in_a_nested_namespace_nothing_is_needed_either() {
    let (machine, scenario) = rich::machine();
    let namespace = "proc/self/ns/pid";
    std::fs::remove_file(machine.folder().at(namespace)).unwrap();
    machine.folder().link(namespace, "pid:[4026532211]");
    machine.add_first_process();
    let wrong = wrong_without_questions(&recorded((machine, scenario)));
    assert!(wrong.is_empty(), "\n{}", report(&wrong));
}

#[test]
fn without_any_answer_there_is_still_a_document() {
    let capture = recorded(rich::machine());
    let nothing = capture.without_matching(|_, _| true);
    assert_eq!(nothing.answer_count(), 0);
    for line in printed(nothing) {
        let document = document(&line);
        json::every_null_has_its_reason(&document);
        assert_eq!(document["devices"], serde_json::json!([]));
        assert_eq!(document["processes"], serde_json::json!([]));
        assert!(document["totals"]["measured_process_vram_bytes"].is_null());
    }
}

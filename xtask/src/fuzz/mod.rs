//! Damaged inputs through the functions that read what comes from outside, without a nightly compiler:
//!
//! ```sh
//! cargo run -p xtask -- fuzz                     # as in .ci/run
//! cargo run -p xtask -- fuzz --runs 200000 --target formats
//! ```
//!
//! Seeds are the files in `fuzz/seeds`, the headers that the GGUF reader is tested with and the captures in `fixtures`;
//! `FIXTURES_DIR` adds GGUF headers. The same numbers
//! give the same inputs on every machine. The targets are those of cargo-fuzz in `fuzz/`.

mod mutate;
mod seeds;
pub mod targets;

use std::fmt::Write as _;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use mutate::Mutator;
use targets::{TARGETS, Target, Verdict};

/// How much, and of what.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Inputs for each target; those that read slowly get a share of it
    #[arg(long, default_value_t = 60_000)]
    pub runs: u64,
    /// Where the generator starts
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only this target; can be given several times
    #[arg(long)]
    pub target: Vec<String>,
}

/// What became of one target's inputs.
#[derive(Debug, Default)]
struct Outcome {
    runs: u64,
    accepted: u64,
    bytes: u64,
    /// Of the first input that failed: its number, what was said, the input.
    failure: Option<(u64, String, Vec<u8>)>,
}

/// Runs the targets and says how many inputs each took; an error where one failed.
pub fn run(options: &Options) -> Result<String> {
    for name in &options.target {
        if !TARGETS.iter().any(|target| target.name == name) {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            bail!("no target named {name}: there are {}", known.join(", "));
        }
    }
    let asked = |target: &&Target| {
        options.target.is_empty() || options.target.iter().any(|name| name == target.name)
    };
    let mut report = String::new();
    let mut failed = Vec::new();
    for target in TARGETS.iter().filter(asked) {
        let seeds = seeds::of(target)?;
        let outcome = quietly(|| of(target, &seeds, options.runs / target.share, options.seed));
        writeln!(
            report,
            "{:<10} {} runs from {} seeds, {} KiB, {} accepted, {} refused",
            target.name,
            outcome.runs,
            seeds.len(),
            outcome.bytes / 1024,
            outcome.accepted,
            outcome.runs - outcome.accepted,
        )?;
        if let Some((number, said, input)) = outcome.failure {
            let file = crate::repository().join(format!(
                "target/fuzz-{}-{}-{number}",
                target.name, options.seed
            ));
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&file, input).with_context(|| format!("writing {}", file.display()))?;
            failed.push(format!(
                "{} failed at input {number} of seed {}: {said}; the input lies in {}",
                target.name,
                options.seed,
                file.display()
            ));
        }
    }
    if failed.is_empty() {
        return Ok(report);
    }
    bail!("{report}{}", failed.join("\n"))
}

fn of(target: &Target, seeds: &[Vec<u8>], runs: u64, seed: u64) -> Outcome {
    let mut outcome = Outcome::default();
    let mut mutator = Mutator::new(seed);
    for number in 0..runs {
        // The seeds themselves come first.
        let whole = usize::try_from(number)
            .ok()
            .and_then(|index| seeds.get(index));
        let input = whole.cloned().unwrap_or_else(|| mutator.next(seeds));
        outcome.runs += 1;
        outcome.bytes += input.len() as u64;
        match panic::catch_unwind(AssertUnwindSafe(|| (target.call)(&input))) {
            Ok(Verdict::Accepted) => outcome.accepted += 1,
            Ok(Verdict::Refused) => {}
            Err(_) => {
                outcome.failure = Some((number, String::new(), input));
                break;
            }
        }
    }
    outcome
}

/// Calls `work` with what panics say put into its outcome instead of being printed.
fn quietly(work: impl FnOnce() -> Outcome) -> Outcome {
    let said = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&said);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut text) = sink.lock() {
            *text = info.to_string();
        }
    }));
    let mut outcome = work();
    panic::set_hook(before);
    if let (Some((_, text, _)), Ok(said)) = (&mut outcome.failure, said.lock()) {
        *text = said.replace('\n', " ");
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_input_is_found_and_kept() {
        fn refuses_threes(input: &[u8]) -> Verdict {
            assert!(!input.contains(&3), "a three");
            Verdict::Accepted
        }
        let target = Target {
            name: "threes",
            share: 1,
            call: refuses_threes,
        };
        let seeds = [vec![0; 64]];
        let outcome = quietly(|| of(&target, &seeds, 100_000, 1));
        let (number, said, input) = outcome.failure.unwrap();
        assert!(
            number > 0 && said.contains("a three") && input.contains(&3),
            "{said}"
        );
    }

    #[test]
    fn every_target_accepts_its_seeds_and_survives_a_few_inputs() {
        for target in TARGETS {
            let seeds = seeds::of(target).unwrap();
            let outcome = of(target, &seeds, seeds.len() as u64 + 30, 7);
            assert!(
                outcome.accepted >= seeds.len() as u64,
                "{}: {outcome:?}",
                target.name
            );
            assert!(outcome.failure.is_none(), "{}", target.name);
        }
    }
}

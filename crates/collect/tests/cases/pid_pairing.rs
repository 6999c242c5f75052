//! `pid-pairing`: samples of a container in, pairs of process numbers out; and histories with the truth about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use collect::pairing::{
    Candidate, Listed, Local, ORPHAN_GRACE, Outcome, Pair, Pairing, Sample, WINDOW_US,
};
use model::{MatchReason, PidMark};
use serde::Deserialize;

/// Start times may lie before the files' zero.
const ORIGIN_US: f64 = 1e12;

/// What the sure pairs of histories must reach. Another implementation of the rules reached 97.2 % and 97.9 % on the
/// histories here, and 98.2 % and 96.5 % on many more; each figure is the lower of the two less 1.5 points.
const LEAST_RIGHT: [(MatchReason, f64); 2] =
    [(MatchReason::Count, 95.7), (MatchReason::Start, 95.0)];

/// Of all pairs at least this share must be sure, or caution was bought with blindness.
const LEAST_SURE: f64 = 70.0;

#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    params: Option<Params>,
    samples: Vec<CaseSample>,
}

#[derive(Deserialize)]
struct Params {
    window_s: f64,
    orphan_grace_samples: u32,
}

#[derive(Deserialize)]
struct History {
    id: String,
    samples: Vec<CaseSample>,
    /// Host number to local number; null for a process outside the container.
    truth: BTreeMap<u32, Option<u32>>,
}

#[derive(Deserialize)]
struct CaseSample {
    t: f64,
    #[serde(default)]
    init_ns: bool,
    nvml: Vec<CaseListed>,
    local: Vec<CaseLocal>,
    #[serde(default)]
    expect: Option<Expected>,
}

#[derive(Deserialize)]
struct CaseListed {
    pid: u32,
    kind: String,
}

#[derive(Deserialize)]
struct CaseLocal {
    pid: u32,
    start: f64,
    cuda: Option<bool>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Expected {
    mode: String,
    pairs: Vec<ExpectedPair>,
    host_rows: Vec<u32>,
    local_null: Vec<u32>,
}

#[derive(Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(deny_unknown_fields)]
struct ExpectedPair {
    host: u32,
    pid: u32,
    mark: String,
    why: String,
}

/// Runs one case.
pub(crate) fn run(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let case: Case = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(params) = &case.params
        && (micros(params.window_s) != WINDOW_US || params.orphan_grace_samples != ORPHAN_GRACE)
    {
        return Err("it is meant for another window or grace".to_owned());
    }
    let mut pairing = Pairing::default();
    for given in &case.samples {
        let outcome = pairing.step(&sample(given)?);
        if let Some(expected) = &given.expect {
            let (found, expected) = (printed(&outcome), normalized(expected));
            if found != expected {
                return Err(format!(
                    "at {} s: expected {expected:?}\nfound {found:?}",
                    given.t
                ));
            }
        }
    }
    Ok(())
}

/// Runs every history of a file, checks what must always hold, and says how many pairs were right.
pub(crate) fn run_histories(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let mut score = Score::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let history: History = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let mut watched = Watched::default();
        for given in &history.samples {
            let outcome = watched
                .step(&sample(given)?)
                .map_err(|problem| format!("{} at {} s: {problem}", history.id, given.t))?;
            for pair in &outcome.pairs {
                let truth = history.truth.get(&pair.host);
                score.count(pair, truth == Some(&Some(pair.local.pid)));
            }
        }
    }
    let said = format!("{}: {score}\n", file.display());
    let _ = std::io::stderr().write_all(said.as_bytes());
    score.verdict()
}

/// A pairing with its previous outcome, to see what must hold from one sample to the next.
#[derive(Default)]
struct Watched {
    pairing: Pairing,
    sure: Vec<Pair>,
}

impl Watched {
    fn step(&mut self, sample: &Sample) -> Result<Outcome, String> {
        let mut reversed = sample.clone();
        reversed.listed.reverse();
        reversed.local.reverse();
        let from_reversed = self.pairing.clone().step(&reversed);
        let trusted = self.pairing.trusts_counts();
        let outcome = self.pairing.step(sample);
        if from_reversed != outcome {
            return Err("the order of the input matters".to_owned());
        }
        complete(sample, &outcome)?;
        let listed: BTreeSet<u32> = sample.listed.iter().map(|listed| listed.pid).collect();
        let live: BTreeSet<Local> = sample.local.iter().map(|local| local.local).collect();
        let is_contradiction = trusted && !self.pairing.trusts_counts();
        for pair in &self.sure {
            let both_live = listed.contains(&pair.host) && live.contains(&pair.local);
            if both_live && !is_contradiction && !outcome.pairs.contains(pair) {
                return Err(format!("{pair:?} was sure and is lost"));
            }
        }
        let is_sure = |pair: &&Pair| pair.mark() == PidMark::Sure;
        self.sure = outcome.pairs.iter().filter(is_sure).copied().collect();
        if self.pairing.trusts_order() && !self.sure.is_sorted_by_key(|pair| pair.local) {
            return Err(format!("out of order without a wrap: {:?}", self.sure));
        }
        Ok(outcome)
    }
}

/// Every listed process has one row, every candidate is paired or without memory, nobody is in two places.
fn complete(sample: &Sample, outcome: &Outcome) -> Result<(), String> {
    let paired = outcome.pairs.iter().map(|pair| pair.host);
    let mut rows: Vec<u32> = paired.chain(outcome.host_rows.iter().copied()).collect();
    rows.sort_unstable();
    let listed: BTreeSet<u32> = sample.listed.iter().map(|listed| listed.pid).collect();
    if rows != Vec::from_iter(listed) {
        return Err(format!("rows {rows:?} are not the listed processes"));
    }
    let paired = outcome.pairs.iter().map(|pair| pair.local);
    let locals: Vec<Local> = paired.chain(outcome.local_null.iter().copied()).collect();
    if locals.iter().collect::<BTreeSet<_>>().len() != locals.len() {
        return Err(format!("somebody is twice in {locals:?}"));
    }
    Ok(())
}

fn micros(seconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the files hold seconds of a few digits"
    )]
    let micros = (seconds * 1e6).round() as u64;
    micros
}

fn sample(given: &CaseSample) -> Result<Sample, String> {
    let since_origin = |seconds: f64| micros(seconds + ORIGIN_US / 1e6);
    let listed = given.nvml.iter().map(|listed| {
        let compute = match listed.kind.as_str() {
            "compute" | "C" | "compute+graphics" | "C+G" => true,
            "graphics" | "G" => false,
            other => return Err(format!("kind {other}?")),
        };
        let pid = listed.pid;
        Ok(Listed { pid, compute })
    });
    let local = given.local.iter().map(|local| Candidate {
        local: Local {
            start: since_origin(local.start),
            pid: local.pid,
        },
        cuda: local.cuda,
    });
    Ok(Sample {
        lists_missing: false,
        now_us: since_origin(given.t),
        initial_namespace: given.init_ns,
        listed: listed.collect::<Result<_, _>>()?,
        local: local.collect(),
    })
}

/// An outcome as the cases spell it.
fn printed(outcome: &Outcome) -> Expected {
    let pairs = outcome.pairs.iter().map(|pair| ExpectedPair {
        host: pair.host,
        pid: pair.local.pid,
        mark: match pair.mark() {
            PidMark::Sure => "*".to_owned(),
            PidMark::Guess => "?".to_owned(),
        },
        why: pair.why.code().to_owned(),
    });
    normalized(&Expected {
        mode: outcome.mode.id().to_owned(),
        pairs: pairs.collect(),
        host_rows: outcome.host_rows.clone(),
        local_null: outcome.local_null.iter().map(|local| local.pid).collect(),
    })
}

/// In one order, and with one spelling of reasons: hyphens are taken for underscores.
fn normalized(expected: &Expected) -> Expected {
    let sorted = |numbers: &[u32]| {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers
    };
    let mut pairs: Vec<ExpectedPair> = (expected.pairs.iter())
        .map(|pair| ExpectedPair {
            host: pair.host,
            pid: pair.pid,
            mark: pair.mark.clone(),
            why: pair.why.replace('-', "_"),
        })
        .collect();
    pairs.sort_unstable();
    Expected {
        mode: expected.mode.clone(),
        pairs,
        host_rows: sorted(&expected.host_rows),
        local_null: sorted(&expected.local_null),
    }
}

/// Right and all pairs, by reason.
#[derive(Default)]
struct Score(BTreeMap<MatchReason, (u32, u32)>);

impl Score {
    fn count(&mut self, pair: &Pair, is_right: bool) {
        let (right, all) = self.0.entry(pair.why).or_default();
        *right += u32::from(is_right);
        *all += 1;
    }

    /// Right and all pairs of these reasons.
    fn of(&self, counts: impl Fn(MatchReason) -> bool) -> (u32, u32) {
        let chosen = self.0.iter().filter(|(why, _)| counts(**why));
        chosen.fold((0, 0), |(right, all), (_, (r, a))| (right + r, all + a))
    }

    fn sure_percent(&self) -> f64 {
        percent(
            self.of(|why| why.mark() == PidMark::Sure).1,
            self.of(|_| true).1,
        )
    }

    fn verdict(&self) -> Result<(), String> {
        for (why, least) in LEAST_RIGHT {
            let (right, all) = self.of(|of| of == why);
            if percent(right, all) < least {
                return Err(format!("{self}: less than {least} % right by {why:?}"));
            }
        }
        if self.sure_percent() < LEAST_SURE {
            return Err(format!("{self}: less than {LEAST_SURE} % sure"));
        }
        Ok(())
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (why, (right, all)) in &self.0 {
            let code = why.code();
            write!(f, "{code} {:.1} % of {all}, ", percent(*right, *all))?;
        }
        let (right, all) = self.of(|why| why.mark() == PidMark::Guess);
        let guesses = percent(right, all);
        write!(
            f,
            "guesses {guesses:.1} % of {all}; sure {:.1} %",
            self.sure_percent()
        )
    }
}

fn percent(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        return 100.0;
    }
    100.0 * f64::from(part) / f64::from(whole)
}

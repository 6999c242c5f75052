//! What must hold after every sample, whatever happens on the machine.

mod simulation;

use std::collections::BTreeSet;

use model::PidMark;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use self::simulation::samples;
use model::MatchReason;

use super::{Candidate, Listed, Local, Mode, Outcome, Pair, Pairing, Sample, WINDOW_US};

/// Each sample with the state before it, the outcome and the state after it.
fn watch(samples: &[Sample]) -> Vec<(Pairing, &Sample, Outcome, Pairing)> {
    let mut pairing = Pairing::default();
    let mut steps = Vec::new();
    for sample in samples {
        let before = pairing.clone();
        let outcome = pairing.step(sample);
        steps.push((before, sample, outcome, pairing.clone()));
    }
    steps
}

fn sure(outcome: &Outcome) -> Vec<Pair> {
    let pairs = outcome.pairs.iter().copied();
    pairs.filter(|pair| pair.mark() == PidMark::Sure).collect()
}

proptest! {
    #[test]
    fn everybody_is_in_exactly_one_place(samples in samples()) {
        for (_, sample, outcome, _) in watch(&samples) {
            let mut rows: Vec<u32> = outcome.pairs.iter().map(|pair| pair.host).collect();
            rows.extend(&outcome.host_rows);
            rows.sort_unstable();
            let mut listed: Vec<u32> = sample.listed.iter().map(|l| l.pid).collect();
            listed.sort_unstable();
            prop_assert_eq!(rows, listed);

            let compute = |pid| sample.listed.iter().any(|l| l.pid == pid && l.compute);
            prop_assert!(outcome.pairs.iter().all(|pair| compute(pair.host)));

            let mut locals: Vec<Local> = outcome.pairs.iter().map(|pair| pair.local).collect();
            locals.extend(&outcome.local_null);
            let different: BTreeSet<Local> = locals.iter().copied().collect();
            prop_assert_eq!(different.len(), locals.len());
            let with_cuda = sample.local.iter().filter(|l| l.cuda == Some(true));
            for candidate in with_cuda {
                prop_assert!(different.contains(&candidate.local));
            }
            let live: BTreeSet<Local> = sample.local.iter().map(|l| l.local).collect();
            prop_assert!(different.is_subset(&live));
        }
    }

    #[test]
    fn the_order_of_the_input_changes_nothing(samples in samples(), turn in 0..5_usize) {
        let shuffled: Vec<Sample> = samples
            .iter()
            .cloned()
            .map(|mut sample| {
                let (listed, local) = (sample.listed.len().max(1), sample.local.len().max(1));
                sample.listed.reverse();
                sample.listed.rotate_left(turn % listed);
                sample.local.rotate_right(turn % local);
                // The same process on another device.
                sample.listed.extend(sample.listed.first().copied());
                sample
            })
            .collect();
        for (one, other) in watch(&samples).into_iter().zip(watch(&shuffled)) {
            prop_assert_eq!(one.2, other.2);
            prop_assert_eq!(one.3, other.3);
        }
    }

    #[test]
    fn a_sure_pair_stays_while_both_live(samples in samples()) {
        let mut known: Vec<Pair> = Vec::new();
        for (before, sample, outcome, after) in watch(&samples) {
            let live: BTreeSet<Local> = sample.local.iter().map(|l| l.local).collect();
            known.retain(|pair| live.contains(&pair.local));
            if after.trusts_counts() != before.trusts_counts() {
                known.retain(|pair| pair.why == MatchReason::Start);
            }
            for pair in &known {
                let is_listed = (sample.listed.iter()).any(|l| l.compute && l.pid == pair.host);
                prop_assert_eq!(outcome.pairs.contains(pair), is_listed, "{:?}", pair);
            }
            known.extend(sure(&outcome));
        }
    }

    #[test]
    fn sure_pairs_are_in_order_until_numbers_wrap(samples in samples()) {
        for (_, _, outcome, after) in watch(&samples) {
            // Pairs come by host number.
            prop_assert!(outcome.pairs.is_sorted_by_key(|pair| pair.host));
            if after.trusts_order() {
                prop_assert!(sure(&outcome).is_sorted_by_key(|pair| pair.local));
            }
        }
    }

    #[test]
    fn guesses_rest_on_facts_alone(samples in samples()) {
        for (before, sample, outcome, after) in watch(&samples) {
            // All that is kept, spelled out: a new field has to be looked at here. None holds a guess.
            let Pairing {
                first_us, last_us, seen, mapped, pins, orphans, foreign, count_doubted,
                order_doubted,
            } = before;
            prop_assert!(pins.values().all(|pin| pin.why.mark() == PidMark::Sure));
            let mut rebuilt = Pairing {
                first_us, last_us, seen, mapped, pins, orphans, foreign, count_doubted,
                order_doubted,
            };
            prop_assert_eq!(rebuilt.step(sample), outcome.clone());
            // Asked again, with its own guesses just made, it guesses the same or has a reason to be sure.
            let mut again = after.clone();
            let repeated = again.step(sample);
            if again.pins == after.pins {
                prop_assert_eq!(repeated, outcome);
            }
        }
    }

    #[test]
    fn an_equal_number_never_matters(samples in samples()) {
        // Host numbers far from all local ones, in the same order.
        let elsewhere = |host: u32| host * 3 + 1_000_000;
        let moved: Vec<Sample> = samples
            .iter()
            .cloned()
            .map(|mut sample| {
                for listed in &mut sample.listed {
                    listed.pid = elsewhere(listed.pid);
                }
                sample
            })
            .collect();
        for (one, other) in watch(&samples).into_iter().zip(watch(&moved)) {
            let (mut expected, found) = (one.2, other.2);
            for pair in &mut expected.pairs {
                pair.host = elsewhere(pair.host);
            }
            for host in &mut expected.host_rows {
                *host = elsewhere(*host);
            }
            prop_assert_eq!(expected, found);
        }
    }

    #[test]
    fn nothing_becomes_sure_while_something_is_unreadable(samples in samples()) {
        for (before, sample, outcome, after) in watch(&samples) {
            if sample.local.iter().any(|local| local.cuda.is_none()) {
                for (host, pin) in &after.pins {
                    prop_assert_eq!(before.pins.get(host), Some(pin));
                }
                let is_known = |pair: &Pair| before.pins.contains_key(&pair.host);
                prop_assert!(sure(&outcome).iter().all(is_known));
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_by_what_is_there(samples in samples()) {
        for (_, sample, _, after) in watch(&samples) {
            let live: BTreeSet<Local> = sample.local.iter().map(|l| l.local).collect();
            prop_assert!(after.mapped.keys().all(|local| live.contains(local)));
            let is_there = |host: &u32| {
                let is_dormant = after.pins.get(host).is_some_and(|p| live.contains(&p.local));
                is_dormant || sample.listed.iter().any(|l| l.pid == *host)
            };
            prop_assert!(after.pins.keys().chain(after.seen.keys()).all(is_there));
            prop_assert!(after.orphans.keys().all(|host| after.pins.contains_key(host)));
        }
    }
}

/// A property proves nothing about what the simulation never does.
#[test]
fn the_simulation_reaches_every_rule() {
    let mut runner = TestRunner::deterministic();
    let (mut whys, mut dormant, mut held) = (BTreeSet::new(), 0, 0);
    for _ in 0..2000 {
        let samples = samples().new_tree(&mut runner).unwrap().current();
        for (_, sample, outcome, after) in watch(&samples) {
            whys.extend(outcome.pairs.iter().map(|pair| pair.why));
            let is_listed = |host: &u32| sample.listed.iter().any(|l| l.pid == *host);
            dormant += after.pins.keys().filter(|host| !is_listed(host)).count();
            held += after.orphans.len();
        }
    }
    assert_eq!(whys.len(), 8, "{whys:?}");
    assert!(dormant > 0 && held > 0);
}

fn local(start: u64) -> Local {
    let pid = u32::try_from(start).unwrap();
    Local { start, pid }
}

/// A sample at a second, with compute processes and candidates.
fn at(second: u64, hosts: &[u32], locals: &[u64]) -> Sample {
    let listed = hosts.iter().map(|pid| Listed {
        pid: *pid,
        compute: true,
    });
    let candidates = locals.iter().map(|start| Candidate {
        local: local(*start),
        cuda: Some(true),
    });
    Sample {
        lists_missing: false,
        now_us: second * 1_000_000,
        initial_namespace: false,
        listed: listed.collect(),
        local: candidates.collect(),
    }
}

#[test]
fn the_initial_namespace_has_nothing_to_pair() {
    let mut sample = at(1, &[7], &[7]);
    sample.initial_namespace = true;
    let mut pairing = Pairing::default();
    assert_eq!(pairing.step(&sample).mode, Mode::Identity);
    assert_eq!(pairing, Pairing::default());
}

#[test]
fn the_same_list_again_does_not_age_an_orphan() {
    let mut pairing = Pairing::default();
    pairing.step(&at(1, &[50, 60], &[3, 4]));
    for _ in 0..10 {
        let outcome = pairing.step(&at(2, &[50, 60], &[4]));
        assert_eq!(outcome.host_rows, [50]);
    }
    assert!(pairing.trusts_counts());
    pairing.step(&at(3, &[50, 60], &[4]));
    assert!(pairing.trusts_counts());
    pairing.step(&at(4, &[50, 60], &[4]));
    assert!(!pairing.trusts_counts());
}

#[test]
fn the_window_includes_its_end() {
    for (late_us, why) in [(0, MatchReason::Start), (1, MatchReason::Late)] {
        let mut pairing = Pairing::default();
        pairing.step(&at(1, &[], &[]));
        pairing.step(&at(2, &[], &[9]));
        let mut sample = at(2, &[70], &[9]);
        sample.now_us += WINDOW_US + late_us;
        let outcome = pairing.step(&sample);
        assert_eq!(outcome.pairs.first().map(|pair| pair.why), Some(why));
    }
}

#[test]
fn hundreds_on_both_sides_are_paired() {
    let hosts: Vec<u32> = (1..=501).collect();
    let locals: Vec<u64> = (1..=500).collect();
    let mut pairing = Pairing::default();
    pairing.step(&at(1, &[], &[]));
    // One more than there are candidates: nothing is certain, all has to be guessed.
    let outcome = pairing.step(&at(2, &hosts, &locals));
    assert_eq!(outcome.pairs.len(), 500);
    assert_eq!(outcome.host_rows, [1]);
    // The stranger ends, and each has one place only.
    let outcome = pairing.step(&at(3, &hosts[1..], &locals));
    assert!(outcome.host_rows.is_empty());
    assert!(
        outcome
            .pairs
            .iter()
            .all(|pair| pair.why == MatchReason::Start)
    );
    assert_eq!(outcome.pairs.len(), 500);
}

#[test]
fn codes_are_for_a_parser() {
    let whys = [
        MatchReason::Count,
        MatchReason::Start,
        MatchReason::Unreadable,
        MatchReason::Distrust,
        MatchReason::OrderUntrusted,
        MatchReason::MoreHost,
        MatchReason::MoreLocal,
        MatchReason::Late,
    ];
    let codes: BTreeSet<&str> = whys.iter().map(|why| why.code()).collect();
    assert_eq!(codes.len(), whys.len());
    let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
    assert!(codes.iter().all(|code| code.chars().all(is_plain)));
    for why in whys {
        let is_guess = why.basis() == model::InferenceBasis::Order;
        assert_eq!(why.mark() == PidMark::Guess, is_guess);
    }
}

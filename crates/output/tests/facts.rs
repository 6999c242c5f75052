//! What a report says of a device and what it leaves out.
#![expect(clippy::panic, reason = "helpers of tests fail by panicking")]

use model::{
    Estimated, Gap, Measured, Method, Percent, Provenance, Reading, Snapshot, Source, sample,
};
use output::{format, json, text};

const FROM: Provenance = Provenance {
    source: Source::Sysfs,
    counter: "a test's",
    at: sample::AT,
};

fn missing<T>(gap: Gap) -> Reading<Measured<T>> {
    Reading::missing(gap, FROM)
}

fn report(change: impl FnOnce(&mut model::Device)) -> String {
    let mut snapshot = sample::radeon();
    let Some(card) = snapshot.devices.first_mut() else {
        panic!("the sample has a card");
    };
    change(card);
    text::report(&snapshot, text::WIDTH)
}

#[test]
fn every_text_can_be_written_in_ascii_without_losing_a_sign_of_ours() {
    let of = |snapshot: &Snapshot| {
        [
            text::report(snapshot, text::WIDTH),
            text::list_gpus(snapshot),
            text::no_gpu(snapshot),
        ]
    };
    for (name, snapshot) in sample::all() {
        for text in of(&snapshot) {
            let ascii = format::to_ascii(&text);
            assert!(ascii.is_ascii(), "{name}\n{ascii}");
            assert_eq!(ascii.lines().count(), text.lines().count(), "{name}");
            for sign in text.chars().filter(|c| !c.is_ascii() && name != "hostile") {
                assert!(format::likeness(sign).is_some(), "{sign:?} in {name}");
            }
        }
    }
}

#[test]
fn a_driver_family_is_not_blamed_for_what_it_cannot_have() {
    let cannot = report(|card| {
        card.performance_state = missing(Gap::NoCounter);
        (card.pcie_rx, card.pcie_tx) = (missing(Gap::NoCounter), missing(Gap::NoCounter));
        card.memory.reserved = missing(Gap::NoCounter);
    });
    for words in ["encoder", "state", "received", "sent", "reserved", "uuid"] {
        let head = cannot.split("notes").next().unwrap_or("");
        let head = head.split("GPU 1 ").next().unwrap_or("");
        assert!(!head.contains(words), "{words}\n{cannot}");
    }
    // What did not answer is said to be missing, with the reason.
    let silent = report(|card| card.encoder = missing(Gap::TimedOut));
    assert!(
        silent.contains("encoder n/a") && silent.contains("(timed_out)"),
        "{silent}"
    );
}

#[test]
fn nothing_is_said_to_be_a_part_of_what_is_not_known() {
    let limit = report(|card| card.power_limit = missing(Gap::NotSupported));
    assert!(limit.contains("power 286 W (limit n/a)"), "{limit}");
    let power = report(|card| card.power = missing(Gap::NotSupported));
    assert!(power.contains("power n/a (limit 320 W)"), "{power}");
    let total = report(|card| card.memory.total = missing(Gap::NotSupported));
    for text in [&limit, &power, &total] {
        assert!(
            !text.contains("of n/a") && !text.contains("n/a of "),
            "{text}"
        );
    }
}

#[test]
fn a_fan_in_turns_and_free_memory_without_a_counter_are_told() {
    let text = report(|card| {
        card.fan = missing(Gap::NoCounter);
        card.memory.free = missing(Gap::NoCounter);
    });
    assert!(text.contains("fan 1120 rpm"), "{text}");
    assert_eq!(text.matches("rpm").count(), 1, "{text}");
    assert!(text.contains("free ~13.2 GiB"), "{text}");
}

#[test]
fn a_bound_of_nothing_is_n_a_with_its_reason_and_engines_are_in_the_order_of_numbers() {
    let load = |low: f64| {
        Reading::Known(Estimated {
            low: Percent(low),
            high: Percent(100.0),
            method: Method::Derived,
            from: FROM,
        })
    };
    let text = report(|card| {
        card.visible_loads = [("e1", 4.0), ("e10", 0.0), ("e2", 7.0)]
            .map(|(name, low)| (name.into(), load(low)))
            .to_vec();
    });
    assert!(
        text.contains("engines   e1 >=4%  e2 >=7%  e10 n/a"),
        "{text}"
    );
    assert!(
        text.contains("load of engines") && text.contains("(input_missing)"),
        "{text}"
    );
    for (name, snapshot) in sample::all() {
        let text = text::report(&snapshot, text::WIDTH);
        assert!(
            !text.contains(">=0 ") && !text.contains(">=0%"),
            "{name}\n{text}"
        );
    }
}

#[test]
fn json_names_every_reading_that_the_report_leaves_out() {
    let document = json::to_line(&sample::radeon());
    for key in ["encoder_pct", "decoder_pct", "uuid"] {
        assert!(document.contains(key), "{key}");
    }
    assert!(document.contains("no_counter") && document.contains("not_applicable"));
}

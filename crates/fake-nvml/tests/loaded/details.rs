use fake_nvml::{Device, Ecc, Generation, Link, Scenario, Value};

use crate::ffi::{Loaded, touched, u32_at};

fn started(generation: Generation, card: Device) -> Loaded {
    Loaded::started(generation, &Scenario::empty().with_device(card))
}

#[test]
fn errors_are_told_by_type_and_counter_while_ecc_is_on() {
    let ecc = Ecc {
        pending: Some(0.into()),
        volatile_corrected: 5.into(),
        volatile_uncorrected: 6.into(),
        aggregate_corrected: 7_000_000_000.into(),
        aggregate_uncorrected: 8.into(),
        ..Ecc::on()
    };
    for generation in Generation::ALL {
        let with = |ecc| Device {
            ecc,
            ..Device::default()
        };
        let loaded = started(generation, with(ecc.clone()));
        let card = loaded.handle(0);
        assert_eq!(loaded.pair("nvmlDeviceGetEccMode", card), Ok((1, 0)));
        let errors = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)]
            .map(|(error, counter)| loaded.ecc_errors(card, error, counter));
        let expected = [Ok(5), Ok(6), Ok(7_000_000_000), Ok(8), Err(2), Err(2)];
        assert_eq!(errors, expected);
        for (mode, code) in [
            (Value::Number(0), Ok((0, 0))),
            (Value::NOT_AVAILABLE, Err(3)),
        ] {
            let off = Ecc {
                mode,
                ..Ecc::default()
            };
            let loaded = started(generation, with(off));
            let card = loaded.handle(0);
            assert_eq!(loaded.pair("nvmlDeviceGetEccMode", card), code);
            assert_eq!(loaded.ecc_errors(card, 0, 0), Err(3));
        }
    }
}

#[test]
fn retired_pages_that_do_not_fit_tell_their_count() {
    let card = Device {
        retired_pages_single_bit: 2.into(),
        retired_pages_double_bit: 0.into(),
        retired_pages_pending: 1.into(),
        ..Device::default()
    };
    let loaded = started(Generation::R390, card);
    let card = loaded.handle(0);
    assert_eq!(loaded.retired_pages(card, 0, 0), (7, 2));
    assert_eq!(loaded.retired_pages(card, 0, 8), (0, 2));
    assert_eq!(loaded.retired_pages(card, 1, 0), (0, 0));
    assert_eq!(loaded.retired_pages(card, 2, 8).0, 2);
    let pending = loaded.u32("nvmlDeviceGetRetiredPagesPendingStatus", card);
    assert_eq!(pending, Ok(1));
    let without = started(Generation::R390, Device::default());
    assert_eq!(without.retired_pages(without.handle(0), 0, 8).0, 3);
}

#[test]
fn remapped_rows_are_four_figures_and_not_of_a_card_in_mig_mode() {
    let loaded = Loaded::started(Generation::R470, &Scenario::servers());
    assert_eq!(loaded.remapped_rows(loaded.handle(0)), Ok([0; 4]));
    assert_eq!(loaded.remapped_rows(loaded.handle(7)), Err(3));
    let card = Device {
        remapped_rows_correctable: 1.into(),
        remapped_rows_uncorrectable: 2.into(),
        remapped_rows_pending: 1.into(),
        remapped_rows_failed: 0.into(),
        ..Device::default()
    };
    let loaded = started(Generation::R580, card);
    assert_eq!(loaded.remapped_rows(loaded.handle(0)), Ok([1, 2, 1, 0]));
}

#[test]
fn links_have_a_state_a_version_and_another_end() {
    let down = Link {
        version: Value::NOT_AVAILABLE,
        ..Link::default()
    };
    let card = Device {
        nvlinks: vec![Link::to("0001:C5:00.0"), down],
        ..Device::default()
    };
    for generation in Generation::ALL {
        let loaded = started(generation, card.clone());
        let gpu = loaded.handle(0);
        let ask = |name, link| loaded.chosen(name, gpu, link);
        let states = [0, 1, 2].map(|link| ask("nvmlDeviceGetNvLinkState", link));
        assert_eq!(states, [Ok(1), Ok(0), Err(2)]);
        let versions = [0, 1, 2].map(|link| ask("nvmlDeviceGetNvLinkVersion", link));
        assert_eq!(versions, [Ok(6), Err(3), Err(2)]);
        for (name, length) in [
            ("nvmlDeviceGetNvLinkRemotePciInfo", 36),
            ("nvmlDeviceGetNvLinkRemotePciInfo_v2", 68),
        ] {
            let remote = loaded.link_remote(name, gpu, 0).unwrap();
            assert_eq!(&remote[..12], b"0001:C5:00.0");
            assert_eq!((u32_at(&remote, 16), u32_at(&remote, 20)), (1, 0xC5));
            let end = touched(&remote).last().map(|(_, end)| *end);
            assert_eq!(end, Some(length), "{name}");
            assert_eq!(loaded.link_remote(name, gpu, 1), Err(3));
            assert_eq!(loaded.link_remote(name, gpu, 2), Err(2));
        }
        let without = started(generation, Device::default());
        let gpu = without.handle(0);
        assert_eq!(without.chosen("nvmlDeviceGetNvLinkState", gpu, 0), Err(3));
    }
}

#[test]
fn event_reasons_have_two_names_and_every_bit() {
    let card = Device {
        clocks_event_reasons: 0x8000_0000_0000_0600.into(),
        clocks_event_reasons_supported: 0x7FF.into(),
        ..Device::default()
    };
    let loaded = started(Generation::R535, card);
    let gpu = loaded.handle(0);
    for (kind, expected) in [("Current", 0x8000_0000_0000_0600_u64), ("Supported", 0x7FF)] {
        for of in ["Event", "Throttle"] {
            let name = format!("nvmlDeviceGet{kind}Clocks{of}Reasons");
            let mask = loaded.structure(&name, gpu, &[]).unwrap();
            assert_eq!(mask[..8], expected.to_ne_bytes(), "{name}");
        }
    }
}

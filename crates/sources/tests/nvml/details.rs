//! Modes, errors and links, and the samples of all engines, by generation.

use fake_nvml::{Code, Device, Ecc, Fault, Generation, Kind, Link, Process, Scenario};
use model::Gap;
use raw::nvml::{CallAnswer, DeviceCall, Groups, LinkRow, NvmlSweep, Output, SampleRow, code};

use super::{Rig, answer, asking, first_sweep, machine, numbers, sweep};

fn of(sweep: &NvmlSweep, call: DeviceCall) -> CallAnswer {
    answer(sweep, 0, call).unwrap()
}

fn samples(answer: &CallAnswer) -> &[SampleRow] {
    match &answer.out {
        Output::Samples(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn server() -> Device {
    Device {
        clocks_event_reasons: 0x604.into(),
        clocks_event_reasons_supported: 0x7FF.into(),
        energy: 5_000_000_000_000.into(),
        persistence_mode: 1.into(),
        compute_mode: 3.into(),
        ecc: Ecc {
            pending: Some(0.into()),
            volatile_corrected: 1.into(),
            volatile_uncorrected: 2.into(),
            aggregate_corrected: 3.into(),
            aggregate_uncorrected: 6_000_000_000.into(),
            ..Ecc::on()
        },
        retired_pages_single_bit: 4.into(),
        retired_pages_double_bit: 0.into(),
        retired_pages_pending: 1.into(),
        remapped_rows_correctable: 7.into(),
        remapped_rows_uncorrectable: 8.into(),
        remapped_rows_pending: 1.into(),
        remapped_rows_failed: 0.into(),
        utilization_jpeg: 9.into(),
        utilization_ofa: 10.into(),
        vbios_version: "96.00.74.00.01".to_owned(),
        board_part_number: Some("692-2G520".to_owned()),
        nvlinks: vec![Link::to("0001:C5:00.0"), Link::default()],
        ..Device::new("NVIDIA A100")
    }
}

#[test]
fn every_generation_tells_what_it_has_a_call_for() {
    for generation in Generation::ALL {
        let scenario = Scenario::empty().with_device(server());
        let sweep = first_sweep(&Rig::new(generation, &scenario));
        let newer = generation >= Generation::R535;
        for (call, mask) in [
            (DeviceCall::ClocksEventReasons, 0x604),
            (DeviceCall::SupportedClocksEventReasons, 0x7FF),
        ] {
            let reasons = of(&sweep, call);
            assert_eq!(numbers(&reasons), [mask]);
            assert_eq!(reasons.sym, if newer { 2 } else { 1 }, "{generation:?}");
        }
        for (call, percent) in [
            (DeviceCall::JpgUtilization, 9),
            (DeviceCall::OfaUtilization, 10),
        ] {
            let load = of(&sweep, call);
            if newer {
                assert_eq!(numbers(&load)[0], percent);
            } else {
                assert_eq!((load.rc, load.sym), (code::FUNCTION_NOT_FOUND, 0));
            }
        }
        for (call, expected) in [
            (DeviceCall::TotalEnergy, &[5_000_000_000_000][..]),
            (DeviceCall::EccMode, &[1, 0]),
            (DeviceCall::EccVolatileCorrected, &[1]),
            (DeviceCall::EccVolatileUncorrected, &[2]),
            (DeviceCall::EccAggregateCorrected, &[3]),
            (DeviceCall::EccAggregateUncorrected, &[6_000_000_000]),
        ] {
            assert_eq!(numbers(&of(&sweep, call)), expected, "{call}");
        }
        for (call, expected) in [
            (DeviceCall::PersistenceMode, 1),
            (DeviceCall::ComputeMode, 3),
            (DeviceCall::RetiredPagesSingleBit, 4),
            (DeviceCall::RetiredPagesDoubleBit, 0),
            (DeviceCall::RetiredPagesPending, 1),
        ] {
            assert_eq!(of(&sweep, call).out, Output::Number(expected), "{call}");
        }
        let rows = of(&sweep, DeviceCall::RemappedRows);
        if generation == Generation::R390 {
            assert_eq!((rows.rc, rows.sym), (code::FUNCTION_NOT_FOUND, 0));
        } else {
            assert_eq!(numbers(&rows), [7, 8, 1, 0]);
        }
        for (call, text) in [
            (DeviceCall::VbiosVersion, "96.00.74.00.01"),
            (DeviceCall::BoardPartNumber, "692-2G520"),
        ] {
            assert_eq!(of(&sweep, call).out, Output::Text(text.into()));
        }
        let links = [
            LinkRow {
                link: 0,
                state: (0, 1),
                version: (0, 6),
                remote: Some((0, "00000001:C5:00.0".into())),
            },
            LinkRow {
                link: 1,
                state: (0, 0),
                version: (0, 6),
                remote: None,
            },
        ];
        assert_eq!(
            of(&sweep, DeviceCall::NvLinks).out,
            Output::Links(links.to_vec())
        );
    }
}

#[test]
fn a_card_without_links_is_asked_for_one_and_one_with_endless_links_for_36() {
    let rig = Rig::new(Generation::R580, &Scenario::idle());
    let none = of(&first_sweep(&rig), DeviceCall::NvLinks);
    assert_eq!((none.rc, none.out), (code::NOT_SUPPORTED, Output::Nothing));
    let endless = Device {
        nvlinks: vec![Link::to("0000:C5:00.0"); 50],
        ..Device::default()
    };
    let rig = Rig::new(Generation::R580, &Scenario::empty().with_device(endless));
    match of(&first_sweep(&rig), DeviceCall::NvLinks).out {
        Output::Links(rows) => assert_eq!(rows.len(), 36),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_that_refuses_keeps_its_place_and_its_code() {
    let refusing = Link {
        state: fake_nvml::Value::NOT_AVAILABLE,
        ..Link::default()
    };
    let silent = Link {
        version: Code::UNKNOWN.into(),
        remote: String::new(),
        ..Link::to("")
    };
    let card = Device {
        nvlinks: vec![silent, refusing, Link::default()],
        ..Device::default()
    };
    let rig = Rig::new(Generation::R580, &Scenario::empty().with_device(card));
    match of(&first_sweep(&rig), DeviceCall::NvLinks).out {
        Output::Links(rows) => {
            let states: Vec<_> = rows.iter().map(|row| row.state.0).collect();
            assert_eq!(states, [0, code::NOT_SUPPORTED, 0]);
            assert_eq!(rows[0].version.0, Code::UNKNOWN.0);
            assert_eq!(rows[0].remote, Some((code::NOT_SUPPORTED, "".into())));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_call_of_the_details_fails_on_its_own() {
    for name in [
        "nvmlDeviceGetTotalEccErrors",
        "nvmlDeviceGetEccMode",
        "nvmlDeviceGetRetiredPages",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetComputeMode",
        "nvmlDeviceGetCurrentClocksEventReasons",
    ] {
        let scenario = Scenario::empty()
            .with_device(server())
            .with_fault(Fault::returning(name, Code::NO_PERMISSION));
        let sweep = first_sweep(&Rig::new(Generation::R580, &scenario));
        let short = name.trim_start_matches("nvmlDevice");
        for (call, answer) in &sweep.devices[0].calls {
            let Ok(answer) = answer else { continue };
            let refused = answer.value.rc == code::NO_PERMISSION;
            let own = call.name() == short || call.name().starts_with(&format!("{short}."));
            assert_eq!(refused, own, "{call} without {name}");
        }
    }
}

fn busy() -> Scenario {
    let mut process = Process::new(71, Kind::Compute, 1 << 30).busy(40, 20);
    if let Some(sample) = &mut process.sample {
        (sample.jpeg, sample.ofa) = (11.into(), 12.into());
    }
    Scenario::empty().with_device(Device::default().with_process(process))
}

#[test]
fn samples_of_all_engines_where_the_newer_call_answers() {
    for generation in Generation::ALL {
        let sweep = first_sweep(&Rig::new(generation, &busy()));
        let newer = answer(&sweep, 0, DeviceCall::ProcessesUtilization).unwrap();
        let older = answer(&sweep, 0, DeviceCall::ProcessUtilization);
        if generation >= Generation::R535 {
            let row = samples(&newer)[0];
            assert_eq!((row.pid, row.sm, row.mem), (71, 40, 20));
            assert_eq!((row.jpg, row.ofa), (Some(11), Some(12)));
            assert_eq!(older, Err(Gap::NotApplicable), "one call is enough");
        } else {
            assert_eq!((newer.rc, newer.sym), (code::FUNCTION_NOT_FOUND, 0));
            let row = samples(older.as_ref().unwrap())[0];
            assert_eq!((row.pid, row.sm, row.jpg, row.ofa), (71, 40, None, None));
        }
    }
}

#[test]
fn the_older_call_is_asked_where_the_newer_one_is_refused() {
    for refusal in [
        Code::NOT_SUPPORTED,
        Code::ARGUMENT_VERSION_MISMATCH,
        Code::FUNCTION_NOT_FOUND,
        Code::UNKNOWN,
    ] {
        let name = "nvmlDeviceGetProcessesUtilizationInfo";
        let scenario = busy().with_fault(Fault::returning(name, refusal));
        let sweep = first_sweep(&Rig::new(Generation::R580, &scenario));
        let newer = answer(&sweep, 0, DeviceCall::ProcessesUtilization).unwrap();
        assert_eq!(newer.rc, refusal.0);
        let older = answer(&sweep, 0, DeviceCall::ProcessUtilization).unwrap();
        assert_eq!(samples(&older)[0].sm, 40);
    }
}

#[test]
fn more_samples_than_there_is_room_for_at_first_are_read_whole() {
    let scenario = (0..300).fold(Device::default(), |device, n| {
        device.with_process(Process::new(1000 + n, Kind::Compute, 1 << 20).busy(1, 1))
    });
    let rig = Rig::new(Generation::R580, &Scenario::empty().with_device(scenario));
    let mut machine = machine(&rig);
    for _ in 0..2 {
        let sweep = sweep(&mut machine, &asking(Groups::SAMPLES, &[0]));
        let newer = answer(&sweep, 0, DeviceCall::ProcessesUtilization).unwrap();
        assert_eq!(samples(&newer).len(), 300);
    }
}

use fake_nvml::{Code, Device, Generation, Instance, Mig, Scenario, Value};

use crate::ffi::{Handle, Loaded, touched, u32_at, u64_at};

#[test]
fn versions_are_those_of_the_generation_unless_given() {
    let loaded = Loaded::started(Generation::R535, &Scenario::empty());
    assert_eq!(
        loaded
            .system_text("nvmlSystemGetDriverVersion", 80)
            .unwrap(),
        "535.54.03"
    );
    assert_eq!(
        loaded.system_u32("nvmlSystemGetCudaDriverVersion"),
        Ok(12_020)
    );
    assert_eq!(loaded.system_u32("nvmlDeviceGetCount_v2"), Ok(0));
    let given = Scenario {
        driver_version: Some("535.247.01".to_owned()),
        cuda_version: Some(12_030),
        ..Scenario::empty()
    };
    let loaded = Loaded::started(Generation::R535, &given);
    assert_eq!(
        loaded
            .system_text("nvmlSystemGetDriverVersion", 80)
            .unwrap(),
        "535.247.01"
    );
    assert_eq!(
        loaded.system_u32("nvmlSystemGetCudaDriverVersion_v2"),
        Ok(12_030)
    );
}

#[test]
fn text_that_does_not_fit_is_refused() {
    let loaded = Loaded::started(Generation::R580, &Scenario::empty());
    assert_eq!(loaded.system_text("nvmlSystemGetDriverVersion", 9), Err(7));
    assert_eq!(
        loaded
            .system_text("nvmlSystemGetDriverVersion", 10)
            .unwrap(),
        "580.95.05"
    );
}

#[test]
fn pci_structures_have_the_lengths_of_their_versions() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    let ends = |name| {
        touched(&loaded.structure(name, card, &[]).unwrap())
            .last()
            .unwrap()
            .1
    };
    assert_eq!(ends("nvmlDeviceGetPciInfo"), 32);
    assert_eq!(ends("nvmlDeviceGetPciInfo_v2"), 36);
    assert_eq!(ends("nvmlDeviceGetPciInfo_v3"), 68);
    let bytes = loaded
        .structure("nvmlDeviceGetPciInfo_v3", card, &[])
        .unwrap();
    assert_eq!(&bytes[..12], b"0000:01:00.0");
    assert_eq!(&bytes[36..52], b"00000000:01:00.0");
    assert_eq!(u32_at(&bytes, 28), 0x2704_10DE);
}

#[test]
fn memory_v1_counts_the_reserved_part_as_used() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    let v1 = loaded
        .structure("nvmlDeviceGetMemoryInfo", card, &[])
        .unwrap();
    let v2 = loaded
        .structure("nvmlDeviceGetMemoryInfo_v2", card, &[0x0200_0028])
        .unwrap();
    assert_eq!(touched(&v1), [(0, 24)]);
    assert_eq!(u32_at(&v2, 0), 0x0200_0028);
    assert!(touched(&v2[40..]).is_empty());
    let (total, free, used) = (u64_at(&v1, 0), u64_at(&v1, 8), u64_at(&v1, 16));
    assert_eq!(total, free + used);
    assert_eq!(used, u64_at(&v2, 16) + u64_at(&v2, 32));
    assert_eq!((total, free), (u64_at(&v2, 8), u64_at(&v2, 24)));
}

#[test]
fn a_structure_of_another_version_is_refused() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    for version in [0, 2, 0x0100_0028, 0x0200_0030] {
        assert_eq!(
            loaded.structure("nvmlDeviceGetMemoryInfo_v2", card, &[version]),
            Err(25)
        );
        assert_eq!(
            loaded.structure("nvmlDeviceGetTemperatureV", card, &[version, 0]),
            Err(25)
        );
        assert_eq!(
            loaded.structure("nvmlDeviceGetFanSpeedRPM", card, &[version, 0]),
            Err(25)
        );
    }
}

#[test]
fn versioned_readings_name_the_sensor_and_the_fan() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    let temperature = loaded
        .structure("nvmlDeviceGetTemperatureV", card, &[0x0100_000C, 0])
        .unwrap();
    assert_eq!(u32_at(&temperature, 8), 64);
    assert!(touched(&temperature[12..]).is_empty());
    let fan = |number| loaded.structure("nvmlDeviceGetFanSpeedRPM", card, &[0x0100_000C, number]);
    assert_eq!(u32_at(&fan(1).unwrap(), 8), 1570);
    assert_eq!(fan(2), Err(2));
    assert_eq!(loaded.chosen("nvmlDeviceGetFanSpeed_v2", card, 1), Ok(46));
    assert_eq!(loaded.chosen("nvmlDeviceGetFanSpeed_v2", card, 2), Err(2));
}

#[test]
fn a_card_without_fans_supports_no_fan_call() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let card = loaded.handle(0);
    assert_eq!(loaded.u32("nvmlDeviceGetNumFans", card), Ok(0));
    assert_eq!(loaded.u32("nvmlDeviceGetFanSpeed", card), Err(3));
    assert_eq!(loaded.chosen("nvmlDeviceGetFanSpeed_v2", card, 0), Err(3));
    assert_eq!(
        loaded.structure("nvmlDeviceGetFanSpeedRPM", card, &[0x0100_000C, 0]),
        Err(3)
    );
}

#[test]
fn clocks_thresholds_and_link_are_told_apart_by_number() {
    let loaded = Loaded::started(Generation::R390, &Scenario::workstation());
    let card = loaded.handle(0);
    let clocks = [0, 1, 2, 3, 4].map(|clock| loaded.chosen("nvmlDeviceGetClockInfo", card, clock));
    assert_eq!(clocks, [Ok(2640), Ok(2640), Ok(10_501), Ok(2130), Err(2)]);
    let thresholds =
        [0, 1, 2, 3].map(|kind| loaded.chosen("nvmlDeviceGetTemperatureThreshold", card, kind));
    assert_eq!(thresholds, [Ok(98), Ok(95), Err(3), Ok(90)]);
    let link = [0, 1, 2].map(|way| loaded.chosen("nvmlDeviceGetPcieThroughput", card, way));
    assert_eq!(link, [Ok(412_000), Ok(187_000), Err(2)]);
}

#[test]
fn an_unavailable_figure_leaves_the_callers_memory_alone() {
    let loaded = Loaded::started(Generation::R580, &Scenario::faulty());
    let silent = loaded.handle(2);
    assert_eq!(loaded.u32("nvmlDeviceGetPowerUsage", silent), Err(3));
    assert_eq!(
        loaded.structure("nvmlDeviceGetUtilizationRates", silent, &[]),
        Err(3)
    );
    assert_eq!(loaded.text("nvmlDeviceGetSerial", silent), Err(3));
    assert_eq!(loaded.u32("nvmlDeviceGetFanSpeed", silent), Ok(30));
}

#[test]
fn cycling_values_advance_with_each_call_of_their_function_on_their_device() {
    let mut card = Device::new("cycling");
    card.power_usage = Value::from(vec![100, 200]);
    card.temperature = Value::Cycle(vec![Value::Number(40), Code::UNKNOWN.into()]);
    let scenario = Scenario::empty()
        .with_device(card.clone())
        .with_device(card);
    let loaded = Loaded::started(Generation::R580, &scenario);
    let (first, second) = (loaded.handle(0), loaded.handle(1));
    let power = |card| loaded.u32("nvmlDeviceGetPowerUsage", card).unwrap();
    assert_eq!(
        [power(first), power(first), power(second), power(first)],
        [100, 200, 100, 100]
    );
    let temperature = || loaded.chosen("nvmlDeviceGetTemperature", first, 0);
    assert_eq!(
        [temperature(), temperature(), temperature()],
        [Ok(40), Err(999), Ok(40)]
    );
}

#[test]
fn handles_are_found_by_index_bus_and_uuid() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let second = loaded.handle(1);
    assert_eq!(
        loaded.try_handle("nvmlDeviceGetHandleByIndex", 1),
        Ok(second)
    );
    assert_eq!(
        loaded.try_handle("nvmlDeviceGetHandleByIndex_v2", 8),
        Err(2)
    );
    let by_bus = |bus| loaded.handle_by_text("nvmlDeviceGetHandleByPciBusId_v2", bus);
    assert_eq!(by_bus("00000000:2B:00.0"), Ok(second));
    assert_eq!(by_bus("0000:2b:00.0"), Ok(second));
    assert_eq!(by_bus("0000:2c:00.0"), Err(6));
    let uuid = loaded.text("nvmlDeviceGetUUID", second).unwrap();
    assert_eq!(
        loaded.handle_by_text("nvmlDeviceGetHandleByUUID", &uuid),
        Ok(second)
    );
    assert_eq!(
        loaded.handle_by_text("nvmlDeviceGetHandleByUUID", "GPU-0"),
        Err(6)
    );
}

#[test]
fn a_made_up_handle_is_an_invalid_argument() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    for made_up in [0, 1, 0x4E56_0100, 0x4E56_0001, usize::MAX] {
        assert_eq!(
            loaded.u32("nvmlDeviceGetPowerUsage", Handle(made_up)),
            Err(2)
        );
    }
}

#[test]
fn mig_slots_may_have_a_hole() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let parent = loaded.handle(7);
    assert_eq!(loaded.pair("nvmlDeviceGetMigMode", parent), Ok((1, 1)));
    assert_eq!(loaded.u32("nvmlDeviceGetMaxMigDeviceCount", parent), Ok(7));
    let slots: Vec<_> = (0..8)
        .map(|slot| loaded.mig_handle(parent, slot).err())
        .collect();
    assert_eq!(
        slots,
        [
            None,
            None,
            Some(6),
            None,
            Some(6),
            Some(6),
            Some(6),
            Some(2)
        ]
    );
    assert_eq!(
        loaded.pair("nvmlDeviceGetMigMode", loaded.handle(0)),
        Ok((0, 0))
    );
    assert_eq!(loaded.mig_handle(loaded.handle(0), 0), Err(6));
}

#[test]
fn a_card_that_knows_no_mig_says_so() {
    let loaded = Loaded::started(Generation::R580, &Scenario::workstation());
    let card = loaded.handle(0);
    assert_eq!(loaded.pair("nvmlDeviceGetMigMode", card), Err(3));
    assert_eq!(loaded.u32("nvmlDeviceGetMaxMigDeviceCount", card), Ok(0));
    assert_eq!(loaded.mig_handle(card, 0), Err(3));
    assert_eq!(loaded.u32("nvmlDeviceIsMigDeviceHandle", card), Ok(0));
    assert_eq!(
        loaded.structure("nvmlDeviceGetAttributes_v2", card, &[]),
        Err(3)
    );
}

#[test]
fn an_instance_has_its_own_memory_and_attributes_but_no_board() {
    let loaded = Loaded::started(Generation::R580, &Scenario::servers());
    let parent = loaded.handle(7);
    let instance = loaded.mig_handle(parent, 3).unwrap();
    assert_eq!(loaded.parent(instance), Ok(parent));
    assert_eq!(loaded.parent(parent), Err(2));
    assert_eq!(loaded.u32("nvmlDeviceIsMigDeviceHandle", instance), Ok(1));
    assert_eq!(loaded.u32("nvmlDeviceGetGpuInstanceId", instance), Ok(9));
    assert_eq!(
        loaded.u32("nvmlDeviceGetComputeInstanceId", instance),
        Ok(0)
    );
    assert_eq!(loaded.u32("nvmlDeviceGetGpuInstanceId", parent), Err(3));
    let memory = loaded
        .structure("nvmlDeviceGetMemoryInfo", instance, &[])
        .unwrap();
    assert_eq!(u64_at(&memory, 0), 9984 << 20);
    let attributes = loaded
        .structure("nvmlDeviceGetAttributes_v2", instance, &[])
        .unwrap();
    assert_eq!(touched(&attributes), [(0, 40)]);
    assert_eq!(
        (u32_at(&attributes, 0), u64_at(&attributes, 32)),
        (16, 9984)
    );
    assert_eq!(loaded.u32("nvmlDeviceGetPowerUsage", instance), Err(2));
    for split in [parent, instance] {
        assert_eq!(
            loaded.structure("nvmlDeviceGetUtilizationRates", split, &[]),
            Err(3)
        );
        assert_eq!(
            loaded.pair("nvmlDeviceGetEncoderUtilization", split),
            Err(3)
        );
    }
    let uuid = loaded.text("nvmlDeviceGetUUID", instance).unwrap();
    assert!(uuid.starts_with("MIG-"), "{uuid}");
    assert_eq!(
        loaded.handle_by_text("nvmlDeviceGetHandleByUUID", &uuid),
        Ok(instance)
    );
}

#[test]
fn a_refusal_on_the_parent_does_not_reach_its_instances() {
    let mut card = Device::new("seen from a container");
    card.memory_total = Code::NO_PERMISSION.into();
    let instances = vec![Instance::default()];
    card.mig = Some(Mig {
        enabled: true,
        instances,
        ..Mig::default()
    });
    let loaded = Loaded::started(Generation::R580, &Scenario::empty().with_device(card));
    let parent = loaded.handle(0);
    assert_eq!(
        loaded.structure("nvmlDeviceGetMemoryInfo", parent, &[]),
        Err(4)
    );
    let instance = loaded.mig_handle(parent, 0).unwrap();
    assert!(
        loaded
            .structure("nvmlDeviceGetMemoryInfo", instance, &[])
            .is_ok()
    );
}

#[test]
fn codes_have_the_drivers_words() {
    let loaded = Loaded::new(Generation::R580, &Scenario::empty());
    assert_eq!(loaded.error_string(0), "Success");
    assert_eq!(loaded.error_string(15), "GPU is lost");
    assert_eq!(loaded.error_string(4711), "Unknown Error");
}

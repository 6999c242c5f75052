use super::*;

#[test]
fn call_names_are_unique() {
    let names: std::collections::BTreeSet<_> =
        DeviceCall::ALL.iter().map(|call| call.name()).collect();
    assert_eq!(names.len(), DeviceCall::ALL.len());
}

#[test]
fn a_sweep_without_one_line_misses_that_call_only() {
    let at = Stamp {
        mono_ns: 1,
        wall_us: 2,
    };
    let header = SweepHeader {
        asked: vec![(3, Groups::FAST.bits())],
        system: true,
        mig: Vec::new(),
    };
    let library = Ok(Stamped {
        at,
        value: Library::Ready { name: "x".into() },
    });
    let sweep = NvmlSweep::from_parts(&header, library, |key| {
        if key == "3/GetTemperature" {
            Err(Gap::NotRecorded)
        } else {
            succeeded(at)
        }
    });
    let missing: Vec<_> = sweep
        .parts()
        .filter(|(_, answer)| answer.is_err())
        .map(|(key, _)| key)
        .collect();
    assert_eq!(missing, ["3/GetTemperature"]);
}

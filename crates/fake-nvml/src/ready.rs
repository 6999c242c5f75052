//! Scenarios that come up in many tests.

use crate::code::Code;
use crate::device::{Device, Ecc, Instance, Mig};
use crate::process::{Kind, Pid, Process, SampleRules};
use crate::scenario::{Fault, Scenario};
use crate::value::Value;

const MIB: u64 = 1 << 20;

impl Scenario {
    /// A driver without a GPU.
    pub fn empty() -> Self {
        Self::default()
    }

    /// One idle card without processes.
    pub fn idle() -> Self {
        Self::default().with_device(Device::new("NVIDIA GeForce RTX 4080"))
    }

    /// One RTX 4080 with twelve processes of every type, pids 4001 to 4012. The last one's memory
    /// is not available; the seventh and the ninth have no utilization sample.
    pub fn workstation() -> Self {
        let mut card = Device {
            uuid: "GPU-4080bbbb-2222-4333-8444-555566667777".to_owned(),
            pci: "00000000:01:00.0".to_owned(),
            memory_used: (13_500 * MIB).into(),
            bar1_total: (16_384 * MIB).into(),
            bar1_used: (61 * MIB).into(),
            utilization_gpu: 87.into(),
            utilization_memory: 41.into(),
            utilization_encoder: 12.into(),
            utilization_decoder: 6.into(),
            clock_graphics: 2640.into(),
            clock_sm: 2640.into(),
            clock_memory: 10_501.into(),
            clock_video: 2130.into(),
            temperature: 64.into(),
            power_usage: 251_300.into(),
            fan_speed: 46.into(),
            fan_rpm: 1570.into(),
            pcie_tx: 412_000.into(),
            pcie_rx: 187_000.into(),
            performance_state: 2.into(),
            clocks_event_reasons: 4.into(),
            ..Device::new("NVIDIA GeForce RTX 4080")
        };
        let mut decoding = Process::new(4003, Kind::Both, 690 * MIB).busy(5, 3);
        let mut encoding = Process::new(4008, Kind::Compute, 380 * MIB).busy(2, 1);
        if let Some(sample) = &mut decoding.sample {
            sample.decoder = 6.into();
        }
        if let Some(sample) = &mut encoding.sample {
            sample.encoder = 12.into();
        }
        card.processes = vec![
            Process::new(4001, Kind::Graphics, 212 * MIB).busy(3, 2),
            Process::new(4002, Kind::Graphics, 148 * MIB).busy(2, 1),
            decoding,
            Process::new(4004, Kind::Compute, 5400 * MIB).busy(44, 22),
            Process::new(4005, Kind::Compute, 3100 * MIB).busy(17, 9),
            Process::new(4006, Kind::Compute, 1800 * MIB).busy(8, 4),
            Process::new(4007, Kind::Compute, 640 * MIB),
            encoding,
            Process::new(4009, Kind::Graphics, 96 * MIB),
            Process::new(4010, Kind::Mps, 74 * MIB).busy(1, 0),
            Process::new(4011, Kind::Both, 410 * MIB).busy(6, 3),
            Process::new(4012, Kind::Compute, Value::NOT_AVAILABLE).busy(4, 1),
        ];
        Self::default().with_device(card)
    }

    /// Eight H100s with 25 processes each, pids 20001 to 20200. GPU 7 is in MIG mode with instances
    /// in the slots 0, 1 and 3: slot 2 is a hole.
    pub fn servers() -> Self {
        let mut scenario = Self::default();
        for index in 0..8_u32 {
            let mut card = h100(index);
            let pids = 20_001 + 25 * index..20_026 + 25 * index;
            if index == 7 {
                split(&mut card, pids);
            } else {
                card.processes = pids
                    .map(|pid| {
                        Process::new(pid, Kind::Compute, 2400 * MIB).busy(u64::from(pid % 9), 3)
                    })
                    .collect();
            }
            scenario.devices.push(card);
        }
        scenario
    }

    /// Five cards, each broken in its own way: 0 mixes garbage into its samples and every third
    /// power reading fails, 1 is lost from its tenth call on, 2 reports almost nothing, 3 refuses
    /// process lists and samples, 4 never gives out its handle. Pids 5001 to 5007.
    pub fn faulty() -> Self {
        let worker = |pid| Process::new(pid, Kind::Compute, 1500 * MIB).busy(20, 3);
        let mut mixed = Device::new("NVIDIA RTX A4000");
        mixed.power_usage = Value::Cycle(vec![
            100_000.into(),
            101_000.into(),
            Value::Fails(Code::UNKNOWN),
        ]);
        mixed.processes = vec![worker(5001), worker(5002), worker(5003)];
        mixed.samples = SampleRules {
            probe_count: Some(100),
            garbage: 4,
            zeros: 3,
            ..SampleRules::default()
        };
        let falling = Device::new("NVIDIA RTX A4000")
            .with_process(worker(5004))
            .with_process(worker(5005));
        let silent =
            silent().with_process(Process::new(5006, Kind::Graphics, Value::NOT_AVAILABLE));
        let closed = Device::new("NVIDIA RTX A4000").with_process(worker(5007));
        let unreachable = Device {
            lost: true,
            ..Device::new("NVIDIA RTX A4000")
        };
        let lost = Fault {
            from: 10,
            ..Fault::returning("*", Code::GPU_IS_LOST).on(1)
        };
        Self {
            devices: vec![mixed, falling, silent, closed, unreachable],
            faults: vec![
                lost,
                Fault::returning("*RunningProcess*", Code::NO_PERMISSION).on(3),
                Fault::returning("*Process*Utilization*", Code::NO_PERMISSION).on(3),
            ],
            ..Self::default()
        }
    }

    /// Two cards. Every call on the second waits for an hour, except those that identify it; pids
    /// 6001 and 6002.
    pub fn hanging() -> Self {
        let card = |pid| {
            let process = Process::new(pid, Kind::Compute, 1000 * MIB).busy(10, 5);
            Device::new("NVIDIA RTX A4000").with_process(process)
        };
        let hang = |call| Fault::sleeping(call, 3_600_000).on(1);
        Self {
            devices: vec![card(6001), card(6002)],
            faults: [
                "*Utilization*",
                "*RunningProcess*",
                "*Power*",
                "*Memory*",
                "*Temperature*",
            ]
            .into_iter()
            .map(hang)
            .collect(),
            ..Self::default()
        }
    }

    /// One card seen from a container whose driver translates the pids of lists, but not those of
    /// samples.
    pub fn container_split() -> Self {
        let process = |pid, seen| {
            let mut process = Process::new(pid, Kind::Compute, 900 * MIB).busy(30, 10);
            if let Some(sample) = &mut process.sample {
                sample.pid = Some(Pid::Literal(seen));
            }
            process
        };
        let card = Device::new("NVIDIA A100-SXM4-40GB");
        Self::default().with_device(
            card.with_process(process(324, 645_400))
                .with_process(process(331, 645_412)),
        )
    }

    /// A guest's share of a card: memory, load and processes, but nothing of the board. Pid 8001.
    pub fn vgpu() -> Self {
        let share = Device {
            name: "NVIDIA A16-4Q".to_owned(),
            memory_total: (4096 * MIB).into(),
            memory_used: (1300 * MIB).into(),
            virtualization: 2.into(),
            utilization_gpu: 21.into(),
            utilization_memory: 9.into(),
            temperature: Value::NOT_AVAILABLE,
            fan_speed: Value::NOT_AVAILABLE,
            ..silent()
        };
        let process = Process::new(8001, Kind::Compute, 900 * MIB).busy(20, 5);
        Self::default().with_device(share.with_process(process))
    }

    /// One GPU that shares the system's memory and reports none of its own.
    pub fn unified() -> Self {
        let mut chip = Device {
            name: "NVIDIA GB10".to_owned(),
            ..silent()
        };
        chip.architecture = 10.into();
        chip.utilization_gpu = 12.into();
        for figure in [
            &mut chip.memory_total,
            &mut chip.memory_used,
            &mut chip.memory_reserved,
        ] {
            *figure = Value::NOT_AVAILABLE;
        }
        Self::default().with_device(chip.with_process(Process::new(
            7001,
            Kind::Compute,
            3000 * MIB,
        )))
    }
}

fn h100(index: u32) -> Device {
    Device {
        uuid: format!("GPU-5100{index:04}-2222-4333-8444-555566667777"),
        serial: Some(format!("165422400{index:04}")),
        pci: format!("00000000:{:02X}:00.0", 0x1B + 0x10 * index),
        pci_device_id: 0x2330_10DE.into(),
        pci_subsystem_id: 0x16C1_10DE.into(),
        architecture: 9.into(),
        compute_major: 9.into(),
        compute_minor: 0.into(),
        memory_total: (81_559 * MIB).into(),
        memory_used: (62_000 * MIB).into(),
        memory_reserved: (551 * MIB).into(),
        bar1_total: (131_072 * MIB).into(),
        utilization_gpu: 91.into(),
        utilization_memory: 47.into(),
        clock_graphics: 1980.into(),
        clock_sm: 1980.into(),
        clock_memory: 2619.into(),
        clock_video: 1545.into(),
        max_clock_graphics: 1980.into(),
        max_clock_sm: 1980.into(),
        max_clock_memory: 2619.into(),
        max_clock_video: 1545.into(),
        temperature: 58.into(),
        threshold_memory: 95.into(),
        power_usage: 612_000.into(),
        power_limit: 700_000.into(),
        power_enforced_limit: 700_000.into(),
        power_default_limit: 700_000.into(),
        fans: 0.into(),
        fan_speed: Value::NOT_AVAILABLE,
        fan_rpm: Value::NOT_AVAILABLE,
        pcie_tx: 1_900_000.into(),
        pcie_rx: 1_400_000.into(),
        pcie_generation: 5.into(),
        pcie_max_generation: 5.into(),
        performance_state: 0.into(),
        clocks_event_reasons: 0.into(),
        persistence_mode: 1.into(),
        vbios_version: "96.00.74.00.01".to_owned(),
        board_part_number: Some("692-2G520-0280-501".to_owned()),
        ecc: Ecc::on(),
        remapped_rows_correctable: 0.into(),
        remapped_rows_uncorrectable: 0.into(),
        remapped_rows_pending: 0.into(),
        remapped_rows_failed: 0.into(),
        mig: Some(Mig::default()),
        ..Device::new("NVIDIA H100 80GB HBM3")
    }
}

/// Puts the card into MIG mode: 12, 8 and 5 of the processes on one instance each.
fn split(card: &mut Device, pids: std::ops::Range<u32>) {
    let instance = |slot, gi, profile: &str, slices: u32, total: u64, used: u64| Instance {
        slot,
        gi,
        name: format!("NVIDIA H100 80GB HBM3 MIG {profile}"),
        memory_total: (total * MIB).into(),
        memory_used: (used * MIB).into(),
        multiprocessors: 16 * slices,
        copy_engines: slices,
        decoders: slices,
        jpeg_engines: slices,
        gi_slices: slices,
        ci_slices: slices,
        ..Instance::default()
    };
    card.memory_used = (31_000 * MIB).into();
    card.mig = Some(Mig {
        enabled: true,
        instances: vec![
            instance(0, 1, "3g.40gb", 3, 40_448, 21_000),
            instance(1, 5, "2g.20gb", 2, 20_096, 8000),
            instance(3, 9, "1g.10gb", 1, 9984, 2000),
        ],
        ..Mig::default()
    });
    card.processes = pids
        .enumerate()
        .map(|(number, pid)| match number {
            0..12 => Process::new(pid, Kind::Compute, 1600 * MIB).on_instance(1, 0),
            12..20 => Process::new(pid, Kind::Compute, 1000 * MIB).on_instance(5, 0),
            20..24 => Process::new(pid, Kind::Mps, 480 * MIB).on_instance(9, 0),
            _ => Process::new(pid, Kind::Compute, Value::NOT_AVAILABLE).on_instance(9, 0),
        })
        .collect();
}

/// A card that knows its name, memory and temperature, and little else.
fn silent() -> Device {
    let none = || Value::NOT_AVAILABLE;
    Device {
        architecture: 2.into(),
        memory_total: (2001 * MIB).into(),
        memory_used: (90 * MIB).into(),
        memory_reserved: 0.into(),
        utilization_gpu: none(),
        utilization_memory: none(),
        utilization_encoder: none(),
        utilization_decoder: none(),
        utilization_jpeg: none(),
        utilization_ofa: none(),
        clock_graphics: none(),
        clock_sm: none(),
        clock_memory: none(),
        clock_video: none(),
        max_clock_graphics: none(),
        max_clock_sm: none(),
        max_clock_memory: none(),
        max_clock_video: none(),
        power_usage: none(),
        power_limit: none(),
        power_enforced_limit: none(),
        power_default_limit: none(),
        energy: none(),
        fan_rpm: none(),
        pcie_tx: none(),
        pcie_rx: none(),
        clocks_event_reasons: none(),
        clocks_event_reasons_supported: none(),
        ..Device::new("NVIDIA GeForce GT 710")
    }
}

//! A machine with cards that its kernel suspends, and that counts what is done to each.

use std::sync::Arc;

use model::{Gap, Stamp};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, Library, NvmlPlan, NvmlSweep, Output, ProcessRow,
    SystemCall, code,
};
use raw::{
    Answer, Ended, Inline, Machine, MachineFacts, Published, Question, Reply, Stamped, Tick,
    TickPlan,
};

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// After so long without a user and a call the simulated kernel suspends a device.
const AUTOSUSPEND_NS: u64 = 10 * SECOND_NS;
/// 2027-01-15, so that wall clocks are plausible.
const EPOCH_US: i64 = 1_800_000_000_000_000;

/// A GPU on the bus.
pub(super) struct Card {
    pub(super) address: &'static str,
    pub(super) driver: &'static str,
    pub(super) auto: bool,
    pub(super) suspended: bool,
    /// Whether the file with its power state can be read.
    pub(super) is_told: bool,
    /// Numbers of the processes that use it: it is not suspended meanwhile.
    pub(super) users: Vec<u32>,
    pub(super) touched_ns: u64,
}

impl Card {
    pub(super) fn new(address: &'static str) -> Self {
        Self {
            address,
            driver: "nvidia",
            auto: true,
            suspended: false,
            is_told: true,
            users: Vec::new(),
            touched_ns: 0,
        }
    }

    pub(super) fn asleep(mut self) -> Self {
        self.suspended = true;
        self
    }

    pub(super) fn used_by(mut self, pid: u32) -> Self {
        self.users.push(pid);
        self
    }
}

/// What was done to a device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Touch {
    /// A file of it was opened.
    File(String),
    /// Its handle was asked for, or a call was made with it.
    Call(&'static str),
}

pub(super) struct Bench {
    pub(super) facts: MachineFacts,
    pub(super) cards: Vec<Card>,
    /// The card in each slot of the driver.
    pub(super) slots: Vec<usize>,
    pub(super) now_ns: u64,
    pub(super) ticks: u64,
    pub(super) published: Published<NvmlSweep>,
    /// Whether the library was loaded.
    pub(super) loaded: bool,
    pub(super) touches: Vec<(u64, &'static str, Touch)>,
}

impl Bench {
    pub(super) fn new(cards: Vec<Card>) -> Self {
        Self {
            facts: MachineFacts {
                privileged: Some(false),
                nvml_names: vec!["libnvidia-ml.so.1".into()],
                ..MachineFacts::synthetic()
            },
            slots: (0..cards.len()).collect(),
            cards,
            now_ns: SECOND_NS,
            ticks: 0,
            published: Published::NotAsked,
            loaded: false,
            touches: Vec::new(),
        }
    }

    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: self.now_ns,
            wall_us: EPOCH_US + i64::try_from(self.now_ns / 1000).unwrap(),
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the machine hands out"
    )]
    fn answered<T>(&self, value: T) -> Answer<T> {
        Ok(Stamped {
            at: self.now(),
            value,
        })
    }

    fn call(&self, rc: i32, out: Output) -> Answer<CallAnswer> {
        self.answered(CallAnswer { rc, sym: 3, out })
    }

    /// What the kernel does while time passes.
    fn pass_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        for card in &mut self.cards {
            let idle_ns = now_ns.saturating_sub(card.touched_ns);
            if !card.users.is_empty() {
                card.suspended = false;
            } else if card.auto && idle_ns > AUTOSUSPEND_NS {
                card.suspended = true;
            }
        }
    }

    fn touch(&mut self, card: usize, call: &'static str) {
        let now_ns = self.now_ns;
        let card = &mut self.cards[card];
        // The driver wakes what it is asked about.
        card.suspended = false;
        card.touched_ns = now_ns;
        self.touches.push((now_ns, card.address, Touch::Call(call)));
    }

    fn sweep(&mut self, plan: &NvmlPlan) -> NvmlSweep {
        self.loaded = true;
        let slots = self.slots.clone();
        let devices = slots.iter().zip(0_u32..).map(|(card, slot)| {
            if plan.untouched.contains(&slot) {
                return DeviceSweep {
                    slot,
                    asked: Groups::empty(),
                    handle: Err(Gap::Asleep),
                    calls: Vec::new(),
                    mig: None,
                };
            }
            let known = plan.samples_after.iter().any(|(known, _)| *known == slot);
            let asked = if known { plan.groups } else { Groups::all() };
            self.touch(*card, "GetHandleByIndex");
            let mut calls = Vec::new();
            for call in DeviceCall::ALL.iter().filter(|c| asked.contains(c.group())) {
                self.touch(*card, call.name());
                calls.push((*call, self.device_call(*card, *call)));
            }
            DeviceSweep {
                slot,
                asked,
                handle: raw::nvml::succeeded(self.now()),
                calls,
                mig: None,
            }
        });
        let devices: Vec<DeviceSweep> = devices.collect();
        let count = i64::try_from(slots.len()).unwrap();
        NvmlSweep {
            library: self.answered(Library::Ready { name: "lib".into() }),
            system: vec![(
                SystemCall::DeviceCount,
                self.call(code::SUCCESS, Output::Number(count)),
            )],
            devices,
        }
    }

    fn device_call(&self, card: usize, call: DeviceCall) -> Answer<CallAnswer> {
        let card = &self.cards[card];
        let rows = || {
            let users = card.users.iter();
            users.map(|pid| ProcessRow {
                pid: *pid,
                mem: 1 << 30,
                gi: u32::MAX,
                ci: u32::MAX,
            })
        };
        let out = match call {
            DeviceCall::Name => Output::Text(format!("Card at {}", card.address).into()),
            DeviceCall::PciInfo => Output::Text(format!("0000{}", card.address).into()),
            DeviceCall::MemoryInfo => Output::Numbers(vec![16 << 30, 0, 12 << 30, 4 << 30]),
            DeviceCall::UtilizationRates => Output::Numbers(vec![0, 0]),
            DeviceCall::ComputeProcesses => Output::Processes(rows().collect()),
            DeviceCall::GraphicsProcesses | DeviceCall::MpsProcesses => {
                Output::Processes(Vec::new())
            }
            _ => return self.call(code::NOT_SUPPORTED, Output::Nothing),
        };
        self.call(code::SUCCESS, out)
    }

    /// What was done to the card since then.
    pub(super) fn touches(&self, address: &str, since_ns: u64) -> Vec<Touch> {
        let all = self.touches.iter();
        all.filter(|(at, card, _)| *card == address && *at >= since_ns)
            .map(|(_, _, touch)| touch.clone())
            .collect()
    }

    /// Moments at which the driver was asked for its handle.
    pub(super) fn reads(&self, address: &str) -> Vec<u64> {
        let all = self.touches.iter();
        all.filter(|(_, card, touch)| *card == address && *touch == Touch::Call("GetHandleByIndex"))
            .map(|(at, ..)| *at)
            .collect()
    }
}

impl Machine for Bench {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, plan: &TickPlan) -> Result<Tick, Ended> {
        self.pass_to(plan.not_before_ns.max(self.now_ns + 1_000_000));
        self.published = match &plan.nvml {
            Some(asked) => {
                let sweep = Arc::new(self.sweep(asked));
                Published::New(Stamped {
                    at: self.now(),
                    value: sweep,
                })
            }
            None => Published::NotAsked,
        };
        self.ticks += 1;
        Ok(Tick {
            number: self.ticks,
            now: self.now(),
            extra: plan.extra,
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        self.published.clone()
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let path = match question {
            Inline::Names(path) if &**path == "/sys/bus/pci/devices" => {
                let cards = self.cards.iter().map(|card| card.address.into());
                let names = ["0000:00:00.0".into()].into_iter().chain(cards);
                return self.answered(Reply::Names(names.collect()));
            }
            Inline::Small(path) => path.to_string(),
            _ => return Err(Gap::NotPresent),
        };
        if path == "/sys/bus/pci/devices/0000:00:00.0/class" {
            return self.answered(Reply::text("0x060000\n"));
        }
        let file = path.strip_prefix("/sys/bus/pci/devices/");
        let Some((address, file)) = file.and_then(|it| it.split_once('/')) else {
            return Err(Gap::NotPresent);
        };
        let Some(card) = self.cards.iter().find(|card| card.address == address) else {
            return Err(Gap::NotPresent);
        };
        let text = match file {
            "class" => "0x030200\n".to_owned(),
            "vendor" => "0x10de\n".to_owned(),
            "uevent" => format!("DRIVER={}\nPCI_CLASS=30200\n", card.driver),
            "power/runtime_status" if !card.is_told => return Err(Gap::Permission),
            "power/runtime_status" if card.suspended => "suspended\n".to_owned(),
            "power/runtime_status" => "active\n".to_owned(),
            "power/control" if card.auto => "auto\n".to_owned(),
            "power/control" => "on\n".to_owned(),
            _ => panic!("{path} is no file that this program reads"),
        };
        let touch = Touch::File(file.to_owned());
        self.touches.push((self.now_ns, card.address, touch));
        self.answered(Reply::text(&text))
    }

    fn post(&mut self, _question: &Question) -> Answer<Reply> {
        Err(Gap::NotPresent)
    }
}

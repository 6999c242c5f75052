//! A machine with a container in it: processes start, map the library, make contexts, and go.

use proptest::prelude::*;

use crate::pairing::{Candidate, Listed, Local, Sample};

const SECOND_US: u64 = 1_000_000;

/// Between two samples.
const INTERVAL_US: u64 = SECOND_US;

/// Numbers of both sides start at the same place, so that equal ones are common.
const FIRST_PID: u32 = 1000;

/// What happens between two samples.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A process of the container, or of somewhere else, starts this long before the sample; it
    /// maps the library, and then makes a context.
    Start {
        foreign: bool,
        age_us: u64,
        maps_after_us: u64,
        context_after_us: u64,
    },
    /// A process that only draws, outside the container.
    Draw,
    /// A process ends; the driver may list it for some samples more.
    Exit { which: usize, listed_for: u64 },
    /// A process drops its context, or makes it again.
    Context { which: usize },
    /// What a process has mapped can no longer be read, or can again.
    Readable { which: usize },
    /// Numbers of the host start again from below.
    Wrap,
}

fn start(foreign: impl Strategy<Value = bool>) -> impl Strategy<Value = Event> {
    (
        foreign,
        0..INTERVAL_US,
        0..=SECOND_US,
        prop_oneof![9 => 0..=2 * SECOND_US, 1 => 0..=20 * SECOND_US],
    )
        .prop_map(
            |(foreign, age_us, maps_after_us, context_after_us)| Event::Start {
                foreign,
                age_us,
                maps_after_us,
                context_after_us,
            },
        )
}

fn event() -> impl Strategy<Value = Event> {
    let which = 0..8_usize;
    let listed_for = prop_oneof![6 => Just(0), 1 => Just(1), 1 => 2..6_u64];
    prop_oneof![
        10 => start(prop::bool::weighted(0.3)),
        1 => Just(Event::Draw),
        6 => (which.clone(), listed_for)
            .prop_map(|(which, listed_for)| Event::Exit { which, listed_for }),
        1 => which.clone().prop_map(|which| Event::Context { which }),
        1 => which.prop_map(|which| Event::Readable { which }),
        1 => Just(Event::Wrap),
    ]
}

/// Samples of one machine; the first has what ran already.
pub(super) fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let before = prop::collection::vec(start(prop::bool::weighted(0.4)), 0..5);
    let quiet_or_busy = prop_oneof![
        3 => Just(Vec::new()),
        2 => prop::collection::vec(event(), 1..3),
    ];
    (before, prop::collection::vec(quiet_or_busy, 1..25)).prop_map(|(before, intervals)| {
        let mut machine = Machine::default();
        for start in &before {
            machine.happen(start);
        }
        machine.now_us += 60 * SECOND_US;
        let mut samples = vec![machine.sample()];
        for events in &intervals {
            machine.now_us += INTERVAL_US;
            for event in events {
                machine.happen(event);
            }
            samples.push(machine.sample());
        }
        samples
    })
}

struct Process {
    host: u32,
    /// `None`: outside the container.
    local: Option<Local>,
    mapped_at_us: u64,
    context_at_us: u64,
    has_context: bool,
    is_readable: bool,
    draws: bool,
    /// When it is gone here, and when the driver notices.
    ends_us: Option<(u64, u64)>,
}

struct Machine {
    now_us: u64,
    next_host: u32,
    next_local: u32,
    processes: Vec<Process>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            now_us: 100 * SECOND_US,
            next_host: FIRST_PID,
            next_local: FIRST_PID,
            processes: Vec::new(),
        }
    }
}

impl Machine {
    fn happen(&mut self, event: &Event) {
        match event {
            Event::Start {
                foreign,
                age_us,
                maps_after_us,
                context_after_us,
            } => {
                let local = (!foreign).then(|| {
                    self.next_local += 1;
                    Local {
                        start: self.now_us - age_us,
                        pid: self.next_local,
                    }
                });
                let mapped_at_us = self.now_us - age_us + maps_after_us;
                self.begin(local, mapped_at_us, mapped_at_us + context_after_us, false);
            }
            Event::Draw => self.begin(None, self.now_us, self.now_us, true),
            Event::Exit { which, listed_for } => {
                let now = self.now_us;
                if let Some(process) = self.pick(*which) {
                    process.ends_us = Some((now, now + listed_for * INTERVAL_US));
                }
            }
            Event::Context { which } => {
                if let Some(process) = self.pick(*which) {
                    process.has_context = !process.has_context;
                }
            }
            Event::Readable { which } => {
                if let Some(process) = self.pick(*which) {
                    process.is_readable = !process.is_readable;
                }
            }
            Event::Wrap => self.next_host = FIRST_PID / 2,
        }
    }

    fn begin(&mut self, local: Option<Local>, mapped_at_us: u64, context_at_us: u64, draws: bool) {
        // Numbers in use are skipped, as the kernel does.
        self.next_host += 1;
        while self.processes.iter().any(|p| p.host == self.next_host) {
            self.next_host += 1;
        }
        self.processes.push(Process {
            host: self.next_host,
            local,
            mapped_at_us,
            context_at_us,
            has_context: true,
            is_readable: true,
            draws,
            ends_us: None,
        });
    }

    fn pick(&mut self, which: usize) -> Option<&mut Process> {
        let mut live: Vec<_> = (self.processes.iter_mut())
            .filter(|process| process.ends_us.is_none())
            .collect();
        let place = which.checked_rem(live.len())?;
        Some(live.swap_remove(place))
    }

    fn sample(&mut self) -> Sample {
        let now = self.now_us;
        self.processes
            .retain(|process| process.ends_us.is_none_or(|(_, unlisted)| now < unlisted));
        let is_listed = |p: &&Process| p.has_context && p.context_at_us <= now;
        let listed = self.processes.iter().filter(is_listed).map(|p| Listed {
            pid: p.host,
            compute: !p.draws,
        });
        let live = self.processes.iter().filter(|p| p.ends_us.is_none());
        let local = live.filter_map(|p| {
            Some(Candidate {
                local: p.local?,
                cuda: p.is_readable.then_some(p.mapped_at_us <= now),
            })
        });
        Sample {
            lists_missing: false,
            now_us: now,
            initial_namespace: false,
            listed: listed.collect(),
            local: local.collect(),
        }
    }
}

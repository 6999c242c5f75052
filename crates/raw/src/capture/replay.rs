//! Replay: hands out what was answered, when it was answered. Never waits, never re-enacts threads.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use model::Gap;

use super::format::{LIBRARY, Payload, SWEEP, source};
use super::load::{Capture, Recorded};
use crate::machine::{Answer, Ended, Machine, MachineFacts, Published, Stamped, Tick, TickPlan};
use crate::source::nvml::{CallAnswer, Library, NvmlSweep};
use crate::source::reads::{Inline, Question, Reply};

type SourceAndQuestion = (Box<str>, Box<str>);

/// A capture as a machine. A question that is not in it is answered [`Gap::NotRecorded`].
pub struct ReplayMachine {
    facts: MachineFacts,
    capture: Arc<Capture>,
    next: usize,
    answers: HashMap<SourceAndQuestion, VecDeque<Answer<Arc<Payload>>>>,
    overdue: Option<model::Stamp>,
}

impl ReplayMachine {
    /// A replay from the first refresh on.
    pub fn new(capture: Arc<Capture>) -> Self {
        Self {
            facts: capture.manifest.facts(),
            capture,
            next: 0,
            answers: HashMap::new(),
            overdue: None,
        }
    }

    /// When the next refresh was recorded; `None` at the end.
    pub fn next_tick(&self) -> Option<Tick> {
        self.capture
            .ticks
            .get(self.next)
            .map(|recorded| recorded.tick)
    }

    fn take(&mut self, from: &str, question: &str) -> Answer<Arc<Payload>> {
        // One lookup per answer in a tool that replays a few a second: the two short strings of the
        // key are not worth a cleverer map.
        self.answers
            .get_mut(&(from.into(), question.into()))
            .and_then(VecDeque::pop_front)
            .unwrap_or(Err(Gap::NotRecorded))
    }

    fn take_reply(&mut self, from: &str, question: &str) -> Answer<Reply> {
        let Stamped { at, value } = self.take(from, question)?;
        match &*value {
            Payload::Reply(reply) => Ok(Stamped {
                at,
                value: reply.clone(),
            }),
            _ => Err(Gap::Malformed),
        }
    }

    fn take_call(&mut self, question: &str) -> Answer<CallAnswer> {
        let Stamped { at, value } = self.take(source::NVML, question)?;
        match &*value {
            Payload::Call(call) => Ok(Stamped {
                at,
                value: call.clone(),
            }),
            _ => Err(Gap::Malformed),
        }
    }

    fn take_library(&mut self) -> Answer<Library> {
        let Stamped { at, value } = self.take(source::NVML, LIBRARY)?;
        match &*value {
            Payload::Library(library) => Ok(Stamped {
                at,
                value: library.clone(),
            }),
            _ => Err(Gap::Malformed),
        }
    }
}

impl Machine for ReplayMachine {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, _plan: &TickPlan) -> Result<Tick, Ended> {
        let recorded = self.capture.ticks.get(self.next).ok_or(Ended)?;
        self.next += 1;
        self.answers.clear();
        self.overdue = None;
        for Recorded {
            source,
            question,
            answer,
            overdue,
        } in &recorded.answers
        {
            if overdue.is_some() {
                self.overdue = *overdue;
                continue;
            }
            self.answers
                .entry((source.clone(), question.clone()))
                .or_default()
                .push_back(answer.clone());
        }
        Ok(recorded.tick)
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        if let Some(since) = self.overdue {
            return Published::Overdue(since);
        }
        let recorded = self.answers.keys().any(|(from, _)| **from == *source::NVML);
        if !recorded {
            return Published::NotAsked;
        }
        match self.take(source::NVML, SWEEP) {
            Err(gap) => Published::Missing(gap),
            Ok(Stamped { at, value }) => match &*value {
                Payload::Sweep(header) => {
                    let library = self.take_library();
                    let sweep =
                        NvmlSweep::from_parts(header, library, |question| self.take_call(question));
                    Published::New(Stamped {
                        at,
                        value: Arc::new(sweep),
                    })
                }
                _ => Published::Missing(Gap::Malformed),
            },
        }
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        self.take_reply(source::INLINE, &question.key())
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        self.take_reply(source::POSTED, &question.key())
    }
}

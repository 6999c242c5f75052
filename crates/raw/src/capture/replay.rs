//! Replay: hands out what was answered, when it was answered. Never waits, never re-enacts threads.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use model::Gap;

use super::format::{LIBRARY, Payload, SWEEP, source};
use super::load::{Capture, Recorded};
use crate::machine::{Answer, Ended, Machine, MachineFacts, Published, Stamped, Tick, TickPlan};
use crate::source::drm::DrmSweep;
use crate::source::nvml::{CallAnswer, Library, NvmlSweep};
use crate::source::reads::{Inline, Question};
use crate::source::replies::Reply;

type SourceAndQuestion = (Box<str>, Box<str>);

/// A capture as a machine. A question that is not in it is answered [`Gap::NotRecorded`].
pub struct ReplayMachine {
    facts: MachineFacts,
    capture: Arc<Capture>,
    next: usize,
    answers: HashMap<SourceAndQuestion, VecDeque<Answer<Arc<Payload>>>>,
    /// Sources that have not answered, and since when.
    overdue: HashMap<Box<str>, model::Stamp>,
}

impl ReplayMachine {
    /// A replay from the first refresh on.
    pub fn new(capture: Arc<Capture>) -> Self {
        Self {
            facts: capture.manifest.facts(),
            capture,
            next: 0,
            answers: HashMap::new(),
            overdue: HashMap::new(),
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

    /// What is published of a source that has no sweep in this refresh.
    fn without_sweep<S>(&self, from: &str) -> Option<Published<S>> {
        if let Some(since) = self.overdue.get(from) {
            return Some(Published::Overdue(*since));
        }
        let recorded = self.answers.keys().any(|(source, _)| **source == *from);
        (!recorded).then_some(Published::NotAsked)
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
        self.overdue.clear();
        for Recorded {
            source,
            question,
            answer,
            overdue,
        } in &recorded.answers
        {
            if let Some(since) = overdue {
                self.overdue.insert(source.clone(), *since);
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
        if let Some(nothing) = self.without_sweep(source::NVML) {
            return nothing;
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

    fn drm(&mut self) -> Published<DrmSweep> {
        if let Some(nothing) = self.without_sweep(source::DRM) {
            return nothing;
        }
        match self.take(source::DRM, SWEEP) {
            Err(gap) => Published::Missing(gap),
            Ok(Stamped { at, value }) => match &*value {
                Payload::DrmSweep(header) => {
                    let answer = |question: &str| self.take_reply(source::DRM, question);
                    Published::New(Stamped {
                        at,
                        value: Arc::new(DrmSweep::from_parts(header, answer)),
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

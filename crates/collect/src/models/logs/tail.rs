//! The end of a log as it was read last.

use model::{Gap, Stamp};
use raw::logs::LogExcerpt;
use raw::{Machine, Question, Reply};

use crate::processes::Poll;

/// How often a log is looked at; unchanged it is not read.
const LOOK_EVERY_MS: u64 = 15_000;

/// The newest excerpt of a log.
#[derive(Debug, Default)]
pub(in crate::models) struct Tail {
    poll: Poll,
    excerpt: Option<(Stamp, LogExcerpt)>,
}

impl Tail {
    /// Asks where it is time to; `question` gets the file as it was when it was read last. Whether another excerpt
    /// has come.
    pub(in crate::models) fn ask(
        &mut self,
        machine: &mut dyn Machine,
        question: impl FnOnce(Option<raw::FileMeta>) -> Question,
        now: Stamp,
    ) -> bool {
        let known = self.excerpt.as_ref().and_then(|(_, excerpt)| excerpt.file);
        let changed = self
            .poll
            .ask(machine, || question(known), now, LOOK_EVERY_MS);
        if !changed {
            return false;
        }
        match self.poll.answer() {
            Ok((_, Reply::Log(excerpt))) if excerpt.unchanged => false,
            Ok((at, Reply::Log(excerpt))) => {
                self.excerpt = Some((at, excerpt.clone()));
                true
            }
            _ => self.excerpt.take().is_some(),
        }
    }

    pub(in crate::models) fn excerpt(&self) -> Option<(Stamp, &LogExcerpt)> {
        let (at, excerpt) = self.excerpt.as_ref()?;
        Some((*at, excerpt))
    }

    pub(in crate::models) const fn is_waiting(&self) -> bool {
        self.poll.is_waiting()
    }

    /// Why there is none.
    pub(super) fn gap(&self) -> Option<Gap> {
        self.poll.answer().err().filter(|gap| *gap != Gap::Pending)
    }
}

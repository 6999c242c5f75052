//! A posted question that is asked again from time to time.

use model::{Gap, Stamp};
use raw::{Answer, Machine, Question, Reply};

use crate::parse;

/// Asks a question, waits for its answer over refreshes, and asks again when it has aged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Poll {
    answer: Option<Answer<Reply>>,
    waiting: bool,
    /// When it was answered last; `None` where it is to be asked anew.
    answered_ns: Option<u64>,
    /// The refresh in which it asked last: a question is asked once a refresh, whoever wants to know.
    asked_ns: Option<u64>,
}

impl Poll {
    /// Asks where it is time to. Whether a new answer has come.
    pub(crate) fn ask(
        &mut self,
        machine: &mut dyn Machine,
        question: impl FnOnce() -> Question,
        now: Stamp,
        every_ms: u64,
    ) -> bool {
        let every_ns = every_ms.saturating_mul(1_000_000);
        let is_old = |at: u64| now.mono_ns >= at.saturating_add(every_ns);
        let is_due = self.waiting || self.answered_ns.is_none_or(is_old);
        if !is_due || self.asked_ns == Some(now.mono_ns) {
            return false;
        }
        self.asked_ns = Some(now.mono_ns);
        match machine.post(&question()) {
            Err(Gap::Pending) => {
                self.waiting = true;
                false
            }
            answer => {
                self.waiting = false;
                self.answered_ns = Some(now.mono_ns);
                let changed = self.answer.as_ref().map(value) != Some(value(&answer));
                self.answer = Some(answer);
                changed
            }
        }
    }

    /// Asks again at the next opportunity; the old answer stays until then.
    pub(crate) const fn again(&mut self) {
        self.answered_ns = None;
    }

    /// Whether an answer came in this refresh.
    pub(crate) fn was_answered(&self, now: Stamp) -> bool {
        self.answered_ns == Some(now.mono_ns)
    }

    /// Whether an answer is outstanding.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// The newest answer; pending before the first.
    pub(crate) fn answer(&self) -> Result<(Stamp, &Reply), Gap> {
        match &self.answer {
            None => Err(Gap::Pending),
            Some(Ok(answer)) => Ok((answer.at, &answer.value)),
            Some(Err(gap)) => Err(*gap),
        }
    }

    /// The newest answer as text.
    pub(crate) fn text(&self) -> Result<(Stamp, std::borrow::Cow<'_, str>), Gap> {
        match self.answer()? {
            (at, Reply::Bytes(bytes)) => Ok((at, parse::text(bytes))),
            _ => Err(Gap::Malformed),
        }
    }
}

fn value(answer: &Answer<Reply>) -> Result<&Reply, Gap> {
    answer
        .as_ref()
        .map(|stamped| &stamped.value)
        .map_err(|gap| *gap)
}

//! A machine that is none: of tests, and of inputs that come without one.

use std::ops::{Deref, DerefMut};

use model::{Gap, Origin, OriginKind, Stamp};

use crate::machine::{
    Answer, Ended, Machine, MachineFacts, Published, Settings, Stamped, Tick, TickPlan,
};
use crate::nvml::NvmlSweep;
use crate::source::reads::{Inline, Question};
use crate::source::replies::Reply;

impl MachineFacts {
    /// Those of a Linux machine that does not exist: nothing else is said of it.
    pub fn synthetic() -> Self {
        Self {
            os: "linux".into(),
            origin: Origin {
                kind: OriginKind::Synthetic,
                note: None,
            },
            clock_ticks: 100,
            privileged: None,
            settings: Settings::default(),
            nvml_names: Vec::new(),
        }
    }
}

/// What a synthetic machine answers. What it has no answer for is not present.
pub trait Script {
    /// Its clock.
    fn now(&self) -> Stamp;

    /// The answer to a read that cannot block.
    fn inline(&mut self, _question: &Inline) -> Result<Reply, Gap> {
        Err(Gap::NotPresent)
    }

    /// The answer to a read that may take long.
    fn post(&mut self, _question: &Question) -> Result<Reply, Gap> {
        Err(Gap::NotPresent)
    }
}

/// A machine that refuses everything but what its script gives. It has no drivers and no refreshes of its own.
#[derive(Clone, Debug)]
pub struct Synthetic<S> {
    script: S,
    facts: MachineFacts,
}

impl<S> Synthetic<S> {
    /// The machine of this script.
    pub fn new(script: S) -> Self {
        Self {
            script,
            facts: MachineFacts::synthetic(),
        }
    }
}

impl<S> Deref for Synthetic<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.script
    }
}

impl<S> DerefMut for Synthetic<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.script
    }
}

impl<S: Script> Machine for Synthetic<S> {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, _plan: &TickPlan) -> Result<Tick, Ended> {
        Err(Ended)
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        Published::NotAsked
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let value = self.script.inline(question)?;
        let at = self.script.now();
        Ok(Stamped { at, value })
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        let value = self.script.post(question)?;
        let at = self.script.now();
        Ok(Stamped { at, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Script for Nothing {
        fn now(&self) -> Stamp {
            Stamp {
                mono_ns: 0,
                wall_us: 0,
            }
        }
    }

    #[test]
    fn what_is_not_given_is_refused() {
        let mut machine = Synthetic::new(Nothing);
        assert_eq!(machine.begin_tick(&TickPlan::default()), Err(Ended));
        assert!(matches!(machine.nvml(), Published::NotAsked));
        assert_eq!(machine.inline(&Inline::PidNamespace), Err(Gap::NotPresent));
        let question = Question::UserName(0);
        assert_eq!(machine.post(&question), Err(Gap::NotPresent));
    }
}

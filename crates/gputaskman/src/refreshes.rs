//! What a user counts as one refresh: a refresh at the interval with the extra ones around it, which only take
//! late answers. Recording and replay group them alike, so that both show the same number of them.

use std::sync::Arc;

use model::Snapshot;
use raw::Tick;

/// Puts extra refreshes to the one that they belong to. In a capture made before extra refreshes were marked
/// each stands for itself.
#[derive(Default)]
pub(crate) struct Refreshes {
    /// The newest snapshot of the refresh that is under way.
    held: Option<Arc<Snapshot>>,
    /// Refreshes at the interval so far.
    count: u64,
    /// Whether the one under way was handed out: what comes late is in the next one.
    is_out: bool,
}

impl Refreshes {
    /// Takes the next snapshot. Hands out, in order, a refresh that the one at hand ends, and the one at hand
    /// where nothing of it is outstanding.
    pub(crate) fn take(
        &mut self,
        tick: Tick,
        snapshot: &Arc<Snapshot>,
    ) -> impl Iterator<Item = Arc<Snapshot>> + use<> {
        let mut ended = None;
        if !tick.extra {
            // What led to the first is no refresh.
            ended = self.held.take().filter(|_| self.count > 0);
            self.count += 1;
            self.is_out = false;
        }
        let mut whole = None;
        if !self.is_out {
            if self.count > 0 && !snapshot.pending {
                self.held = None;
                self.is_out = true;
                whole = Some(Arc::clone(snapshot));
            } else {
                self.held = Some(Arc::clone(snapshot));
            }
        }
        ended.into_iter().chain(whole)
    }

    /// How many there were.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The one that was still under way at the end.
    pub(crate) const fn end(&mut self) -> Option<Arc<Snapshot>> {
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Stamp, sample};

    /// Ticks as (extra, pending); what is shown, by the tick's number.
    fn shown(ticks: &[(bool, bool)]) -> (Vec<u64>, u64) {
        let mut refreshes = Refreshes::default();
        let mut out = Vec::new();
        for (number, (extra, pending)) in (1..).zip(ticks) {
            let mut snapshot = sample::workstation();
            (snapshot.tick, snapshot.pending) = (number, *pending);
            let now = Stamp {
                mono_ns: number,
                wall_us: 0,
            };
            let tick = Tick {
                number,
                now,
                extra: *extra,
            };
            out.extend(refreshes.take(tick, &Arc::new(snapshot)));
        }
        let count = refreshes.count();
        out.extend(refreshes.end());
        (out.iter().map(|snapshot| snapshot.tick).collect(), count)
    }

    #[test]
    fn extra_refreshes_are_shown_with_the_one_they_belong_to() {
        let [whole, late, extra, settled] =
            [(false, false), (false, true), (true, true), (true, false)];
        for (ticks, expected) in [
            (&[whole, whole][..], &[1, 2][..]),
            // One that leads to the first is none.
            (&[extra, late, settled, whole], &[3, 4]),
            (&[settled, whole], &[2]),
            // What never settles is shown when the next begins, or at the end.
            (&[late, extra, extra, late, extra], &[3, 5]),
            (&[late, late, late], &[1, 2, 3]),
            // After it was shown it is not shown again.
            (&[whole, settled, extra, whole], &[1, 4]),
            (&[extra], &[1]),
        ] {
            let (out, count) = shown(ticks);
            assert_eq!(out, expected, "{ticks:?}");
            if count > 0 {
                assert_eq!(count, u64::try_from(out.len()).unwrap(), "{ticks:?}");
            }
        }
    }
}

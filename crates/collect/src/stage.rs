//! A guard around each stage of a refresh.

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::{Notice, Severity};

/// Runs one stage; a panic becomes a notice and the stage's part of the snapshot stays as it was.
///
/// The state a stage works on is only ever replaced or extended, so that a half-done stage leaves
/// older readings, not wrong ones: this is what makes the assertion of unwind safety true.
pub(crate) fn guarded(name: &'static str, notices: &mut Vec<Notice>, stage: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(stage)).is_err() {
        notices.push(Notice {
            code: "internal",
            severity: Severity::Warning,
            subject: name.into(),
            text: format!(
                "the part of gputaskman that reads {name} failed; the rest goes on. Please report \
                 it with a capture (gputaskman record -o FILE)"
            )
            .into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panicking_stage_becomes_a_notice() {
        let mut notices = Vec::new();
        guarded("nvml", &mut notices, || panic!("broken"));
        assert_eq!(
            notices.first().map(|n| (n.code, &*n.subject)),
            Some(("internal", "nvml"))
        );
    }
}

//! What a run leaves out because it was told to, or because of a mistake in what it was given.

use model::{Notice, Severity};
use raw::Settings;

/// What a run was told to leave out, so that nobody takes what is not looked for for what is not there.
pub(super) fn notices(settings: &Settings) -> Vec<Notice> {
    let off = |code, subject: &'static str, text: &'static str| Notice {
        code,
        severity: Severity::Info,
        subject: subject.into(),
        text: text.into(),
    };
    let mut notices = Vec::new();
    if !settings.models {
        let text = "not looked for, and their servers not asked (--no-models)";
        notices.push(off("models_off", "models", text));
    } else if !settings.probe {
        let text = "not asked (--no-probe)";
        notices.push(off("probe_off", "model servers", text));
    }
    let problems = settings.adapter_problems.iter();
    notices.extend(problems.map(|problem| Notice {
        code: "adapter_left_out",
        severity: Severity::Warning,
        subject: "adapters".into(),
        text: problem.clone(),
    }));
    notices
}

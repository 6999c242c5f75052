//! `mlx_lm.server`. Its list of models is what is downloaded and says nothing of what is loaded, so it is only
//! asked whether it is well.

use raw::Endpoint;

use super::spec::{MODELS_EVERY_MS, Spec, Subject, Wish, never};

pub(super) const SPEC: Spec = Spec {
    kind: "MLX-LM",
    serves,
    works: never,
    parents: &[],
    has_levels: false,
    first: &[Endpoint::MlxHealth],
    plan: |_, _| vec![(Endpoint::MlxHealth, Wish::Ask(MODELS_EVERY_MS))],
    read: |_, _, _| {},
};

fn serves(subject: &Subject<'_>) -> bool {
    let mut leading = subject.leading();
    subject.is_module("mlx_lm.server")
        || leading.any(|name| name == "mlx_lm.server")
        || (subject.is_module("mlx_lm") && subject.has("server"))
}

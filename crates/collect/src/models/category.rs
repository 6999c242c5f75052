//! The category of a process: the first rule that fits. Changes no evidence.

use model::{
    Category, Charge, ChargedPercent, Measured, Model, ModelKind, Reading, Runtime, Stamp, Text,
};

use super::runtimes::any_ai;

/// Names of processes by category, lower case; a trailing `*` matches a prefix.
const NAMES: &[(Category, &[&str])] = &[
    (
        Category::Desktop,
        &[
            "xorg",
            "xwayland",
            "gnome-shell",
            "kwin_wayland",
            "kwin_x11",
            "sway",
            "hyprland",
            "mutter*",
            "weston",
            "cosmic-comp",
            "gamescope*",
            "plasmashell",
            "cinnamon",
            "xfwm4",
            "kwin*",
            "labwc",
            "niri",
            "wayfire",
        ],
    ),
    (
        Category::Browser,
        &[
            "chrome*",
            "chromium*",
            "firefox*",
            "msedge*",
            "brave*",
            "opera*",
            "vivaldi*",
            "librewolf*",
            "epiphany*",
            "webkitwebproces*",
        ],
    ),
    (
        Category::Video,
        &[
            "ffmpeg",
            "ffplay",
            "obs",
            "mpv",
            "vlc",
            "handbrake*",
            "resolve",
            "gpu-screen-reco*",
            "sunshine",
            "kodi*",
            "totem",
        ],
    ),
    (
        Category::Graphics3d,
        &[
            "blender*",
            "godot*",
            "unityhub*",
            "unity",
            "wine64-preload*",
            "steam",
            "unrealeditor*",
        ],
    ),
    (
        Category::Llm,
        &[
            "llama-server",
            "llama-cli",
            "ollama_llama_se*",
            "koboldcpp*",
        ],
    ),
    (
        Category::Ai,
        &[
            "ollama",
            "vllm*",
            "sglang*",
            "tritonserver",
            "text-generation*",
            "local-ai",
        ],
    ),
];

/// Load of a video engine from which a process counts as a video workload, in percent.
const VIDEO_BUSY: f64 = 10.0;

/// How long a category that load decided stands after the load has gone. A player decodes in bursts.
const HELD_NS: u64 = 60_000_000_000;

/// The category that load decided last, so that a row does not change its kind with every sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ByLoad(Option<(Category, &'static str, Stamp)>);

impl ByLoad {
    /// What stands: `found`, or where no rule found anything, what load decided within the last minute.
    pub(super) fn held(
        &mut self,
        found: (Category, &'static str),
        now: Stamp,
    ) -> (Category, &'static str) {
        match (found, self.0) {
            ((category, rule @ (VIDEO_ENGINE | GRAPHICS_LOAD)), _) => {
                self.0 = Some((category, rule, now));
                found
            }
            ((_, NO_RULE), Some((category, rule, at)))
                if now.mono_ns.saturating_sub(at.mono_ns) < HELD_NS =>
            {
                (category, rule)
            }
            _ => found,
        }
    }
}

/// Codes of rules that go by load, and of none.
const VIDEO_ENGINE: &str = "video_engine";
const GRAPHICS_LOAD: &str = "graphics_load";
const NO_RULE: &str = "no_rule";

/// The category and the stable code of the rule that decided it.
pub(crate) fn categorise(
    name: &Reading<Measured<Text>>,
    models: &[Model],
    runtimes: &Reading<Measured<Vec<Runtime>>>,
    charges: &[Charge],
) -> (Category, &'static str) {
    let by_kind = models.iter().find_map(|model| of_kind(model.kind));
    if let Some(category) = by_kind {
        return (category, "gguf_header");
    }
    let by_name = name.value().and_then(|name| of_name(name));
    // Before the runtimes: a browser or a video program maps CUDA libraries too.
    if let Some(category) = by_name {
        return (category, "process_name");
    }
    if any_ai(runtimes) {
        return (Category::Ai, "ai_runtime");
    }
    let busy = |pick: fn(&Charge) -> &Reading<ChargedPercent>| {
        charges
            .iter()
            .filter_map(|charge| pick(charge).known())
            .any(|load| load.value().0 > VIDEO_BUSY)
    };
    if busy(|c| &c.engines.encode) || busy(|c| &c.engines.decode) || busy(|c| &c.engines.video) {
        return (Category::Video, VIDEO_ENGINE);
    }
    let graphics_only = !charges.is_empty()
        && charges
            .iter()
            .all(|c| c.lists.graphics && !c.lists.compute && !c.lists.mps);
    // The kernel tells graphics apart, where the driver has lists.
    let draws = charges.iter().any(|c| c.drm.is_some()) && busy(|c| &c.engines.graphics);
    if draws || (graphics_only && busy(|c| &c.engines.busiest)) {
        return (Category::Graphics3d, GRAPHICS_LOAD);
    }
    (Category::Other, NO_RULE)
}

const fn of_kind(kind: ModelKind) -> Option<Category> {
    match kind {
        ModelKind::Llm => Some(Category::Llm),
        ModelKind::Decision => Some(Category::Decision),
        ModelKind::Embedding | ModelKind::Reranker => Some(Category::Embedding),
        ModelKind::Speech => Some(Category::Speech),
        ModelKind::Diffusion => Some(Category::Diffusion),
        ModelKind::Projector | ModelKind::Adapter | ModelKind::Unknown => None,
    }
}

fn of_name(name: &str) -> Option<Category> {
    let name = name.to_ascii_lowercase();
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == **pattern,
    };
    NAMES
        .iter()
        .find(|(_, patterns)| patterns.iter().any(matches))
        .map(|(c, _)| *c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_load_decided_stands_for_a_minute_and_no_longer() {
        let at = |second: u64| Stamp {
            mono_ns: second * 1_000_000_000,
            wall_us: 0,
        };
        let mut by_load = ByLoad::default();
        let none = (Category::Other, NO_RULE);
        assert_eq!(by_load.held(none, at(0)), none);
        let video = (Category::Video, VIDEO_ENGINE);
        assert_eq!(by_load.held(video, at(1)), video);
        assert_eq!(by_load.held(none, at(60)), video);
        assert_eq!(by_load.held(none, at(61)), none);
        // What is known otherwise is not overruled.
        let model = (Category::Llm, "gguf_header");
        by_load.held(video, at(70));
        assert_eq!(by_load.held(model, at(71)), model);
    }

    #[test]
    fn names_decide_by_whole_word_or_marked_prefix() {
        assert_eq!(of_name("Xorg"), Some(Category::Desktop));
        assert_eq!(of_name("chrome_crashpad"), Some(Category::Browser));
        assert_eq!(of_name("obsidian"), None, "obs is a whole word");
        assert_eq!(of_name("llama-server"), Some(Category::Llm));
        assert_eq!(of_name("python3"), None);
    }
}

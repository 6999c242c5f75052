//! The category of a process: the first rule that fits. Changes no evidence.

use model::{
    Category, Charge, ChargedPercent, EvidenceLabel, Measured, Model, ModelKind, Reading, Runtime,
    Stamp, Text,
};

use super::catalogue::{GAME_FOLDERS, MONITORS, NVML, PROGRAMS, Sure, UNITY, WINE};
use super::patterns::{Fit, Program, base_name, components};
use super::runtimes::any_ai;

/// A category and the stable code of the rule that decided it.
pub(crate) type Found = (Category, &'static str);

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

/// The category and the stable code of the rule that decided it. `program` is what [`of_program`] found.
pub(crate) fn categorise(
    name: &Reading<Measured<Text>>,
    program: Option<Found>,
    models: &[Model],
    runtimes: &Reading<Measured<Vec<Runtime>>>,
    charges: &[Charge],
) -> Found {
    // What only settings or an old log name is not at work.
    let present = || models.iter().filter(|it| it.label >= EvidenceLabel::Likely);
    if let Some(category) = present().find_map(|model| of_kind(model.kind)) {
        return (category, "gguf_header");
    }
    let hint = |model: &Model| match model.kind {
        ModelKind::Unknown => model.kind_hint.and_then(of_kind),
        _ => None,
    };
    if let Some(category) = present().find_map(hint) {
        return (category, "name_hint");
    }
    // Before the runtimes: a browser or a video program maps CUDA libraries too.
    let by_name = || of_name(&Program::named(name.value()?));
    if let Some(found) = program.or_else(by_name) {
        return found;
    }
    if any_ai(runtimes) {
        return (Category::Ai, "ai_runtime");
    }
    let mapped = runtimes.value().map_or(&[][..], Vec::as_slice);
    if mapped.iter().any(|it| it.name == UNITY) {
        return (Category::Graphics3d, "game_library");
    }
    if !mapped.is_empty() && mapped.iter().all(|it| it.name == NVML) {
        return (Category::Other, "monitor_library");
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

/// What a program is for by its command line, its executable's path and its working directory.
pub(super) fn of_program(
    program: &Program,
    arguments: &[Text],
    executable: Option<&str>,
) -> Option<Found> {
    let role = role(program, arguments);
    match (of_name(program), role) {
        (Some((Category::Browser, rule)), role) => {
            return Some((Category::Browser, role.unwrap_or(rule)));
        }
        // The part of a program made with a browser's engine that draws its window, whatever the program is for.
        (_, Some(ROLE_GPU | ROLE_PAGE)) => return Some((Category::Desktop, "browser_engine")),
        (Some(found), _) => return Some(found),
        (None, _) => {}
    }
    let first = arguments.first().map(|it| &**it);
    let paths = || first.into_iter().chain(executable);
    if paths().any(is_in_game_folder) {
        return Some((Category::Graphics3d, "game_folder"));
    }
    let is_wine = executable.is_some_and(|path| WINE.contains(&base_name(path)));
    if is_wine && first.is_some_and(|path| path.to_ascii_lowercase().ends_with(".exe")) {
        return Some((Category::Graphics3d, "wine"));
    }
    None
}

/// What one process of a browser does for it.
const ROLE_GPU: &str = "browser_gpu_process";
const ROLE_PAGE: &str = "browser_page";
const ROLE_HELPER: &str = "browser_helper";

/// The role of a process of a browser: Chromium and what is made with it say `--type=`, Firefox ends with it.
fn role(program: &Program, arguments: &[Text]) -> Option<&'static str> {
    let firefox = || {
        let is_child = arguments.iter().any(|it| &**it == "-contentproc");
        arguments.last().filter(|_| is_child).map(|it| &**it)
    };
    match program.option("--type").or_else(firefox)? {
        "gpu-process" | "gpu" => Some(ROLE_GPU),
        "renderer" | "tab" => Some(ROLE_PAGE),
        _ => Some(ROLE_HELPER),
    }
}

fn is_in_game_folder(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let folders: Vec<&str> = components(&lower).collect();
    let is_game = |pair: &[&str]| matches!(pair, [a, b] if GAME_FOLDERS.contains(&(a, b)));
    folders.windows(2).any(is_game)
}

fn of_name(program: &Program) -> Option<Found> {
    let rule = |fit| match fit {
        Fit::Name => "process_name",
        Fit::Words => "command_line",
    };
    if MONITORS.iter().any(|it| program.fits(it).is_some()) {
        return Some((Category::Other, "monitor"));
    }
    PROGRAMS.iter().find_map(|works| {
        let fit = works.programs.iter().find_map(|it| program.fits(it))?;
        match works.sure {
            Sure::Yes => Some((works.category, rule(fit))),
            Sure::Hint => Some((works.category, "training_hint")),
        }
    })
}

#[cfg(test)]
mod tests;

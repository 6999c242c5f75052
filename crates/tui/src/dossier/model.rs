//! What is known of a model: its file, its names, its evidence, what logs and servers say of it.

use model::{EvidenceLabel, Model, ModelEvent, ModelEventKind, ModelKind, Process, Said, Snapshot};

use super::{dot, fact, labelled, put};
use crate::figure::{self, Figure};
use crate::prose::{Paragraph, glued};
use crate::theme::Look;

pub(super) fn line(model: &Model, several: bool, look: Look) -> Paragraph {
    let mut it = of_model("Model", model, several, look);
    it.put(figure::clean(&model.name).into_owned(), look.bold());
    let text = |reading| {
        figure::measured(reading, look, |text: &model::Text| {
            figure::clean(text).into_owned()
        })
    };
    let has_file = model.has_file();
    // Without a file nobody could tell these: they are not missing one by one.
    let known = |it: &mut Paragraph, name: &'static str, figure: &Figure, is_known: bool| {
        if has_file || is_known {
            fact(it, name, figure, look);
        }
    };
    let (architecture, quantization) = (&model.architecture, &model.quantization);
    known(
        &mut it,
        "",
        &text(architecture),
        architecture.value().is_some(),
    );
    known(
        &mut it,
        "",
        &text(quantization),
        quantization.value().is_some(),
    );
    let count = |reading, what: &'static str| {
        let mut figure = figure::measured(reading, look, |n: &u64| output::format::count(*n));
        if reading.value().is_some() {
            figure.text = format!("{} {what}", figure.text).into();
        } else {
            figure.text = format!("{what} {}", figure.text).into();
        }
        figure
    };
    let parameters = count(&model.parameters, "parameters");
    known(&mut it, "", &parameters, model.parameters.value().is_some());
    let plain = |reading| figure::measured(reading, look, |n: &u64| n.to_string());
    let layers = &model.layers;
    known(&mut it, "layers", &plain(layers), layers.value().is_some());
    match model.context_requested.value() {
        // What was asked for stands in where the server has not said what it uses.
        Some(tokens) if model.context_used.known().is_none() => {
            fact(
                &mut it,
                "ctx",
                &Figure::measured(format!("{tokens} asked")),
                look,
            );
        }
        _ => {
            let used = figure::reported_count(&model.context_used, look);
            fact(&mut it, "ctx", &used, look);
        }
    }
    if has_file {
        fact(&mut it, "trained", &plain(&model.context_trained), look);
        let size = figure::measured(&model.size_on_disk, look, |size| figure::size(*size));
        fact(&mut it, model.format, &size, look);
    } else {
        dot(&mut it, look);
        it.put("no file known", look.dim());
    }
    if has_file || model.kind != ModelKind::Unknown || model.kind_hint.is_some() {
        let kind = figure::clean(&model.kind_label()).into_owned();
        fact(&mut it, "", &Figure::measured(kind), look);
    }
    dot(&mut it, look);
    match model.label {
        EvidenceLabel::Confirmed => it.put(glued("CONFIRMED ✓"), look.good()),
        EvidenceLabel::Likely => it.put("likely", look.warning()),
        EvidenceLabel::History => it.put("history", look.dim()),
        EvidenceLabel::Candidate => it.put("candidate, not shown to be loaded", look.dim()),
    }
    let by: Vec<&str> = model.evidence.iter().map(|one| one.kind.id()).collect();
    if !by.is_empty() {
        it.put(format!(" by {}", by.join("+")), look.plain());
    }
    it
}

/// Says that a model was looked for, where one is to be expected.
pub(super) fn none_line(process: &Process, look: Look) -> Option<Paragraph> {
    if !process.category.works_with_models()
        || !process.models.is_empty()
        || process.runtimes.known().is_none()
    {
        return None;
    }
    let mut it = labelled("Model", look);
    let text = match process.models_unread {
        Some(gap) => format!("not looked for: {}", gap.sentence()),
        None => {
            "none found: no model file is mapped, open or named, and no server or log names one"
                .to_owned()
        }
    };
    it.put(text, look.dim());
    Some(it)
}

/// A paragraph about one model, which it names where there are others.
fn of_model(label: &str, model: &Model, several: bool, look: Look) -> Paragraph {
    let mut it = labelled(label, look);
    if several {
        it.put(format!("{} ", figure::clean(&model.id)), look.dim());
    }
    it
}

/// A separator before all but the first of a list.
fn separate(it: &mut Paragraph, number: usize, look: Look) {
    if number > 0 {
        dot(it, look);
    }
}

/// Names, contradictions, events and files of a model, each where there is any.
pub(super) fn more(
    snapshot: &Snapshot,
    model: &Model,
    several: bool,
    look: Look,
    out: &mut Vec<Paragraph>,
) {
    let labelled = |label: &str, look: Look| of_model(label, model, several, look);
    if let Some(conflict) = &model.conflict {
        let mut it = labelled("Clash", look);
        it.put(figure::clean(conflict).into_owned(), look.warning());
        out.push(it);
    }
    if !model.store_names.is_empty() {
        let mut it = labelled("Names", look);
        for (number, one) in model.store_names.iter().enumerate() {
            separate(&mut it, number, look);
            it.put(figure::clean(one).into_owned(), look.plain());
        }
        out.push(it);
    }
    if !model.events.is_empty() || model.log_unused.is_some() {
        let mut it = labelled("Log", look);
        for (number, one) in model.events.iter().enumerate() {
            separate(&mut it, number, look);
            event(&mut it, snapshot, one, look);
        }
        if let Some(unused) = &model.log_unused {
            separate(&mut it, model.events.len(), look);
            it.put(figure::clean(unused).into_owned(), look.warning());
        }
        out.push(it);
    }
    if !model.components.is_empty() {
        let mut it = labelled("Files", look);
        for (number, one) in model.components.iter().enumerate() {
            separate(&mut it, number, look);
            let size = figure::measured(&one.size_on_disk, look, |size| figure::size(*size));
            let role = figure::clean(&one.role).replace('_', " ");
            put(&mut it, &role, &size, look);
            let path = figure::clean(&one.path);
            it.put(format!(" {} {path}", one.format), look.dim());
        }
        out.push(it);
    }
    if !model.said.is_empty() {
        let mut it = labelled("Said", look);
        words(&mut it, snapshot, &model.said, look);
        out.push(it);
    }
}

fn event(it: &mut Paragraph, snapshot: &Snapshot, event: &ModelEvent, look: Look) {
    let style = if event.kind == ModelEventKind::OutOfMemory {
        look.warning()
    } else {
        look.plain()
    };
    it.put(glued(event.kind.label()), style);
    if let Some(bytes) = event.bytes {
        it.put(glued(&format!(", {} wanted", figure::size(bytes))), style);
    }
    match event.wall_us {
        Some(wall_us) => {
            let ms = u64::try_from(snapshot.at.wall_us.saturating_sub(wall_us) / 1000);
            let age = ms.map_or_else(
                |_| "in the future".to_owned(),
                |ms| format!("{} ago", output::format::age(ms)),
            );
            let clock = figure::clock(wall_us);
            it.put(glued(&format!(" {clock} UTC, {age}")), look.plain());
        }
        None => it.put(" at an unknown time", look.dim()),
    }
    let since = match event.fresh {
        Some(true) => "since it started",
        Some(false) => "before it started",
        None => "before or since it started",
    };
    it.put(
        format!(" ({}, {since})", figure::clean(&event.log)),
        look.dim(),
    );
}

/// What a runtime says beside, each with the mark of its class.
pub(super) fn words(it: &mut Paragraph, snapshot: &Snapshot, said: &[Said], look: Look) {
    for (number, one) in said.iter().enumerate() {
        separate(it, number, look);
        it.put(
            glued(&format!("{} ", one.field.replace('_', " "))),
            look.plain(),
        );
        let text = figure::clean(&one.value);
        it.put(
            format!("{text} r"),
            look.class(crate::theme::Class::Reported),
        );
        let age = snapshot.at.ms_since(one.by.at);
        it.put(
            format!(" ({}, {} ago)", one.by.counter, output::format::age(age)),
            look.dim(),
        );
    }
}

pub(super) fn evidence(snapshot: &Snapshot, model: &Model, several: bool, look: Look) -> Paragraph {
    let mut it = of_model("Proof", model, several, look);
    if model.evidence.is_empty() {
        it.put("none", look.dim());
    }
    for (number, one) in model.evidence.iter().enumerate() {
        separate(&mut it, number, look);
        let age = output::format::age(snapshot.at.ms_since(one.at));
        let detail = figure::clean(&one.detail);
        it.put(glued(&format!("{} ", one.kind.id())), look.bold());
        it.put(glued(&format!("{detail} ({age} ago)")), look.plain());
    }
    dot(&mut it, look);
    let path = figure::measured(&model.path, look, |path| figure::clean(path).into_owned());
    it.put("path ", look.plain());
    it.put(path.text.into_owned(), look.class(path.class));
    it
}

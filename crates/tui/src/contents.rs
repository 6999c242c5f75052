//! What is inside a process's memory: a bar and a list of its known parts, each in its class, and the
//! remainder. Only the total is measured.

use model::receipt::Receipt;
use model::{Bytes, Estimated, Placement, Process, Reading, Reported, Segment};
use ratatui::style::Style;

use crate::dossier::{INDENT, dot, labelled};
use crate::figure::{self, Figure};
use crate::prose::{Paragraph, glued};
use crate::theme::{Class, Look};
use crate::widgets::bar::{Part, share_out};

/// Widest bar.
const MOST: usize = 64;

/// Adds the bar and the list, where any part is known.
pub(crate) fn paragraphs(process: &Process, cells: u16, look: Look, out: &mut Vec<Paragraph>) {
    if process.segments_reported.is_empty() && process.segments_estimated.is_empty() {
        return;
    }
    let bar = usize::from(cells).saturating_sub(INDENT).min(MOST);
    if let Some(receipt) = &process.receipt
        && bar >= 12
    {
        out.push(draw_bar(process, receipt, bar, look));
    }
    let label = if process.receipt.is_some() {
        ""
    } else {
        "Inside"
    };
    let mut list = labelled(label, look);
    let several = process.models.len() > 1;
    let lines = lines(process, look);
    for line in &lines {
        if !list.is_empty() {
            list.put("   ", look.plain());
        }
        list.put(glued(&line.head(several)), look.plain());
        list.put(glued(&line.figure.text), look.class(line.figure.class));
        if let Some(place) = line.place {
            list.put(format!(" ({place})"), look.dim());
        }
    }
    if let Some(receipt) = &process.receipt {
        let rest = output::format::estimate_signed(receipt.remainder_low, receipt.remainder_high);
        list.put("   ", look.plain());
        list.put(glued("? rest "), look.plain());
        list.put(glued(&rest), look.class(Class::Estimated));
    }
    out.push(list);
}

/// Where the numbers come from: what they were computed from, and what the remainder is.
pub(crate) fn notes(process: &Process, look: Look, out: &mut Vec<Paragraph>) {
    let several = process.models.len() > 1;
    let mut it = labelled("Basis", look);
    for line in lines(process, look) {
        if line.inputs.is_empty() {
            continue;
        }
        dot(&mut it, look);
        it.put(glued(&line.head(several)), look.plain());
        it.put(line.inputs, look.dim());
    }
    if let Some(receipt) = &process.receipt {
        dot(&mut it, look);
        let text = format!(
            "? {}; of {} measured on GPU {}",
            receipt.note(),
            figure::size(receipt.measured),
            receipt.device_index
        );
        it.put(text, look.plain());
    }
    if !it.is_empty() {
        out.push(it);
    }
}

/// A part in the list.
struct Line<'a> {
    model: &'a str,
    letter: char,
    name: &'static str,
    figure: Figure,
    place: Option<&'static str>,
    inputs: String,
}

impl Line<'_> {
    fn head(&self, several: bool) -> String {
        let model = if several {
            format!("{} ", figure::clean(self.model))
        } else {
            String::new()
        };
        format!("{model}{} {} ", self.letter, self.name)
    }
}

fn lines(process: &Process, look: Look) -> Vec<Line<'_>> {
    let reported = process.segments_reported.iter().map(|segment| Line {
        model: &segment.model_id,
        letter: segment.kind.letter(),
        name: segment.kind.label(),
        figure: figure::reported(&segment.bytes, look),
        place: place(segment.placement),
        inputs: inputs(&segment.inputs),
    });
    let estimated = estimated(process).map(|segment| Line {
        model: &segment.model_id,
        letter: segment.kind.letter().to_ascii_lowercase(),
        name: segment.kind.label(),
        figure: figure::estimated(&segment.bytes, look),
        place: place(segment.placement),
        inputs: inputs(&segment.inputs),
    });
    reported.chain(estimated).collect()
}

const fn place(placement: Placement) -> Option<&'static str> {
    match placement {
        Placement::Gpu => None,
        Placement::PinnedHost => Some("in pinned system memory"),
        Placement::Cpu => Some("in system memory"),
        Placement::Unknown => Some("not known how much on the GPU"),
    }
}

fn inputs(inputs: &[(&'static str, model::Text)]) -> String {
    let inputs = inputs
        .iter()
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), figure::clean(value)));
    inputs.collect::<Vec<_>>().join(", ")
}

/// Estimates that no report replaces.
fn estimated(process: &Process) -> impl Iterator<Item = &Segment<Estimated<Bytes>>> {
    process.segments_estimated.iter().filter(|segment| {
        let told = |it: &&Segment<Reported<Bytes>>| {
            it.model_id == segment.model_id && it.kind == segment.kind && it.bytes.known().is_some()
        };
        process.segments_reported.iter().find(told).is_none()
    })
}

fn draw_bar(process: &Process, receipt: &Receipt, cells: usize, look: Look) -> Paragraph {
    let mut parts: Vec<Part> = Vec::with_capacity(8);
    let mut add = |letter: char, weight: f64, style: Style| {
        if weight > 0.0 {
            parts.push(Part {
                letter,
                weight,
                style,
                hollow: true,
            });
        }
    };
    for segment in &process.segments_reported {
        if let (Reading::Known(known), true) = (&segment.bytes, on_device(segment)) {
            let style = look.class(Class::Reported);
            add(segment.kind.letter(), known.value.as_f64(), style);
        }
    }
    for segment in estimated(process) {
        if let (Reading::Known(known), true) = (&segment.bytes, on_device(segment)) {
            let sure = if segment.placement == Placement::Unknown {
                0.0
            } else {
                known.low.as_f64()
            };
            let letter = segment.kind.letter().to_ascii_lowercase();
            add(letter, sure, look.class(Class::Estimated));
            // Between the ends of the range.
            add('~', known.high.as_f64() - sure, look.dim());
        }
    }
    if let Ok(rest) = u64::try_from(receipt.remainder_low) {
        add('?', Bytes(rest).as_f64(), look.dim());
    }
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    let inner = cells.saturating_sub(2);
    let mut it = labelled("Inside", look).with("[", look.plain());
    for (part, share) in parts.iter().zip(share_out(&weights, inner)) {
        let text: String = std::iter::repeat_n(part.letter, share).collect();
        it.put(text, part.style);
    }
    it.put("]", look.plain());
    it
}

/// Whether it is drawn in the bar of the device's memory.
const fn on_device<C>(segment: &Segment<C>) -> bool {
    segment.kind.stands_alone() && segment.placement.may_be_on_device()
}

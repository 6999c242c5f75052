//! What is inside a process's memory: a bar and a list of its known parts, each in its class, and the
//! remainder. Only the total is measured.

use model::receipt::{self, LineSize, Receipt, Standing};
use model::{Bytes, Placement, Process, SegmentKind};
use ratatui::style::Style;

use crate::dossier::{INDENT, dot, labelled};
use crate::figure::{self, Figure};
use crate::prose::{Paragraph, glued};
use crate::theme::{Class, Look};
use crate::widgets::bar::{Part, share_out};

/// Widest bar.
const MOST: usize = 64;

/// Every part with its standing on `device`, and the receipt there.
pub(crate) struct Contents<'a> {
    receipt: Option<&'a Receipt>,
    lines: Vec<receipt::Line>,
    several: bool,
}

impl<'a> Contents<'a> {
    pub(crate) fn of(process: &'a Process, device: Option<u32>) -> Self {
        let receipt = device.and_then(|index| process.receipt_on(index));
        let said = &process.segments_reported;
        let lines = receipt::lines(device, said, &process.segments_estimated);
        Self {
            receipt,
            lines,
            several: process.models.len() > 1,
        }
    }

    /// Adds the bar and the list, where any part is known. A report stands beside the estimate of the
    /// same part, which is dimmed because it does not count.
    pub(crate) fn paragraphs(&self, cells: u16, look: Look, out: &mut Vec<Paragraph>) {
        if self.lines.is_empty() {
            return;
        }
        let bar = usize::from(cells).saturating_sub(INDENT).min(MOST);
        if let Some(receipt) = self.receipt
            && bar >= 12
        {
            out.push(draw_bar(receipt, bar, look));
        }
        let label = if self.receipt.is_some() { "" } else { "Inside" };
        let mut list = labelled(label, look);
        for line in &self.lines {
            if !list.is_empty() {
                list.put("   ", look.plain());
            }
            let figure = figure(line, look);
            let (name, size) = match line.standing {
                Standing::Replaced => (look.dim(), look.dim()),
                _ => (look.plain(), look.class(figure.class)),
            };
            list.put(glued(&self.head(line)), name);
            list.put(glued(&figure.text), size);
            if let Some(place) = place(line) {
                list.put(format!(" ({place})"), look.dim());
            }
        }
        if let Some(receipt) = self.receipt {
            let rest =
                output::format::estimate_signed(receipt.remainder_low, receipt.remainder_high);
            list.put("   ", look.plain());
            list.put(glued("? rest "), look.plain());
            list.put(glued(&rest), look.class(Class::Estimated));
        }
        out.push(list);
    }

    /// Where the numbers come from: what they were computed from, and what the remainder is.
    pub(crate) fn notes(&self, look: Look, out: &mut Vec<Paragraph>) {
        let mut it = labelled("Basis", look);
        let mut before: Option<&receipt::Line> = None;
        for line in &self.lines {
            let inputs = inputs(&line.inputs);
            let same = |other: &receipt::Line| {
                other.model_id == line.model_id
                    && other.kind == line.kind
                    && other.inputs == line.inputs
            };
            // What does not count here is explained where it does, and two sides of one part once.
            if inputs.is_empty() || line.standing == Standing::Replaced || before.is_some_and(same)
            {
                continue;
            }
            before = Some(line);
            dot(&mut it, look);
            it.put(glued(&self.head(line)), look.plain());
            it.put(inputs, look.dim());
        }
        if let Some(receipt) = self.receipt {
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

    fn head(&self, line: &receipt::Line) -> String {
        let model = if self.several {
            format!("{} ", figure::clean(&line.model_id))
        } else {
            String::new()
        };
        let name = line.kind.label();
        // What is no part of the bar has no letter.
        match line.standing {
            Standing::Contained => format!("{model}{name} "),
            _ => format!("{model}{} {name} ", letter(line)),
        }
    }
}

/// The letter in bars: small where it was estimated.
const fn letter(line: &receipt::Line) -> char {
    match line.size {
        LineSize::Reported(_) => line.kind.letter(),
        LineSize::Estimated(_) => line.kind.letter().to_ascii_lowercase(),
    }
}

fn figure(line: &receipt::Line, look: Look) -> Figure {
    match &line.size {
        LineSize::Reported(size) => {
            let mut figure = figure::reported(size, look);
            if let Some(rounded) = line.rounded() {
                figure.text = format!("{rounded} r").into();
            }
            figure
        }
        LineSize::Estimated(size) => figure::estimated(size, look),
    }
}

const fn place(line: &receipt::Line) -> Option<&'static str> {
    match (line.standing, line.placement) {
        (Standing::Replaced, _) => Some("the report counts"),
        (Standing::Contained, _) => match line.kind {
            SegmentKind::KvUsed => Some("part of KV"),
            _ => Some("contains the parts"),
        },
        (_, Placement::Gpu) => match line.standing {
            Standing::Elsewhere => Some("on another GPU"),
            _ => None,
        },
        (_, Placement::PinnedHost) => Some("in pinned system memory"),
        (_, Placement::Cpu) => Some("in system memory"),
        (_, Placement::Unknown) => Some("not known how much on the GPU"),
    }
}

fn inputs(inputs: &[(&'static str, model::Text)]) -> String {
    let inputs = inputs
        .iter()
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), figure::clean(value)));
    inputs.collect::<Vec<_>>().join(", ")
}

fn draw_bar(receipt: &Receipt, cells: usize, look: Look) -> Paragraph {
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
    for line in receipt
        .lines
        .iter()
        .filter(|it| it.standing == Standing::Counted)
    {
        let Some((low, high)) = line.size.bounds() else {
            continue;
        };
        let class = match line.size {
            LineSize::Reported(_) => Class::Reported,
            LineSize::Estimated(_) => Class::Estimated,
        };
        let sure = if line.placement == Placement::Unknown {
            0.0
        } else {
            low.as_f64()
        };
        add(letter(line), sure, look.class(class));
        // Between the ends of the range.
        add('~', high.as_f64() - sure, look.dim());
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

//! The help: keys, classes of value, units, words and letters.

use model::EvidenceLabel;

use crate::keys::BINDINGS;
use crate::prose::Paragraph;
use crate::theme::{Class, Look};

/// Cells of the column of words that are explained.
const INDENT: usize = 14;

pub(super) fn paragraphs(look: Look) -> Vec<Paragraph> {
    let head = |text: &str| Paragraph::new(text, look.title(), 0);
    let blank = || Paragraph::new("", look.plain(), 0);
    let entry = |key: &str, meaning: &str| {
        Paragraph::new(key, look.bold(), INDENT).with(meaning, look.plain())
    };
    let sample = |text: &str, class: Class, meaning: &str| {
        Paragraph::new(text, look.class(class), INDENT).with(meaning, look.plain())
    };
    let mut out = vec![head("Keys")];
    for binding in BINDINGS {
        out.push(entry(binding.shown, binding.meaning));
    }
    out.push(entry(
        "mouse",
        "click: select, again: open; heading: sort; wheel: move; with Shift the terminal selects text",
    ));
    out.push(blank());
    out.push(head("How sure a number is"));
    out.extend([
        sample(
            "3.95G",
            Class::Measured,
            "measured: read from the kernel or the driver",
        ),
        sample(
            "3.95G r",
            Class::Reported,
            "reported: said by the program that uses the memory",
        ),
        sample(
            "~3.95G",
            Class::Estimated,
            "estimated: computed, such as free memory from size less use; a range where inputs are unknown",
        ),
        sample(
            "3.95G *",
            Class::Inferred,
            "measured, and the owner is matched for sure",
        ),
        sample(
            "3.95G ?",
            Class::Inferred,
            "measured, and the owner is a guess",
        ),
        sample(
            "n/a",
            Class::Missing,
            "no reading; the inspector says why. It is not zero",
        ),
        sample(look.pending(), Class::Pending, "not there yet"),
        sample("0", Class::Measured, "zero was measured"),
    ]);
    out.push(entry(
        "H:1234",
        "a number of the host's PID namespace, outside this container",
    ));
    let bound = format!("{}3.95G", look.at_least());
    out.push(entry(&bound, "a lower bound: not everything has a size"));
    out.push(entry("✓", "model confirmed by two kinds of evidence"));
    for label in [
        EvidenceLabel::Likely,
        EvidenceLabel::History,
        EvidenceLabel::Candidate,
    ] {
        out.push(entry(label.id(), label.meaning()));
    }
    out.push(entry("+", "in a bar: several small parts in one cell"));
    out.push(blank());
    out.push(head("Units"));
    out.push(entry(
        "K M G",
        "KiB, MiB, GiB: 1024, three significant digits",
    ));
    out.push(blank());
    for (title, words) in [
        ("Columns", output::words::COLUMNS),
        ("Readings of the GPU", output::words::READINGS),
        ("Words of the inspector", output::words::DETAILS),
    ] {
        out.push(head(title));
        out.extend(words.iter().map(|(word, meaning)| entry(word, meaning)));
        out.push(blank());
    }
    out.pop();
    out.push(blank());
    out.push(head("Letters in the memory bar"));
    for category in model::Category::ALL {
        let letter = category.letter().to_string();
        out.push(
            Paragraph::new(&letter, look.category(*category), INDENT)
                .with(category.label(), look.plain()),
        );
    }
    out.push(entry(
        "U",
        "unattributed: used, but no process accounts for it",
    ));
    out.push(entry("R", "reserved by the driver and the firmware"));
    out.push(entry(
        "P",
        "in the bar of a MIG instance: processes of its GPU instance, whose memory it is",
    ));
    out.push(entry(".", "free"));
    out.push(blank());
    out.push(head("Letters inside a process"));
    out.push(entry(
        "W K C",
        "weights, KV cache, compute buffers: reported",
    ));
    out.push(entry(
        "w k c",
        "the same, estimated; ~ is between the ends of a range",
    ));
    out.push(entry("?", "the rest: measured, but not itemised"));
    out
}

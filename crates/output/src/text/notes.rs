//! What the cells left open: every reason for an `n/a` once, ages of old readings, the legend.

use std::borrow::Cow;
use std::fmt::Write as _;

use model::{
    Bytes, ChargedPercent, Device, Estimated, EvidenceLabel, Gap, Measured, Missing, PidSpace,
    Provenance, Reading, Reported, Snapshot, Source, Stamp,
};

use super::page::Page;
use crate::json::mark;
use crate::{format, shown};

/// A reading older than this is shown with its age. Below it, it belongs to the refresh.
pub(super) const OLD_MS: u64 = 3000;

/// Columns before the text of a note.
pub(super) const INDENT: usize = 9;

/// Subjects named before the rest is counted.
const NAMED: usize = 6;

/// A text for a cell, and the age of its reading where that is old.
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) old_ms: Option<u64>,
}

impl Cell {
    /// Whether there is a value, be it on its way.
    pub(super) fn is_known(&self) -> bool {
        self.text != format::NOT_AVAILABLE && self.text != format::PENDING
    }
}

/// Fields with their subjects, in the order met.
#[derive(Default)]
struct Fields(Vec<(&'static str, Vec<String>)>);

impl Fields {
    fn add(&mut self, field: &'static str, subject: &str) {
        let subjects = match self.0.iter_mut().find(|(name, _)| *name == field) {
            Some((_, subjects)) => subjects,
            None => {
                self.0.push((field, Vec::new()));
                let Some((_, subjects)) = self.0.last_mut() else {
                    return;
                };
                subjects
            }
        };
        if !subjects.iter().any(|known| known == subject) {
            subjects.push(subject.to_owned());
        }
    }

    /// `decoder of GPU 0; VRAM, GPU% of 1234, 5678 and 20 more`.
    fn list(&self, gpus: usize) -> String {
        let mut groups: Vec<(Vec<&str>, &[String])> = Vec::new();
        for (field, subjects) in &self.0 {
            match groups.iter_mut().find(|(_, same)| same == subjects) {
                Some((fields, _)) => fields.push(field),
                None => groups.push((vec![field], subjects)),
            }
        }
        let mut text = String::new();
        for (fields, subjects) in groups {
            let separator = if text.is_empty() { "" } else { "; " };
            let of = subject_list(subjects, gpus);
            // Writing to a String cannot fail.
            let _ = write!(text, "{separator}{} of {of}", fields.join(", "));
        }
        text
    }
}

fn subject_list(subjects: &[String], gpus: usize) -> String {
    let devices = subjects.iter().filter(|s| s.starts_with("GPU ")).count();
    if gpus > 1 && devices == gpus && devices == subjects.len() {
        return "every GPU".into();
    }
    let (named, rest) = subjects.split_at_checked(NAMED).unwrap_or((subjects, &[]));
    let named = named.join(", ");
    match rest.len() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// What can be done about it, where anything.
type Remedy = Option<Cow<'static, str>>;

/// Collects while the report is written; printed at its end.
pub(super) struct Notes<'a> {
    snapshot: &'a Snapshot,
    /// The device that is written about.
    device: Option<&'a Device>,
    now: Stamp,
    gpus: usize,
    /// A reason is there once for each remedy that it has.
    gaps: Vec<(Gap, Remedy, Fields)>,
    ages: Vec<(String, Fields)>,
    lower_bound: bool,
    shared: bool,
    reported: bool,
    inferred: bool,
    foreign: bool,
    /// How sure the models are that are shown.
    labels: std::collections::BTreeSet<EvidenceLabel>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let mut rows = shown::rows(snapshot);
        Self {
            snapshot,
            device: None,
            now: snapshot.at,
            gpus: snapshot.selected_devices().count(),
            gaps: Vec::new(),
            ages: Vec::new(),
            lower_bound: false,
            shared: false,
            reported: false,
            inferred: rows.any(|(process, charge)| {
                let vram = charge.memory.vram.known();
                process.pid_match.is_some() || vram.is_some_and(|size| size.basis().is_some())
            }),
            labels: shown::processes(snapshot)
                .flat_map(|process| process.models.iter().map(|model| model.label))
                .collect(),
            foreign: shown::processes(snapshot).any(|process| process.key.space == PidSpace::Host),
        }
    }

    /// What follows is about this device: what can be done about a gap depends on it.
    pub(super) fn about(&mut self, index: Option<u32>) {
        let mut devices = self.snapshot.devices.iter();
        self.device = index.and_then(|index| devices.find(|device| device.index == index));
    }

    /// Notes that `field` of `subject` is missing, of which its process would have to tell; gives what the cell shows.
    pub(super) fn gap(&mut self, field: &'static str, subject: &str, gap: Gap) -> &'static str {
        self.gap_of(field, subject, gap, Source::Proc)
    }

    /// The same of a reading from `source`.
    pub(super) fn gap_of(
        &mut self,
        field: &'static str,
        subject: &str,
        gap: Gap,
        source: Source,
    ) -> &'static str {
        let remedy = self.snapshot.remedy(gap, self.device, source);
        let is_it = |(known, same, _): &(Gap, Remedy, Fields)| *known == gap && *same == remedy;
        let at = self.gaps.iter().position(is_it).unwrap_or_else(|| {
            self.gaps.push((gap, remedy, Fields::default()));
            self.gaps.len() - 1
        });
        if let Some((.., fields)) = self.gaps.get_mut(at) {
            fields.add(field, subject);
        }
        format::missing(gap)
    }

    /// Notes that `field` of `subject` is old, where there is no room for that beside it.
    pub(super) fn age(&mut self, field: &'static str, subject: &str, at: Stamp) {
        let Some(old_ms) = self.old(at) else {
            return;
        };
        let age = format::age(old_ms);
        if !self.ages.iter().any(|(known, _)| *known == age) {
            self.ages.push((age.clone(), Fields::default()));
        }
        if let Some((_, fields)) = self.ages.iter_mut().find(|(known, _)| *known == age) {
            fields.add(field, subject);
        }
    }

    /// Age of a reading at `at`, where it is old.
    pub(super) fn old(&self, at: Stamp) -> Option<u64> {
        Some(self.now.ms_since(at)).filter(|ms| *ms >= OLD_MS)
    }

    /// The mark of a lower bound.
    pub(super) const fn at_least(&mut self) -> &'static str {
        self.lower_bound = true;
        ">="
    }

    /// Notes that system memory stands under the heading of what is shared.
    pub(super) const fn shared(&mut self) {
        self.shared = true;
    }

    fn known(&mut self, field: &'static str, subject: &str, text: String, by: Provenance) -> Cell {
        // A number that cannot be drawn is as good as none.
        if text == format::NOT_AVAILABLE {
            self.gap(field, subject, Gap::Implausible);
        }
        Cell {
            text,
            old_ms: self.old(by.at),
        }
    }

    fn missing(&mut self, field: &'static str, subject: &str, missing: &Missing) -> Cell {
        let (gap, source) = (missing.gap, missing.from.source);
        Cell {
            text: self.gap_of(field, subject, gap, source).into(),
            old_ms: None,
        }
    }

    pub(super) fn measured<T>(
        &mut self,
        field: &'static str,
        subject: &str,
        reading: &Reading<Measured<T>>,
        show: impl FnOnce(&T) -> String,
    ) -> Cell {
        match reading {
            Reading::Known(it) => self.known(field, subject, show(&it.value), it.from),
            Reading::Missing(missing) => self.missing(field, subject, missing),
        }
    }

    /// A load with the mark of a matched owner.
    pub(super) fn load(
        &mut self,
        field: &'static str,
        subject: &str,
        reading: &Reading<ChargedPercent>,
    ) -> Cell {
        match reading {
            Reading::Known(it) => {
                let text = format::percent(it.value());
                let mut cell = self.known(field, subject, text, it.from());
                if let Some(basis) = it.basis() {
                    cell.text = format!("{} {}", cell.text, mark(basis.mark()));
                }
                cell
            }
            Reading::Missing(missing) => self.missing(field, subject, missing),
        }
    }

    /// With the mark of what a runtime said of itself.
    pub(super) fn reported<T>(
        &mut self,
        field: &'static str,
        subject: &str,
        reading: &Reading<Reported<T>>,
        show: impl FnOnce(&T) -> String,
    ) -> Cell {
        match reading {
            Reading::Known(it) => {
                self.reported = true;
                self.known(field, subject, show(&it.value) + " r", it.by)
            }
            Reading::Missing(missing) => self.missing(field, subject, missing),
        }
    }

    /// Words of a runtime, with their mark.
    pub(super) fn words(&mut self, text: &str) -> String {
        self.reported = true;
        format!("{text} r")
    }

    pub(super) fn estimated(
        &mut self,
        field: &'static str,
        subject: &str,
        reading: &Reading<Estimated<Bytes>>,
    ) -> Cell {
        match reading {
            Reading::Known(it) => {
                let text = format::estimate(it.low, it.high);
                self.known(field, subject, text, it.from)
            }
            Reading::Missing(missing) => self.missing(field, subject, missing),
        }
    }

    pub(super) fn write(&self, page: &mut Page) {
        for (gap, remedy, fields) in &self.gaps {
            let label = format::pad_end(&format!("  {}", format::missing(*gap)), INDENT);
            let code = match gap {
                Gap::DriverError(code) => format!("{}, its code is {code}", gap.code()),
                gap => gap.code().to_owned(),
            };
            let remedy = remedy
                .as_ref()
                .map_or_else(String::new, |it| format!("; {it}"));
            let what = fields.list(self.gpus);
            let why = gap.sentence();
            page.sentence(&label, &format!("{what}: {why} ({code}){remedy}"));
        }
        for (age, fields) in &self.ages {
            let what = fields.list(self.gpus);
            page.sentence("  old    ", &format!("{what}: read {age} ago"));
        }
        let mut legend = vec!["plain = measured", "~ = estimate, computed"];
        let pending = self.gaps.iter().any(|(gap, ..)| gap.is_pending());
        let marks = [
            (self.reported, "r = said by the runtime"),
            (self.inferred, "* = owner matched, ? = owner guessed"),
            (self.foreign, "H: = number on the host"),
            (self.lower_bound, ">= = at least, of what has a size"),
            (
                self.shared,
                "SHARED = system memory that the GPU uses, not overflow",
            ),
            (pending, "\u{2026} = no answer yet"),
        ];
        legend.extend(marks.iter().filter_map(|(on, text)| on.then_some(*text)));
        legend.push("n/a = no reading (not zero)");
        legend.push("K M G = KiB MiB GiB");
        let labels = self.labels.iter().rev();
        let labels = labels.map(|it| format!("[{}] = {}", it.id(), it.meaning()));
        let legend: Vec<String> = legend.into_iter().map(Into::into).chain(labels).collect();
        page.items("  legend ", &legend);
    }
}

/// The items of a line, with the ages of old readings: once at the end where all share it.
pub(super) fn with_ages(items: Vec<(String, Option<u64>)>) -> Vec<String> {
    let ages: Vec<Option<String>> = items.iter().map(|(_, ms)| ms.map(format::age)).collect();
    let first = ages.first().cloned().flatten();
    let shared = items.len() > 1 && first.is_some() && ages.iter().all(|age| *age == first);
    let mut texts: Vec<String> = Vec::new();
    for ((text, _), age) in items.into_iter().zip(ages) {
        texts.push(match age {
            Some(age) if !shared => format!("{text} ({age} old)"),
            _ => text,
        });
    }
    if let Some(age) = first.filter(|_| shared) {
        texts.push(format!("(all {age} old)"));
    }
    texts
}

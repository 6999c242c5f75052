//! Where each cell of the selected row comes from: its class, who was asked for what, how long ago, or why there is no
//! value.

use model::{Charged, Estimated, Measured, Missing, Process, Provenance, Reading, Snapshot};

use crate::columns::{Column, Row, one_of};
use crate::prose::Paragraph;
use crate::theme::{Class, Look};

/// Cells of the column of headings.
const INDENT: usize = 11;

/// Widest figure that is repeated here.
const FIGURE: u16 = 44;

/// Where a value comes from, or the gap in its place.
enum Origin {
    Known {
        class: Class,
        how: String,
        from: Provenance,
    },
    /// How sure it is by which kinds of evidence.
    Evidence(String),
    Missing(Missing),
}

trait Told {
    fn origin(&self) -> Origin;
}

impl<T> Told for Measured<T> {
    fn origin(&self) -> Origin {
        Origin::Known {
            class: Class::Measured,
            how: "measured".to_owned(),
            from: self.from,
        }
    }
}

impl<T: Copy> Told for Charged<T> {
    fn origin(&self) -> Origin {
        let (class, how) = match self.basis() {
            None => (Class::Measured, "measured".to_owned()),
            Some(basis) => (
                Class::Inferred,
                format!(
                    "inferred {}: measured, and its owner was matched",
                    crate::figure::mark(basis.mark())
                ),
            ),
        };
        Origin::Known {
            class,
            how,
            from: self.from(),
        }
    }
}

impl<T> Told for Estimated<T> {
    fn origin(&self) -> Origin {
        Origin::Known {
            class: Class::Estimated,
            how: format!("estimated, {}", self.method.id()),
            from: self.from,
        }
    }
}

fn of<C: Told>(reading: &Reading<C>) -> Origin {
    match reading {
        Reading::Known(known) => known.origin(),
        Reading::Missing(missing) => Origin::Missing(*missing),
    }
}

/// A paragraph for each column of the row, whether it is on the screen or not.
pub(super) fn paragraphs(snapshot: &Snapshot, row: Row<'_>, look: Look) -> Vec<Paragraph> {
    let mut out = Vec::new();
    for column in Column::all() {
        let Some(origin) = origin(column, row) else {
            continue;
        };
        let figure = column.cell(row, FIGURE, look);
        let mut it = Paragraph::new(column.title(), look.label(), INDENT);
        it.put(figure.text, look.class(figure.class));
        it.put("  ", look.plain());
        tell(snapshot, row, origin, look, &mut it);
        out.push(it);
    }
    out
}

fn tell(snapshot: &Snapshot, row: Row<'_>, origin: Origin, look: Look, it: &mut Paragraph) {
    let asked = |from: &Provenance| {
        let age = output::format::age(snapshot.at.ms_since(from.at));
        format!("{} ({}, {age} ago)", from.source.id(), from.counter)
    };
    match origin {
        Origin::Known { class, how, from } => {
            it.put(how, look.class(class));
            it.put(format!(" by {}", asked(&from)), look.dim());
        }
        Origin::Evidence(text) => it.put(text, look.dim()),
        Origin::Missing(Missing { gap, from }) => {
            it.put(gap.sentence(), look.plain());
            let asked = asked(&from);
            it.put(format!(" [{}] asked {asked}", gap.code()), look.dim());
            let device = row
                .charge
                .and_then(|charge| snapshot.device(charge.device_index));
            if let Some(remedy) = snapshot.remedy(gap, device, from.source) {
                it.put(format!(" → {remedy}"), look.plain());
            }
        }
    }
}

/// What the cell rests on; `None` of a column that is no reading.
fn origin(column: Column, row: Row<'_>) -> Option<Origin> {
    let process = row.process;
    let charge = row.charge;
    Some(match column {
        Column::Name => of(&process.name),
        Column::User => of(&process.user),
        Column::Container => of(&process.container),
        Column::Runtimes => of(&process.runtimes),
        Column::Model => return model(process),
        Column::Vram => of(&charge?.memory.vram),
        Column::Spill => of(&charge?.memory.spill),
        Column::Paged => of(&charge?.memory.paged),
        Column::Load => of(&charge?.engines.busiest),
        Column::Graphics => of(&charge?.engines.graphics),
        Column::Compute => of(&charge?.engines.compute),
        Column::Copy => of(&charge?.engines.copy),
        Column::Encode => of(one_of(&charge?.engines.encode, &charge?.engines.video)),
        Column::Decode => of(one_of(&charge?.engines.decode, &charge?.engines.video)),
        Column::Device
        | Column::Instance
        | Column::Pid
        | Column::Type
        | Column::VramChange
        | Column::SpillChange => return None,
    })
}

/// A model's name is as sure as its evidence, which the inspector lists; where there is none, why nobody looked.
fn model(process: &Process) -> Option<Origin> {
    match process.models.first() {
        Some(model) => {
            let list = model.evidence.iter();
            let list =
                list.map(|one| format!("{} {}", one.kind.id(), crate::figure::clean(&one.detail)));
            let list: Vec<String> = list.collect();
            let text = format!("{} by {} (i: all of it)", model.label.id(), list.join(", "));
            Some(Origin::Evidence(text))
        }
        None => process.runtimes.gap().map(|_| of(&process.runtimes)),
    }
}

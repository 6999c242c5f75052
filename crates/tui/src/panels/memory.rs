//! The memory bar by category, with what no process accounts for and what is free, and its legend
//! with the numbers as they were read.

use model::{Bytes, Category, Device, DeviceKind, Reading, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::figure::{self, Figure};
use crate::paint::{Strip, width};
use crate::panel::{Form, Name, Panel, Room};
use crate::panels::old;
use crate::theme::{Class, Look};
use crate::view::View;
use crate::widgets::bar::{self, Part};

/// See the module.
pub(crate) struct Memory;

/// Below this width a bar says nothing.
const LEAST_BAR: usize = 12;

/// An answer older than this is marked with its age.
pub(crate) const OLD_MS: u64 = 3000;

impl Panel for Memory {
    fn name(&self) -> Name {
        Name::Memory
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if view.has_no_device() {
            return Room::Nothing;
        }
        let devices = view.snapshot.map_or(1, |snapshot| snapshot.devices.len());
        let bars = if view.state.all_devices {
            let most = if size.height < 30 { 4 } else { 8 };
            model::units::saturating_u16(devices).clamp(1, most)
        } else {
            1
        };
        match Form::of(size) {
            Form::Line => Room::Nothing,
            Form::Small if size.height < 10 => Room::Lines(1),
            Form::Small => Room::Lines(2),
            Form::Full => Room::Lines(bars + legend_lines(size)),
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let (Some(snapshot), Some(shown)) = (view.snapshot, view.device()) else {
            let mut strip = Strip::new(buffer, look, area, 0);
            strip.skip(1);
            strip.put("VRAM ", look.label());
            strip.put(look.pending(), look.dim());
            return;
        };
        let legend = legend_lines(view.state.size);
        let bars = area.height.saturating_sub(legend).max(1);
        if view.state.all_devices && snapshot.devices.len() > 1 {
            draw_many(view, snapshot, shown, area, bars, buffer);
        } else {
            draw_bar(view, snapshot, shown, area, 0, "", buffer);
        }
        if area.height > bars {
            let contents = contents(snapshot, shown, look);
            let legend = Rect::new(area.x, area.y + bars, area.width, area.height - bars);
            draw_legend(look, &contents, legend, buffer);
        }
    }
}

/// A high screen has room for the names of all categories.
fn legend_lines(size: Size) -> u16 {
    if size.height >= 30 && size.width < 190 {
        2
    } else {
        1
    }
}

/// Bars of several devices, the shown one among them.
fn draw_many(
    view: View<'_>,
    snapshot: &Snapshot,
    shown: &Device,
    area: Rect,
    bars: u16,
    buffer: &mut Buffer,
) {
    let devices = &snapshot.devices;
    let at = devices.iter().position(|it| it.index == shown.index);
    // tidy: a device that has gone leaves the list at its first line
    let first = crate::state::first_row(0, at.unwrap_or(0), usize::from(bars), devices.len());
    let beyond = devices.len().saturating_sub(usize::from(bars));
    for (line, device) in (0..bars).zip(devices.iter().skip(first)) {
        let mark = if device.index == shown.index {
            "▸"
        } else {
            " "
        };
        let more = if line + 1 == bars && beyond > 0 {
            format!("+{beyond} ")
        } else {
            String::new()
        };
        let prefix = format!("{mark}{more}[{}] ", device.index);
        draw_bar(view, snapshot, device, area, line, &prefix, buffer);
    }
}

fn draw_bar(
    view: View<'_>,
    snapshot: &Snapshot,
    device: &Device,
    area: Rect,
    line: u16,
    prefix: &str,
    buffer: &mut Buffer,
) {
    let look = view.look();
    let contents = contents(snapshot, device, look);
    let mut strip = Strip::new(buffer, look, area, line);
    if prefix.is_empty() {
        strip.skip(1);
    }
    strip.put(prefix, look.bold());
    strip.put("VRAM ", look.label());
    let memory = &device.memory;
    let used = figure::measured(&memory.used, look, |used| figure::size(*used));
    let total = figure::measured(&memory.total, look, |total| figure::size(*total));
    let whole_unknown = used.is_known() && !total.is_known();
    for (text, style) in figure::part_of(used, total, "total", "", look) {
        strip.put(&text, style);
    }
    if whole_unknown {
        strip.put(" used", look.plain());
    }
    if let (Some(used), Some(total)) = (memory.used.value(), memory.total.value())
        && let Some(share) = used.percent_of(*total)
    {
        strip.put(
            &format!(" {:>3}%", figure::percent(share)),
            look.level(share.0),
        );
    }
    strip.put_right(" ", look.plain());
    if let Reading::Known(used) = &memory.used {
        let age = snapshot.at.ms_since(used.from.at);
        if age > OLD_MS {
            let (text, style) = old(device, &output::format::age(age), look);
            strip.put_right(&text, style);
            strip.put_right(" ", look.plain());
        }
    }
    if let Some(note) = contents.note {
        strip.put_right(note, look.warning());
        strip.put_right(" ", look.plain());
    }
    strip.skip(1);
    if let Some(gap) = memory.used.gap() {
        // The system's memory is no figure of the GPU, and is not shown as one.
        let why = match device.kind {
            DeviceKind::Unified => {
                "one memory with the system; the driver has no figure of the GPU's share"
            }
            _ => gap.sentence(),
        };
        strip.put(why, look.dim());
    } else if strip.room() >= LEAST_BAR {
        let cells = model::units::saturating_u16(strip.room());
        let parts: Vec<Part> = contents.entries.iter().map(|entry| entry.part).collect();
        bar::draw(&mut strip, look, &parts, cells);
    }
}

/// What the bar is made of.
struct Contents {
    entries: Vec<Entry>,
    /// What has to be said of the bar as a whole.
    note: Option<&'static str>,
}

/// A segment with its line in the legend.
struct Entry {
    part: Part,
    name: &'static str,
    figure: Figure,
    /// Stays in the legend however narrow it is.
    pinned: bool,
}

fn contents(snapshot: &Snapshot, device: &Device, look: Look) -> Contents {
    let memory = &device.memory;
    let mut entries = rows(snapshot, device, look);
    let used = memory.used.value().map(|used| used.as_f64());
    let of_rows: f64 = entries.iter().map(|entry| entry.part.weight).sum();
    let mut note = None;
    if let Some(used) = used
        && (device.categories_normalized || of_rows > used)
        && of_rows > 0.0
    {
        let scale = (used / of_rows).min(1.0);
        for entry in &mut entries {
            entry.part.weight *= scale;
        }
        note = Some("normalized");
    }
    let unattributed = figure::estimated(&memory.unattributed, look);
    entries.push(Entry {
        part: Part {
            letter: 'U',
            weight: memory
                .unattributed
                .known()
                .map_or(0.0, |known| known.high.as_f64()),
            style: look.dim(),
            hollow: true,
        },
        name: "unattributed",
        figure: unattributed,
        pinned: true,
    });
    if let Some(reserved) = memory.reserved.value() {
        entries.push(fixed('R', "reserved", *reserved, look));
    }
    match (memory.free.value(), memory.computed_free()) {
        (Some(free), _) if memory.total.value().is_some() => {
            entries.push(fixed('.', "free", *free, look));
        }
        (None, Some(free)) => {
            let mut entry = fixed('.', "free", free, look);
            entry.figure = Figure {
                text: output::format::estimate(free, free).into(),
                class: Class::Estimated,
            };
            entries.push(entry);
        }
        _ => {
            entries.push(Entry {
                part: Part {
                    letter: '.',
                    weight: 0.0,
                    style: look.dim(),
                    hollow: true,
                },
                name: "free",
                figure: figure::measured(&memory.free, look, |free| figure::size(*free)),
                pinned: true,
            });
            // Without a figure of use there is no bar either.
            let of_used = memory.total.gap().is_some() && memory.used.known().is_some();
            note = note.or(of_used.then_some("bar: of used"));
        }
    }
    Contents { entries, note }
}

fn fixed(letter: char, name: &'static str, bytes: Bytes, look: Look) -> Entry {
    Entry {
        part: Part {
            letter,
            weight: bytes.as_f64(),
            style: look.dim(),
            hollow: true,
        },
        name,
        figure: Figure::measured(figure::size(bytes)),
        pinned: true,
    }
}

/// Measured memory by category, then every row whose owner was matched.
fn rows(snapshot: &Snapshot, device: &Device, look: Look) -> Vec<Entry> {
    let segment = |category: Category, weight: f64, figure: Figure| Entry {
        part: Part {
            letter: category.letter(),
            weight,
            style: look.category(category),
            hollow: false,
        },
        name: category.label(),
        figure,
        pinned: false,
    };
    let mut entries: Vec<Entry> = Vec::with_capacity(16);
    for share in &device.categories {
        let total = share.memory;
        let figure = match (total.counted, total.missing) {
            // That it is at least nothing says nothing.
            (_, 1..) if total.known.0 == 0 => Figure {
                text: "n/a".into(),
                class: Class::Missing,
            },
            (0, _) => Figure {
                text: "n/a".into(),
                class: Class::Missing,
            },
            _ if total.is_complete() => Figure::measured(figure::size(total.known)),
            (_, 0) => Figure::measured(format!("{}{}", look.at_least(), figure::size(total.known))),
            (_, missing) => Figure::measured(format!(
                "{}{} ({missing} n/a)",
                look.at_least(),
                figure::size(total.known)
            )),
        };
        entries.push(segment(share.category, total.known.as_f64(), figure));
    }
    for process in &snapshot.processes {
        let Some(Reading::Known(vram)) = process.charge_on(device.index).map(|it| &it.memory.vram)
        else {
            continue;
        };
        let Some(basis) = vram.basis() else { continue };
        let size = figure::size(vram.value());
        let text = format!("{size} {}", figure::mark(basis.mark()));
        let figure = Figure {
            text: text.into(),
            class: Class::Inferred,
        };
        entries.push(segment(process.category, vram.value().as_f64(), figure));
    }
    entries.sort_by(|a, b| b.part.weight.total_cmp(&a.part.weight));
    entries
}

/// Entries in as many lines as there are; what has no room is counted.
fn draw_legend(look: Look, contents: &Contents, area: Rect, buffer: &mut Buffer) {
    if fits(contents, area) {
        return draw_whole_legend(look, contents, area, buffer);
    }
    // A letter alone tells nobody anything: rather fewer with their names. What the driver keeps for itself goes first.
    let stays = |entry: &&Entry| entry.pinned && entry.part.letter != 'R';
    let (pinned, others): (Vec<&Entry>, Vec<&Entry>) = contents.entries.iter().partition(stays);
    let of_pinned: usize = pinned.iter().map(|it| needed(it, Words::Short)).sum();
    let mut others = others.into_iter().peekable();
    let mut left = others.len();
    for line in 0..area.height {
        let mut strip = Strip::new(buffer, look, area, line);
        strip.skip(1);
        let last = line + 1 == area.height;
        while let Some(entry) = others.peek() {
            let more = if left > 1 { width("+10 more  ") } else { 0 };
            let kept = if last { of_pinned + more } else { 0 };
            if needed(entry, Words::Short) + kept > strip.room() + 2 {
                break;
            }
            put(&mut strip, look, entry, Words::Short);
            left -= 1;
            others.next();
        }
        if last {
            if left > 0 {
                strip.put(&format!("+{left} more  "), look.dim());
            }
            for entry in &pinned {
                put(&mut strip, look, entry, Words::Short);
            }
        }
    }
}

/// All entries with their names, one after another.
fn draw_whole_legend(look: Look, contents: &Contents, area: Rect, buffer: &mut Buffer) {
    let mut entries = contents.entries.iter().peekable();
    for line in 0..area.height {
        let mut strip = Strip::new(buffer, look, area, line);
        strip.skip(1);
        while let Some(entry) = entries.peek() {
            if needed(entry, Words::Whole) > strip.room() + 2 {
                break;
            }
            put(&mut strip, look, entry, Words::Whole);
            entries.next();
        }
    }
}

/// Whether all entries have room in the lines of `area`.
fn fits(contents: &Contents, area: Rect) -> bool {
    let room = usize::from(area.width).saturating_sub(1) + 2;
    let (mut lines, mut used) = (1, 0);
    for entry in &contents.entries {
        let wanted = needed(entry, Words::Whole);
        if used + wanted > room {
            lines += 1;
            used = 0;
        }
        used += wanted;
    }
    lines <= usize::from(area.height)
}

/// Cells of an entry and the gap after it.
fn needed(entry: &Entry, form: Words) -> usize {
    let (name, text) = words(entry, form);
    let blank = usize::from(name.len() == entry.name.len());
    1 + blank + width(name) + 1 + width(text) + 2
}

/// How an entry of the legend is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Words {
    /// Letter, name, figure.
    Whole,
    /// The letter as the first one of the name where it is that, and no number of rows without a size: the sign of
    /// the bound stays.
    Short,
}

/// What stands behind the letter: the name, or what is left of it, and the figure.
fn words(entry: &Entry, form: Words) -> (&str, &str) {
    let text = entry.figure.text.as_ref();
    if form == Words::Whole {
        return (entry.name, text);
    }
    let bare = text.split(" (").next().unwrap_or(text);
    let mut name = entry.name.chars();
    let same = name
        .next()
        .is_some_and(|c| c.eq_ignore_ascii_case(&entry.part.letter));
    (if same { name.as_str() } else { entry.name }, bare)
}

fn put(strip: &mut Strip<'_>, look: Look, entry: &Entry, form: Words) {
    let mut bytes = [0; 4];
    let letter: Style = if entry.part.hollow {
        entry.part.style
    } else {
        look.on_block(entry.part.style)
    };
    let (name, text) = words(entry, form);
    strip.put(entry.part.letter.encode_utf8(&mut bytes), letter);
    if name.len() == entry.name.len() {
        strip.put(" ", look.plain());
    }
    strip.put(name, look.plain());
    strip.put(" ", look.plain());
    strip.put(text, look.class(entry.figure.class));
    strip.put_whole("  ", look.plain());
}

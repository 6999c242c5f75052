//! Who, where, how, and whether it is live.

use std::fmt::Write as _;

use model::{Device, Gap, Mode, OriginKind, PowerState, ScanState, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::figure;
use crate::paint::{Strip, cut_middle, width};
use crate::panel::{Form, Name, Panel, Room};
use crate::session::Session;
use crate::theme::Look;
use crate::view::View;

/// See the module.
pub(crate) struct Header;

/// From this width on the driver stands in the first line, else in the second.
const WIDE: u16 = 110;

impl Panel for Header {
    fn name(&self) -> Name {
        Name::Header
    }

    fn room(&self, _view: View<'_>, size: Size) -> Room {
        match Form::of(size) {
            Form::Line => Room::Nothing,
            Form::Small if size.height < 12 => Room::Lines(1),
            Form::Small | Form::Full => Room::Lines(2),
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        first(view, area, buffer);
        second(view, area, buffer);
    }
}

fn first(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, 0);
    strip.skip(1);
    strip.put_right(" ", look.plain());
    let (state, style) = session(view, usize::from(area.width / 4));
    strip.put_right(&state, style);
    if area.width >= 60 && !matches!(view.state.session, Session::Replay { .. }) {
        let interval = format!("{} s  ", view.state.interval.as_secs_f32());
        strip.put_right(&interval, look.dim());
    }
    strip.put_right(" ", look.plain());
    strip.put("gputaskman ", look.bold());
    if area.width >= 60 {
        strip.put_whole(output::VERSION, look.dim());
        strip.put_whole(" ", look.plain());
    }
    let Some(snapshot) = view.snapshot else {
        strip.put_whole(look.pending(), look.dim());
        return;
    };
    strip.put_whole("│ ", look.rule());
    let Some(device) = view.device() else {
        strip.put("no GPU", look.warning());
        return;
    };
    let mut name = figure::measured(&device.name, look, |name| figure::clean(name).into_owned());
    // A device that was never awake since the start has no other name.
    if let (Some(Gap::Asleep | Gap::PowerUnknown), Some(place)) =
        (device.name.gap(), device.pci.value())
    {
        name.text = format!("GPU at {place}").into();
    }
    strip.put(&format!("[{}] ", device.index), look.label());
    let count = match snapshot.devices.len() {
        0 | 1 => String::new(),
        count => {
            let place = snapshot
                .devices
                .iter()
                .position(|it| it.index == device.index);
            format!(" {}/{count}", place.map_or(0, |place| place + 1))
        }
    };
    // Boards of one name are told apart by their places; on a wide screen each has its own beside the driver.
    let twin =
        |other: &&Device| other.index != device.index && other.name.value() == device.name.value();
    let has_twin = device.name.value().is_some() && snapshot.devices.iter().any(|it| twin(&it));
    let place = match device.pci.value() {
        Some(place) if has_twin && area.width < WIDE => {
            let place = place.to_string();
            format!(" {}", place.strip_prefix("0000:").unwrap_or(&place))
        }
        _ => String::new(),
    };
    let count = place + &count;
    let room = strip.room().saturating_sub(width(&count)).min(48);
    strip.put(&cut_middle(&name.text, room, look), look.bold());
    strip.put(&count, look.label());
    if area.width < WIDE {
        return;
    }
    strip.put_whole(" │ ", look.rule());
    strip.put_whole(&driver(device, look), look.plain());
    if let Some(cuda) = device.cuda.value() {
        strip.put_whole(&format!(" · CUDA {}", figure::clean(cuda)), look.plain());
    }
    if let Some(pci) = device.pci.value() {
        strip.put_whole(&format!(" · PCI {pci}"), look.plain());
    }
}

fn driver(device: &Device, look: Look) -> String {
    let driver = figure::measured(&device.driver, look, |it| figure::clean(it).into_owned());
    format!("driver {}", driver.text)
}

/// Where the snapshots come from and whether they still do.
fn session(view: View<'_>, room: usize) -> (String, Style) {
    let look = view.look();
    let state = view.state;
    let room = room.max(6);
    let short = |text: &str| cut_middle(&figure::clean(text), room, look);
    let (name, live) = match &state.session {
        Session::Live => ("LIVE".to_owned(), true),
        Session::Replay { name } => (format!("REPLAY {}", short(name)), false),
        Session::Demo { note } => (format!("DEMO {}", short(note)), false),
    };
    if state.frozen.is_some() {
        let behind = output::format::age(state.behind_ms);
        return (format!("FROZEN {behind}"), look.warning());
    }
    if state.ended.is_some() {
        return (format!("{name} · ended"), look.warning());
    }
    if let Some(late) = state.late {
        let ms = u64::try_from(late.as_millis()).unwrap_or(u64::MAX);
        let age = output::format::age(ms);
        return if view.snapshot.is_some() {
            (format!("! {name}, last answer {age} ago"), look.warning())
        } else {
            (format!("{name}, no answer for {age}"), look.warning())
        };
    }
    if view.snapshot.is_none() {
        return (format!("{} {name}", look.pending()), look.dim());
    }
    (
        format!("● {name}"),
        if live { look.good() } else { look.warning() },
    )
}

fn second(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, 1);
    strip.skip(1);
    strip.put_right(" ", look.plain());
    strip.put_right("?:help", look.dim());
    let Some(snapshot) = view.snapshot else {
        strip.put("waiting for the first answer", look.dim());
        return;
    };
    let clock = format!("{} UTC  ", figure::clock(snapshot.at.wall_us));
    if area.width >= 80 {
        strip.put_right(&clock, look.dim());
    }
    strip.put_right(" ", look.plain());
    strip.put(mode(snapshot.mode), look.plain());
    for (part, style) in facts(snapshot, view) {
        let whole = format!(" · {part}");
        if width(&whole) > strip.room() {
            strip.put_whole(&format!(" {}", look.ellipsis()), look.dim());
            break;
        }
        strip.put_whole(" · ", look.rule());
        strip.put_whole(&part, style);
    }
}

/// Most important first.
fn facts(snapshot: &Snapshot, view: View<'_>) -> Vec<(String, Style)> {
    let look = view.look();
    let mut facts = Vec::with_capacity(6);
    if snapshot.origin.kind != OriginKind::Live && view.state.session == Session::Live {
        facts.push((snapshot.origin.kind.id().to_owned(), look.warning()));
    }
    if let Some(device) = view.device() {
        if device.power_state.value() == Some(&PowerState::Suspended) {
            let wakes = if view.state.wake.is_some() && device.wakes_on_request() {
                ", W wakes it"
            } else {
                ""
            };
            facts.push((format!("suspended{wakes}"), look.warning()));
        }
        let labels = device.labels();
        facts.extend(labels.map(|label| (label.to_owned(), look.plain())));
    }
    let status = snapshot.process_status;
    if status.scan == ScanState::Partial {
        facts.push(("! process list is partial".to_owned(), look.warning()));
    }
    if !snapshot.devices.is_empty() {
        let plural = if status.listed == 1 { "" } else { "es" };
        let mut text = format!("{} process{plural}", status.listed);
        if status.unreadable > 0 {
            let _ = write!(text, ", {} unreadable", status.unreadable);
        }
        if status.hidden > 0 {
            let _ = write!(text, ", {} not to be seen", status.hidden);
        }
        facts.push((text, look.plain()));
    }
    if snapshot.mode == Mode::Container {
        let text = "numbers of the host: matched * or ?, else H:";
        facts.push((text.to_owned(), look.plain()));
    }
    if snapshot.pending {
        facts.push((format!("more to come {}", look.pending()), look.dim()));
    }
    if view.state.size.width < WIDE
        && let Some(device) = view.device()
    {
        facts.push((driver(device, look), look.plain()));
    }
    if let Some(name) = &snapshot.host.name {
        facts.push((format!("host {}", figure::clean(name)), look.plain()));
    }
    if let Some(kernel) = &snapshot.host.kernel {
        facts.push((
            format!(
                "{} {}",
                figure::clean(&snapshot.host.os),
                figure::clean(kernel)
            ),
            look.plain(),
        ));
    }
    facts
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::NativeLinux => "native Linux",
        Mode::Container => "container",
        Mode::Wsl => "WSL",
        Mode::Unsupported => "platform not supported yet",
    }
}

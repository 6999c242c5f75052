//! The list of devices, a line each.

use model::{Device, PowerState};
use ratatui::text::{Line, Span};

use crate::figure::{self, Figure};
use crate::theme::Look;
use crate::view::View;

/// Cells of a name in the list.
const NAME: usize = 32;

/// A line for each device, in the order of their numbers.
pub(super) fn lines(view: View<'_>) -> Vec<Line<'static>> {
    let look = view.look();
    let shown = view.device().map(|device| device.index);
    let devices = view.snapshot.iter().flat_map(|it| &it.devices);
    devices
        .map(|device| line(device, shown == Some(device.index), look))
        .collect()
}

fn line(device: &Device, is_shown: bool, look: Look) -> Line<'static> {
    let text = |reading, width| {
        let figure = figure::measured(reading, look, |text: &model::Text| {
            figure::clean(text).into_owned()
        });
        let cut = crate::paint::cut_middle(&figure.text, width, look);
        span(&cut, width, false, &figure, look)
    };
    let address = figure::measured(&device.pci, look, ToString::to_string);
    let memory = &device.memory;
    let used = figure::measured(&memory.used, look, |used| figure::size(*used));
    let total = figure::measured(&memory.total, look, |total| figure::size(*total));
    let load = figure::measured(&device.gpu, look, |load| figure::percent(*load) + "%");
    let heat = figure::measured(&device.temperature, look, |heat| {
        figure::whole(heat.0) + look.celsius()
    });
    let number = format!("{:>4} ", device.index);
    let mark = if is_shown { "shown" } else { "" };
    let state = match device.power_state.value() {
        Some(PowerState::Suspended) => "asleep",
        _ => mark,
    };
    let right = |figure: &Figure, width| span(&figure.text, width, true, figure, look);
    Line::from(vec![
        Span::styled(number, look.bold()),
        text(&device.name, NAME),
        Span::raw("  "),
        span(&address.text, 13, false, &address, look),
        right(&used, 7),
        Span::raw(" of"),
        right(&total, 7),
        Span::styled("  GPU", look.label()),
        right(&load, 5),
        Span::raw(" "),
        right(&heat, 6),
        Span::raw("  "),
        Span::styled(output::format::pad_end(state, 7), look.bold()),
        text(&device.driver, 16),
    ])
}

fn span(text: &str, width: usize, right: bool, figure: &Figure, look: Look) -> Span<'static> {
    let text = if right {
        output::format::pad_start(text, width)
    } else {
        output::format::pad_end(text, width)
    };
    Span::styled(text, look.class(figure.class))
}

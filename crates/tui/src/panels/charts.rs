//! Small charts of the last readings of the device. A moment without a reading stays blank.

use model::Device;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::figure;
use crate::history::Metric;
use crate::paint::Strip;
use crate::panel::{Form, Name, Panel, Room};
use crate::theme::Look;
use crate::view::View;
use crate::widgets::spark;

/// See the module.
pub(crate) struct Charts;

impl Panel for Charts {
    fn name(&self) -> Name {
        Name::Charts
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if Form::of(size) != Form::Full || view.has_no_device() || size.height < 18 {
            return Room::Nothing;
        }
        let bands = view.device().map_or(1, |device| {
            let metrics = shown(view, device, size.width, size.height).len();
            metrics.div_ceil(usize::from(tiles(size.width)))
        });
        let wanted = match size.height {
            0..30 => 1,
            30..50 => 4,
            _ => 6 * model::units::saturating_u16(bands),
        };
        Room::Flexible {
            wanted,
            least: 1,
            rank: 0,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let Some(device) = view.device() else {
            return;
        };
        let size = view.state.size;
        let metrics = shown(view, device, size.width, size.height);
        let tiles = tiles(area.width);
        let gap = if area.width < 100 { 1 } else { 3 };
        let cells = area.width.saturating_sub(2 + gap * (tiles - 1)) / tiles;
        let bands: Vec<&[Metric]> = metrics.chunks(usize::from(tiles)).collect();
        // A band has a line for its titles and one for its charts at least, or is one line.
        let most = if area.height < 4 { 1 } else { bands.len() };
        let lines = area.height / model::units::saturating_u16(most).max(1);
        for (band, metrics) in (0_u16..).zip(bands.into_iter().take(most)) {
            for (i, metric) in (0..tiles).zip(metrics) {
                let (x, y) = (area.x + 1 + i * (cells + gap), area.y + band * lines);
                let tile = Rect::new(x, y, cells, lines).intersection(area);
                draw_tile(view, device, *metric, tile, buffer);
            }
        }
    }
}

/// Charts in a band.
const fn tiles(width: u16) -> u16 {
    match width {
        0..60 => 1,
        60..76 => 2,
        76..240 => 4,
        _ => 8,
    }
}

/// The metrics that have a chart: the first four, and on a large screen those behind them of which there is or was a
/// reading.
fn shown(view: View<'_>, device: &Device, width: u16, height: u16) -> Vec<Metric> {
    let history = view.history();
    let is_there = |metric: &Metric| {
        metric.of(device).is_some()
            || history
                .last(&device.key, *metric, usize::from(width))
                .any(|point| !point.is_nan())
    };
    let more = height >= 50 || width >= 240 && height >= 24;
    Metric::ALL
        .into_iter()
        .enumerate()
        .filter(|(place, metric)| *place < 4 || more && is_there(metric))
        .map(|(_, metric)| metric)
        .collect()
}

fn draw_tile(view: View<'_>, device: &Device, metric: Metric, area: Rect, buffer: &mut Buffer) {
    let look = view.look();
    let mut strip = Strip::new(buffer, look, area, 0);
    strip.put(metric.label(), look.label());
    strip.put(" ", look.plain());
    let now = metric.of(device);
    let text = now.map_or_else(|| "n/a".to_owned(), |value| value_text(metric, value, look));
    let style = if now.is_some() {
        look.plain()
    } else {
        look.dim()
    };
    let history = view.history();
    let top = metric.top(
        device,
        history.last(&device.key, metric, usize::from(area.width)),
    );
    let seen = |cells: u16| {
        let mut points = history.last(&device.key, metric, usize::from(cells));
        now.is_some() || points.any(|point| !point.is_nan())
    };
    let chart = if area.height > 1 {
        let scale = format!("0 to {}", value_text(metric, top, look));
        strip.put(&text, style);
        // A scale belongs to a curve.
        if seen(area.width) {
            strip.put_right(&scale, look.dim());
        }
        Rect::new(area.x, area.y + 1, area.width, area.height - 1)
    } else {
        let cells = 5 + u16::from(metric == Metric::Temperature);
        strip.field(&text, cells - 1, true, style);
        strip.skip(1);
        let room = model::units::saturating_u16(strip.room());
        Rect::new(area.right().saturating_sub(room), area.y, room, 1)
    };
    let points = || history.last(&device.key, metric, usize::from(chart.width));
    if seen(chart.width) {
        spark::draw(buffer, chart, points(), top, look.chart());
    } else {
        spark::absent(buffer, chart, look.dim());
    }
}

fn value_text(metric: Metric, value: f64, look: Look) -> String {
    match metric {
        Metric::Gpu
        | Metric::Memory
        | Metric::MemoryActivity
        | Metric::Encoder
        | Metric::Decoder => format!("{}%", figure::percent(model::Percent(value))),
        Metric::Temperature => format!("{}{}", figure::whole(value), look.celsius()),
        Metric::Power => format!("{}W", figure::whole(value)),
        Metric::Clock => format!("{}MHz", figure::whole(value)),
    }
}

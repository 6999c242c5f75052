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
        let wanted = match size.height {
            0..30 => 1,
            30..50 => 4,
            _ => 8,
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
        let tiles: u16 = match area.width {
            0..60 => 1,
            60..76 => 2,
            _ => 4,
        };
        let gap = if area.width < 100 { 1 } else { 3 };
        let cells = area.width.saturating_sub(2 + gap * (tiles - 1)) / tiles;
        for (i, metric) in (0..tiles).zip(Metric::ALL) {
            let x = area.x + 1 + i * (cells + gap);
            let tile = Rect::new(x, area.y, cells, area.height).intersection(area);
            draw_tile(view, device, metric, tile, buffer);
        }
    }
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
    let seen = |cells: u16| {
        let mut points = history.last(&device.key, metric, usize::from(cells));
        now.is_some() || points.any(|point| !point.is_nan())
    };
    let chart = if area.height > 1 {
        let top = format!("0 to {}", value_text(metric, metric.top(device), look));
        strip.put(&text, style);
        // A scale belongs to a curve.
        if seen(area.width) {
            strip.put_right(&top, look.dim());
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
        spark::draw(buffer, chart, points(), metric.top(device), look.chart());
    } else {
        spark::absent(buffer, chart, look.dim());
    }
}

fn value_text(metric: Metric, value: f64, look: Look) -> String {
    match metric {
        Metric::Gpu | Metric::Memory => format!("{}%", figure::percent(model::Percent(value))),
        Metric::Temperature => format!("{}{}", figure::whole(value), look.celsius()),
        Metric::Power => format!("{}W", figure::whole(value)),
    }
}

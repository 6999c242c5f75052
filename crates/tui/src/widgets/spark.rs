//! A series as a row, or several rows, of eighth blocks. A gap stays blank; a measured zero lies on
//! the baseline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws `points`, oldest first, at the right of `area`; `top` is the value at its upper edge.
pub(crate) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    points: impl ExactSizeIterator<Item = f32>,
    top: f64,
    style: Style,
) {
    let area = area.intersection(buffer.area);
    let start = area
        .right()
        .saturating_sub(model::units::saturating_u16(points.len()));
    for (x, point) in (start..area.right()).zip(points) {
        if x < area.left() || point.is_nan() {
            continue;
        }
        let steps = u32::from(area.height) * 8;
        let level = f64::from(point) / top * f64::from(steps);
        let mut level = model::units::rounded_to(level, steps).max(1);
        for y in (area.top()..area.bottom()).rev() {
            let glyph = usize::try_from(level.min(8)).unwrap_or(0).checked_sub(1);
            let Some(glyph) = glyph.and_then(|i| BLOCKS.get(i)) else {
                break;
            };
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.set_symbol(glyph).set_style(style);
            }
            level = level.saturating_sub(8);
        }
    }
}

/// A dotted row for a metric that has no reading at all.
pub(crate) fn absent(buffer: &mut Buffer, area: Rect, style: Style) {
    let area = area.intersection(buffer.area);
    let Some(y) = area.bottom().checked_sub(1).filter(|y| *y >= area.top()) else {
        return;
    };
    for x in area.left()..area.right() {
        if let Some(cell) = buffer.cell_mut((x, y)) {
            cell.set_symbol("·").set_style(style);
        }
    }
}

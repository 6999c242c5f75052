//! What a panel is, which there are, and how they share the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::panels;
use crate::view::View;

/// A part of the screen, as wide as the terminal. It draws the view and changes nothing.
pub(crate) trait Panel: Sync {
    /// Which it is.
    fn name(&self) -> Name;

    /// How much height it wants at this size of the terminal.
    fn room(&self, view: View<'_>, size: Size) -> Room;

    /// Draws it into `area`.
    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer);
}

/// All panels, from top to bottom. A new one is a file in `panels/` and a line here.
pub(crate) const PANELS: &[&dyn Panel] = &[
    &panels::Header,
    &panels::Memory,
    &panels::Instances,
    &panels::Readings,
    &panels::Sleep,
    &panels::Charts,
    &panels::Processes,
    &panels::Absence,
    &panels::Inspector,
    &panels::Notices,
    &panels::Footer,
];

/// Names of the panels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Name {
    /// The first two lines.
    Header,
    /// The memory bar and its legend.
    Memory,
    /// The MIG instances of the device.
    Instances,
    /// Readings of the device.
    Readings,
    /// Why the device sleeps or does not.
    Sleep,
    /// Small charts.
    Charts,
    /// The table.
    Processes,
    /// In its place where there is no GPU.
    Absence,
    /// What is known of the selected process.
    Inspector,
    /// What the user should know.
    Notices,
    /// The keys.
    Footer,
}

/// Height that a panel wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Room {
    /// None: it is left out.
    Nothing,
    /// So many lines.
    Lines(u16),
    /// So many, but fewer or none where the table has too little; higher ranks shrink later and go
    /// earlier.
    Flexible {
        /// Lines where there is enough.
        wanted: u16,
        /// Lines below which it goes.
        least: u16,
        /// Order of shrinking.
        rank: u8,
    },
    /// What is left, and at least so many.
    Rest(u16),
}

/// How much of the interface a terminal can hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// One line.
    Line,
    /// Header, bar and table.
    Small,
    /// Everything.
    Full,
}

impl Form {
    /// The form for `size`.
    pub(crate) fn of(size: Size) -> Self {
        if size.width < 40 || size.height < 8 {
            Self::Line
        } else if size.width < 60 || size.height < 15 {
            Self::Small
        } else {
            Self::Full
        }
    }
}

/// The area of every panel, in the order of [`PANELS`]; empty where it is left out.
pub(crate) fn areas(view: View<'_>, area: Rect) -> [Rect; PANELS.len()] {
    let size = area.as_size();
    let mut rooms = [Room::Nothing; PANELS.len()];
    let mut heights = [0_u16; PANELS.len()];
    for (i, panel) in PANELS.iter().enumerate() {
        let room = panel.room(view, size);
        if let (Some(slot), Some(height)) = (rooms.get_mut(i), heights.get_mut(i)) {
            *slot = room;
            *height = match room {
                Room::Nothing => 0,
                Room::Lines(lines) | Room::Rest(lines) => lines,
                Room::Flexible { wanted, .. } => wanted,
            };
        }
    }
    let over = |heights: &[u16]| {
        let wanted = heights.iter().fold(0_u16, |sum, h| sum.saturating_add(*h));
        wanted.saturating_sub(area.height)
    };
    // First they shrink from the lowest rank, then they go from the highest.
    for rank in 0..=8 {
        let excess = over(&heights);
        shrink(&rooms, &mut heights, rank, excess, false);
    }
    for rank in (0..=8).rev() {
        let excess = over(&heights);
        shrink(&rooms, &mut heights, rank, excess, true);
    }
    let left = area
        .height
        .saturating_sub(heights.iter().fold(0, |sum, h| sum.saturating_add(*h)));
    let mut y = area.y;
    let mut areas = [Rect::ZERO; PANELS.len()];
    for ((slot, room), height) in areas.iter_mut().zip(rooms).zip(heights) {
        let height = match room {
            Room::Rest(_) => height.saturating_add(left),
            _ => height,
        };
        let height = height.min(area.bottom().saturating_sub(y));
        *slot = Rect::new(area.x, y, area.width, height);
        y = y.saturating_add(height);
    }
    areas
}

fn shrink(rooms: &[Room], heights: &mut [u16], rank: u8, over: u16, gone: bool) {
    for (room, height) in rooms.iter().zip(heights) {
        let Room::Flexible {
            least, rank: of, ..
        } = *room
        else {
            continue;
        };
        if of == rank && over > 0 {
            let kept = height.saturating_sub(over).max(least.min(*height));
            *height = if gone { 0 } else { kept };
        }
    }
}

/// The area of one panel.
pub(crate) fn area_of(view: View<'_>, name: Name, size: Size) -> Rect {
    let screen = Rect::new(0, 0, size.width, size.height);
    PANELS
        .iter()
        .zip(areas(view, screen))
        .find(|(panel, _)| panel.name() == name)
        .map_or(Rect::ZERO, |(_, area)| area)
}

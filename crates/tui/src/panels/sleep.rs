//! Why the device sleeps or does not, in a line where the screen is high enough; the inspector has it always.

use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::figure;
use crate::paint::Strip;
use crate::panel::{Form, Name, Panel, Room};
use crate::view::View;

/// See the module.
pub(crate) struct Sleep;

/// From this height on.
const HIGH: u16 = 30;

fn said(view: View<'_>) -> Option<String> {
    output::sleep(view.snapshot?, view.device()?)
}

impl Panel for Sleep {
    fn name(&self) -> Name {
        Name::Sleep
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if Form::of(size) != Form::Full || size.height < HIGH || said(view).is_none() {
            return Room::Nothing;
        }
        Room::Flexible {
            wanted: 1,
            least: 1,
            rank: 2,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let mut strip = Strip::new(buffer, look, area, 0);
        strip.skip(1);
        strip.put("SLEEP", look.label());
        strip.put(" ", look.plain());
        if let Some(said) = said(view) {
            strip.put(&figure::clean(&said), look.plain());
        }
    }
}

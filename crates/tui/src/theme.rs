//! Styles and glyphs. The theme `mono` sets no colour anywhere: a terminal that is asked for colour
//! under `NO_COLOR` can lose every other attribute with it.

mod palette;

use model::Category;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use self::palette::Role;

/// Colours, or none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Theme {
    /// The terminal's own sixteen colours.
    #[default]
    Auto,
    /// Colours of its own, for a dark background.
    Dark,
    /// Colours of its own, for a light background.
    Light,
    /// Eight colours that are told apart by people who do not tell red from green, and letters in bars.
    ColorBlind,
    /// No colours: reversed, bold and underlined only.
    Mono,
}

/// How sure a figure is, and so how it is drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    /// Plain.
    Measured,
    /// Followed by ` r`.
    Reported,
    /// Preceded by `~`.
    Estimated,
    /// Followed by ` *` or ` ?`.
    Inferred,
    /// `n/a`.
    Missing,
    /// `…`.
    Pending,
}

/// A theme and a character set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Colours or none.
    pub(crate) theme: Theme,
    /// ASCII only.
    pub(crate) ascii: bool,
    /// Whether the terminal shows any colour, and not only 256.
    pub(crate) truecolor: bool,
}

impl Look {
    fn color(self, role: Role) -> Style {
        let own = |color| Style::new().fg(palette::shown(color, self.truecolor));
        match self.theme {
            Theme::Auto => Style::new().fg(palette::of_terminal(role)),
            Theme::Dark => own(palette::dark(role)),
            Theme::Light => own(palette::light(role)),
            Theme::ColorBlind => own(palette::color_blind(role)),
            Theme::Mono => Style::new(),
        }
    }

    /// Ordinary text.
    #[expect(clippy::unused_self, reason = "asked for like the other styles")]
    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    /// Text of lesser weight.
    pub(crate) fn dim(self) -> Style {
        self.color(Role::Dim)
    }

    /// Text of more weight.
    #[expect(clippy::unused_self, reason = "asked for like the other styles")]
    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Names of fields and meters.
    pub(crate) fn label(self) -> Style {
        self.color(Role::Label)
    }

    /// Rules between panels.
    pub(crate) fn rule(self) -> Style {
        self.color(Role::Dim)
    }

    /// Titles on rules.
    pub(crate) fn title(self) -> Style {
        self.color(Role::Label).add_modifier(Modifier::BOLD)
    }

    /// Table headings.
    #[expect(clippy::unused_self, reason = "asked for like the other styles")]
    pub(crate) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// The heading that the table is sorted by.
    #[expect(clippy::unused_self, reason = "asked for like the other styles")]
    pub(crate) fn sorted_heading(self) -> Style {
        Style::new()
            .add_modifier(Modifier::UNDERLINED)
            .add_modifier(Modifier::BOLD)
    }

    /// The selected row, and key names in the footer. Carries no colour of its own.
    #[expect(clippy::unused_self, reason = "asked for like the other styles")]
    pub(crate) fn reversed(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// All is well.
    pub(crate) fn good(self) -> Style {
        self.color(Role::Good)
    }

    /// Needs attention.
    pub(crate) fn warning(self) -> Style {
        self.color(Role::Warning).add_modifier(Modifier::BOLD)
    }

    /// Broken or full.
    pub(crate) fn danger(self) -> Style {
        self.color(Role::Danger).add_modifier(Modifier::BOLD)
    }

    /// A share of a whole: its colour changes at 75 and 90 %, the number stands beside it.
    pub(crate) fn level(self, percent: f64) -> Style {
        if percent >= 90.0 {
            self.danger()
        } else if percent >= 75.0 {
            self.warning()
        } else {
            self.plain()
        }
    }

    /// Charts.
    pub(crate) fn chart(self) -> Style {
        self.color(Role::Chart)
    }

    /// A figure of a class.
    pub(crate) fn class(self, class: Class) -> Style {
        match (class, self.theme) {
            (Class::Measured | Class::Inferred, _) | (_, Theme::Mono) => self.plain(),
            (Class::Reported, _) => self.color(Role::Reported),
            (Class::Estimated, _) => Style::new().add_modifier(Modifier::ITALIC),
            (Class::Missing | Class::Pending, _) => self.dim(),
        }
    }

    /// The colour of a category; plain in mono.
    pub(crate) fn category(self, category: Category) -> Style {
        self.color(Role::Category(category))
    }

    /// A letter upon a block of `style`.
    pub(crate) fn on_block(self, style: Style) -> Style {
        let ink = if self.theme == Theme::Light {
            Color::White
        } else {
            Color::Black
        };
        match style.fg {
            Some(color) => Style::new().fg(ink).bg(color),
            None => style.add_modifier(Modifier::REVERSED),
        }
    }

    /// Whether bars are filled with letters rather than blocks.
    pub(crate) fn letters(self) -> bool {
        self.ascii || matches!(self.theme, Theme::Mono | Theme::ColorBlind)
    }

    /// Where text was cut.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.ascii { ".." } else { "…" }
    }

    /// A value that is still on its way.
    pub(crate) fn pending(self) -> &'static str {
        if self.ascii { "..." } else { "…" }
    }

    /// A lower bound.
    pub(crate) fn at_least(self) -> &'static str {
        if self.ascii { ">=" } else { "≥" }
    }

    /// Degrees Celsius.
    pub(crate) fn celsius(self) -> &'static str {
        if self.ascii { "C" } else { "°C" }
    }
}

/// Replaces everything beyond ASCII, cell by cell: our own glyphs by their likeness, others by `?`.
pub(crate) fn to_ascii(buffer: &mut Buffer) {
    let mut hidden = 0;
    for cell in &mut buffer.content {
        if hidden > 0 {
            hidden -= 1;
            cell.set_symbol("?");
        } else if !cell.symbol().is_ascii() {
            hidden = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            let likeness = likeness(cell.symbol());
            cell.set_symbol(likeness);
        }
    }
}

fn likeness(symbol: &str) -> &'static str {
    let mut chars = symbol.chars();
    let sign = chars.next().filter(|_| chars.next().is_none());
    sign.and_then(output::format::likeness).unwrap_or("?")
}

//! The colours of each theme, by what they are for.

use model::Category;
use ratatui::style::Color;

/// What is coloured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    /// Text of lesser weight, and rules between panels.
    Dim,
    /// Names of fields and meters.
    Label,
    /// All is well.
    Good,
    /// Needs attention.
    Warning,
    /// Broken or full.
    Danger,
    /// Charts.
    Chart,
    /// What a runtime said.
    Reported,
    /// A kind of work.
    Category(Category),
}

/// The terminal's own sixteen, which follow its light or dark background by themselves.
pub(super) const fn of_terminal(role: Role) -> Color {
    match role {
        Role::Dim => Color::DarkGray,
        Role::Label | Role::Category(Category::Embedding) => Color::Cyan,
        Role::Good | Role::Chart | Role::Category(Category::Llm) => Color::Green,
        Role::Warning | Role::Category(Category::Speech) => Color::Yellow,
        Role::Danger | Role::Category(Category::Graphics3d) => Color::Red,
        Role::Reported | Role::Category(Category::Browser) => Color::Blue,
        Role::Category(Category::Decision) => Color::LightMagenta,
        Role::Category(Category::Diffusion) => Color::Magenta,
        Role::Category(Category::Training) => Color::LightRed,
        Role::Category(Category::Ai) => Color::LightGreen,
        Role::Category(Category::Desktop) => Color::LightBlue,
        Role::Category(Category::Video) => Color::LightCyan,
        Role::Category(Category::Other) => Color::Gray,
    }
}

/// Red, green, blue.
pub(super) type Rgb = (u8, u8, u8);

/// For a dark background.
pub(super) const fn dark(role: Role) -> Rgb {
    match role {
        Role::Dim => (128, 134, 142),
        Role::Label => (110, 200, 210),
        Role::Good | Role::Chart => (120, 200, 120),
        Role::Warning => (240, 190, 70),
        Role::Danger => (255, 110, 100),
        Role::Reported => (130, 170, 255),
        Role::Category(category) => match category {
            Category::Llm => (110, 200, 110),
            Category::Decision => (230, 140, 220),
            Category::Embedding => (90, 205, 195),
            Category::Speech => (235, 195, 80),
            Category::Diffusion => (190, 130, 240),
            Category::Training => (255, 135, 90),
            Category::Ai => (170, 220, 100),
            Category::Browser => (105, 160, 250),
            Category::Desktop => (150, 190, 230),
            Category::Graphics3d => (250, 110, 125),
            Category::Video => (110, 215, 245),
            Category::Other => (190, 190, 190),
        },
    }
}

/// For a light background.
pub(super) const fn light(role: Role) -> Rgb {
    match role {
        Role::Dim => (105, 110, 118),
        Role::Label => (0, 95, 115),
        Role::Good | Role::Chart => (20, 110, 40),
        Role::Warning => (145, 90, 0),
        Role::Danger => (180, 20, 20),
        Role::Reported => (20, 70, 180),
        Role::Category(category) => match category {
            Category::Llm => (20, 115, 45),
            Category::Decision => (160, 30, 140),
            Category::Embedding => (0, 110, 105),
            Category::Speech => (135, 95, 0),
            Category::Diffusion => (110, 45, 175),
            Category::Training => (180, 70, 10),
            Category::Ai => (85, 110, 0),
            Category::Browser => (25, 80, 190),
            Category::Desktop => (55, 95, 140),
            Category::Graphics3d => (175, 25, 60),
            Category::Video => (0, 100, 145),
            Category::Other => (85, 85, 85),
        },
    }
}

/// Eight colours that people who tell red from green badly tell apart (Okabe and Ito, 2008). There are more kinds of
/// work than that; letters tell those apart that share one.
pub(super) const fn color_blind(role: Role) -> Rgb {
    const ORANGE: Rgb = (230, 159, 0);
    const SKY: Rgb = (86, 180, 233);
    const GREEN: Rgb = (0, 158, 115);
    const YELLOW: Rgb = (240, 228, 66);
    const BLUE: Rgb = (0, 114, 178);
    const VERMILION: Rgb = (213, 94, 0);
    const PURPLE: Rgb = (204, 121, 167);
    const GRAY: Rgb = (140, 140, 140);
    match role {
        Role::Dim => GRAY,
        Role::Label | Role::Reported => SKY,
        Role::Good | Role::Chart => GREEN,
        Role::Warning => ORANGE,
        Role::Danger => VERMILION,
        Role::Category(category) => match category {
            Category::Llm | Category::Video => BLUE,
            Category::Decision | Category::Diffusion => PURPLE,
            Category::Embedding | Category::Browser => SKY,
            Category::Speech => YELLOW,
            Category::Training | Category::Graphics3d => VERMILION,
            Category::Ai => ORANGE,
            Category::Desktop => GREEN,
            Category::Other => GRAY,
        },
    }
}

/// The colour as the terminal can show it: exact, or the nearest of the cube of 216 that terminals with 256 have.
pub(super) fn shown((red, green, blue): Rgb, truecolor: bool) -> Color {
    if truecolor {
        return Color::Rgb(red, green, blue);
    }
    let [red, green, blue] = [red, green, blue].map(step);
    Color::Indexed(16 + 36 * red + 6 * green + blue)
}

/// The nearest of the cube's six levels: 0, 95, 135, 175, 215, 255.
const fn step(value: u8) -> u8 {
    match value {
        0..48 => 0,
        48..115 => 1,
        115..155 => 2,
        155..195 => 3,
        195..235 => 4,
        235.. => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2).
    fn luminance((red, green, blue): Rgb) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn roles() -> Vec<Role> {
        let mut roles = vec![
            Role::Dim,
            Role::Label,
            Role::Good,
            Role::Warning,
            Role::Danger,
            Role::Chart,
            Role::Reported,
        ];
        roles.extend(Category::ALL.iter().copied().map(Role::Category));
        roles
    }

    #[test]
    fn every_colour_is_readable_on_the_background_it_is_for() {
        for role in roles() {
            assert!(contrast(dark(role), (20, 20, 24)) >= 4.5, "{role:?}");
            assert!(contrast(light(role), (255, 255, 255)) >= 4.5, "{role:?}");
            // On black alone: yellow is hard to read on white.
            let on_black = color_blind(role);
            assert!(contrast(on_black, (0, 0, 0)) >= 3.0, "{role:?}");
        }
    }

    #[test]
    fn without_truecolor_the_nearest_colour_of_the_cube_stands_in() {
        assert_eq!(shown((255, 0, 95), false), Color::Indexed(16 + 5 * 36 + 1));
        assert_eq!(shown((47, 48, 114), false), Color::Indexed(16 + 6 + 1));
        assert_eq!(shown((1, 2, 3), true), Color::Rgb(1, 2, 3));
        for value in 0..=255_u8 {
            let level = |step: u8| {
                if step == 0 {
                    0
                } else {
                    55 + 40 * i32::from(step)
                }
            };
            let off = |step: u8| (level(step) - i32::from(value)).abs();
            let best = (0..6).map(off).min();
            assert_eq!(Some(off(step(value))), best, "{value}");
        }
    }
}

//! The keys. One table, from which the help is printed too.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// Leave.
    Quit,
    /// Close what lies on top.
    Close,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// First row.
    First,
    /// Last row.
    Last,
    /// Open the selected row, or choose.
    Open,
    /// Show or hide the inspector.
    ToggleInspector,
    /// Choose the column to sort by.
    SortMenu,
    /// Sort by the column to the left.
    SortLeft,
    /// Sort by the column to the right.
    SortRight,
    /// Bring the columns to the left.
    ColumnsLeft,
    /// Bring the columns to the right.
    ColumnsRight,
    /// Turn the order round.
    Reverse,
    /// All devices, to choose from.
    Devices,
    /// The next device.
    NextDevice,
    /// The device before.
    PreviousDevice,
    /// The device with this index.
    Device(u32),
    /// Rows of all devices.
    AllDevices,
    /// Where each cell of the selected row comes from.
    Provenance,
    /// All notices.
    Notices,
    /// Help.
    Help,
    /// Wake the device that is shown.
    Wake,
    /// Type a filter.
    Filter,
    /// Type what to find.
    Find,
    /// Hold the picture, or let it go on.
    Freeze,
    /// The newest picture while it is held.
    Step,
    /// Keep the picture to compare later ones with.
    Mark,
    /// Forget it.
    Unmark,
    /// Show or hide what changed since.
    Changes,
    /// Draw everything again.
    Redraw,
}

/// A key with its modifiers; Shift is part of the character.
type Key = (KeyCode, KeyModifiers);

/// What keys do an action.
pub(crate) struct Binding {
    /// Any of these.
    keys: &'static [Key],
    /// The action.
    action: Action,
    /// The keys for the help, where they are not told by the binding after it.
    pub(crate) shown: &'static str,
    /// What the action does, for the help.
    pub(crate) meaning: &'static str,
}

const fn plain(c: char) -> Key {
    (KeyCode::Char(c), KeyModifiers::NONE)
}

const fn ctrl(c: char) -> Key {
    (KeyCode::Char(c), KeyModifiers::CONTROL)
}

const fn key(code: KeyCode) -> Key {
    (code, KeyModifiers::NONE)
}

const fn bind(
    keys: &'static [Key],
    action: Action,
    shown: &'static str,
    meaning: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        shown,
        meaning,
    }
}

/// All bindings, in the order of the help.
pub(crate) const BINDINGS: &[Binding] = &[
    bind(
        &[plain('?'), plain('h'), key(KeyCode::F(1))],
        Action::Help,
        "? h F1",
        "this help",
    ),
    bind(
        &[plain('q'), key(KeyCode::F(10)), ctrl('c')],
        Action::Quit,
        "q F10 Ctrl-C",
        "quit",
    ),
    bind(
        &[key(KeyCode::Esc)],
        Action::Close,
        "Esc",
        "close what lies on top; take the filter away",
    ),
    bind(
        &[plain('j'), key(KeyCode::Down)],
        Action::Down,
        "j ↓",
        "next row",
    ),
    bind(
        &[plain('k'), key(KeyCode::Up)],
        Action::Up,
        "k ↑",
        "row before",
    ),
    bind(
        &[key(KeyCode::PageDown), ctrl('d')],
        Action::PageDown,
        "PgDn Ctrl-D",
        "one page down",
    ),
    bind(
        &[key(KeyCode::PageUp), ctrl('u')],
        Action::PageUp,
        "PgUp Ctrl-U",
        "one page up",
    ),
    bind(
        &[plain('g'), key(KeyCode::Home)],
        Action::First,
        "g Home",
        "first row",
    ),
    bind(
        &[plain('G'), key(KeyCode::End)],
        Action::Last,
        "G End",
        "last row",
    ),
    bind(
        &[key(KeyCode::Enter)],
        Action::Open,
        "Enter",
        "inspector of the selected row, full screen",
    ),
    bind(
        &[plain('i')],
        Action::ToggleInspector,
        "i",
        "show or hide the inspector",
    ),
    bind(
        &[plain('/'), key(KeyCode::F(4))],
        Action::Filter,
        "/ F4",
        "show only some rows: a word, or tests such as vram>500M type:llm",
    ),
    bind(
        &[key(KeyCode::F(3)), ctrl('f')],
        Action::Find,
        "F3 Ctrl-F",
        "find a row and hide none; F3 or ↓ the next, Shift-F3 or ↑ the one before",
    ),
    bind(
        &[plain('f')],
        Action::Freeze,
        "f",
        "hold the picture; again: go on",
    ),
    bind(
        &[plain('.')],
        Action::Step,
        ".",
        "while it is held: the newest one",
    ),
    bind(
        &[plain('m'), key(KeyCode::F(8))],
        Action::Mark,
        "m F8",
        "mark this moment: two more columns show what changed since",
    ),
    bind(
        &[plain('d')],
        Action::Changes,
        "d",
        "hide or show what changed since the mark",
    ),
    bind(&[plain('M')], Action::Unmark, "M", "take the mark away"),
    bind(
        &[plain('s'), key(KeyCode::F(6))],
        Action::SortMenu,
        "s F6",
        "choose the column to sort by",
    ),
    bind(
        &[plain('<')],
        Action::SortLeft,
        "<",
        "sort by the column to the left",
    ),
    bind(
        &[plain('>')],
        Action::SortRight,
        ">",
        "sort by the column to the right",
    ),
    bind(
        &[key(KeyCode::Left)],
        Action::ColumnsLeft,
        "←",
        "the columns to the left",
    ),
    bind(
        &[key(KeyCode::Right)],
        Action::ColumnsRight,
        "→",
        "the columns that have no room; PID and NAME stay",
    ),
    bind(
        &[plain('r')],
        Action::Reverse,
        "r",
        "turn the order round; n/a stays last",
    ),
    bind(
        &[plain('D')],
        Action::Devices,
        "D",
        "the list of GPUs, to choose one",
    ),
    bind(&[key(KeyCode::Tab)], Action::NextDevice, "Tab", "next GPU"),
    bind(
        &[key(KeyCode::BackTab)],
        Action::PreviousDevice,
        "Shift-Tab",
        "GPU before",
    ),
    bind(&[], Action::Device(0), "0 to 9", "the GPU with this number"),
    bind(
        &[plain('A')],
        Action::AllDevices,
        "A",
        "processes of all GPUs, one row a GPU; again: of one",
    ),
    bind(
        &[plain('p')],
        Action::Provenance,
        "p",
        "where each cell of the row comes from, how long ago, or why it is n/a",
    ),
    bind(
        &[plain('n')],
        Action::Notices,
        "n",
        "all notices, why readings of the GPU are missing, the sources",
    ),
    bind(
        &[plain('W')],
        Action::Wake,
        "W",
        "wake the GPU that is shown, if it sleeps, and read it",
    ),
    bind(
        &[ctrl('l')],
        Action::Redraw,
        "Ctrl-L",
        "draw the screen anew",
    ),
];

/// The keys of every action as the help names them, such as `j ↓`: for tests that press all of them.
pub fn key_names() -> impl Iterator<Item = &'static str> {
    BINDINGS.iter().map(|binding| binding.shown)
}

/// What `event` asks for.
pub(crate) fn action(event: KeyEvent) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let modifiers = event.modifiers - KeyModifiers::SHIFT;
    if let KeyCode::Char(digit) = event.code
        && modifiers.is_empty()
        && let Some(digit) = digit.to_digit(10)
    {
        return Some(Action::Device(digit));
    }
    BINDINGS
        .iter()
        .find(|binding| binding.keys.contains(&(event.code, modifiers)))
        .map(|binding| binding.action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut seen = Vec::new();
        for binding in BINDINGS {
            for key in binding.keys {
                assert!(!seen.contains(key), "{key:?} twice");
                seen.push(*key);
            }
        }
    }

    #[test]
    fn shift_belongs_to_the_character_and_releases_do_nothing() {
        let mut event = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(event), Some(Action::Last));
        event.kind = KeyEventKind::Release;
        assert_eq!(action(event), None);
        let event = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(action(event), Some(Action::Quit));
        let event = KeyEvent::new(KeyCode::Char('7'), KeyModifiers::NONE);
        assert_eq!(action(event), Some(Action::Device(7)));
    }
}

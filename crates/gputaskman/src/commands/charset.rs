//! Which characters may be shown: what was asked for, else what the locale promises.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::printing;

/// Writes a text for people: in ASCII where that was asked for, or the locale promises no more.
pub(super) fn text(cli: &Cli, text: &str) -> Result<(), Failure> {
    if is_ascii(cli, printing::to_terminal()) {
        printing::data(&output::format::to_ascii(text))
    } else {
        printing::data(text)
    }
}

/// Whether only ASCII may be shown, on a terminal or elsewhere.
pub(super) fn is_ascii(cli: &Cli, on_terminal: bool) -> bool {
    cli.view.ascii || !locale_is_utf8(on_terminal)
}

/// Whether the locale promises UTF-8, by the order of `setlocale`; `TERM` values of terminals
/// without it count as a no.
fn locale_is_utf8(on_terminal: bool) -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if on_terminal && set("TERM").is_some_and(|term| term == "dumb" || term == "linux") {
        return false;
    }
    if std::env::consts::OS == "windows" {
        return true;
    }
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| set(name))
        .is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

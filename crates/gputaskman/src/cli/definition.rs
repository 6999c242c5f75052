//! The command line as clap sees it: what each command's help offers, and the words that it explains.

use clap::CommandFactory as _;

use super::Cli;

/// What is collected, and how: nothing is where it has been recorded.
const COLLECTING: &[&str] = &[
    "interval",
    "gpu_layers",
    "no_probe",
    "no_models",
    "wake",
    "adapters",
    "root",
];

/// Options that a command has no use for: they are taken on either side of the command, and its help does not offer
/// them.
pub(super) const USELESS: &[(&str, &[&str])] = &[
    (
        "record",
        &["once", "ascii", "theme", "no_color", "no_mouse"],
    ),
    ("replay", COLLECTING),
    ("demo", COLLECTING),
    (
        "inspect",
        &[
            "once",
            "theme",
            "no_color",
            "no_mouse",
            "interval",
            "gpu",
            "no_probe",
            "no_models",
            "wake",
            "adapters",
            "root",
        ],
    ),
    ("screenshot", &["once", "json", "no_mouse"]),
    ("fit", &["once", "theme", "no_color", "no_mouse"]),
];

/// The command line as it is read and explained.
pub(super) fn definition() -> clap::Command {
    let mut command = Cli::command().after_long_help(words());
    // Options that go with every command are copied to each that has none of their own.
    let everywhere: Vec<clap::Arg> = command.get_arguments().cloned().collect();
    for (name, options) in USELESS {
        let hidden = everywhere
            .iter()
            .filter(|it| options.contains(&it.get_id().as_str()));
        let hidden: Vec<_> = hidden.map(|it| it.clone().hide(true)).collect();
        command = command.mut_subcommand(*name, |it| it.args(hidden));
    }
    command
}

/// Columns of the words' explanations: as many as the narrowest usual terminal has.
const WORDS_WIDTH: usize = 79;

/// The words of the screen and the reports.
fn words() -> String {
    let mut text = "Words on the screen and in reports:\n".to_owned();
    for words in [
        output::words::COLUMNS,
        output::words::READINGS,
        output::words::DETAILS,
    ] {
        for (word, meaning) in words {
            let mut line = format!("  {word:14} ");
            for part in meaning.split(' ') {
                if line.len() + 1 + part.len() > WORDS_WIDTH {
                    text.push_str(&line);
                    text.push('\n');
                    line = " ".repeat(17);
                }
                line.push(' ');
                line.push_str(part);
            }
            text.push_str(&line);
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

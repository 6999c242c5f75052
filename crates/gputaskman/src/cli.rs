//! The command line: what can be typed.

mod definition;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use gguf::kv::CacheType;
use model::Selector;

/// Shows what is inside your GPU's memory: which process holds it, which model that is, and what
/// the memory is made of.
///
/// Without a command: the live screen on a terminal, else one report in text.
///
/// Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 no GPU (what was looked for is said),
/// 130 a recording or a stream was interrupted.
#[derive(Debug, Parser)]
#[command(name = "gputaskman", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) view: View,
    #[command(flatten)]
    pub(crate) run: Run,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What is shown, and how.
#[derive(Args, Debug)]
pub(crate) struct View {
    /// One report in text.
    #[arg(short = '1', long, global = true)]
    pub(crate) once: bool,
    /// One snapshot in JSON. While recording or replaying: one line per refresh; with --once the
    /// last.
    #[arg(short, long, global = true)]
    pub(crate) json: bool,
    /// Lists the GPUs in the order that --gpu counts in.
    #[arg(long, conflicts_with = "once")]
    pub(crate) list_gpus: bool,
    /// Draws and writes text with ASCII characters only; by default decided by the locale. JSON stays UTF-8.
    #[arg(long, global = true)]
    pub(crate) ascii: bool,
    /// Colours of the screen [default: auto, or mono where `NO_COLOR` is set or the terminal is dumb].
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        global = true,
        conflicts_with = "no_color"
    )]
    pub(crate) theme: Option<ThemeName>,
    /// Uses no colours: --theme mono. The environment variable `NO_COLOR` does the same.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Leaves the mouse to the terminal.
    #[arg(long, global = true)]
    pub(crate) no_mouse: bool,
}

/// What is collected.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Time between refreshes in seconds, 0.25 to 3600; `500ms` works too [default: 1].
    #[arg(short, long, value_name = "SECONDS", value_parser = interval, global = true)]
    pub(crate) interval: Option<Duration>,
    /// Reports on one GPU only, or on `all`; the screen opens with it. Its number in --list-gpus, its
    /// PCI address (0000:01:00.0 or 01:00.0), or its UUID or a start of it that no other has.
    #[arg(long, value_name = "GPU", value_parser = gpu, global = true)]
    pub(crate) gpu: Option<Gpu>,
    /// Assumes N layers on the GPU where a command line does not say; llama.cpp's spelling -ngl
    /// works too.
    #[arg(long, value_name = "N", global = true)]
    pub(crate) gpu_layers: Option<u32>,
    /// Asks no model server, not even on loopback.
    #[arg(long, global = true)]
    pub(crate) no_probe: bool,
    /// Reads no model files.
    #[arg(long, global = true)]
    pub(crate) no_models: bool,
    /// Wakes sleeping NVIDIA GPUs, once, to read them; without it a sleeping GPU is left asleep.
    #[arg(long, global = true)]
    pub(crate) wake: bool,
    /// Takes further adapters of applications from the files *.toml in DIR; the environment variable
    /// `GPUTASKMAN_ADAPTERS` does the same.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) adapters: Option<PathBuf>,
    /// Takes /proc, /sys, /dev and /etc from below DIR, for tests.
    #[arg(long, value_name = "DIR", global = true, hide_short_help = true)]
    pub(crate) root: Option<PathBuf>,
}

impl Run {
    /// Time between refreshes.
    pub(crate) fn interval(&self) -> Duration {
        self.interval.unwrap_or(Duration::from_secs(1))
    }

    /// The first option typed that is about a machine, and so means nothing for a file alone.
    pub(crate) fn machine_option(&self) -> Option<&'static str> {
        [
            (self.interval.is_some(), "--interval"),
            (self.gpu.is_some(), "--gpu"),
            (self.no_probe, "--no-probe"),
            (self.no_models, "--no-models"),
            (self.wake, "--wake"),
            (self.root.is_some(), "--root"),
        ]
        .into_iter()
        .find_map(|(typed, name)| typed.then_some(name))
    }

    /// The first option typed that shapes what is collected, and so means nothing for what has been
    /// collected already.
    pub(crate) fn collecting_option(&self) -> Option<&'static str> {
        [
            (self.interval.is_some(), "--interval"),
            (self.gpu_layers.is_some(), "--gpu-layers"),
            (self.no_probe, "--no-probe"),
            (self.no_models, "--no-models"),
            (self.wake, "--wake"),
            (self.adapters.is_some(), "--adapters"),
            (self.root.is_some(), "--root"),
        ]
        .into_iter()
        .find_map(|(typed, name)| typed.then_some(name))
    }
}

/// Which GPU is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Gpu {
    All,
    One(Selector),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Records the raw answers of this machine, so that everything can be shown again elsewhere.
    Record(Record),
    /// Shows a recording, on the screen or with --once or --json.
    Replay {
        /// The recording; compressed or not.
        file: PathBuf,
    },
    /// Shows the program on a capture that comes with it.
    Demo,
    /// Draws the screen as a picture (SVG), of this machine or of a recording. Command lines, folders, users and the
    /// host's name are left out.
    Screenshot(Screenshot),
    /// Says what a model file needs before anybody loads it: weights, KV cache, state and compute
    /// buffers, with every assumption. Without -c also for a row of contexts.
    Inspect(ModelFile),
    /// Says on which GPU a model file fits beside what runs now, with which context, and which idle
    /// model is in the way. It only advises, and ends with 0 whatever the answer is.
    Fit(ModelFile),
}

/// A picture of the screen.
#[derive(Args, Debug)]
pub(crate) struct Screenshot {
    /// The recording that is shown, as its last refresh has it; else this machine
    #[arg(long, value_name = "FILE", conflicts_with = "demo")]
    pub(crate) replay: Option<PathBuf>,
    /// Shows the capture that comes with the program
    #[arg(long)]
    pub(crate) demo: bool,
    /// Columns and rows of the screen, 1x1 to 500x500
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "140x45", value_parser = size)]
    pub(crate) size: (u16, u16),
    /// Leaves nothing out: command lines, folders, users and the host's name are in the picture
    #[arg(long)]
    pub(crate) with_private: bool,
    /// The file to write, which must not exist yet; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// A model file and how it would be run. --gpu-layers (-ngl) says how much goes to the GPU: all of it
/// where it is not typed.
#[derive(Args, Debug)]
pub(crate) struct ModelFile {
    /// The GGUF file; of a split model any part.
    pub(crate) file: PathBuf,
    /// Context in tokens, all slots together; 0 is what the model was trained with [default: 0].
    #[arg(short, long = "ctx-size", value_name = "TOKENS", value_parser = tokens)]
    pub(crate) context: Option<u64>,
    /// Slots, 1 to 256 (-np). Not typed: the sizes span 4 slots that share one cache, as llama.cpp's
    /// server has today, and one slot, as older builds have.
    #[arg(long, value_name = "N", value_parser = slots)]
    pub(crate) parallel: Option<u32>,
    /// The slots share one cache (-kvu) [default: on without --parallel, else off].
    #[arg(long, overrides_with = "no_kv_unified")]
    pub(crate) kv_unified: bool,
    /// Each slot has a cache of its own (-no-kvu).
    #[arg(long, overrides_with = "kv_unified")]
    pub(crate) no_kv_unified: bool,
    /// Type of keys and values, or of both, as llama.cpp spells it: f32, f16, bf16, `q8_0`, `q5_1`,
    /// `q5_0`, `q4_1`, `q4_0`, `iq4_nl` [default: f16].
    #[arg(long, value_name = "K[,V]", value_parser = kv_type, conflicts_with_all = ["cache_type_k", "cache_type_v"])]
    pub(crate) kv_type: Option<(CacheType, CacheType)>,
    /// Type of keys alone (-ctk).
    #[arg(long, value_name = "TYPE", value_parser = cache_type)]
    pub(crate) cache_type_k: Option<CacheType>,
    /// Type of values alone (-ctv).
    #[arg(long, value_name = "TYPE", value_parser = cache_type)]
    pub(crate) cache_type_v: Option<CacheType>,
    /// Whether flash attention is used (-fa); `auto` is taken for on [default: auto].
    #[arg(long, value_name = "ON", value_enum)]
    pub(crate) flash_attn: Option<Switch>,
}

impl ModelFile {
    /// Whether the slots share one cache, if that was said.
    pub(crate) fn unified(&self) -> Option<bool> {
        (self.kv_unified || self.no_kv_unified).then_some(self.kv_unified)
    }
}

/// llama.cpp counts tokens in 32 bits.
const MOST_CONTEXT: u64 = 1 << 32;

/// No server starts with more (`LLAMA_MAX_SEQ`; as b11549 says).
const MOST_SLOTS: u32 = 256;

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
    Auto,
}

impl Switch {
    /// `None` leaves it to the server.
    pub(crate) const fn is_on(self) -> Option<bool> {
        match self {
            Self::On => Some(true),
            Self::Off => Some(false),
            Self::Auto => None,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Record {
    /// Where to write; compressed if the name ends in .gz. Must not exist yet.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Ends after so many seconds; without it Ctrl-C ends the recording.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) duration: Option<Duration>,
    /// Ends after so many refreshes at the interval.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// What is replaced by stand-ins. `strict`: folders and users, names of hosts, containers, files and models, UUIDs,
    /// and arguments that are no plain number or known setting. `paths`: the same, but names of files and models and
    /// arguments stay. `none`: nothing. Names of processes, programs and libraries and of the GPU are always kept:
    /// without them a recording explains nothing. Secrets on command lines go unless the level is `none`.
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "strict")]
    pub(crate) redact: Redact,
    /// Marks the recording as synthetic, with this note saying how it was made.
    #[arg(long, value_name = "NOTE", hide_short_help = true)]
    pub(crate) synthetic: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Redact {
    Strict,
    Paths,
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ThemeName {
    /// The terminal's own sixteen colours.
    Auto,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// For people who tell red from green badly; bars have letters.
    Cb,
    /// No colours: reversed, bold, underlined.
    Mono,
}

/// Reads what was typed.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut definition = definition::definition();
    let matches =
        definition.try_get_matches_from_mut(crate::spelling::accept_llama_spelling(arguments))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}

fn kv_type(text: &str) -> Result<(CacheType, CacheType), String> {
    let (keys, values) = text.split_once(',').unwrap_or((text, text));
    Ok((cache_type(keys)?, cache_type(values)?))
}

fn cache_type(text: &str) -> Result<CacheType, String> {
    CacheType::from_name(text.trim()).ok_or_else(|| format!("{text:?} is no type of a cache"))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let side = |text: &str| text.trim().parse().ok();
    let sides = text.split_once(['x', 'X']);
    let sides = sides.and_then(|(width, height)| Some((side(width)?, side(height)?)));
    let possible = 1..=tui::MOST_CELLS;
    sides
        .filter(|(width, height)| possible.contains(width) && possible.contains(height))
        .ok_or_else(|| {
            format!(
                "it is columns and rows, each 1 to {}: 140x45",
                tui::MOST_CELLS
            )
        })
}

fn tokens(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(tokens) if tokens <= MOST_CONTEXT => Ok(tokens),
        Ok(_) => Err(format!("llama.cpp counts up to {MOST_CONTEXT} tokens")),
        Err(_) => Err("it is a whole number of tokens, without a unit: 4096".to_owned()),
    }
}

fn slots(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(slots) if (1..=MOST_SLOTS).contains(&slots) => Ok(slots),
        _ => Err(format!(
            "llama.cpp's server starts with 1 to {MOST_SLOTS} slots"
        )),
    }
}

/// Anything is taken: what names no GPU is refused when it is known which there are, so that they can
/// be named.
#[expect(clippy::unnecessary_wraps, reason = "the form that clap asks for")]
fn gpu(text: &str) -> Result<Gpu, Infallible> {
    Ok(match text {
        "all" => Gpu::All,
        name => Gpu::One(Selector::parse(name)),
    })
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = seconds(text)?;
    if (Duration::from_millis(250)..=Duration::from_hours(1)).contains(&duration) {
        Ok(duration)
    } else {
        Err("the interval must be from 0.25 to 3600 seconds".to_owned())
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    number
        .trim()
        .parse::<f64>()
        .ok()
        .and_then(|value| Duration::try_from_secs_f64(value * scale).ok())
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("{text:?} is no time: 2, 0.5 and 500ms are"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
        definition::definition().debug_assert();
    }

    #[test]
    fn the_help_of_a_command_offers_only_what_it_has_a_use_for() {
        let help = |command: &str| {
            let line = ["gputaskman", command, "--help"].map(OsString::from);
            parse(line).unwrap_err().render().to_string()
        };
        for (command, options) in definition::USELESS {
            let help = help(command);
            let offers_json = !options.contains(&"json");
            assert_eq!(help.contains("--json"), offers_json, "{help}");
            for option in *options {
                let option = format!("--{}", option.replace('_', "-"));
                let named = help.lines().any(|line| {
                    let mut words = line.split_whitespace().take(2);
                    line.trim_start().starts_with('-') && words.any(|word| word == option)
                });
                assert!(!named, "{option} in {help}");
            }
        }
        assert!(help("record").contains("--root"));
        assert!(help("replay").contains("--once"));
    }

    #[test]
    fn the_long_help_explains_the_words_of_the_screen() {
        let line = ["gputaskman", "--help"].map(OsString::from);
        let help = parse(line).unwrap_err().render().to_string();
        for word in [
            "SPILL",
            "GTT",
            "KFD",
            "clients",
            "evicted",
            "compute units",
            "SHARED",
        ] {
            assert!(help.contains(word), "{word}");
        }
        let line = ["gputaskman", "-h"].map(OsString::from);
        assert!(
            !parse(line)
                .unwrap_err()
                .render()
                .to_string()
                .contains("SPILL")
        );
    }

    #[test]
    fn intervals_outside_the_range_are_refused() {
        for good in ["0.25", "250ms", "1", "3600", "2s"] {
            assert!(interval(good).is_ok(), "{good}");
        }
        for bad in ["0.2", "3601", "0", "-1", "nan", "inf", "", "1 day", "1e400"] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn types_of_a_cache_are_one_for_both_or_two() {
        let types = |text| kv_type(text).ok();
        assert_eq!(types("q8_0"), Some((CacheType::Q8_0, CacheType::Q8_0)));
        assert_eq!(types("f16,q4_0"), Some((CacheType::F16, CacheType::Q4_0)));
        for bad in ["", "q9", "f16,", ",f16", "f16,f16,f16"] {
            assert_eq!(types(bad), None, "{bad}");
        }
    }

    #[test]
    fn contexts_are_whole_and_slots_are_as_many_as_a_server_takes() {
        assert_eq!(tokens("4096"), Ok(4096));
        for bad in ["4k", "-1", "", "1.5", "4294967297"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
        assert_eq!(slots("256"), Ok(256));
        for bad in ["0", "257", "-2", "x"] {
            assert!(slots(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_work_on_both_sides_of_the_command() {
        for line in ["gputaskman --json replay x", "gputaskman replay x --json"] {
            assert!(
                Cli::try_parse_from(line.split(' ')).unwrap().view.json,
                "{line}"
            );
        }
    }
}

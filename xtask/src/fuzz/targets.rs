//! One function for each kind of input from outside. A function returns whether the input was accepted, and panics where
//! a rule is broken.

use std::sync::Arc;

use collect::Collector;
use gguf::kv::{self, KvSettings};
use gguf::placement::{self, Offload};
use gguf::{HeaderReader, ReadAt, skip_strings};
use model::{Gap, Stamp};
use raw::apps::{self, AppFilter, MAX_SETTING_BYTES, SettingsFormat};
use raw::capture::{Capture, Redaction, ReplayMachine};
use raw::logs::{self, Field, KeptLine};
use raw::{Endpoint, FileMeta, Machine, Question, Reply, Root, Script, Synthetic, TickPlan};

/// What became of an input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It was read.
    Accepted,
    /// It was refused with a reason.
    Refused,
}

impl Verdict {
    const fn of<T, E>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Accepted,
            Err(_) => Self::Refused,
        }
    }
}

/// A function that takes inputs.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// It takes one in so many runs, because it is slower by about that.
    pub share: u64,
    /// The function.
    pub call: fn(&[u8]) -> Verdict,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "gguf",
        share: 4,
        call: gguf,
    },
    Target {
        name: "formats",
        share: 1,
        call: formats,
    },
    Target {
        name: "http_body",
        share: 3,
        call: http_body,
    },
    Target {
        name: "logs",
        share: 40,
        call: logs,
    },
    Target {
        name: "adapters",
        share: 10,
        call: adapters,
    },
    Target {
        name: "redaction",
        share: 10,
        call: redaction,
    },
    Target {
        name: "capture",
        share: 50,
        call: capture,
    },
];

/// The GGUF reader and all arithmetic on its header.
pub fn gguf(input: &[u8]) -> Verdict {
    let header = gguf::read_header(&mut { input });
    if let Ok(header) = &header {
        let _ = (
            header.kind(),
            header.quantization(),
            header.split(),
            header.parameters(),
        );
        let _ = (
            header.vocabulary_size(),
            header.tensor_bytes(),
            header.truncated_data(),
        );
        let offloads = [None, Some(0), Some(3), Some(u64::MAX)].map(|gpu_layers| Offload {
            gpus: 1,
            gpu_layers,
            ..Offload::default()
        });
        for offload in &offloads {
            let devices = placement::place([header], offload).devices;
            assert!(
                devices.gpu.low <= devices.gpu.high,
                "a range from high to low"
            );
        }
        for context in [None, Some(0), Some(4096), Some(u64::MAX)] {
            let settings = KvSettings {
                context,
                ..KvSettings::llama_server_defaults()
            };
            if let Ok(estimate) = kv::estimate(header, &settings) {
                assert!(estimate.low <= estimate.high, "a range from high to low");
                for offload in &offloads {
                    let devices = placement::cache(&estimate, offload).devices;
                    assert!(
                        devices.gpu.low <= devices.gpu.high && devices.gpu.high <= estimate.high,
                        "more on the GPU than there is"
                    );
                }
            }
            let _ = kv::estimate(header, &KvSettings::default());
        }
    }
    Verdict::of(&header)
}

/// The readers of other model files, under each name that decides anything.
pub fn formats(input: &[u8]) -> Verdict {
    let mut verdict = Verdict::Refused;
    for name in [
        "x.bin",
        "x.safetensors",
        "config.json",
        "x.index.json",
        "model_index.json",
    ] {
        let Ok(found) = formats::describe(name, &mut { input }) else {
            continue;
        };
        verdict = Verdict::Accepted;
        let _ = (found.parameters(), found.storage());
        let texts = [&found.title, &found.architecture, &found.producer];
        for text in texts.into_iter().flatten() {
            let fits =
                text.len() <= formats::limits::MAX_NAME_BYTES && !text.contains(char::is_control);
            assert!(fits, "a name that is not fit for a terminal");
        }
        assert!(
            found
                .parts
                .iter()
                .all(|part| !part.contains('/') && part != ".."),
            "a neighbour in another folder"
        );
        let json = serde_json::to_string(&found);
        let back = json.and_then(|json| serde_json::from_str(&json));
        assert!(
            back.is_ok_and(|back: formats::Description| back == found),
            "it is not recorded whole"
        );
    }
    verdict
}

/// What is kept of a model server's reply, by every question in its turn, and what each server's rules make of it.
pub fn http_body(input: &[u8]) -> Verdict {
    let mut verdict = Verdict::Refused;
    let _ = collect::servers_that_read(input);
    for endpoint in Endpoint::ALL {
        let kept = endpoint.kept(input);
        for name in kept.keys() {
            assert!(
                endpoint.kept_fields().iter().any(|path| is_of(name, path)),
                "{name} is not listed and was kept"
            );
            verdict = Verdict::Accepted;
        }
        assert!(kept.len() <= raw::MAX_FIELDS, "more is kept than may be");
    }
    verdict
}

/// Whether a kept name is a value of this path, or the length of an array on it.
fn is_of(name: &str, path: &str) -> bool {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((_, behind)) = after.split_once(']') else {
            return false;
        };
        plain.push_str(before);
        plain.push_str("[]");
        rest = behind;
    }
    plain.push_str(rest);
    path == plain
        || path
            .strip_prefix(plain.as_str())
            .is_some_and(|more| plain.ends_with("[]") && (more.is_empty() || more.starts_with('.')))
}

/// Logs of model programs: what is kept of them, and what that tells.
pub fn logs(input: &[u8]) -> Verdict {
    let kept = logs::kept(input);
    check_kept(&kept);
    let told = collect::logs::told_by_bytes(input);
    for adapter in apps::built_in() {
        let filter = AppFilter::new(&adapter);
        check_kept(&filter.map_or_else(Vec::new, |filter| filter.kept(input)));
    }
    assert!(
        told.is_empty() || !kept.is_empty(),
        "nothing was kept and told"
    );
    if kept.is_empty() {
        Verdict::Refused
    } else {
        Verdict::Accepted
    }
}

/// Of a log only numbers, words, paths and names are kept, so many of them, and a recording holds them whole.
fn check_kept(kept: &[KeptLine]) {
    assert!(kept.len() <= logs::MAX_KEPT_LINES, "more lines than may be");
    for field in kept.iter().flat_map(|line| &line.fields) {
        let text = field.text();
        assert!(!text.contains(char::is_control), "a control character");
        let fits = match field {
            Field::Name(name) => name.len() <= logs::MAX_NAME_BYTES && !name.contains(' '),
            Field::Number(number) => number.bytes().all(|b| b.is_ascii_digit() || b == b'.'),
            Field::Word(_) | Field::Path(_) => true,
        };
        assert!(fits, "{field:?} is not what it says");
    }
    let json = serde_json::to_string(kept);
    let back = json.and_then(|json| serde_json::from_str::<Vec<KeptLine>>(&json));
    assert!(
        back.is_ok_and(|back| back == kept),
        "it is not recorded whole"
    );
}

/// Adapters as people write them, and the settings of the applications they describe.
pub fn adapters(input: &[u8]) -> Verdict {
    for key in [
        "selected_model",
        "settings.selected_model",
        "General.userDefaultModel",
    ] {
        for format in [SettingsFormat::Json, SettingsFormat::Ini] {
            let Some(value) = apps::setting(format, key, input) else {
                continue;
            };
            let fits = value.len() <= MAX_SETTING_BYTES && !value.contains(char::is_control);
            assert!(fits, "a setting that is not fit for a terminal");
        }
    }
    let text = String::from_utf8_lossy(input);
    let parsed = apps::parse("x.toml", &text);
    if let Ok(adapter) = &parsed {
        let filter = AppFilter::new(adapter);
        assert_eq!(
            filter.is_some(),
            adapter.log.is_some(),
            "a pattern that does not compile"
        );
        // Its own text holds what its lines contain, so that patterns are tried.
        check_kept(&filter.map_or_else(Vec::new, |filter| filter.kept(input)));
    }
    Verdict::of(&parsed)
}

/// The redaction of GGUF headers: the reader must come to the same end over what it lets through.
pub fn redaction(input: &[u8]) -> Verdict {
    let plain = gguf::read_header(&mut { input });
    let mut machine =
        raw::capture::RedactingMachine::new(Synthetic::new(OneFile(input)), Redaction::Strict);
    let (root, path) = (Root::Host, model::Text::from("/m/x.gguf"));
    let _ = machine.post(&Question::Stat {
        root,
        path: path.clone(),
    });
    let mut reader = HeaderReader::new(input.len() as u64);
    let hidden = loop {
        let Some(question) = Question::of_header(&reader.step(), root, &path) else {
            break reader.into_header();
        };
        match (
            &question,
            machine.post(&question).map(|answer| answer.value),
        ) {
            (Question::File { offset, .. }, Ok(Reply::Bytes(bytes))) => {
                reader.supply(*offset, &bytes);
            }
            (_, Ok(Reply::End(end))) => reader.skipped(end),
            (Question::SkipStrings { .. }, _) => {
                assert!(plain.is_err(), "strings that were read without redaction");
                return Verdict::Refused;
            }
            _ => {
                assert!(
                    plain.is_err(),
                    "a header that is read without redaction is kept back"
                );
                return Verdict::Refused;
            }
        }
    };
    assert!(
        hidden.is_ok() == plain.is_ok(),
        "redaction changes what is read: {:?} became {:?}",
        plain.as_ref().err(),
        hidden.as_ref().err()
    );
    if let (Ok(hidden), Ok(plain)) = (&hidden, &plain) {
        assert!(
            hidden.tensors == plain.tensors,
            "redaction changes the tensors"
        );
    }
    Verdict::of(&plain)
}

/// A recording, read and interpreted. A stage that panics becomes a notice, which is a failure here.
pub fn capture(input: &[u8]) -> Verdict {
    /// Refreshes that are looked at.
    const MAX_TICKS: usize = 6;
    let capture = Capture::load(input);
    let verdict = Verdict::of(&capture);
    if let Ok(capture) = capture {
        let mut machine = ReplayMachine::new(Arc::new(capture));
        let mut collector = Collector::new(machine.facts());
        for _ in 0..MAX_TICKS {
            let Ok(tick) = machine.begin_tick(&TickPlan::default()) else {
                break;
            };
            let snapshot = collector.tick(&mut machine, tick);
            let failed = snapshot
                .notices
                .iter()
                .find(|notice| notice.code == "internal");
            assert!(failed.is_none(), "a stage panicked: {failed:?}");
            let _ = output::json::to_line(&snapshot);
        }
    }
    verdict
}

/// A machine that has nothing but one file.
struct OneFile<'a>(&'a [u8]);

impl Script for OneFile<'_> {
    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: 0,
            wall_us: 0,
        }
    }

    fn post(&mut self, question: &Question) -> Result<Reply, Gap> {
        let file = &mut self.0;
        Ok(match question {
            Question::Stat { .. } => Reply::Meta(FileMeta {
                dev: Some(1),
                ino: Some(1),
                size: ReadAt::len(file),
                mtime_ns: Some(0),
            }),
            Question::File { offset, len, .. } => {
                let len = usize::try_from(*len).unwrap_or(0).min(file.len());
                let mut bytes = vec![0; len];
                let count = file.read_at(*offset, &mut bytes).unwrap_or(0);
                bytes.truncate(count);
                Reply::Bytes(bytes.into())
            }
            Question::SkipStrings {
                offset,
                count,
                length_bytes,
                big_endian,
                ..
            } => {
                let end = skip_strings(file, *offset, *count, *length_bytes, *big_endian);
                Reply::End(end.map_err(|_| Gap::Malformed)?)
            }
            _ => return Err(Gap::NotPresent),
        })
    }
}

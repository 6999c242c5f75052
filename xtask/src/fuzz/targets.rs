//! One function for each kind of input from outside. A function returns whether the input was accepted, and panics where
//! a rule is broken.

use std::sync::Arc;

use collect::Collector;
use gguf::kv::{self, KvSettings};
use gguf::weights::{ExpertsOnCpu, Weights};
use gguf::{HeaderReader, ReadAt, skip_strings};
use model::{Gap, Stamp};
use raw::capture::{Capture, Redaction, ReplayMachine};
use raw::{
    Answer, Ended, Endpoint, FileMeta, Inline, Machine, MachineFacts, Published, Question, Reply,
    Root, Stamped, Tick, TickPlan,
};

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
        share: 1,
        call: http_body,
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
        let weights = Weights::of(header);
        for layers in [None, Some(0), Some(3), Some(u64::MAX)] {
            let _ = weights.placement(layers, ExpertsOnCpu::Unknown);
            let _ = weights.placement(layers, ExpertsOnCpu::All);
        }
        for context in [None, Some(0), Some(4096), Some(u64::MAX)] {
            let settings = KvSettings {
                context,
                ..KvSettings::llama_server_defaults()
            };
            if let Ok(estimate) = kv::estimate(header, &settings) {
                assert!(estimate.low <= estimate.high, "a range from high to low");
                let _ = estimate.placement(Some(2));
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

/// What is kept of a model server's reply, by every question in its turn.
pub fn http_body(input: &[u8]) -> Verdict {
    let mut verdict = Verdict::Refused;
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

/// The redaction of GGUF headers: the reader must come to the same end over what it lets through.
pub fn redaction(input: &[u8]) -> Verdict {
    let plain = gguf::read_header(&mut { input });
    let mut machine = raw::capture::RedactingMachine::new(OneFile::new(input), Redaction::Strict);
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
struct OneFile<'a> {
    file: &'a [u8],
    facts: MachineFacts,
}

impl<'a> OneFile<'a> {
    fn new(file: &'a [u8]) -> Self {
        let facts = MachineFacts {
            os: "none".into(),
            origin: model::Origin {
                kind: model::OriginKind::Synthetic,
                note: None,
            },
            clock_ticks: 100,
            privileged: None,
            settings: raw::Settings::default(),
            nvml_names: Vec::new(),
        };
        Self { file, facts }
    }
}

impl Machine for OneFile<'_> {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, _: &TickPlan) -> Result<Tick, Ended> {
        Err(Ended)
    }

    fn nvml(&mut self) -> Published<raw::nvml::NvmlSweep> {
        Published::NotAsked
    }

    fn inline(&mut self, _: &Inline) -> Answer<Reply> {
        Err(Gap::NotPresent)
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        let value = match question {
            Question::Stat { .. } => Reply::Meta(FileMeta {
                dev: 1,
                ino: 1,
                size: ReadAt::len(&self.file),
                mtime_ns: 0,
            }),
            Question::File { offset, len, .. } => {
                let len = usize::try_from(*len).unwrap_or(0).min(self.file.len());
                let mut bytes = vec![0; len];
                let count = self.file.read_at(*offset, &mut bytes).unwrap_or(0);
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
                let end = skip_strings(&mut self.file, *offset, *count, *length_bytes, *big_endian);
                Reply::End(end.map_err(|_| Gap::Malformed)?)
            }
            _ => return Err(Gap::NotPresent),
        };
        Ok(Stamped {
            at: Stamp {
                mono_ns: 0,
                wall_us: 0,
            },
            value,
        })
    }
}

//! A machine made by hand, recorded and replayed: what was handed out is what is handed out again.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::sync::Arc;

use gguf::HeaderReader;
use model::{Gap, Origin, OriginKind, Stamp};
use raw::capture::{
    Capture, Manifest, Recorder, RecordingMachine, RedactingMachine, Redaction, ReplayMachine,
};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, InstanceCall, InstanceSweep, Library, MigSweep,
    NvmlSweep, Output, ProcessRow, code,
};
use raw::{
    Answer, Ended, FileMeta, Inline, Machine, MachineFacts, ProcessRef, Published, Question, Reply,
    Root, Stamped, Tick, TickPlan,
};

const WHO: ProcessRef = ProcessRef {
    pid: 7,
    start_ticks: 99,
};
const HEADER: &[u8] = include_bytes!("../../gguf/fixtures/headers/tiny-llama-q8_0.header.gguf");

/// A hole, an instance, and one whose lists were asked but one of them was not answered.
fn split(call: &impl Fn(Output) -> Answer<CallAnswer>) -> MigSweep {
    let calls = |lists| {
        InstanceCall::ALL
            .iter()
            .filter(move |c| lists || !c.is_list())
            .map(|c| {
                let answer = match c {
                    InstanceCall::Uuid => call(Output::Text("MIG-GPU-0123abcd-canary/5/0".into())),
                    InstanceCall::MpsProcesses => Err(Gap::TimedOut),
                    _ => call(Output::Number(5)),
                };
                (*c, answer)
            })
            .collect()
    };
    let hole = call(Output::Nothing).map(|mut answer| {
        answer.value.rc = code::NOT_FOUND;
        answer
    });
    let instance = |index, lists| InstanceSweep {
        index,
        lists,
        handle: call(Output::Nothing),
        calls: calls(lists),
    };
    MigSweep {
        mode: call(Output::Numbers(vec![1, 1])),
        slots: Some(call(Output::Number(7))),
        instances: vec![
            InstanceSweep {
                index: 0,
                lists: false,
                handle: hole,
                calls: Vec::new(),
            },
            instance(1, false),
            instance(3, true),
        ],
    }
}

/// Answers from tables; the clock moves one second a refresh.
struct Scripted {
    facts: MachineFacts,
    tick: u64,
    inline: HashMap<Inline, Reply>,
    posted: HashMap<Question, Reply>,
    file: Vec<u8>,
}

impl Scripted {
    fn new() -> Self {
        Self {
            facts: MachineFacts {
                privileged: Some(false),
                origin: Origin {
                    kind: OriginKind::Synthetic,
                    note: Some("scripted".into()),
                },
                nvml_names: vec!["libnvidia-ml.so.1".into()],
                ..MachineFacts::synthetic()
            },
            tick: 0,
            inline: HashMap::from([
                (Inline::Stat(7), Reply::text("7 (llama-server) S 1 x")),
                (
                    Inline::Small("/proc/sys/kernel/hostname".into()),
                    Reply::text("canary-host\n"),
                ),
                (
                    Inline::Cgroup(7),
                    Reply::text("0::/user.slice/canary-unit.service\n"),
                ),
            ]),
            posted: HashMap::from([
                (
                    Question::CommandLine(WHO),
                    Reply::text(
                        "/opt/canary/llama-server\0-m\0/home/canary/canary.gguf\0--api-key\0canary\0",
                    ),
                ),
                (
                    Question::Maps(WHO),
                    Reply::text("1000-2000 r--s 0 08:01 5 /home/canary/canary.gguf\n"),
                ),
                (Question::UserName(1000), Reply::text("canary")),
                (
                    Question::Links(WHO),
                    Reply::Links(vec![("cwd".into(), "/home/canary".into())]),
                ),
                (
                    Question::Environment(WHO),
                    Reply::Bytes([0xff, 0xfe, 0][..].into()),
                ),
            ]),
            file: HEADER.to_vec(),
        }
    }

    const fn now(&self) -> Stamp {
        Stamp {
            mono_ns: self.tick * 1_000_000_000,
            wall_us: 1_800_000_000_000_000,
        }
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "an answer is what the machine gives"
    )]
    const fn stamped<T>(&self, value: T) -> Answer<T> {
        Ok(Stamped {
            at: self.now(),
            value,
        })
    }
}

impl Machine for Scripted {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, _: &TickPlan) -> Result<Tick, Ended> {
        self.tick += 1;
        Ok(Tick {
            number: self.tick,
            now: self.now(),
            extra: self.tick == 2,
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        if self.tick == 2 {
            return Published::Overdue(self.now());
        }
        let call = |out| self.stamped(CallAnswer { rc: 0, sym: 2, out });
        let rows = vec![ProcessRow {
            pid: 7,
            mem: u64::MAX,
            gi: u32::MAX,
            ci: u32::MAX,
        }];
        let calls = DeviceCall::ALL
            .iter()
            .filter(|c| (Groups::STATIC | Groups::PROCESSES).contains(c.group()))
            .map(|c| {
                let out = match c {
                    DeviceCall::Uuid => Output::Text("GPU-0123abcd-canary".into()),
                    DeviceCall::ComputeProcesses => Output::Processes(rows.clone()),
                    DeviceCall::MigMode => return (*c, Err(Gap::TimedOut)),
                    _ => Output::Number(-1),
                };
                (*c, call(out))
            })
            .collect();
        let device = DeviceSweep {
            slot: 0,
            asked: Groups::STATIC | Groups::PROCESSES,
            handle: call(Output::Nothing),
            calls,
            mig: Some(split(&call)),
        };
        let library = self.stamped(Library::Ready { name: "lib".into() });
        let sweep = NvmlSweep {
            library,
            system: Vec::new(),
            devices: vec![device],
        };
        Published::New(Stamped {
            at: self.now(),
            value: Arc::new(sweep),
        })
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        self.inline
            .get(question)
            .cloned()
            .map_or(Err(Gap::NotPresent), |reply| self.stamped(reply))
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        if let Question::File {
            path, offset, len, ..
        } = question
        {
            assert_eq!(
                &**path, "/home/canary/canary.gguf",
                "the path is translated back"
            );
            let start = usize::try_from(*offset).unwrap();
            let end = (start + usize::try_from(*len).unwrap()).min(self.file.len());
            return self.stamped(Reply::Bytes(self.file[start..end].into()));
        }
        if let Question::Stat { path, .. } = question {
            assert_eq!(
                &**path, "/home/canary/canary.gguf",
                "the path is translated back"
            );
            let size = u64::try_from(self.file.len()).unwrap();
            return self.stamped(Reply::Meta(FileMeta {
                dev: Some(1),
                ino: Some(5),
                size,
                mtime_ns: Some(3),
            }));
        }
        if let Question::SkipStrings {
            offset,
            count,
            length_bytes,
            big_endian,
            ..
        } = question
        {
            let mut file = &*self.file;
            let end = gguf::skip_strings(&mut file, *offset, *count, *length_bytes, *big_endian);
            return self.stamped(Reply::End(end.unwrap()));
        }
        if self.tick == 1 {
            return Err(Gap::Pending);
        }
        self.posted
            .get(question)
            .cloned()
            .map_or(Err(Gap::Permission), |reply| self.stamped(reply))
    }
}

/// Asks everything once and notes what came.
fn ask(machine: &mut dyn Machine, path: &mut String) -> Vec<String> {
    let tick = machine.begin_tick(&TickPlan::default()).unwrap();
    let mut said = vec![format!("{tick:?}"), format!("{:?}", machine.nvml())];
    for question in [
        Inline::Stat(7),
        Inline::Small("/proc/sys/kernel/hostname".into()),
        Inline::Cgroup(7),
        Inline::PidNamespace,
    ] {
        said.push(format!("{:?}", machine.inline(&question)));
    }
    for question in [
        Question::CommandLine(WHO),
        Question::UserName(1000),
        Question::Links(WHO),
        Question::Environment(WHO),
        Question::OpenFiles(WHO),
    ] {
        said.push(format!("{:?}", machine.post(&question)));
    }
    let maps = machine.post(&Question::Maps(WHO));
    if let Ok(Stamped {
        value: Reply::Bytes(bytes),
        ..
    }) = &maps
    {
        let text = String::from_utf8_lossy(bytes).into_owned();
        *path = text[text.find('/').unwrap()..].trim().to_owned();
        said.extend(read_header(machine, path));
    }
    said.push(format!("{maps:?}"));
    said
}

fn read_header(machine: &mut dyn Machine, path: &str) -> Vec<String> {
    let root = Root::Process(WHO);
    let Ok(Stamped {
        value: Reply::Meta(meta),
        ..
    }) = machine.post(&Question::Stat {
        root,
        path: path.into(),
    })
    else {
        panic!("no size of {path}");
    };
    let mut reader = HeaderReader::new(meta.size);
    while let Some(question) = Question::of_header(&reader.step(), root, &path.into()) {
        let answer = machine.post(&question);
        match (&question, answer) {
            (
                Question::File { offset, .. },
                Ok(Stamped {
                    value: Reply::Bytes(bytes),
                    ..
                }),
            ) => reader.supply(*offset, &bytes),
            (
                Question::SkipStrings { .. },
                Ok(Stamped {
                    value: Reply::End(end),
                    ..
                }),
            ) => reader.skipped(end),
            (question, answer) => panic!("no answer to {question:?}: {answer:?}"),
        }
    }
    let header = reader.into_header().unwrap();
    vec![
        format!("{:?}", header.architecture()),
        format!("{:?}", header.name()),
        format!(
            "{} tensors, {} bytes",
            header.tensors.len(),
            header.tensor_bytes()
        ),
    ]
}

fn record(level: Redaction) -> (Vec<u8>, Vec<String>) {
    let machine = RedactingMachine::new(Scripted::new(), level);
    let manifest = Manifest::new(machine.facts(), level, "test".to_owned());
    let recorder = Recorder::new(Vec::new(), &manifest).unwrap();
    let mut machine = RecordingMachine::new(machine, recorder);
    let mut path = String::new();
    let said = (0..3).flat_map(|_| ask(&mut machine, &mut path)).collect();
    (machine.finish().unwrap(), said)
}

#[test]
fn a_replay_hands_out_what_was_recorded_at_every_level() {
    for level in [Redaction::None, Redaction::Paths, Redaction::Strict] {
        let (bytes, recorded) = record(level);
        let capture = Capture::load(&*bytes).unwrap();
        assert_eq!(capture.tick_count(), 3);
        let mut replay = ReplayMachine::new(Arc::new(capture));
        let mut path = String::new();
        let replayed: Vec<String> = (0..3).flat_map(|_| ask(&mut replay, &mut path)).collect();
        assert_eq!(recorded, replayed, "{level:?}");
        assert_eq!(replay.begin_tick(&TickPlan::default()), Err(Ended));
    }
}

#[test]
fn strict_leaves_no_name_and_keeps_what_a_diagnosis_needs() {
    let (bytes, said) = record(Redaction::Strict);
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        !text.contains("canary"),
        "{}",
        &text[text.find("canary").unwrap() - 200..][..300]
    );
    let said = said.join("\n");
    assert!(said.contains("Some(\"llama\")"), "the architecture stays");
    assert!(!said.contains("Tiny"), "the model's own name goes: {said}");
    let (_, open) = record(Redaction::None);
    let tensors = |said: &str| {
        said.lines()
            .find(|l| l.contains("tensors,"))
            .map(str::to_owned)
    };
    assert_eq!(
        tensors(&said),
        tensors(&open.join("\n")),
        "the tensor table stays"
    );
    let capture = Capture::load(text.as_bytes()).unwrap();
    assert_eq!(capture.manifest.redaction, Redaction::Strict);
}

#[test]
fn paths_hides_folders_users_and_secrets_only() {
    let (bytes, _) = record(Redaction::Paths);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("canary.gguf"), "file names stay");
    let rest = text.replace("canary.gguf", "").replace("canary-unit", "");
    let line = rest.lines().find(|line| line.contains("canary"));
    assert_eq!(line, None, "folders, users, hosts, keys go");
}

#[test]
fn a_removed_line_is_a_gap_and_never_the_answer_of_another() {
    let (bytes, _) = record(Redaction::None);
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for removed in 1..lines.len() {
        if lines[removed].contains("\"now\"") {
            continue;
        }
        let mut rest = lines.clone();
        rest.remove(removed);
        let capture = Capture::load(rest.join("\n").as_bytes()).unwrap();
        let mut replay = ReplayMachine::new(Arc::new(capture));
        while replay.begin_tick(&TickPlan::default()).is_ok() {
            if let Published::New(sweep) = replay.nvml() {
                for device in &sweep.value.devices {
                    for (call, answer) in &device.calls {
                        let Ok(answer) = answer else { continue };
                        let expected = match call {
                            DeviceCall::Uuid => Output::Text("GPU-0123abcd-canary".into()),
                            DeviceCall::ComputeProcesses => Output::Processes(vec![ProcessRow {
                                pid: 7,
                                mem: u64::MAX,
                                gi: u32::MAX,
                                ci: u32::MAX,
                            }]),
                            _ => Output::Number(-1),
                        };
                        assert_eq!(answer.value.out, expected, "line {removed} removed");
                    }
                }
            }
        }
    }
}

#[test]
fn a_capture_cut_anywhere_is_read_or_refused_but_never_panics() {
    let (bytes, _) = record(Redaction::None);
    for end in (0..bytes.len()).step_by(7) {
        if let Ok(capture) = Capture::load(&bytes[..end]) {
            assert!(capture.tick_count() <= 3);
        }
    }
}

#[test]
fn equal_answers_are_written_once() {
    let (bytes, _) = record(Redaction::None);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("llama-server) S 1 x").count(), 1);
}

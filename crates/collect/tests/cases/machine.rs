//! A machine in memory: one GPU, one process, one model file.

use std::sync::Arc;

use model::{Gap, Stamp, Text};
use raw::nvml::{
    CallAnswer, DeviceCall, DeviceSweep, Groups, Library, NO_INSTANCE, NvmlSweep, Output,
    ProcessRow, SystemCall, code, succeeded,
};
use raw::{
    Answer, Ended, FileMeta, Inline, Machine, MachineFacts, Published, Question, Reply, Stamped,
    Tick, TickPlan,
};

/// The process.
const PID: u32 = 4242;

/// Its working directory, where its model file is if nothing else is said.
pub(crate) const FOLDER: &str = "/models";

/// Bytes that the driver says the process holds.
const HELD: u64 = 1 << 30;

const AT: Stamp = Stamp {
    mono_ns: 5_000_000_000,
    wall_us: 1_760_000_000_000_000,
};

/// Answers every question at once.
pub(crate) struct Memory {
    facts: MachineFacts,
    /// Where the model file is.
    model: String,
    /// NUL-separated, as in `/proc/PID/cmdline`.
    pub(crate) command_line: String,
    /// NUL-separated, as in `/proc/PID/environ`.
    pub(crate) environment: String,
    /// Lines of `/proc/PID/maps`; where there are none, the start of the model file is mapped.
    pub(crate) maps: String,
    /// The start of the model file.
    header: Vec<u8>,
    /// Bytes of the whole file.
    file_len: u64,
    ticks: u64,
}

impl Memory {
    pub(crate) fn new(model: String, header: Vec<u8>, file_len: u64) -> Self {
        Self {
            facts: MachineFacts {
                privileged: Some(false),
                ..MachineFacts::synthetic()
            },
            model,
            command_line: String::new(),
            environment: String::new(),
            maps: String::new(),
            header,
            file_len,
            ticks: 0,
        }
    }

    fn now(&self) -> Stamp {
        Stamp {
            mono_ns: AT.mono_ns + self.ticks * 1_000_000_000,
            wall_us: AT.wall_us + i64::try_from(self.ticks).unwrap() * 1_000_000,
        }
    }

    fn stamped(&self, value: Reply) -> Stamped<Reply> {
        Stamped {
            at: self.now(),
            value,
        }
    }

    fn sweep(&self) -> NvmlSweep {
        let at = self.now();
        let call = |out| {
            Ok(Stamped {
                at,
                value: CallAnswer {
                    rc: code::SUCCESS,
                    sym: 3,
                    out,
                },
            })
        };
        let row = ProcessRow {
            pid: PID,
            mem: HELD,
            gi: NO_INSTANCE,
            ci: NO_INSTANCE,
        };
        NvmlSweep {
            library: Ok(Stamped {
                at,
                value: Library::Ready {
                    name: "libnvidia-ml.so.1".into(),
                },
            }),
            system: vec![(SystemCall::DeviceCount, call(Output::Number(1)))],
            devices: vec![DeviceSweep {
                mig: None,
                slot: 0,
                asked: Groups::PROCESSES,
                handle: succeeded(at),
                calls: vec![(
                    DeviceCall::ComputeProcesses,
                    call(Output::Processes(vec![row])),
                )],
            }],
        }
    }

    /// Bytes of the file; zeros behind its header.
    fn part(&self, offset: u64, len: u32) -> Vec<u8> {
        let end = self.file_len.min(offset.saturating_add(len.into()));
        (offset..end)
            .map(|at| usize::try_from(at).ok().and_then(|at| self.header.get(at)))
            .map(|byte| byte.copied().unwrap_or(0))
            .collect()
    }
}

impl Machine for Memory {
    fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    fn begin_tick(&mut self, _plan: &TickPlan) -> Result<Tick, Ended> {
        self.ticks += 1;
        Ok(Tick {
            number: self.ticks,
            now: self.now(),
            extra: false,
        })
    }

    fn nvml(&mut self) -> Published<NvmlSweep> {
        Published::New(Stamped {
            at: self.now(),
            value: Arc::new(self.sweep()),
        })
    }

    fn inline(&mut self, question: &Inline) -> Answer<Reply> {
        let text = match question {
            Inline::Stat(PID) => {
                format!("{PID} (llama-server) S 1{} 100 0 0\n", " 0".repeat(17))
            }
            Inline::Status(PID) => "Name:\tllama-server\nUid:\t1000\t1000\t1000\t1000\n".to_owned(),
            Inline::Cgroup(PID) => "0::/user.slice\n".to_owned(),
            Inline::PidNamespace => "pid:[4026531836]".to_owned(),
            Inline::Small(path) if &**path == "/proc/uptime" => "1000.00 1000.00\n".to_owned(),
            _ => return Err(Gap::NotPresent),
        };
        Ok(self.stamped(Reply::text(&text)))
    }

    fn post(&mut self, question: &Question) -> Answer<Reply> {
        let reply = match question {
            Question::CommandLine(_) => Reply::text(&self.command_line),
            Question::Environment(_) => Reply::text(&self.environment),
            Question::Links(_) => {
                let link = |name: &str, to: &str| (Text::from(name), Text::from(to));
                let program = self.command_line.split('\0').next().unwrap_or_default();
                let program = format!("/opt/{program}");
                Reply::Links(vec![link("exe", &program), link("cwd", FOLDER)])
            }
            Question::Maps(_) if !self.maps.is_empty() => Reply::text(&self.maps),
            Question::Maps(_) => Reply::text(&format!(
                "7f0000000000-7f0000100000 r--s 00000000 08:01 7 {}\n",
                self.model
            )),
            Question::OpenFiles(_) => Reply::Links(Vec::new()),
            Question::Listeners(_) => Reply::Listeners(Vec::new()),
            Question::UserName(_) => Reply::text("user"),
            Question::Stat { path, .. } if **path == *self.model => Reply::Meta(FileMeta {
                dev: Some(1),
                ino: Some(7),
                size: self.file_len,
                mtime_ns: Some(0),
            }),
            Question::File {
                path, offset, len, ..
            } if **path == *self.model => Reply::Bytes(self.part(*offset, *len).into()),
            Question::SkipStrings {
                path,
                offset,
                count,
                length_bytes,
                big_endian,
                ..
            } if **path == *self.model => {
                let mut file = &*self.header;
                let end =
                    gguf::skip_strings(&mut file, *offset, *count, *length_bytes, *big_endian);
                Reply::End(end.map_err(|_| Gap::Malformed)?)
            }
            _ => return Err(Gap::NotPresent),
        };
        Ok(self.stamped(reply))
    }
}

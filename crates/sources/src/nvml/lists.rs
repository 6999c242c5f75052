//! Process lists and utilization samples: calls that fill a buffer whose size is not known before.
//!
//! Each is called with a buffer at once. The usual protocol, asking for the count first, costs a second call, leaves
//! a moment in which the list grows, and is not followed by every library.

use model::Gap;
use raw::nvml::{CallAnswer, Output, ProcessRow, SampleRow, code};

use super::ffi::{Device, ENTRY_WORDS, List, RawSample, SLACK_ENTRIES, absent};
use super::library::Library;
use super::stride::{FIRST_FILL, Layout, SECOND_FILL, Touched, Verdict, halves};

/// Entries of a process list there is room for at first; few machines have more processes on one device.
const FIRST_ENTRIES: usize = 64;

/// Samples there is room for at first: libraries have been seen to insist on 100 whatever they have.
const FIRST_SAMPLES: usize = 128;

/// Largest room ever given, 2 MiB at 32 bytes an entry. Beyond the default limit of processes of a system.
const MAX_ENTRIES: usize = 65_536;

/// Calls with a growing buffer before a list counts as growing faster than it can be read.
const TRIES: u32 = 4;

/// Buffers kept from sweep to sweep.
#[derive(Default)]
pub(super) struct Buffers {
    entries: Vec<u64>,
    samples: Vec<RawSample>,
    /// Samples with JPEG and OFA load, and whether they were given for the device that is being read.
    pub(super) wide: super::samples::Wide,
}

/// What one version of a list gave.
enum Read {
    /// The library lacks this version.
    Absent,
    /// An answer.
    Answered(CallAnswer),
    /// Entries in a layout that could not be settled.
    Unreadable,
}

/// A process list by the newest version of its call that can be read.
pub(super) fn processes(
    library: &Library,
    list: List,
    device: Device,
    buffers: &mut Buffers,
) -> Result<CallAnswer, Gap> {
    let mut reader = Reader {
        library,
        list,
        device,
        entries: &mut buffers.entries,
    };
    let mut refused = None;
    let mut unreadable = false;
    for version in [3, 2, 1] {
        let read = match version {
            3 => reader.version_3(),
            2 => reader.plain(2, Layout::Bytes24),
            _ => reader.plain(1, Layout::Bytes16),
        };
        match read {
            Read::Absent => {}
            Read::Unreadable => unreadable = true,
            Read::Answered(answer) if answer.rc == code::FUNCTION_NOT_FOUND => {
                refused.get_or_insert(answer);
            }
            Read::Answered(answer) => return Ok(answer),
        }
    }
    if unreadable {
        return Err(Gap::Malformed);
    }
    Ok(refused.unwrap_or_else(absent))
}

struct Reader<'a> {
    library: &'a Library,
    list: List,
    device: Device,
    entries: &'a mut Vec<u64>,
}

impl Reader<'_> {
    /// A version whose layout is known.
    fn plain(&mut self, version: u8, layout: Layout) -> Read {
        match self.call(version, None) {
            None => Read::Absent,
            Some((rc, count)) => Read::Answered(self.answer(rc, version, layout, count)),
        }
    }

    /// Version 3, whose layout is settled from what it writes.
    fn version_3(&mut self) -> Read {
        if let Some(layout) = self.library.layout(self.list) {
            return self.plain(3, layout);
        }
        let Some((rc, count)) = self.call(3, Some(FIRST_FILL)) else {
            return Read::Absent;
        };
        if rc != code::SUCCESS || count == 0 {
            return Read::Answered(self.answer(rc, 3, Layout::Bytes24, 0));
        }
        let first = Touched::since(self.entries, FIRST_FILL);
        let first_verdict = first.verdict(count);
        if first_verdict == Verdict::Either {
            // The single entry reads the same either way; a longer list will settle it.
            return Read::Answered(self.answer(rc, 3, Layout::Bytes24, count));
        }
        // A value can look like the filling. It cannot look like both fillings, so only what two calls with
        // different ones agree on is kept.
        let first_count = count;
        let Some((rc, count)) = self.call(3, Some(SECOND_FILL)) else {
            return Read::Absent;
        };
        if rc != code::SUCCESS || count == 0 {
            return Read::Answered(self.answer(rc, 3, Layout::Bytes24, 0));
        }
        let second = Touched::since(self.entries, SECOND_FILL);
        let verdict = match (first_verdict, second.verdict(count)) {
            (Verdict::Only(a), Verdict::Only(b)) if a == b => Verdict::Only(a),
            _ if count == first_count => first.or(&second).verdict(count),
            _ => Verdict::Neither,
        };
        match verdict {
            Verdict::Only(layout) => {
                self.library.settle(self.list, layout);
                Read::Answered(self.answer(rc, 3, layout, count))
            }
            Verdict::Either => Read::Answered(self.answer(rc, 3, Layout::Bytes24, count)),
            Verdict::Neither => Read::Unreadable,
        }
    }

    /// Calls with a larger buffer until it is large enough: return code and entries written.
    fn call(&mut self, version: u8, fill: Option<u64>) -> Option<(i32, usize)> {
        if self.entries.is_empty() {
            self.grow(FIRST_ENTRIES);
        }
        for _ in 0..TRIES {
            if let Some(fill) = fill {
                self.entries.fill(fill);
            }
            let (rc, count) =
                self.library
                    .api
                    .processes(self.list, version, self.device, self.entries)?;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let room = self.room();
            let too_small = rc == code::INSUFFICIENT_SIZE || (rc == code::SUCCESS && count > room);
            if !too_small {
                return Some((rc, count));
            }
            self.grow(count.saturating_mul(2).saturating_add(8).max(room));
        }
        Some((code::INSUFFICIENT_SIZE, 0))
    }

    fn room(&self) -> usize {
        (self.entries.len() / ENTRY_WORDS).saturating_sub(SLACK_ENTRIES)
    }

    fn grow(&mut self, entries: usize) {
        let entries = entries.min(MAX_ENTRIES) + SLACK_ENTRIES;
        self.entries.resize(entries * ENTRY_WORDS, 0);
    }

    fn answer(&self, rc: i32, version: u8, layout: Layout, count: usize) -> CallAnswer {
        let out = if rc == code::SUCCESS {
            let rows = self.entries.chunks_exact(layout.words()).take(count);
            Output::Processes(rows.map(row).collect())
        } else {
            Output::Nothing
        };
        CallAnswer {
            rc,
            sym: version,
            out,
        }
    }
}

/// An entry of 16, 24 or 32 bytes. Version 1 knows no instances.
fn row(words: &[u64]) -> ProcessRow {
    let word = |n: usize| words.get(n).copied();
    let [pid, _padding] = halves(word(0).unwrap_or_default());
    let [gi, ci] = word(2).map_or([raw::nvml::NO_INSTANCE; 2], halves);
    ProcessRow {
        pid,
        mem: word(1).unwrap_or_default(),
        gi,
        ci,
    }
}

/// Utilization samples newer than `after`.
pub(super) fn samples(
    library: &Library,
    device: Device,
    after: u64,
    buffers: &mut Buffers,
) -> CallAnswer {
    const EMPTY: RawSample = RawSample {
        pid: 0,
        timeStamp: 0,
        smUtil: 0,
        memUtil: 0,
        encUtil: 0,
        decUtil: 0,
    };
    let call = |room: &mut [RawSample]| library.api.samples(device, after, room);
    growing(&mut buffers.samples, EMPTY, call, |sample| SampleRow {
        pid: sample.pid,
        ts: sample.timeStamp,
        sm: sample.smUtil,
        mem: sample.memUtil,
        enc: sample.encUtil,
        dec: sample.decUtil,
        jpg: None,
        ofa: None,
    })
}

/// Asks for samples with more room until all fit. The call gives its return code and how many there are.
pub(super) fn growing<T: Copy>(
    samples: &mut Vec<T>,
    empty: T,
    call: impl Fn(&mut [T]) -> Option<(i32, u32)>,
    row: impl Fn(&T) -> SampleRow,
) -> CallAnswer {
    if samples.is_empty() {
        samples.resize(FIRST_SAMPLES, empty);
    }
    for _ in 0..TRIES {
        let Some((rc, count)) = call(samples) else {
            return absent();
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if rc == code::SUCCESS && count <= samples.len() {
            let rows = samples.iter().take(count).map(&row);
            let out = Output::Samples(rows.collect());
            return CallAnswer { rc, sym: 1, out };
        }
        if rc != code::SUCCESS && rc != code::INSUFFICIENT_SIZE {
            let out = Output::Nothing;
            return CallAnswer { rc, sym: 1, out };
        }
        let room = count.saturating_mul(2).saturating_add(8).min(MAX_ENTRIES);
        if room > samples.len() {
            samples.resize(room, empty);
        }
    }
    CallAnswer {
        rc: code::INSUFFICIENT_SIZE,
        sym: 1,
        out: Output::Nothing,
    }
}

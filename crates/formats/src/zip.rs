//! The directory of a zip archive, which stands at its end. Only names and sizes are read; nothing is unpacked.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::{Error, What};
use crate::limits::{MAX_ZIP_DIRECTORY, ZIP_TAIL};
use crate::pytorch::Entries;
use crate::window::{Pause, Walker, Window, malformed};

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";

/// Bytes of an entry of the directory before its name, extra field and comment.
const ENTRY_BYTES: u64 = 46;

#[derive(Debug, Default)]
pub(crate) struct ZipWalker {
    state: State,
    entries: Entries,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// The first bytes were seen.
    #[default]
    Start,
    /// The end is being looked for.
    Tail,
    /// The record of an archive above 4 GiB, at this place.
    End64(u64),
    /// Entries.
    Directory { at: u64, end: u64, cut: bool },
}

impl Walker for ZipWalker {
    fn walk(&mut self, window: Window<'_>) -> Pause {
        loop {
            match self.step(window) {
                Ok(state) => self.state = state,
                Err(pause) => return pause,
            }
        }
    }
}

impl ZipWalker {
    fn step(&mut self, window: Window<'_>) -> Result<State, Pause> {
        let wrong = |offset| malformed(What::Directory, offset);
        match self.state {
            State::Start => Ok(State::Tail),
            State::Tail => {
                let from = window.end.saturating_sub(ZIP_TAIL);
                let count = window.end.saturating_sub(from);
                let Some(tail) = window.get(from, count) else {
                    return Err(Pause::Read {
                        offset: from,
                        len: count,
                    });
                };
                let end = tail
                    .windows(END.len())
                    .rposition(|four| four == END)
                    .ok_or_else(|| wrong(from))?;
                let offset = from.saturating_add(u64::try_from(end).unwrap_or(u64::MAX));
                let field = |at: usize| u32_at(tail, end.saturating_add(at)).map(u64::from);
                // The record ends with the length of a comment.
                let (Some(size), Some(at), Some(_)) =
                    (field(12), field(16), u16_at(tail, end.saturating_add(20)))
                else {
                    return Err(wrong(offset).into());
                };
                let is_64 = size == u64::from(u32::MAX) || at == u64::from(u32::MAX);
                let locator = end.checked_sub(20).and_then(|from| tail.get(from..));
                let locator = locator.filter(|bytes| bytes.starts_with(LOCATOR_64));
                match locator.and_then(|bytes| u64_at(bytes, 8)) {
                    Some(at) => Ok(State::End64(at)),
                    None if is_64 => Err(wrong(offset).into()),
                    None => directory(window, at, size),
                }
            }
            State::End64(at) => {
                let record = window.need(at, 56)?;
                match (u64_at(record, 40), u64_at(record, 48)) {
                    (Some(size), Some(from)) if record.starts_with(END_64) => {
                        directory(window, from, size)
                    }
                    _ => Err(wrong(at).into()),
                }
            }
            State::Directory { at, end, cut } => {
                if at >= end {
                    return Err(match self.entries.describe(window.end, !cut) {
                        Some(found) => Pause::Done(Box::new(found)),
                        None => Pause::Failed(Error::NotModel),
                    });
                }
                let rest = end.saturating_sub(at);
                let head = window.need(at, ENTRY_BYTES)?;
                let lengths = [28, 30, 32].map(|place| u16_at(head, place).map_or(0, u64::from));
                let size = lengths
                    .iter()
                    .fold(ENTRY_BYTES, |sum, part| sum.saturating_add(*part));
                if !head.starts_with(ENTRY) || (size > rest && !cut) {
                    return Err(wrong(at).into());
                }
                if size > rest {
                    return Ok(State::Directory { at: end, end, cut });
                }
                let entry = window.need(at, size)?;
                let [name, extra, _] = lengths.map(crate::bytes::size);
                let after_name = 46_usize.saturating_add(name);
                let extra = entry.get(after_name..after_name.saturating_add(extra));
                let name = entry.get(46..after_name).unwrap_or_default();
                self.entries
                    .add(name, unpacked(entry, extra.unwrap_or_default()));
                Ok(State::Directory {
                    at: at.saturating_add(size),
                    end,
                    cut,
                })
            }
        }
    }
}

fn directory(window: Window<'_>, at: u64, size: u64) -> Result<State, Pause> {
    window.reach(at, size)?;
    Ok(State::Directory {
        at,
        end: at.saturating_add(size.min(MAX_ZIP_DIRECTORY)),
        cut: size > MAX_ZIP_DIRECTORY,
    })
}

/// Size without compression: of 32 bits, or of 64 in the extra field of that kind.
fn unpacked(entry: &[u8], extra: &[u8]) -> u64 {
    let short = u32_at(entry, 24).map_or(0, u64::from);
    if short != u64::from(u32::MAX) {
        return short;
    }
    let mut rest = extra;
    while let (Some(id), Some(len)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let body = rest.get(4..).unwrap_or_default();
        if id == 1 {
            return u64_at(body, 0).unwrap_or(u64::MAX);
        }
        rest = body.get(usize::from(len)..).unwrap_or_default();
    }
    u64::MAX
}

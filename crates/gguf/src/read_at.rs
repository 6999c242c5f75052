//! Reading a header in one call, where the bytes are at hand.

use std::io;

use crate::error::Error;
use crate::header::Header;
use crate::reader::{HeaderReader, Step};
use crate::strings::skip_strings;

/// Something with bytes at offsets: a file behind `pread`, or a buffer.
///
/// For a file, read with `pread` and never map it: a mapping of a file that shrinks ends the process.
pub trait ReadAt {
    /// Bytes there are in all.
    fn len(&self) -> u64;

    /// Reads some bytes at `offset` and says how many; 0 at or after the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ReadAt for &[u8] {
    fn len(&self) -> u64 {
        u64::try_from((**self).len()).unwrap_or(u64::MAX)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.get(offset..))
            .unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Reads until `buffer` is full or the end is reached; says how many bytes there were.
pub(crate) fn read_full(
    read: &mut (impl ReadAt + ?Sized),
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        let room = rest.len();
        match read.read_at(at, rest) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count.min(room)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Error::Io {
                    offset: at,
                    kind: error.kind(),
                });
            }
        }
    }
    Ok(filled)
}

/// Reads the header of a whole file.
pub fn read_header(read: &mut (impl ReadAt + ?Sized)) -> Result<Header, Error> {
    let mut reader = HeaderReader::new(read.len());
    let mut buffer = Vec::new();
    loop {
        match reader.step() {
            Step::Read { offset, len } => {
                buffer.resize(usize::try_from(len).unwrap_or_default(), 0);
                let count = read_full(read, offset, &mut buffer)?;
                reader.supply(offset, buffer.get(..count).unwrap_or_default());
            }
            Step::SkipStrings {
                offset,
                count,
                length_bytes,
                big_endian,
            } => reader.skipped(skip_strings(read, offset, count, length_bytes, big_endian)?),
            Step::Done => return reader.into_header(),
            Step::Failed(error) => return Err(error),
        }
    }
}

//! Describing a file in one call, where the bytes are at hand.

use std::io;

use crate::bytes::{len, size};
use crate::description::Description;
use crate::error::Error;
use crate::reader::{FileReader, Step};

/// Something with bytes at offsets: a file behind `pread`, or a buffer.
///
/// For a file, read with `pread` and never map it: a mapping of a file that shrinks ends the process.
pub trait ReadAt {
    /// Bytes there are in all.
    fn size(&self) -> u64;

    /// Reads some bytes at `offset` and says how many; 0 at or after the end.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for &[u8] {
    fn size(&self) -> u64 {
        len(self)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.get(size(offset)..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Says what the file called `name` is.
pub fn describe(name: &str, read: &mut (impl ReadAt + ?Sized)) -> Result<Description, Error> {
    let mut reader = FileReader::new(name, read.size());
    let mut buffer = Vec::new();
    loop {
        match reader.step() {
            Step::Read { offset, len } => {
                buffer.resize(size(u64::from(len)), 0);
                let count = read_full(read, offset, &mut buffer)?;
                reader.supply(offset, buffer.get(..count).unwrap_or_default());
            }
            Step::Done | Step::Failed(_) => return reader.into_description(),
        }
    }
}

/// Reads until `buffer` is full or the end is reached.
fn read_full(
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
            Err(_) => return Err(Error::Io { offset: at }),
        }
    }
    Ok(filled)
}

//! Parts of regular files.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use gguf::{Error, ReadAt};
use model::Gap;
use raw::source::reads::MAX_FILE_READ;
use raw::{FileMeta, ModelFile};

use super::beneath;
use super::errors::gap_of_io;

/// `len` bytes from `offset`, fewer at the end of the file.
pub(super) fn part(root: &OwnedFd, path: &str, offset: u64, len: u32) -> Result<Vec<u8>, Gap> {
    if len > MAX_FILE_READ {
        return Err(Gap::OverBound);
    }
    let file = beneath::open_regular(root.as_fd(), path)?;
    let size = file.metadata().map_err(|error| gap_of_io(&error))?.len();
    // No allocation by a length that the file does not have.
    let len = u64::from(len).min(size.saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match file.read_at(rest, at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(gap_of_io(&error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Size and identity; needs no right to read the file.
pub(super) fn meta(root: &OwnedFd, path: &str) -> Result<FileMeta, Gap> {
    meta_of(&File::from(beneath::find_regular(root.as_fd(), path)?))
}

/// The same of an open file.
pub(super) fn meta_of(file: &File) -> Result<FileMeta, Gap> {
    let meta = file.metadata().map_err(|error| gap_of_io(&error))?;
    Ok(FileMeta {
        dev: Some(meta.dev()),
        ino: Some(meta.ino()),
        size: meta.size(),
        mtime_ns: Some(
            meta.mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(meta.mtime_nsec()),
        ),
    })
}

/// When a file was made, in microseconds since 1970, where its file system tells.
pub(super) fn born_us(file: &File) -> Option<i64> {
    let born = file.metadata().ok()?.created().ok()?;
    let since = born.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

/// The offset behind a run of strings.
pub(super) fn skip_strings(
    root: &OwnedFd,
    path: &str,
    offset: u64,
    count: u64,
    length_bytes: u8,
    big_endian: bool,
) -> Result<u64, Gap> {
    let file = beneath::open_regular(root.as_fd(), path)?;
    let len = file.metadata().map_err(|error| gap_of_io(&error))?.len();
    let mut reader = Pread { file, len };
    let end = gguf::skip_strings(&mut reader, offset, count, length_bytes, big_endian);
    end.map_err(|error| match error {
        Error::Io { kind, .. } => gap_of_io(&kind.into()),
        Error::HeaderTooLarge { .. } => Gap::OverBound,
        _ => Gap::Malformed,
    })
}

/// What a file is that may be a model, and what its header tells.
pub(super) fn model(root: &OwnedFd, path: &str) -> Result<ModelFile, Gap> {
    let file = beneath::open_regular(root.as_fd(), path)?;
    let len = file.metadata().map_err(|error| gap_of_io(&error))?.len();
    match formats::describe(path, &mut Pread { file, len }) {
        Ok(found) => Ok(ModelFile::Described(Box::new(found))),
        Err(formats::Error::Io { .. }) => Err(Gap::Malformed),
        Err(error) => Ok(ModelFile::Refused(error)),
    }
}

/// Never a mapping: that of a file which shrinks ends the process.
struct Pread {
    file: File,
    len: u64,
}

impl formats::ReadAt for Pread {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

impl ReadAt for Pread {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}

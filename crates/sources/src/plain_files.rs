//! Parts of regular files that the user named, by the standard library alone: for machines that are not read otherwise.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::time::UNIX_EPOCH;

use gguf::{Error, ReadAt};
use model::Gap;
use raw::source::reads::MAX_FILE_READ;
use raw::{FileMeta, Question, Reply, Root};

/// The answer to a question about a file of this machine; of anything else there is none.
pub(crate) fn read(question: &Question) -> Result<Reply, Gap> {
    match question {
        Question::Stat {
            root: Root::Host,
            path,
        } => Ok(Reply::Meta(meta(&regular(path)?))),
        Question::File {
            root: Root::Host,
            path,
            offset,
            len,
        } => part(path, *offset, *len).map(|bytes| Reply::Bytes(bytes.into())),
        Question::SkipStrings {
            root: Root::Host,
            path,
            offset,
            count,
            length_bytes,
            big_endian,
        } => {
            let mut file = open(path)?;
            let end = gguf::skip_strings(&mut file, *offset, *count, *length_bytes, *big_endian);
            end.map(Reply::End).map_err(|error| match error {
                Error::Io { kind, .. } => gap(&kind.into()),
                Error::HeaderTooLarge { .. } => Gap::OverBound,
                _ => Gap::Malformed,
            })
        }
        _ => Err(Gap::NotPresent),
    }
}

fn gap(error: &io::Error) -> Gap {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput => Gap::NotPresent,
        ErrorKind::PermissionDenied => Gap::Permission,
        ErrorKind::TimedOut => Gap::TimedOut,
        _ => Gap::Internal,
    }
}

/// Looked at before it is opened: what is no regular file may block.
fn regular(path: &str) -> Result<Metadata, Gap> {
    let meta = std::fs::metadata(path).map_err(|error| gap(&error))?;
    if meta.is_file() {
        Ok(meta)
    } else {
        Err(Gap::NotRegular)
    }
}

/// The standard library has no numbers of device and file on every system: which file it is, its path has to tell.
fn meta(of: &Metadata) -> FileMeta {
    let modified = of.modified().ok();
    let age = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    FileMeta {
        dev: None,
        ino: None,
        size: of.len(),
        mtime_ns: age.and_then(|age| i64::try_from(age.as_nanos()).ok()),
    }
}

struct Opened {
    file: File,
    len: u64,
}

fn open(path: &str) -> Result<Opened, Gap> {
    let len = regular(path)?.len();
    let file = File::open(path).map_err(|error| gap(&error))?;
    Ok(Opened { file, len })
}

/// `len` bytes from `offset`, fewer at the end of the file.
fn part(path: &str, offset: u64, len: u32) -> Result<Vec<u8>, Gap> {
    if len > MAX_FILE_READ {
        return Err(Gap::OverBound);
    }
    let mut file = open(path)?;
    // No allocation by a length that the file does not have.
    let len = u64::from(len).min(file.len.saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match file.read_at(at, rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(gap(&error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

impl ReadAt for Opened {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

    fn file(path: &str, offset: u64, len: u32) -> Question {
        Question::File {
            root: Root::Host,
            path: path.into(),
            offset,
            len,
        }
    }

    #[test]
    fn a_part_of_a_file_ends_with_the_file() {
        let Ok(Reply::Meta(meta)) = read(&Question::Stat {
            root: Root::Host,
            path: FILE.into(),
        }) else {
            panic!("no size")
        };
        assert!(meta.size > 20);
        assert!(!meta.is_identity(), "{meta:?}");
        let bytes = |offset, len| match read(&file(FILE, offset, len)) {
            Ok(Reply::Bytes(bytes)) => bytes.len() as u64,
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes(0, 9), 9);
        assert_eq!(bytes(meta.size - 3, 100), 3);
        assert_eq!(bytes(meta.size + 1, 100), 0);
        let whole = read(&file(FILE, 0, MAX_FILE_READ + 1));
        assert!(matches!(whole, Err(Gap::OverBound)));
    }

    #[test]
    fn a_folder_is_told_apart_from_what_is_not_there() {
        let folder = env!("CARGO_MANIFEST_DIR");
        for (path, gap) in [
            (folder, Gap::NotRegular),
            ("/no/such/file", Gap::NotPresent),
            ("", Gap::NotPresent),
        ] {
            assert_eq!(read(&file(path, 0, 1)).err(), Some(gap), "{path}");
        }
    }
}

//! Drives a reader as its caller does, and counts what it asks for.

use gguf::{Error, Header, HeaderReader, Step, skip_strings};

/// What a reader asked for until it was done.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) reads: Vec<(u64, u32)>,
    pub(crate) skips: Vec<(u64, u64)>,
}

impl Requests {
    pub(crate) fn bytes(&self) -> u64 {
        self.reads.iter().map(|(_, len)| u64::from(*len)).sum()
    }
}

/// Answers every step from `file`, which says to be `file_len` bytes long.
pub(crate) fn drive(file: &[u8], file_len: u64) -> (Result<Header, Error>, Requests) {
    let mut reader = HeaderReader::new(file_len);
    let mut requests = Requests::default();
    loop {
        assert_eq!(reader.step(), reader.step());
        match reader.step() {
            Step::Read { offset, len } => {
                assert!(len > 0 && offset + u64::from(len) <= file_len);
                requests.reads.push((offset, len));
                let start = usize::try_from(offset).unwrap().min(file.len());
                let end = (start + len as usize).min(file.len());
                reader.supply(offset, &file[start..end]);
            }
            Step::SkipStrings {
                offset,
                count,
                length_bytes,
                big_endian,
            } => {
                assert!(count > 0);
                requests.skips.push((offset, count));
                match skip_strings(&mut &*file, offset, count, length_bytes, big_endian) {
                    Ok(end) => reader.skipped(end),
                    Err(error) => return (Err(error), requests),
                }
            }
            Step::Done | Step::Failed(_) => return (reader.into_header(), requests),
        }
        assert!(requests.reads.len() + requests.skips.len() < 200_000);
    }
}

//! Drives a reader as its caller does, and checks what it asks for.

use formats::limits::{MAX_REQUESTED_BYTES, MAX_STEPS};
use formats::{Description, Error, FileReader, Step};

/// Describes `file`, which says to be `file_len` bytes long.
pub(crate) fn drive(name: &str, file: &[u8], file_len: u64) -> Result<Description, Error> {
    let mut reader = FileReader::new(name, file_len);
    let (mut steps, mut requested) = (0, 0);
    while let Step::Read { offset, len } = reader.step() {
        assert_eq!(reader.step(), reader.step());
        assert!(len > 0 && offset + u64::from(len) <= file_len);
        steps += 1;
        requested += u64::from(len);
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(file.len());
        let end = (start + len as usize).min(file.len());
        reader.supply(offset, &file[start..end]);
    }
    assert!(steps <= MAX_STEPS && requested <= MAX_REQUESTED_BYTES);
    reader.into_description()
}

/// Describes a whole file.
pub(crate) fn read(name: &str, file: &[u8]) -> Result<Description, Error> {
    let driven = drive(name, file, file.len() as u64);
    let described = formats::describe(name, &mut &*file);
    assert_eq!(driven, described);
    driven
}

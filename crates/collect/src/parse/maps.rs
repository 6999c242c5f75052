//! `/proc/PID/maps` (Linux, `Documentation/filesystems/proc.rst`), lines that name a file.

/// One mapped range of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mapping<'a> {
    /// Bytes mapped.
    pub len: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Path as the kernel shows it, without ` (deleted)`.
    pub path: &'a str,
    /// Whether the file has been deleted or replaced since.
    pub deleted: bool,
}

/// Reads the lines that name a file; others are passed over.
pub fn parse(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    text.lines().filter_map(line)
}

fn line(line: &str) -> Option<Mapping<'_>> {
    let path_start = line.find('/')?;
    let (fields, path) = line.split_at_checked(path_start)?;
    let mut fields = fields.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let offset = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
    let (path, deleted) = without_mark(path);
    Some(Mapping {
        len: end.checked_sub(start)?,
        offset,
        path,
        deleted,
    })
}

/// A path as the kernel shows it, in maps and in links of descriptors: the path itself, and whether
/// it is marked as that of a file that has been deleted or replaced.
pub fn without_mark(path: &str) -> (&str, bool) {
    match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    }
}

/// Whether a mapped file is a library by its name.
pub fn is_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once(".so")
        .is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_name_a_file_count() {
        let text = "\
7f00-7f10 r--p 00000000 08:01 17                         /usr/lib/libcuda.so.1
7f20-8f20 r--s 00005000 08:01 18                         /models/my model.gguf
9000-a000 rw-p 00000000 00:00 0                          [heap]
9000-a000 rw-p 00000000 00:00 0
b000-b100 r--s 00000000 08:01 19                         /m/gone.gguf (deleted)
zzzz /broken
";
        let got: Vec<_> = parse(text).collect();
        assert_eq!(got.len(), 3, "{got:?}");
        assert_eq!(
            got[1],
            Mapping {
                len: 0x1000,
                offset: 0x5000,
                path: "/models/my model.gguf",
                deleted: false
            }
        );
        assert_eq!((got[2].path, got[2].deleted), ("/m/gone.gguf", true));
    }

    #[test]
    fn libraries_are_known_by_their_name() {
        for path in ["/a/libcuda.so", "/a/libcuda.so.1", "/a/_C.cpython-311.so"] {
            assert!(is_library(path), "{path}");
        }
        for path in ["/a/model.gguf", "/a/some.sock", "/libs.so/model.bin"] {
            assert!(!is_library(path), "{path}");
        }
    }
}

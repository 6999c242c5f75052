//! `/proc/PID/maps`, reduced to the files in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use model::Gap;

use super::errors::gap_of_io;

/// Bytes read. A line has about 100, and the kernel's default limit is 65530 mappings; some inference programs
/// raise it.
const INPUT_BOUND: u64 = 64 * 1024 * 1024;

/// Bytes kept.
const OUTPUT_BOUND: usize = 1024 * 1024;

/// Lines kept of one file. A mapped model is one extent or, with tensors moved away, a few dozen.
const LINES_PER_FILE: u32 = 64;

/// Longest line: four fixed fields and `PATH_MAX`, with room for escapes.
const LINE_BOUND: u64 = 32 * 1024;

/// Fields before the file's name: range, rights, offset, device, inode.
const FIELDS: usize = 5;

/// The lines that name a file, at most so many of each; of shared libraries only the first.
pub(super) fn compact(maps: File) -> Result<Vec<u8>, Gap> {
    compact_from(BufReader::with_capacity(64 * 1024, maps), INPUT_BOUND)
}

fn compact_from(mut input: impl BufRead, bound: u64) -> Result<Vec<u8>, Gap> {
    let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut kept = Vec::new();
    let mut line = Vec::new();
    let mut total = 0;
    loop {
        line.clear();
        let count = (&mut input)
            .take(LINE_BOUND)
            .read_until(b'\n', &mut line)
            .map_err(|error| exited(&error))?;
        if count == 0 {
            return Ok(kept);
        }
        total += u64::try_from(count).unwrap_or(u64::MAX);
        if total > bound {
            return Err(Gap::OverBound);
        }
        let Some(path) = path_of(&line) else {
            continue;
        };
        let allowed = if is_library(path) { 1 } else { LINES_PER_FILE };
        match seen.get_mut(path) {
            Some(lines) if *lines >= allowed => continue,
            Some(lines) => *lines += 1,
            None => {
                seen.insert(path.to_vec(), 1);
            }
        }
        if kept.len() + line.len() > OUTPUT_BOUND {
            return Err(Gap::OverBound);
        }
        kept.extend_from_slice(&line);
    }
}

/// A process that ends while its maps are read.
fn exited(error: &std::io::Error) -> Gap {
    match gap_of_io(error) {
        Gap::NotPresent => Gap::Exited,
        other => other,
    }
}

/// The name at the end of a line, if it is a path.
fn path_of(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line.strip_suffix(b"\n").unwrap_or(line);
    for _ in 0..FIELDS {
        let end = rest.iter().position(|byte| *byte == b' ')?;
        rest = rest.get(end..)?.trim_ascii_start();
    }
    rest.starts_with(b"/").then_some(rest)
}

fn is_library(path: &[u8]) -> bool {
    path.windows(3).any(|part| part == b".so")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compacted(text: &str) -> Result<String, Gap> {
        compact_from(text.as_bytes(), INPUT_BOUND).map(|kept| String::from_utf8(kept).unwrap())
    }

    #[test]
    fn only_lines_of_files_are_kept_and_one_per_library() {
        let text = "\
55d0-55d1 r--p 00000000 08:01 11 /usr/bin/llama server
55d1-55d2 r-xp 00001000 08:01 11 /usr/bin/llama server
55d2-55d3 rw-p 00000000 00:00 0
55d3-55d4 rw-p 00000000 00:00 0          [heap]
55d4-55d5 rw-p 00000000 00:00 0          [anon: a/b]
7f00-7f01 r--p 00000000 08:01 12         /lib/libcuda.so.580
7f01-7f02 r-xp 00001000 08:01 12         /lib/libcuda.so.580
7f02-7f03 rw-s 00000000 00:05 13         anon_inode:[io_uring]
7f03-7f04 r--p 00000000 08:01 14         /m.gguf (deleted)
";
        let expected = "\
55d0-55d1 r--p 00000000 08:01 11 /usr/bin/llama server
55d1-55d2 r-xp 00001000 08:01 11 /usr/bin/llama server
7f00-7f01 r--p 00000000 08:01 12         /lib/libcuda.so.580
7f03-7f04 r--p 00000000 08:01 14         /m.gguf (deleted)
";
        assert_eq!(compacted(text).as_deref(), Ok(expected));
    }

    #[test]
    fn a_file_mapped_in_thousands_of_pieces_keeps_its_first_lines() {
        let text = "7f00-7f01 rw-s 00000000 00:06 13 /dev/nvidiactl\n".repeat(5000);
        assert_eq!(compacted(&text).unwrap().lines().count(), 64);
    }

    #[test]
    fn too_many_distinct_files_are_over_the_bound() {
        use std::fmt::Write as _;
        let mut text = String::new();
        for n in 0..40_000 {
            writeln!(text, "7f00-7f01 r--p 00000000 08:01 {n} /models/{n}.gguf").unwrap();
        }
        assert_eq!(compacted(&text), Err(Gap::OverBound));
        assert_eq!(compact_from(text.as_bytes(), 1000), Err(Gap::OverBound));
    }
}

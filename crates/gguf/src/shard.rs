//! Models that are split over several files.

/// Which part of a split model a file says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Counted from 1, as in file names. Not checked against `count`.
    pub number: u64,
    /// Parts in all; more than 1.
    pub count: u64,
    /// Tensors of all parts together.
    pub tensors: Option<u64>,
}

/// A file name of the form `NAME-00001-of-00003.gguf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardName<'a> {
    /// What stands before the numbers; the whole path, if a path was given.
    pub stem: &'a str,
    /// Counted from 1.
    pub number: u32,
    /// Parts in all, at least `number`.
    pub count: u32,
}

impl<'a> ShardName<'a> {
    /// Takes a file name or path apart; `None` if it does not name a part.
    pub fn parse(file_name: &'a str) -> Option<Self> {
        let rest = file_name.strip_suffix(".gguf")?;
        let (rest, count) = number_at_end(rest)?;
        let (stem, number) = number_at_end(rest.strip_suffix("-of-")?)?;
        let stem = stem.strip_suffix('-')?;
        (1 <= number && number <= count).then_some(Self {
            stem,
            number,
            count,
        })
    }

    /// The name of another part, counted from 1; `None` beyond [`count`](Self::count).
    pub fn sibling(&self, number: u32) -> Option<String> {
        (1 <= number && number <= self.count)
            .then(|| format!("{}-{number:05}-of-{:05}.gguf", self.stem, self.count))
    }
}

/// The five digits at the end of `text`, and what stands before them.
fn number_at_end(text: &str) -> Option<(&str, u32)> {
    let (rest, digits) = text.split_at_checked(text.len().checked_sub(5)?)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((rest, digits.parse().ok()?))
}

//! `/proc/PID/stat` (Linux, `Documentation/filesystems/proc.rst`, table 1-4).

/// The fields used here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stat<'a> {
    /// Field 2 without its parentheses: at most 15 bytes, any byte, also `)` and newlines.
    pub comm: &'a str,
    /// Field 3: `Z` of a process that has ended and was not waited for, `X` of one that is being removed.
    pub state: char,
    /// Field 4.
    pub parent: u32,
    /// Field 22: start time in clock ticks since boot.
    pub start_ticks: u64,
    /// Field 23: virtual size in bytes; `None` where the line ends before it.
    pub virtual_size: Option<u64>,
    /// Fields 26 and 28: where code and stack begin, which change when another program is executed. `None`
    /// where the line ends before them; 0 or 1 for who has no right to them.
    pub image: Option<(u64, u64)>,
}

impl Stat<'_> {
    /// Whether the process has ended.
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads the line. `None` where it is no such line.
pub fn parse(text: &str) -> Option<Stat<'_>> {
    let open = text.find('(')?;
    // The name may contain anything, so its end is the last parenthesis of the line.
    let close = text.rfind(')')?;
    let comm = text.get(open + 1..close)?;
    let mut fields = text.get(close + 1..)?.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(17)?.parse().ok()?;
    let virtual_size = fields.next().and_then(|field| field.parse().ok());
    let mut number = |skip| fields.nth(skip).and_then(|field: &str| field.parse().ok());
    let image = number(2).zip(number(1));
    Some(Stat {
        comm,
        state,
        parent,
        start_ticks,
        virtual_size,
        image,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(comm: &str) -> String {
        format!(
            "4242 ({comm}) S 17 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 987654 1000 2 \
             18446744073709551615"
        )
    }

    #[test]
    fn names_may_contain_anything() {
        for comm in ["llama-server", "a) R 1 (b", "two words", "", "\n", "日本"] {
            let text = line(comm);
            assert_eq!(
                parse(&text),
                Some(Stat {
                    comm,
                    state: 'S',
                    parent: 17,
                    start_ticks: 987_654,
                    virtual_size: Some(1000),
                    image: None,
                })
            );
        }
    }

    #[test]
    fn where_the_program_lies_and_that_it_has_ended_is_told() {
        let text = format!("{} 4194304 4198400 140720000000000 0 0\n", line("x"));
        let parsed = parse(&text).unwrap();
        assert_eq!(parsed.image, Some((4_194_304, 140_720_000_000_000)));
        assert!(!parsed.has_ended());
        let zombie = text.replace(") S ", ") Z ");
        assert!(parse(&zombie).unwrap().has_ended());
    }

    #[test]
    fn a_cut_line_is_no_line() {
        let whole = line("x");
        let complete_at = whole.find("987654").unwrap() + "987654".len();
        for end in 0..whole.find("987654").unwrap() {
            assert_eq!(parse(&whole[..end]), None, "cut at {end}");
        }
        assert!(parse(&whole[..complete_at]).is_some());
    }
}

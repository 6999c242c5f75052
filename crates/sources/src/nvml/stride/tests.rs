use super::*;

const ROOM: usize = 40;

/// A buffer as a library with entries of so many words leaves it. `tail` is the fourth word of wide entries.
fn written(words: usize, count: usize, fill: u64, tail: Option<u64>) -> Vec<u64> {
    let mut buffer = vec![fill; ROOM * 4];
    for n in 0..count {
        let at = n * words;
        let number = u64::try_from(n).unwrap();
        let [_, padding] = halves(fill);
        buffer[at] = word(4000 + u32::try_from(n).unwrap(), padding);
        buffer[at + 1] = number << 30;
        buffer[at + 2] = word(u32::MAX, u32::MAX);
        if words == 4
            && let Some(tail) = tail
        {
            buffer[at + 3] = tail;
        }
    }
    buffer
}

fn word(first: u32, second: u32) -> u64 {
    let (a, b) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
}

fn verdict(words: usize, count: usize, tail: Option<u64>) -> Verdict {
    Touched::since(&written(words, count, FIRST_FILL, tail), FIRST_FILL).verdict(count)
}

#[test]
fn both_layouts_are_told_apart_at_every_length() {
    for count in 1..=ROOM {
        let narrow = verdict(3, count, None);
        let wide = verdict(4, count, Some(0));
        assert_eq!(wide, Verdict::Only(Layout::Bytes32), "{count}");
        if count == 1 {
            assert_eq!(narrow, Verdict::Either);
        } else {
            assert_eq!(narrow, Verdict::Only(Layout::Bytes24), "{count}");
        }
    }
}

#[test]
fn wide_entries_whose_last_field_is_left_alone_are_told_apart_from_two_on() {
    assert_eq!(verdict(4, 1, None), Verdict::Either);
    for count in 2..=ROOM {
        assert_eq!(
            verdict(4, count, None),
            Verdict::Only(Layout::Bytes32),
            "{count}"
        );
    }
}

#[test]
fn a_buffer_that_was_written_as_a_whole_says_nothing() {
    let buffer = vec![0; ROOM * 4];
    assert_eq!(
        Touched::since(&buffer, FIRST_FILL).verdict(3),
        Verdict::Neither
    );
}

#[test]
fn more_entries_than_there_is_room_for_say_nothing() {
    let buffer = written(3, 2, FIRST_FILL, None);
    let touched = Touched::since(&buffer, FIRST_FILL);
    assert_eq!(touched.verdict(ROOM * 4), Verdict::Neither);
}

#[test]
fn values_that_look_like_the_filling_are_settled_by_the_other_filling() {
    // Every field of every entry is the first filling: alone it looks as if nothing had been written.
    for (words, layout) in [(3, Layout::Bytes24), (4, Layout::Bytes32)] {
        let count = 5;
        let mut values = vec![];
        for fill in [FIRST_FILL, SECOND_FILL] {
            let mut buffer = vec![fill; ROOM * 4];
            buffer[..words * count].fill(FIRST_FILL);
            values.push(Touched::since(&buffer, fill));
        }
        assert_eq!(values[0].verdict(count), Verdict::Neither);
        assert_eq!(
            values[0].or(&values[1]).verdict(count),
            Verdict::Only(layout)
        );
    }
}

//! Inputs that are almost right: seeds with damage of the kinds that readers fall over.

/// Longest input made. Windows of the readers are smaller, so that their edges are met.
const MAX_BYTES: usize = 512 * 1024;

/// Most changes to one input. A single one finds most; several get past a first check.
const MAX_CHANGES: u64 = 4;

/// Numbers that lengths and counts break at.
const LENGTHS: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    0xffff_ffff_ffff_ffff,
];

/// A fixed generator (xorshift64*), so that equal numbers give equal inputs everywhere.
#[derive(Debug)]
pub(super) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(super) const fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    const fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `count`; 0 where there is none.
    fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.random() >> 16) % count).unwrap_or(0)
    }

    /// The next input.
    pub(super) fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let pick = self.below(seeds.len());
        let mut input = seeds.get(pick).cloned().unwrap_or_default();
        let changes = 1 + self.random() % MAX_CHANGES;
        for _ in 0..changes {
            self.change(&mut input, seeds);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len());
        match self.random() % 8 {
            0 => {
                let bit = self.random() % 8;
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            1 => {
                let value = self.random().to_le_bytes();
                if let Some(byte) = input.get_mut(at) {
                    [*byte, ..] = value;
                }
            }
            2 => input.truncate(at),
            3 => self.length(input, at),
            4 => self.digits(input, at),
            // A part of another seed, in place of a part of this one.
            5 => {
                let pick = self.below(seeds.len());
                let other = seeds.get(pick).map(Vec::as_slice).unwrap_or_default();
                let part = self.part(other);
                let end = at + self.below(input.len() - at);
                input.splice(at..end, part.iter().copied());
            }
            // A part twice.
            6 => {
                let part = self.part(input).to_vec();
                input.splice(at..at, part);
            }
            // A part less.
            _ => {
                let end = at + self.below((input.len() - at).min(64));
                input.drain(at..end);
            }
        }
    }

    fn part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let from = self.below(bytes.len());
        let len = self.below((bytes.len() - from).min(256));
        bytes.get(from..from + len).unwrap_or_default()
    }

    /// A number of 2, 4 or 8 bytes replaced by one that lengths break at.
    fn length(&mut self, input: &mut [u8], at: usize) {
        let pick = self.below(LENGTHS.len());
        let value = LENGTHS.get(pick).copied().unwrap_or(0).to_le_bytes();
        let size = 1 << (1 + self.random() % 3);
        for (to, from) in input.iter_mut().skip(at).zip(value).take(size) {
            *to = from;
        }
    }

    /// The next number in digits replaced by a larger one.
    fn digits(&mut self, input: &mut Vec<u8>, at: usize) {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let Some(from) = input
            .iter()
            .skip(at)
            .position(is_digit)
            .map(|skip| at + skip)
        else {
            return self.length(input, at);
        };
        let len = input
            .iter()
            .skip(from)
            .take_while(|byte| is_digit(byte))
            .count();
        let pick = self.below(LENGTHS.len());
        let value = LENGTHS.get(pick).copied().unwrap_or(0).to_string();
        input.splice(from..from + len, value.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn equal_numbers_give_equal_inputs() {
        let seeds = [b"one two 33".to_vec(), b"four".to_vec()];
        let take = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..200).map(|_| mutator.next(&seeds)).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        let different: BTreeSet<Vec<u8>> = take(1).into_iter().collect();
        assert!(different.len() > 150, "{}", different.len());
    }

    #[test]
    fn nothing_to_damage_is_no_problem() {
        let mut mutator = Mutator::new(0);
        for seeds in [&[][..], &[Vec::new()]] {
            (0..100).for_each(|_| drop(mutator.next(seeds)));
        }
    }
}

//! Largest matchings of two rows that keep the order of both.
//!
//! The tables are those of a longest common subsequence: a cell holds the size of the largest
//! matching of two beginnings. Time and memory are the product of both lengths.

/// Two rows, and which places of them may be matched.
pub(super) struct Alignment<F> {
    hosts: usize,
    locals: usize,
    possible: F,
    beginnings: Table,
}

impl<F: Fn(usize, usize) -> bool> Alignment<F> {
    pub(super) fn new(hosts: usize, locals: usize, possible: F) -> Self {
        let beginnings = Table::new(hosts, locals, &possible);
        Self {
            hosts,
            locals,
            possible,
            beginnings,
        }
    }

    /// Size of a largest matching.
    fn largest(&self) -> usize {
        self.beginnings.at(self.hosts, self.locals)
    }

    /// The matches that are part of every largest matching.
    pub(super) fn certain(&self) -> Vec<(usize, usize)> {
        let (hosts, locals, largest) = (self.hosts, self.locals, self.largest());
        let ends = Table::new(hosts, locals, |back_host, back_local| {
            (self.possible)(hosts - 1 - back_host, locals - 1 - back_local)
        });
        let before = |host, local| self.beginnings.at(host, local);
        let from = |host: usize, local: usize| ends.at(hosts - host, locals - local);
        let mut certain = Vec::new();
        for local in 0..locals {
            let without = (0..=hosts).map(|cut| before(cut, local) + from(cut, local + 1));
            if without.max() == Some(largest) {
                continue;
            }
            let mut partners = (0..hosts).filter(|&host| {
                (self.possible)(host, local)
                    && before(host, local) + 1 + from(host + 1, local + 1) == largest
            });
            if let (Some(host), None) = (partners.next(), partners.next()) {
                certain.push((host, local));
            }
        }
        certain
    }

    /// One largest matching: the last host that can be part of one, with the last local that it can
    /// have there, and so on backwards. What is added without a partner does not move the others.
    pub(super) fn newest(&self) -> Vec<(usize, usize)> {
        let mut matches = Vec::new();
        let mut locals = self.locals;
        for host in (0..self.hosts).rev() {
            let size = self.beginnings.at(host + 1, locals);
            let keeps_size = |local: &usize| {
                (self.possible)(host, *local) && self.beginnings.at(host, *local) + 1 == size
            };
            if let Some(local) = (0..locals).rev().find(keeps_size) {
                matches.push((host, local));
                locals = local;
            }
        }
        matches.reverse();
        matches
    }
}

/// For every pair of beginnings the size of their largest matching.
struct Table {
    width: usize,
    cells: Vec<usize>,
}

impl Table {
    fn new(hosts: usize, locals: usize, possible: impl Fn(usize, usize) -> bool) -> Self {
        let width = locals + 1;
        let mut cells = Vec::with_capacity((hosts + 1) * width);
        let mut above = vec![0; width];
        cells.extend_from_slice(&above);
        for host in 0..hosts {
            let mut left = 0;
            let mut row = Vec::with_capacity(width);
            row.push(left);
            for (local, pair) in above.windows(2).enumerate() {
                let &[diagonal, over] = pair else { continue };
                left = over.max(left);
                if possible(host, local) {
                    left = left.max(diagonal + 1);
                }
                row.push(left);
            }
            cells.extend_from_slice(&row);
            above = row;
        }
        Self { width, cells }
    }

    /// The cell of the first `hosts` and the first `locals`; both at most the lengths of the rows.
    fn at(&self, hosts: usize, locals: usize) -> usize {
        let cell = self.cells.get(hosts * self.width + locals);
        // tidy: a size of an empty matching, not a reading
        cell.copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Alignment;

    const LONGEST: usize = 5;

    /// All matchings that keep both orders, from `host` and `local` on.
    fn all(
        possible: &impl Fn(usize, usize) -> bool,
        (hosts, locals): (usize, usize),
        (host, local): (usize, usize),
    ) -> Vec<Vec<(usize, usize)>> {
        let mut found = vec![Vec::new()];
        for first in host..hosts {
            for second in (local..locals).filter(|second| possible(first, *second)) {
                for mut rest in all(possible, (hosts, locals), (first + 1, second + 1)) {
                    rest.insert(0, (first, second));
                    found.push(rest);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn tables_find_what_trying_everything_finds(
            hosts in 0..=LONGEST,
            locals in 0..=LONGEST,
            cells in proptest::collection::vec(any::<bool>(), LONGEST * LONGEST),
        ) {
            let possible = |host: usize, local: usize| cells[host * LONGEST + local];
            let all = all(&possible, (hosts, locals), (0, 0));
            let size = all.iter().map(Vec::len).max().unwrap();
            let largest: Vec<_> = all.into_iter().filter(|one| one.len() == size).collect();
            let in_every = |pair: &(usize, usize)| largest.iter().all(|one| one.contains(pair));
            let certain: Vec<_> = largest[0].iter().copied().filter(in_every).collect();

            let alignment = Alignment::new(hosts, locals, possible);
            prop_assert_eq!(alignment.largest(), size);
            let newest = largest.iter().max_by_key(|one| one.iter().rev().collect::<Vec<_>>());
            prop_assert_eq!(Some(&alignment.newest()), newest);
            prop_assert_eq!(alignment.certain(), certain);
        }
    }

    #[test]
    fn the_newest_are_matched_first() {
        let all = |_, _| true;
        assert_eq!(Alignment::new(3, 2, all).newest(), [(1, 0), (2, 1)]);
        assert_eq!(Alignment::new(2, 3, all).newest(), [(0, 1), (1, 2)]);
        assert_eq!(Alignment::new(0, 3, all).newest(), []);
    }
}

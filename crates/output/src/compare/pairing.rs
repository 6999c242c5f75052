//! Which process of one moment is which of another.
//!
//! A number alone is no proof, because numbers are used again, and a restarted server has a new one. So three rules,
//! the surest first, and each process is used once:
//!
//! 1. the same number in the same namespace, and the same start time where both are known;
//! 2. the same name and the same listening ports, where no other process on either side has both;
//! 3. the same name, where it occurs once on each side.
//!
//! What remains is on one side only. That a process is not listed does not say that it held nothing.

use std::collections::BTreeMap;

/// What a process is told by.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Identity<'a> {
    /// Namespace of the number: `local`, `host`, …
    pub namespace: &'a str,
    /// The process number.
    pub pid: u32,
    /// When it started, in any unit that both sides share; `None` where unknown.
    pub started: Option<i64>,
    /// Its name; `None` where unknown.
    pub name: Option<&'a str>,
    /// Ports it listens on, in ascending order; empty where it has none or they are unknown.
    pub ports: &'a [u16],
}

/// By which rule two are one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PairedBy {
    /// Number, and start time where known.
    Key,
    /// Name and listening ports.
    NameAndPorts,
    /// A name that occurs once on each side.
    Name,
}

impl PairedBy {
    /// The stable name used in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::NameAndPorts => "name_and_ports",
            Self::Name => "name",
        }
    }
}

/// One process, by its places in the two lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair {
    /// In the earlier list.
    pub before: Option<usize>,
    /// In the later list.
    pub after: Option<usize>,
    /// Why they are one; `None` where there is one only.
    pub by: Option<PairedBy>,
}

/// Pairs the processes of two moments: those of the later list in its order, then those that only the earlier one has.
pub fn pair(before: &[Identity<'_>], after: &[Identity<'_>]) -> Vec<Pair> {
    let mut partner: Vec<Option<(usize, PairedBy)>> = vec![None; after.len()];
    let mut used = vec![false; before.len()];
    let mut take = |found: Vec<(usize, usize)>, by: PairedBy| {
        for (old, new) in found {
            if let (Some(used @ false), Some(partner @ None)) =
                (used.get_mut(old), partner.get_mut(new))
            {
                *used = true;
                *partner = Some((old, by));
            }
        }
        let left = used.iter().map(|used| !used).collect::<Vec<bool>>();
        let new = partner.iter().map(Option::is_none).collect::<Vec<bool>>();
        (left, new)
    };
    let left = take(by_key(before, after), PairedBy::Key);
    let served = once_each((before, &left.0), (after, &left.1), |it| {
        let ports = (!it.ports.is_empty()).then(|| it.ports.to_vec());
        Some((it.name?.to_owned(), ports?))
    });
    take(served, PairedBy::NameAndPorts);
    // A name has to be the only one of all, not only of those that remain: of three workers with one name, two of which
    // were paired by number, the third and a new one need not be the same.
    let all = (vec![true; before.len()], vec![true; after.len()]);
    let named = once_each((before, &all.0), (after, &all.1), |it| {
        it.name.map(str::to_owned)
    });
    take(named, PairedBy::Name);
    let both = partner.iter().enumerate().map(|(new, found)| Pair {
        before: found.map(|(old, _)| old),
        after: Some(new),
        by: found.map(|(_, by)| by),
    });
    let gone = used.iter().enumerate().filter(|(_, used)| !**used);
    let gone = gone.map(|(old, _)| Pair {
        before: Some(old),
        after: None,
        by: None,
    });
    both.chain(gone).collect()
}

/// Places of those with the same key.
fn by_key(before: &[Identity<'_>], after: &[Identity<'_>]) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
    for (at, it) in before.iter().enumerate() {
        places.entry((it.namespace, it.pid)).or_default().push(at);
    }
    let fits = |old: &Identity<'_>, it: &Identity<'_>| {
        let started = old.started.zip(it.started);
        let named = old.name.zip(it.name);
        // Without start times a changed name tells that the number was used again.
        started.map_or_else(|| named.is_none_or(|(a, b)| a == b), |(a, b)| a == b)
    };
    let found = after.iter().enumerate().filter_map(|(new, it)| {
        let mut same = places.get(&(it.namespace, it.pid))?.iter();
        let old = same.find(|old| before.get(**old).is_some_and(|old| fits(old, it)))?;
        Some((*old, new))
    });
    found.collect()
}

/// A list, and which of it counts.
type Part<'a, 'b> = (&'a [Identity<'b>], &'a [bool]);

/// Places of those whose mark occurs once in each part.
fn once_each<K: Ord>(
    before: Part<'_, '_>,
    after: Part<'_, '_>,
    mark: impl Fn(&Identity<'_>) -> Option<K>,
) -> Vec<(usize, usize)> {
    let marks = |(list, counts): Part<'_, '_>| {
        let mut found: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (at, (it, _)) in list.iter().zip(counts).enumerate().filter(|(_, it)| *it.1) {
            if let Some(key) = mark(it) {
                found.entry(key).or_default().push(at);
            }
        }
        found
    };
    let old = marks(before);
    let new = marks(after).into_iter();
    let once = new.filter_map(
        |(key, places)| match (old.get(&key)?.as_slice(), &*places) {
            ([old], [new]) => Some((*old, *new)),
            _ => None,
        },
    );
    once.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Identity, Pair, PairedBy, pair};

    const fn one(pid: u32, started: Option<i64>, name: &'static str) -> Identity<'static> {
        Identity {
            namespace: "local",
            pid,
            started,
            name: Some(name),
            ports: &[],
        }
    }

    fn pairs(
        before: &[Identity<'_>],
        after: &[Identity<'_>],
    ) -> Vec<(Option<usize>, Option<usize>)> {
        pair(before, after)
            .into_iter()
            .map(|it| (it.before, it.after))
            .collect()
    }

    #[test]
    fn a_number_with_another_start_time_is_another_process() {
        let before = [one(7, Some(1), "python3"), one(8, Some(1), "a")];
        let after = [one(7, Some(2), "cat"), one(8, None, "a")];
        assert_eq!(
            pairs(&before, &after),
            [(None, Some(0)), (Some(1), Some(1)), (Some(0), None)]
        );
    }

    #[test]
    fn a_number_with_another_name_and_no_start_time_is_another_process() {
        let (before, after) = ([one(7, None, "python3")], [one(7, Some(3), "cat")]);
        assert_eq!(pairs(&before, &after), [(None, Some(0)), (Some(0), None)]);
    }

    #[test]
    fn a_number_of_another_namespace_is_another_process() {
        let host = Identity {
            namespace: "host",
            name: None,
            ..one(7, None, "")
        };
        let pairs = pairs(&[one(7, None, "a")], &[host]);
        assert_eq!(pairs, [(None, Some(0)), (Some(0), None)]);
    }

    #[test]
    fn a_restarted_server_is_known_by_name_and_port() {
        let server = |pid, ports| Identity {
            ports,
            ..one(pid, Some(i64::from(pid)), "llama-server")
        };
        let before = [server(1, &[8080]), server(2, &[8081])];
        let after = [server(3, &[8081]), server(4, &[8080])];
        let found = pair(&before, &after);
        let by = Some(PairedBy::NameAndPorts);
        assert_eq!(
            found,
            [
                Pair {
                    before: Some(1),
                    after: Some(0),
                    by
                },
                Pair {
                    before: Some(0),
                    after: Some(1),
                    by
                },
            ]
        );
    }

    #[test]
    fn a_name_pairs_where_it_is_the_only_one_on_both_sides() {
        let before = [
            one(1, Some(1), "blender"),
            one(2, Some(2), "python3"),
            one(3, Some(3), "python3"),
        ];
        let after = [
            one(9, Some(9), "blender"),
            one(2, Some(2), "python3"),
            one(8, Some(8), "python3"),
        ];
        assert_eq!(
            pairs(&before, &after),
            [
                (Some(0), Some(0)),
                (Some(1), Some(1)),
                (None, Some(2)),
                (Some(2), None)
            ]
        );
    }

    #[test]
    fn what_has_no_name_pairs_by_its_number_only() {
        let unnamed = |pid| Identity {
            name: None,
            ..one(pid, None, "")
        };
        assert_eq!(pairs(&[unnamed(1)], &[unnamed(1)]), [(Some(0), Some(0))]);
        assert_eq!(
            pairs(&[unnamed(1)], &[unnamed(2)]),
            [(None, Some(0)), (Some(0), None)]
        );
    }

    fn some_processes() -> impl Strategy<Value = Vec<Identity<'static>>> {
        const NAMES: [&str; 3] = ["a", "b", "c"];
        const PORTS: [&[u16]; 3] = [&[], &[1], &[1, 2]];
        let one = (
            0..6_u32,
            proptest::option::of(0..3_i64),
            0..4_usize,
            0..3_usize,
        );
        proptest::collection::vec(one, 0..7).prop_map(|list| {
            list.into_iter()
                .map(|(pid, started, name, ports)| Identity {
                    namespace: "local",
                    pid,
                    started,
                    name: NAMES.get(name).copied(),
                    ports: PORTS[ports],
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn each_process_is_in_one_pair(before in some_processes(), after in some_processes()) {
            let found = pair(&before, &after);
            let mut old: Vec<usize> = found.iter().filter_map(|it| it.before).collect();
            let mut new: Vec<usize> = found.iter().filter_map(|it| it.after).collect();
            old.sort_unstable();
            new.sort_unstable();
            prop_assert_eq!(old, (0..before.len()).collect::<Vec<_>>());
            prop_assert_eq!(new, (0..after.len()).collect::<Vec<_>>());
            for it in &found {
                prop_assert_eq!(it.by.is_some(), it.before.is_some() && it.after.is_some());
            }
        }

        #[test]
        fn a_moment_compared_with_itself_pairs_each_process_with_itself(list in some_processes()) {
            let mut list = list;
            list.sort_by_key(|it| it.pid);
            list.dedup_by_key(|it| it.pid);
            for it in pair(&list, &list) {
                prop_assert_eq!(it.before, it.after);
            }
        }
    }
}

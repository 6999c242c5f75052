//! The files of a split model.

use std::sync::Arc;

use gguf::{Header, ShardName};
use model::{Gap, Stamp, Text};
use raw::{Machine, Root};

use super::files::{Files, Look, Outcome};
use super::gathering::Gathered;

/// Most parts of a split model that are looked for. The largest published ones have less; all of them have
/// room among the files that are remembered.
const MAX_PARTS: u32 = 192;

/// Size of a file, and when it was looked at.
pub(crate) type Size = Result<(u64, Stamp), Gap>;

/// All files of a model that could be looked at.
pub(crate) struct Shards {
    /// Headers, that of the first part first.
    pub(crate) headers: Vec<Arc<Header>>,
    /// Path and size of every part that was looked for; of those given first.
    pub(crate) files: Vec<(Text, Size)>,
    /// Parts that could not be read, or were not looked for.
    pub(crate) missing: usize,
    /// Parts that were not looked for, because there are more than are.
    pub(crate) unread: usize,
}

impl Shards {
    /// The sizes alone.
    pub(super) fn sizes(&self) -> Vec<Option<u64>> {
        let sizes = self.files.iter().map(|(_, size)| size.ok());
        sizes.map(|found| found.map(|(size, _)| size)).collect()
    }
}

fn header_of(look: &Look) -> Option<Arc<Header>> {
    match &look.outcome {
        Ok((Outcome::Header(header), _)) => Some(Arc::clone(header)),
        _ => None,
    }
}

/// `parts` and those that nothing named, such as of a server that was only given the first.
pub(super) fn shards(
    files: &mut Files,
    machine: &mut dyn Machine,
    root: Root,
    parts: &[Gathered],
    now: Stamp,
) -> Shards {
    let headers: Vec<Arc<Header>> = parts.iter().filter_map(|p| header_of(&p.look)).collect();
    let size = |look: &Look| look.meta.map(|(meta, at)| (meta.size, at));
    let mut shards = Shards {
        missing: parts.len() - headers.len(),
        unread: 0,
        headers,
        files: parts
            .iter()
            .map(|p| (p.path.clone(), size(&p.look)))
            .collect(),
    };
    let Some(first) = parts.first() else {
        return shards;
    };
    let (folder, name) = first.path.rsplit_once('/').unwrap_or(("", &first.path));
    let Some(shard) = ShardName::parse(name).filter(|shard| shard.count > 1) else {
        return shards;
    };
    for number in 1..=shard.count.min(MAX_PARTS) {
        let Some(sibling) = shard.sibling(number) else {
            continue;
        };
        let path: Text = format!("{folder}/{sibling}").into();
        if parts.iter().any(|part| part.path == path) {
            continue;
        }
        let look = files.look(machine, root, &path, now);
        shards.files.push((path, size(&look)));
        match header_of(&look) {
            Some(header) if number == 1 => shards.headers.insert(0, header),
            Some(header) => shards.headers.push(header),
            None => shards.missing += 1,
        }
    }
    let beyond = usize::try_from(shard.count.saturating_sub(MAX_PARTS)).unwrap_or(usize::MAX);
    shards.missing = shards.missing.saturating_add(beyond);
    shards.unread = beyond;
    shards
}

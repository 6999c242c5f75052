//! How weights are split between GPUs and system memory, by what llama.cpp left mapped of their file.

use std::collections::BTreeMap;

use gguf::Header;
use gguf::placement::{Mapping, read_mapping};
use model::{Runtime, Text};

use super::catalogue::{COPYING_BACKENDS, SHARING_BACKENDS};
use super::flags::Flags;
use super::gathering::may_be_model;
use crate::parse::maps;

/// Parts of one file from which on they may not be all: the reader keeps no more lines of one.
const MAX_EXTENTS: usize = 64;

/// What is mapped of each model file of a process, as offsets and lengths.
pub(super) type Extents = BTreeMap<Text, Vec<(u64, u64)>>;

/// What `maps` says of model files that are still the ones that were mapped.
pub(super) fn extents(text: &str) -> Extents {
    let mut all = Extents::new();
    for mapping in maps::parse(text) {
        if !mapping.deleted && may_be_model(mapping.path) {
            let path = mapping.path.replace("\\012", "\n").into();
            let known: &mut Vec<(u64, u64)> = all.entry(path).or_default();
            known.push((mapping.offset, mapping.len));
        }
    }
    all.retain(|_, extents| extents.len() < MAX_EXTENTS);
    all
}

/// Why what is mapped tells nothing of where weights are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Silent {
    /// Nobody looked, or nothing is mapped that could tell: nothing to be said.
    NotMapped,
    /// It could tell, but for this.
    Because(Text),
}

impl Silent {
    fn because(why: &str) -> Self {
        Self::Because(why.into())
    }
}

/// What `extents` of the file with this header, the only one of its model, say.
///
/// llama.cpp unmaps what it copied to a GPU (Linux, `mmap` loading, seen October 2026 with Vulkan on one device). That
/// something has been unmapped shows that the loading is over.
pub(super) fn split(
    header: &Header,
    extents: Option<&Vec<(u64, u64)>>,
    flags: &Flags,
    runtimes: &[Runtime],
) -> Result<Mapping, Silent> {
    let extents = extents.ok_or(Silent::NotMapped)?;
    let has = |names: &[&str]| runtimes.iter().any(|it| names.contains(&it.name));
    let is_llama = flags.is_llama || has(&["llama.cpp", "ggml"]);
    if !is_llama || !has(COPYING_BACKENDS) || has(SHARING_BACKENDS) {
        return Err(Silent::NotMapped);
    }
    if !flags.placed.is_empty() {
        return Err(Silent::because("tensors are placed one by one"));
    }
    let mapping =
        read_mapping(header, extents).map_err(|why| Silent::Because(why.to_string().into()))?;
    if mapping.unmapped == 0 {
        // While a file is read all of it is mapped, and a runtime that unmaps nothing leaves it so.
        return Err(Silent::because("all of the file is mapped"));
    }
    Ok(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_those_of_model_files_that_are_still_there() {
        let mut text = String::from(
            "1000-3000 r--s 00005000 08:01 7 /m/a.gguf\n\
             4000-5000 r--s 0b7f6000 08:01 7 /m/a.gguf\n\
             6000-7000 r--s 00000000 08:01 8 /m/gone.gguf (deleted)\n\
             6000-7000 r--s 00000000 08:01 9 /usr/lib/libcuda.so.1\n",
        );
        let all = extents(&text);
        assert_eq!(all.len(), 1);
        assert_eq!(all["/m/a.gguf"], [(0x5000, 0x2000), (0xb7f_6000, 0x1000)]);
        text += &"1000-2000 r--s 0 08:01 9 /m/pieces.gguf\n".repeat(MAX_EXTENTS);
        assert_eq!(extents(&text).len(), 1, "what may be cut off tells nothing");
    }
}

//! Where tensors lie in the file, and the sizes that only their neighbours tell.

use std::collections::BTreeSet;

use crate::flaw::Flaw;
use crate::limits::MAX_FLAWS;
use crate::tensor::{Computed, Tensor};

/// Flaws up to their limit.
#[derive(Debug, Default)]
pub(crate) struct Flaws(pub(crate) Vec<Flaw>);

impl Flaws {
    pub(crate) fn add(&mut self, flaw: Flaw) {
        if self.0.contains(&flaw) {
            return;
        }
        if self.0.len() < MAX_FLAWS {
            self.0.push(flaw);
        } else if self.is_new_kind_that_decides(&flaw) {
            // Many small flaws do not hide the one that sizes depend on.
            self.0.pop();
            self.0.insert(0, flaw);
        }
    }

    fn is_new_kind_that_decides(&self, flaw: &Flaw) -> bool {
        match flaw {
            Flaw::OverlappingTensors | Flaw::TruncatedData { .. } => true,
            Flaw::DuplicateTensor(_) => {
                let mut known = self.0.iter();
                !known.any(|it| matches!(it, Flaw::DuplicateTensor(_)))
            }
            _ => false,
        }
    }
}

/// Fills in the sizes of `tensors` and records what is wrong with their places. `data_offset` and `file_len` in bytes
/// from the start of the file.
pub(crate) fn place(tensors: &mut [Tensor], data_offset: u64, file_len: u64, flaws: &mut Flaws) {
    for tensor in tensors.iter_mut() {
        match tensor.computed_bytes() {
            Computed::Bytes(bytes) => {
                tensor.bytes = bytes;
                tensor.size_known = true;
            }
            Computed::UnknownType => flaws.add(Flaw::UnknownTensorType {
                tensor: tensor.name.clone(),
                type_id: tensor.type_id,
            }),
            Computed::UnevenRows | Computed::TooLarge => {
                flaws.add(Flaw::UnevenRows(tensor.name.clone()));
            }
        }
    }

    let offsets: BTreeSet<u64> = tensors.iter().map(|tensor| tensor.offset).collect();
    let data_len = file_len.saturating_sub(data_offset);
    for tensor in tensors.iter_mut().filter(|tensor| !tensor.size_known) {
        let after = tensor.offset.saturating_add(1);
        let next = offsets.range(after..).next().copied().unwrap_or(data_len);
        tensor.bytes = next.saturating_sub(tensor.offset);
    }

    let mut names = BTreeSet::new();
    for tensor in tensors.iter() {
        if !names.insert(&*tensor.name) {
            flaws.add(Flaw::DuplicateTensor(tensor.name.clone()));
        }
    }

    let mut ends: Vec<(u64, u64)> = tensors
        .iter()
        .filter(|tensor| tensor.bytes > 0)
        .map(|tensor| (tensor.offset, tensor.offset.saturating_add(tensor.bytes)))
        .collect();
    ends.sort_unstable();
    let mut data_end = 0;
    for (offset, end) in ends {
        if offset < data_end {
            flaws.add(Flaw::OverlappingTensors);
        }
        data_end = data_end.max(end);
    }
    let needed = data_offset.saturating_add(data_end);
    if data_end > 0 && needed > file_len {
        flaws.add(Flaw::TruncatedData { needed });
    }
}

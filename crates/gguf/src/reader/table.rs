//! The tensor table.

use crate::error::Error;
use crate::limits::{MAX_DIMENSIONS, MAX_TENSOR_NAME_BYTES};
use crate::tensor::{Computed, Tensor};

use super::walk::{HeaderReader, Pause, tail};

impl HeaderReader {
    pub(super) fn tensor(&mut self) -> Result<(), Pause> {
        let encoding = self.encoding;
        let (name, name_size) = self.name("tensor name", MAX_TENSOR_NAME_BYTES)?;
        let head = name_size.saturating_add(4);
        let Some(count) = tail(self.need(head)?, name_size).and_then(|bytes| encoding.u32(bytes))
        else {
            return Err(Pause::Need(head));
        };
        if count > MAX_DIMENSIONS {
            return Err(Error::TooMany {
                what: "dimensions of a tensor",
                count: u64::from(count),
                limit: u64::from(MAX_DIMENSIONS),
                offset: self.at.saturating_add(name_size),
            }
            .into());
        }
        let length = u64::from(encoding.length_bytes);
        let dimensions_size = u64::from(count).saturating_mul(length);
        let after = head.saturating_add(dimensions_size);
        let size = after.saturating_add(12);
        let bytes = self.need(size)?;
        let mut dimensions = [1; 4];
        let places = (head..after).step_by(usize::from(encoding.length_bytes));
        for (dimension, place) in dimensions.iter_mut().zip(places) {
            *dimension = tail(bytes, place)
                .and_then(|bytes| encoding.length(bytes))
                .unwrap_or(1);
        }
        let (Some(type_id), Some(offset)) = (
            tail(bytes, after).and_then(|bytes| encoding.u32(bytes)),
            tail(bytes, after.saturating_add(4)).and_then(|bytes| encoding.u64(bytes)),
        ) else {
            return Err(Pause::Need(size));
        };
        let tensor = Tensor {
            name,
            type_id,
            dimensions,
            offset,
            bytes: 0,
            size_known: false,
        };
        if !is_representable(&tensor) {
            return Err(Error::TensorTooLarge {
                tensor: tensor.name.into(),
                offset: self.at,
            }
            .into());
        }
        self.tensors.push(tensor);
        self.tensors_left = self.tensors_left.saturating_sub(1);
        self.at = self.at.saturating_add(size);
        self.next_entry();
        Ok(())
    }
}

/// Elements, bytes, and the end of the data must all be numbers a file size can be (CVE-2026-33298: a tensor of
/// exabytes; CVE-2026-27940: sums that wrap).
fn is_representable(tensor: &Tensor) -> bool {
    let largest = u64::MAX / 2;
    let elements = tensor
        .dimensions
        .iter()
        .try_fold(1_u64, |product, dimension| product.checked_mul(*dimension));
    // A zero dimension would hide the others from the product.
    let dimensions_fit = tensor
        .dimensions
        .iter()
        .all(|dimension| *dimension <= largest);
    let end = match tensor.computed_bytes() {
        Computed::Bytes(bytes) => tensor.offset.checked_add(bytes),
        Computed::TooLarge => None,
        _ => Some(tensor.offset),
    };
    dimensions_fit
        && elements.is_some_and(|elements| elements <= largest)
        && end.is_some_and(|end| end <= largest)
}

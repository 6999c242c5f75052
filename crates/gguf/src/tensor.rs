//! Tensor types and the entries of the tensor table.

/// A ggml tensor type: its number in the file, its name, and how many bytes a block of how many elements takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorType {
    /// The number in the file.
    pub id: u32,
    /// ggml's name, such as `q4_K`.
    pub name: &'static str,
    /// Bytes of one block.
    pub block_bytes: u64,
    /// Elements of one block; rows are whole blocks. Never 0.
    pub block_elements: u64,
}

const fn tensor_type(
    id: u32,
    name: &'static str,
    block_bytes: u64,
    block_elements: u64,
) -> TensorType {
    TensorType {
        id,
        name,
        block_bytes,
        block_elements,
    }
}

/// As of llama.cpp b11434, with the removed ids 31 to 33, which old files still carry. Not here: 4, 5 (removed in
/// 2023), 36 to 38 (removed, layout not published) and the ids of forks, from 97 on.
const TYPES: &[TensorType] = &[
    tensor_type(0, "f32", 4, 1),
    tensor_type(1, "f16", 2, 1),
    tensor_type(2, "q4_0", 18, 32),
    tensor_type(3, "q4_1", 20, 32),
    tensor_type(6, "q5_0", 22, 32),
    tensor_type(7, "q5_1", 24, 32),
    tensor_type(8, "q8_0", 34, 32),
    tensor_type(9, "q8_1", 36, 32),
    tensor_type(10, "q2_K", 84, 256),
    tensor_type(11, "q3_K", 110, 256),
    tensor_type(12, "q4_K", 144, 256),
    tensor_type(13, "q5_K", 176, 256),
    tensor_type(14, "q6_K", 210, 256),
    tensor_type(15, "q8_K", 292, 256),
    tensor_type(16, "iq2_xxs", 66, 256),
    tensor_type(17, "iq2_xs", 74, 256),
    tensor_type(18, "iq3_xxs", 98, 256),
    tensor_type(19, "iq1_s", 50, 256),
    tensor_type(20, "iq4_nl", 18, 32),
    tensor_type(21, "iq3_s", 110, 256),
    tensor_type(22, "iq2_s", 82, 256),
    tensor_type(23, "iq4_xs", 136, 256),
    tensor_type(24, "i8", 1, 1),
    tensor_type(25, "i16", 2, 1),
    tensor_type(26, "i32", 4, 1),
    tensor_type(27, "i64", 8, 1),
    tensor_type(28, "f64", 8, 1),
    tensor_type(29, "iq1_m", 56, 256),
    tensor_type(30, "bf16", 2, 1),
    tensor_type(31, "q4_0_4_4", 18, 32),
    tensor_type(32, "q4_0_4_8", 18, 32),
    tensor_type(33, "q4_0_8_8", 18, 32),
    tensor_type(34, "tq1_0", 54, 256),
    tensor_type(35, "tq2_0", 66, 256),
    tensor_type(39, "mxfp4", 17, 32),
    tensor_type(40, "nvfp4", 36, 64),
    tensor_type(41, "q1_0", 18, 128),
    tensor_type(42, "q2_0", 18, 64),
];

impl TensorType {
    /// The type with this number; `None` for removed types, forks' and later ones.
    pub fn from_id(id: u32) -> Option<Self> {
        TYPES.iter().find(|known| known.id == id).copied()
    }

    /// All types that are known, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        TYPES.iter().copied()
    }

    /// Bytes of a row; `None` if the elements do not fill whole blocks or the size is not representable.
    pub fn row_bytes(self, elements: u64) -> Option<u64> {
        if elements.checked_rem(self.block_elements)? != 0 {
            return None;
        }
        elements
            .checked_div(self.block_elements)?
            .checked_mul(self.block_bytes)
    }
}

/// An entry of the tensor table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name, fit for a terminal.
    pub name: Box<str>,
    /// The number of its type in the file; see [`TensorType::from_id`].
    pub type_id: u32,
    /// Elements along each dimension, the fastest first; missing dimensions are 1.
    pub dimensions: [u64; 4],
    /// Where its data starts, in bytes after [`Header::data_offset`](crate::Header::data_offset).
    pub offset: u64,
    /// Bytes of its data. From its type and dimensions; where those do not tell, the distance to the next tensor,
    /// which may include a few bytes of padding.
    pub bytes: u64,
    /// Whether `bytes` comes from type and dimensions.
    pub size_known: bool,
}

impl Tensor {
    /// The product of the dimensions; the reader lets only tensors pass for which it is representable.
    pub fn elements(&self) -> u64 {
        self.dimensions.iter().fold(1, |product: u64, dimension| {
            product.saturating_mul(*dimension)
        })
    }

    /// Bytes by type and dimensions.
    pub(crate) fn computed_bytes(&self) -> Computed {
        let [ne0, ne1, ne2, ne3] = self.dimensions;
        let Some(kind) = TensorType::from_id(self.type_id) else {
            return Computed::UnknownType;
        };
        if ne0.checked_rem(kind.block_elements) != Some(0) {
            return Computed::UnevenRows;
        }
        kind.row_bytes(ne0)
            .and_then(|row| row.checked_mul(ne1)?.checked_mul(ne2)?.checked_mul(ne3))
            .map_or(Computed::TooLarge, Computed::Bytes)
    }
}

/// What type and dimensions say about the size of a tensor.
pub(crate) enum Computed {
    Bytes(u64),
    UnknownType,
    UnevenRows,
    TooLarge,
}

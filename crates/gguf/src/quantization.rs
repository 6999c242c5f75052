//! How a model is quantized: what its label says, and what its tensors are.

use std::collections::BTreeMap;

use crate::header::Header;
use crate::tensor::TensorType;

/// The value of `general.file_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileType {
    /// The number in the file, without the mark for "guessed".
    pub id: u32,
    /// llama.cpp's name, such as `Q4_K_M`; `None` for numbers it does not have.
    pub label: Option<&'static str>,
    /// Whether the file says that the label was derived from the tensors instead of chosen.
    pub guessed: bool,
}

/// Number, label, and the tensor types such a file mostly has.
type Known = (u32, &'static str, &'static [&'static str]);

const FILE_TYPES: &[Known] = &[
    (0, "F32", &["f32"]),
    (1, "F16", &["f16"]),
    (2, "Q4_0", &["q4_0", "q4_0_4_4", "q4_0_4_8", "q4_0_8_8"]),
    (3, "Q4_1", &["q4_1"]),
    (7, "Q8_0", &["q8_0"]),
    (8, "Q5_0", &["q5_0"]),
    (9, "Q5_1", &["q5_1"]),
    (10, "Q2_K", &["q2_K", "q3_K"]),
    (11, "Q3_K_S", &["q3_K"]),
    (12, "Q3_K_M", &["q3_K", "q4_K"]),
    (13, "Q3_K_L", &["q3_K", "q5_K"]),
    (14, "Q4_K_S", &["q4_K"]),
    (15, "Q4_K_M", &["q4_K"]),
    (16, "Q5_K_S", &["q5_K"]),
    (17, "Q5_K_M", &["q5_K"]),
    (18, "Q6_K", &["q6_K"]),
    (19, "IQ2_XXS", &["iq2_xxs"]),
    (20, "IQ2_XS", &["iq2_xs"]),
    (21, "Q2_K_S", &["q2_K"]),
    (22, "IQ3_XS", &["iq3_xxs", "iq3_s"]),
    (23, "IQ3_XXS", &["iq3_xxs"]),
    (24, "IQ1_S", &["iq1_s"]),
    (25, "IQ4_NL", &["iq4_nl"]),
    (26, "IQ3_S", &["iq3_s"]),
    (27, "IQ3_M", &["iq3_s"]),
    (28, "IQ2_S", &["iq2_s", "iq2_xs"]),
    (29, "IQ2_M", &["iq2_s"]),
    (30, "IQ4_XS", &["iq4_xs"]),
    (31, "IQ1_M", &["iq1_m"]),
    (32, "BF16", &["bf16"]),
    (36, "TQ1_0", &["tq1_0"]),
    (37, "TQ2_0", &["tq2_0"]),
    (38, "MXFP4_MOE", &["mxfp4"]),
    (39, "NVFP4", &["nvfp4"]),
    (40, "Q1_0", &["q1_0"]),
    (41, "Q2_0", &["q2_0"]),
];

/// The bit of `general.file_type` that marks a derived label.
const GUESSED: u32 = 1024;

fn known(id: u32) -> Option<&'static Known> {
    FILE_TYPES.iter().find(|(known, _, _)| *known == id)
}

impl FileType {
    pub(crate) fn from_id(raw: u32) -> Self {
        let id = raw & !GUESSED;
        Self {
            id,
            label: known(id).map(|(_, label, _)| *label),
            guessed: raw & GUESSED != 0,
        }
    }
}

/// How the tensors of a file are quantized. Labels are often absent or wrong, so that the facts stand beside them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Quantization {
    /// What the maker of the file says.
    pub file_type: Option<FileType>,
    /// Bits an element takes on average over all tensors; `None` where no tensor has a known size.
    pub bits_per_weight: Option<f64>,
    /// The type that takes most of the bytes, of the tensors whose type is known.
    pub most_common: Option<TensorType>,
    /// Whether label and most common type do not belong together: show both then.
    pub disagrees: bool,
}

impl Quantization {
    pub(crate) fn of(header: &Header) -> Self {
        let mut bytes_by_type: BTreeMap<u32, u64> = BTreeMap::new();
        let mut bytes = 0_u64;
        let mut elements = 0_u64;
        for tensor in header.tensors.iter().filter(|tensor| tensor.size_known) {
            let sum = bytes_by_type.entry(tensor.type_id).or_default();
            *sum = sum.saturating_add(tensor.bytes);
            bytes = bytes.saturating_add(tensor.bytes);
            elements = elements.saturating_add(tensor.elements());
        }
        let most_common = bytes_by_type
            .iter()
            .max_by_key(|(_, bytes)| **bytes)
            .and_then(|(id, _)| TensorType::from_id(*id));
        let file_type = header.file_type();
        let expected = file_type
            .and_then(|file_type| known(file_type.id))
            .map(|(_, _, types)| *types);
        let disagrees = match (expected, most_common) {
            (Some(expected), Some(found)) => !expected.contains(&found.name),
            _ => false,
        };
        Self {
            file_type,
            bits_per_weight: bits_per_weight(bytes, elements),
            most_common,
            disagrees,
        }
    }

    /// A short text: the label, or what the tensors are where there is none or it does not fit.
    pub fn label(&self) -> Option<String> {
        let label = self.file_type.and_then(|file_type| file_type.label);
        match (label, self.most_common) {
            (Some(label), Some(found)) if self.disagrees => {
                Some(format!("{label}, mostly {}", found.name))
            }
            (Some(label), _) => Some(label.to_owned()),
            (None, Some(found)) => Some(format!("mostly {}", found.name)),
            (None, None) => None,
        }
    }
}

fn bits_per_weight(bytes: u64, elements: u64) -> Option<f64> {
    let thousandths = u128::from(bytes)
        .checked_mul(8000)?
        .checked_div(u128::from(elements))?;
    Some(f64::from(u32::try_from(thousandths).ok()?) / 1000.0)
}

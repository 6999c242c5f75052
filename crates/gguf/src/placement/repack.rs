//! Which weights the CPU backend keeps in another order, in memory of their own (`CPU_REPACK`).

use crate::tensor::{Tensor, TensorType};

/// Whether weights on the CPU are repacked. A repacked tensor is a copy of the same size in memory that belongs to the
/// process, beside the file's bytes, which stay mapped only by being between others.
///
/// Which types are repacked depends on the processor. From the table in llama.cpp b11434; the rows for AVX2 were seen
/// in its logs for `q4_0`, `q4_K` and `mxfp4`, and that `q8_0` is not repacked there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repack {
    /// Nothing is (`--no-repack`).
    Off,
    /// x86 with AVX2, without AVX-512 and AMX.
    Avx2,
    /// x86 with AVX-512, without AMX.
    Avx512,
    /// 64-bit ARM with the dot product instructions.
    Neon,
    /// Not known: none to all that some processor repacks. AMX and `KleidiAI` have buffers of their own with other
    /// names, which count as repacked here.
    #[default]
    Unknown,
}

/// A type, and by what the number of rows must divide to be repacked: with AVX2, AVX-512 and NEON; 0 for never.
const RULES: &[(&str, [u64; 3])] = &[
    ("q4_0", [8, 8, 4]),
    ("q4_K", [8, 8, 8]),
    ("q2_K", [0, 8, 0]),
    ("q5_K", [0, 0, 8]),
    ("q6_K", [0, 0, 8]),
    ("iq4_nl", [8, 8, 4]),
    ("mxfp4", [8, 8, 4]),
    ("q8_0", [0, 0, 4]),
    ("q1_0", [0, 0, 4]),
];

/// Types that AMX repacks beside those.
const OTHERS: &[&str] = &["q4_1", "iq4_xs", "f16"];

impl Repack {
    /// Whether the tensor is repacked: certainly (`Some(true)`), not (`Some(false)`), or perhaps. Only matrices that
    /// tokens are multiplied with are, not tables they are looked up in.
    pub(crate) fn applies(self, tensor: &Tensor) -> Option<bool> {
        let [_, rows, _, blocks] = tensor.dimensions;
        let name = TensorType::from_id(tensor.type_id).map_or("", |kind| kind.name);
        if rows <= 1 || blocks != 1 {
            return Some(false);
        }
        let rule = RULES.iter().find(|(known, _)| *known == name);
        let divides = |by: u64| by != 0 && rows.checked_rem(by) == Some(0);
        let [avx2, avx512, neon] = rule.map_or([0, 0, 0], |(_, rule)| *rule);
        match self {
            Self::Off => Some(false),
            Self::Avx2 => Some(divides(avx2)),
            Self::Avx512 => Some(divides(avx512)),
            Self::Neon => Some(divides(neon)),
            Self::Unknown => {
                let possible = rule.is_some() || OTHERS.contains(&name);
                if possible { None } else { Some(false) }
            }
        }
    }
}

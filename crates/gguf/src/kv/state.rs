//! States of recurrent layers, which do not grow with the context.

use crate::header::Header;

use super::why_not::WhyNot;

/// How an architecture's recurrent layers keep their state. Always in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateRule {
    /// Mamba and gated delta nets: a convolution's tail and a state space.
    StateSpace,
    /// RWKV: shifted tokens and a matrix a head.
    Wkv,
    /// LFM2: a short convolution's tail only.
    ShortConvolution,
    /// Kimi delta attention: three convolutions and a matrix a head.
    KimiDelta,
    /// Lightning attention: a matrix a head.
    Lightning,
}

/// Bytes of an f32.
const ELEMENT_BYTES: u64 = 4;

/// How many token shifts RWKV keeps where the header does not say (the default of llama.cpp's hyperparameters).
const TOKEN_SHIFTS: u64 = 2;

/// Tokens of a convolution's tail that Kimi delta attention keeps where the header does not say (as llama.cpp has it).
const KIMI_TAIL: u64 = 3;

impl StateRule {
    /// Bytes one recurrent layer keeps for one slot.
    pub(crate) fn bytes(self, header: &Header) -> Result<u64, WhyNot> {
        let get = |key: &'static str| header.u64(key).ok_or(WhyNot::Missing(key));
        let (shift, state) = match self {
            Self::StateSpace => {
                let inner = get("ssm.inner_size")?;
                let size = get("ssm.state_size")?;
                let groups = header.u64("ssm.group_count").unwrap_or(0);
                let width = product(&[2, groups, size]).and_then(|x| x.checked_add(inner));
                let tail = get("ssm.conv_kernel")?.saturating_sub(1);
                (
                    width.and_then(|width| tail.checked_mul(width)),
                    size.checked_mul(inner),
                )
            }
            Self::Wkv => {
                let embedding = get("embedding_length")?;
                let shifts = header.u64("token_shift_count").unwrap_or(TOKEN_SHIFTS);
                (
                    shifts.checked_mul(embedding),
                    embedding.checked_mul(get("wkv.head_size")?),
                )
            }
            Self::ShortConvolution => {
                let tail = get("shortconv.l_cache")?.saturating_sub(1);
                (get("embedding_length")?.checked_mul(tail), Some(0))
            }
            Self::KimiDelta => {
                let heads = header
                    .head_count()
                    .and_then(|heads| heads.get(0))
                    .ok_or(WhyNot::Missing("attention.head_count"))?;
                let size = get("kda.head_dim")?;
                let tail = match header.u64("ssm.conv_kernel") {
                    Some(kernel) if kernel > 0 => kernel.saturating_sub(1),
                    _ => KIMI_TAIL,
                };
                (
                    product(&[3, tail, heads, size]),
                    product(&[size, size, heads]),
                )
            }
            Self::Lightning => {
                let heads = header
                    .head_count()
                    .and_then(|heads| heads.max())
                    .ok_or(WhyNot::Missing("attention.head_count"))?;
                let size = match header.u64("attention.key_length") {
                    Some(size) if size > 0 => size,
                    _ => get("embedding_length")?
                        .checked_div(heads)
                        .ok_or(WhyNot::Malformed("attention.head_count"))?,
                };
                (Some(0), product(&[size, size, heads]))
            }
        };
        shift
            .zip(state)
            .and_then(|(shift, state)| shift.checked_add(state)?.checked_mul(ELEMENT_BYTES))
            .ok_or(WhyNot::Malformed("recurrent state size"))
    }
}

fn product(factors: &[u64]) -> Option<u64> {
    factors
        .iter()
        .try_fold(1_u64, |product, factor| product.checked_mul(*factor))
}

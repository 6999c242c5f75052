//! How many tokens each cache has room for.

use super::why_not::WhyNot;

/// llama.cpp pads a context to this since November 2025; before it was 32, or 256 with flash attention.
const CONTEXT_PADDING: u64 = 256;

/// llama.cpp counts tokens in 32 bits.
const MAX_CONTEXT: u64 = 1 << 32;

/// One choice of everything that decides the number of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) context: u64,
    pub(crate) slots: u64,
    pub(crate) unified: bool,
    pub(crate) ubatch: u64,
    pub(crate) swa_full: bool,
}

/// Cells a stream has in full and windowed layers, and how many streams there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) full: u64,
    pub(crate) windowed: u64,
    pub(crate) streams: u64,
}

impl Request {
    /// The cells for a sliding window of `window` tokens; `None` for models without one.
    pub(crate) fn cells(self, window: Option<u64>) -> Result<Cells, WhyNot> {
        let too_large = WhyNot::Malformed("context length");
        if self.context > MAX_CONTEXT || self.slots == 0 || self.context == 0 {
            return Err(too_large);
        }
        let context = pad(self.context).ok_or(too_large.clone())?;
        let streams = if self.unified { 1 } else { self.slots };
        // The division truncates before the padding: 4096 tokens for 3 slots become 3 x 1536.
        let full = context
            .checked_div(streams)
            .and_then(pad)
            .ok_or(too_large.clone())?;
        let windowed = match window {
            Some(window) if !self.swa_full => {
                let sharing = if self.unified { self.slots } else { 1 };
                window
                    .checked_mul(sharing)
                    .and_then(|tokens| tokens.checked_add(self.ubatch))
                    .and_then(|tokens| pad(tokens.min(full)))
                    .ok_or(too_large)?
            }
            _ => full,
        };
        Ok(Cells {
            full,
            windowed,
            streams,
        })
    }
}

fn pad(tokens: u64) -> Option<u64> {
    tokens.checked_next_multiple_of(CONTEXT_PADDING)
}

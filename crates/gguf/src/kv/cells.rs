//! How many tokens each cache has room for.

use super::settings::Era;
use super::why_not::WhyNot;

/// llama.cpp pads a context to this; before November 2025 only with flash attention.
const CONTEXT_PADDING: u64 = 256;

/// To this it was padded without flash attention, before November 2025.
const OLD_CONTEXT_PADDING: u64 = 32;

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
    pub(crate) flash_attention: bool,
    /// One era, not [`Era::Unknown`].
    pub(crate) era: Era,
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
        let pad = |tokens: u64| tokens.checked_next_multiple_of(self.padding());
        let context = pad(self.context).ok_or(too_large.clone())?;
        let unified = self.unified || matches!(self.era, Era::OneCache | Era::FullWindows);
        let streams = if unified { 1 } else { self.slots };
        let divided = match self.era {
            // The division truncates before the padding: 4096 tokens for 3 slots become 3 x 1536.
            Era::Current => context.checked_div(streams),
            _ => Some(context.div_ceil(streams)),
        };
        let full = divided.and_then(pad).ok_or(too_large.clone())?;
        let windowed = match window {
            Some(window) if !self.swa_full && self.era != Era::FullWindows => {
                let sharing = if unified { self.slots } else { 1 };
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

    /// Tokens the graph has room for. Current builds compare the batch with the context as it was asked for, and make it the
    /// same for every stream: 300 for a context of 300, 513 for three caches (b11549).
    pub(crate) fn reserved(self, cells: Cells) -> u64 {
        match self.era {
            Era::Current => {
                let tokens = self.ubatch.min(self.context);
                let alike = tokens.checked_next_multiple_of(cells.streams);
                alike.unwrap_or(tokens)
            }
            _ => self.ubatch.min(cells.full.saturating_mul(cells.streams)),
        }
    }

    fn padding(self) -> u64 {
        if self.era == Era::Current || self.flash_attention {
            CONTEXT_PADDING
        } else {
            OLD_CONTEXT_PADDING
        }
    }
}

//! What a server makes of what it was asked for, apart from bytes.

use crate::header::Header;

use super::cells::Request;
use super::settings::{Era, KvSettings};
use super::structure::Structure;
use super::why_not::WhyNot;

/// What a model keeps between tokens, whatever the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Keys or values of tokens, which grow with the context.
    pub tokens: bool,
    /// States of recurrent layers, which grow with the slots alone.
    pub states: bool,
}

/// What the model keeps between tokens.
pub fn kept(header: &Header) -> Result<Kept, WhyNot> {
    let structure = Structure::of(header)?;
    Ok(Kept {
        tokens: structure.layers.iter().any(|layer| layer.cached),
        states: structure.layers.iter().any(|layer| layer.state > 0),
    })
}

/// What a server makes of the context and the batch it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// Tokens of all slots together that there is room for.
    pub context: u64,
    /// Tokens that one slot can have; all of them where slots share one cache.
    pub per_slot: u64,
    /// Tokens computed at once.
    pub batch: u64,
}

/// What a current server makes of settings that are all known; `None` where the context, the slots or the batch are not.
pub fn effective(settings: &KvSettings) -> Option<Effective> {
    let request = Request {
        context: settings.context.filter(|tokens| *tokens > 0)?,
        slots: u64::from(settings.parallel?),
        unified: settings.unified?,
        ubatch: u64::from(settings.ubatch?),
        swa_full: settings.swa_full,
        flash_attention: true,
        era: Era::Current,
    };
    let cells = request.cells(None).ok()?;
    Some(Effective {
        context: cells.full.checked_mul(cells.streams)?,
        per_slot: cells.full,
        batch: request.ubatch.min(request.context),
    })
}

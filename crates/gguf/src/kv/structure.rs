//! What the header says about the caches of each layer.

use crate::header::Header;
use crate::metadata::Value;
use crate::per_layer::PerLayer;

use super::architecture::{
    Memory, RecurrentLayers, Window, WindowSize, indexes_every_layer, owning_layers,
};
use super::assumption::Assumption;
use super::state::StateRule;
use super::why_not::WhyNot;

/// What one layer keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Layer {
    /// Whether it has an own cache of keys and values.
    pub(crate) cached: bool,
    /// Whether that is limited to a window.
    pub(crate) windowed: bool,
    /// Elements of a token's keys.
    pub(crate) key_row: u64,
    /// Elements of a token's values; 0 where they are part of the keys.
    pub(crate) value_row: u64,
    /// Elements of a token's index keys (sparse attention); 0 in other models.
    pub(crate) index_row: u64,
    /// Bytes of state for each slot.
    pub(crate) state: u64,
}

/// What all layers keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Structure {
    /// By layer, those for multi-token prediction included, which keep nothing.
    pub(crate) layers: Vec<Layer>,
    /// The sliding window of the windowed layers, in tokens.
    pub(crate) window: Option<u64>,
    /// Elements of the widest layer's values.
    pub(crate) widest_value_row: u64,
    /// Whether every layer with an index row has index keys; else it is not known which do.
    pub(crate) indexes_every_layer: bool,
    pub(crate) assumptions: Vec<Assumption>,
}

/// Which layers are windowed, how many tokens wide, and whether that is only the architecture's default.
struct Windows {
    layers: Vec<bool>,
    tokens: Option<u64>,
    assumptions: Vec<Assumption>,
}

impl Structure {
    pub(crate) fn of(header: &Header) -> Result<Self, WhyNot> {
        let architecture = header
            .architecture()
            .ok_or(WhyNot::UnknownArchitecture(None))?;
        let unknown = || WhyNot::UnknownArchitecture(Some(architecture.to_owned()));
        let count = layer_count(header);
        let extra = header.u64("nextn_predict_layers").unwrap_or(0);
        let trunk = count
            .as_ref()
            .map_or(0, |count| count.saturating_sub(extra));
        let memory = Memory::of(architecture, trunk).ok_or_else(unknown)?;
        let (window, hybrid) = match memory {
            Memory::None => return Err(WhyNot::NonCausal),
            Memory::NotModelled(why) => return Err(WhyNot::NotModelled(why)),
            Memory::Attention(window) => (window, None),
            Memory::Recurrent(rule) => return Self::recurrent(header, count?, rule),
            Memory::Hybrid(which, rule) => (Window::Ignored, Some((which, rule))),
        };
        let count = count?;
        if trunk == 0 {
            return Err(WhyNot::Malformed("nextn_predict_layers"));
        }
        let shared = header.u64("attention.shared_kv_layers").unwrap_or(0);
        let owners = match owning_layers(architecture) {
            Some(owners) => owners.min(trunk),
            None => trunk
                .checked_sub(shared)
                .ok_or(WhyNot::Malformed("attention.shared_kv_layers"))?,
        };
        let windows = windows(header, window, count, trunk)?;
        let heads = Heads::of(header)?;
        let (recurrent, both, state) = match hybrid {
            Some((which, rule)) => {
                let recurrent = recurrent_layers(header, which, &heads, count)?;
                let needed = recurrent.contains(&true);
                let state = if needed { rule.bytes(header)? } else { 0 };
                (recurrent, which == RecurrentLayers::Every, state)
            }
            None => (Vec::new(), true, 0),
        };
        let recurrent = recurrent.into_iter().chain(std::iter::repeat(false));
        let mut layers = Vec::new();
        for ((number, windowed), recurrent) in (0..count).zip(windows.layers).zip(recurrent) {
            let mut layer = heads.layer(number, windowed)?;
            layer.cached = number < owners && (both || !recurrent);
            // A hybrid's layer that is neither is a feed-forward network and keeps nothing.
            layer.cached &= hybrid.is_none() || layer.key_row > 0;
            layer.state = if recurrent && number < trunk {
                state
            } else {
                0
            };
            layers.push(layer);
        }
        let widest = layers
            .iter()
            .map(|layer| layer.value_row)
            .max()
            .unwrap_or(0);
        Ok(Self {
            layers,
            window: windows.tokens,
            widest_value_row: widest,
            indexes_every_layer: indexes_every_layer(architecture),
            assumptions: windows.assumptions,
        })
    }

    /// What the layers for multi-token prediction keep; the others nothing.
    pub(crate) fn prediction(header: &Header) -> Result<Self, WhyNot> {
        let architecture = header
            .architecture()
            .ok_or(WhyNot::UnknownArchitecture(None))?;
        let count = layer_count(header)?;
        let extra = header
            .u64("nextn_predict_layers")
            .filter(|extra| *extra > 0)
            .ok_or(WhyNot::Missing("nextn_predict_layers"))?;
        let trunk = count
            .checked_sub(extra)
            .ok_or(WhyNot::Malformed("nextn_predict_layers"))?;
        let unknown = || WhyNot::UnknownArchitecture(Some(architecture.to_owned()));
        match Memory::of(architecture, trunk).ok_or_else(unknown)? {
            Memory::None => return Err(WhyNot::NonCausal),
            Memory::NotModelled(why) => return Err(WhyNot::NotModelled(why)),
            Memory::Recurrent(_) => return Err(WhyNot::Malformed("nextn_predict_layers")),
            Memory::Attention(_) | Memory::Hybrid(..) => {}
        }
        let heads = Heads::of(header)?;
        let mut layers = Vec::new();
        for number in 0..count {
            layers.push(if number < trunk {
                Layer::default()
            } else {
                heads.layer(number, false)?
            });
        }
        let rows = layers.iter().map(|layer| layer.value_row);
        Ok(Self {
            widest_value_row: rows.max().unwrap_or(0),
            layers,
            window: None,
            // Not known whether those have index keys.
            indexes_every_layer: false,
            assumptions: Vec::new(),
        })
    }

    fn recurrent(header: &Header, count: u64, rule: StateRule) -> Result<Self, WhyNot> {
        let layer = Layer {
            state: rule.bytes(header)?,
            ..Layer::default()
        };
        Ok(Self {
            layers: (0..count).map(|_| layer).collect(),
            window: None,
            widest_value_row: 0,
            indexes_every_layer: true,
            assumptions: Vec::new(),
        })
    }
}

fn layer_count(header: &Header) -> Result<u64, WhyNot> {
    if let Some(key) = header.impossible_number() {
        return Err(WhyNot::Malformed(key));
    }
    header.block_count().ok_or(WhyNot::Missing("block_count"))
}

fn windows(header: &Header, rule: Window, count: u64, trunk: u64) -> Result<Windows, WhyNot> {
    let none = || Windows {
        layers: (0..count).map(|_| false).collect(),
        tokens: None,
        assumptions: Vec::new(),
    };
    let (default, size) = match rule {
        Window::Ignored => return Ok(none()),
        Window::Header => (None, WindowSize::Stated),
        Window::Default {
            period,
            full_first,
            size,
        } => (Some((period, full_first)), size),
    };
    let mut assumptions = Vec::new();
    let stated = header.u64("attention.sliding_window");
    let Some(tokens) = size.tokens(stated) else {
        return Ok(none());
    };
    if stated != Some(tokens) {
        assumptions.push(Assumption::WindowSize { tokens });
    }
    let full_first = default.is_some_and(|(_, full_first)| full_first);
    let layers: Vec<bool> = match header.value("attention.sliding_window_pattern") {
        Some(Value::Array(array)) => {
            let flags = array
                .to_u64s()
                .ok_or(WhyNot::Malformed("attention.sliding_window_pattern"))?;
            let stated = flags.iter().map(|flag| *flag != 0);
            (0..count)
                .zip(stated.chain(std::iter::repeat(false)))
                .map(|(_, flag)| flag)
                .collect()
        }
        stated => {
            let period = match (stated.and_then(Value::as_u64), default) {
                (Some(period), _) => period,
                (None, Some((period, _))) => {
                    assumptions.push(Assumption::WindowPattern { period });
                    period
                }
                (None, None) => return Err(WhyNot::Missing("attention.sliding_window_pattern")),
            };
            (0..count)
                .map(|layer| layer < trunk && is_windowed(layer, period, full_first))
                .collect()
        }
    };
    Ok(Windows {
        tokens: layers.contains(&true).then_some(tokens),
        layers,
        assumptions,
    })
}

fn is_windowed(layer: u64, period: u64, full_first: bool) -> bool {
    let Some(place) = layer.checked_rem(period) else {
        return true;
    };
    if full_first {
        place != 0
    } else {
        place < period.saturating_sub(1)
    }
}

/// Which layers of a hybrid keep a state.
fn recurrent_layers(
    header: &Header,
    which: RecurrentLayers,
    heads: &Heads,
    count: u64,
) -> Result<Vec<bool>, WhyNot> {
    if let Some(Value::Array(array)) = header.value("attention.recurrent_layers") {
        let malformed = WhyNot::Malformed("attention.recurrent_layers");
        let flags = array.to_u64s().ok_or(malformed.clone())?;
        if u64::try_from(flags.len()).is_ok_and(|len| len < count) {
            return Err(malformed);
        }
        return Ok(flags.iter().map(|flag| *flag != 0).collect());
    }
    let interval = header.u64("full_attention_interval");
    let key = "feed_forward_length";
    let feed_forward = header.per_layer(key);
    let is_recurrent = |layer: u64| {
        Ok(match which {
            RecurrentLayers::Every => true,
            RecurrentLayers::WithoutHeads => heads.kv_heads(layer)? == 0,
            RecurrentLayers::WithoutHeadsAndFeedForward => {
                let width = feed_forward.as_ref().ok_or(WhyNot::Missing(key))?;
                let width = width.get(layer).ok_or(WhyNot::Malformed(key))?;
                heads.kv_heads(layer)? == 0 && width == 0
            }
            RecurrentLayers::Interval(default) => {
                let interval = interval.unwrap_or(default);
                layer.saturating_add(1).checked_rem(interval) != Some(0)
            }
        })
    };
    (0..count).map(is_recurrent).collect()
}

/// Sizes of attention heads.
struct Heads {
    /// How many heads have keys and values.
    with_keys: PerLayer,
    key: u64,
    value: u64,
    key_windowed: u64,
    value_windowed: u64,
    /// Whether values are part of the keys (multi-head latent attention).
    latent: bool,
    index: u64,
}

impl Heads {
    fn of(header: &Header) -> Result<Self, WhyNot> {
        let heads = header
            .head_count()
            .and_then(|heads| heads.get(0))
            .unwrap_or(0);
        let by_embedding = header
            .embedding_length()
            .and_then(|embedding| embedding.checked_div(heads))
            .filter(|length| *length > 0);
        let length = |key: &'static str| {
            header
                .u64(key)
                .filter(|length| *length > 0)
                .or(by_embedding)
        };
        let key = length("attention.key_length").ok_or(WhyNot::Missing("attention.key_length"))?;
        let value =
            length("attention.value_length").ok_or(WhyNot::Missing("attention.value_length"))?;
        let given = |key| header.u64(key).is_some_and(|length| length > 0);
        Ok(Self {
            with_keys: header.head_count_kv().ok_or_else(|| {
                let key = "attention.head_count_kv";
                match header.value(key) {
                    Some(_) => WhyNot::Malformed(key),
                    None => WhyNot::Missing(key),
                }
            })?,
            key,
            value,
            key_windowed: header.u64("attention.key_length_swa").unwrap_or(key),
            value_windowed: header.u64("attention.value_length_swa").unwrap_or(value),
            latent: given("attention.key_length_mla") && given("attention.value_length_mla"),
            index: header.u64("attention.indexer.key_length").unwrap_or(0),
        })
    }

    fn kv_heads(&self, layer: u64) -> Result<u64, WhyNot> {
        self.with_keys
            .get(layer)
            .ok_or(WhyNot::Malformed("attention.head_count_kv"))
    }

    fn layer(&self, number: u64, windowed: bool) -> Result<Layer, WhyNot> {
        let heads = self.kv_heads(number)?;
        let (key, value) = if windowed {
            (self.key_windowed, self.value_windowed)
        } else {
            (self.key, self.value)
        };
        let too_large = WhyNot::Malformed("attention.key_length");
        let key_row = key.checked_mul(heads).ok_or(too_large.clone())?;
        let value_row = value.checked_mul(heads).ok_or(too_large)?;
        Ok(Layer {
            cached: true,
            windowed,
            key_row,
            value_row: if self.latent { 0 } else { value_row },
            index_row: self.index,
            state: 0,
        })
    }
}

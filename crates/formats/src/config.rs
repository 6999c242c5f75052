//! `config.json` and `model_index.json`: what the files beside them are.

use crate::bytes::{file_name, name};
use crate::description::{Description, Flaw, Format, Kind};
use crate::error::Error;
use crate::index::feed;
use crate::json::{Scalar, Scanner, Sink};
use crate::known::{kind_of_architecture, quantization_method};
use crate::limits::MAX_PARTS;
use crate::window::{Pause, Walker, Window};

/// Longest word that may name an architecture.
const MAX_ARCHITECTURE_BYTES: usize = 96;

#[derive(Debug)]
pub(crate) struct ConfigWalker {
    scanner: Scanner,
    fields: Fields,
}

impl ConfigWalker {
    pub(crate) fn config() -> Self {
        Self {
            scanner: Scanner::new(0),
            fields: Fields::default(),
        }
    }

    pub(crate) fn diffusers() -> Self {
        let mut walker = Self::config();
        walker.fields.diffusers = true;
        walker
    }
}

impl Walker for ConfigWalker {
    fn walk(&mut self, window: Window<'_>) -> Pause {
        if let Some(pause) = feed(&mut self.scanner, window, &mut self.fields) {
            return pause;
        }
        match self.fields.describe() {
            Some(found) => Pause::Done(Box::new(found)),
            None => Pause::Failed(Error::NotModel),
        }
    }
}

/// A word that may name an architecture: letters, digits and a few marks.
pub(crate) fn architecture(text: &str) -> Option<String> {
    let is_word = text.len() <= MAX_ARCHITECTURE_BYTES
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./+".contains(c));
    is_word.then(|| name(text)).flatten()
}

#[derive(Debug, Default)]
struct Fields {
    diffusers: bool,
    model_type: Option<String>,
    class: Option<String>,
    is_diffusers: bool,
    kind: Kind,
    dtype: Option<&'static str>,
    layers: Option<u64>,
    context: Option<u64>,
    vocabulary: Option<u64>,
    method: Option<&'static str>,
    has_method: bool,
    millibits: Option<u32>,
    load_in: Option<u32>,
    parts: Vec<String>,
    dropped: bool,
}

impl Sink for Fields {
    fn scalar(&mut self, keys: &[Box<str>], value: Scalar<'_>, _at: u64) -> Result<(), Error> {
        match keys {
            [key] => self.top(key, value),
            [group, key] if self.diffusers => self.component(group, key, value),
            [group, key] => match (&**group, &**key) {
                ("architectures", "") => self.class(value),
                ("quantization_config" | "quantization", key) => {
                    self.quantization(group, key, value);
                }
                // Models with several modalities keep the numbers of their language model apart.
                ("text_config" | "llm_config" | "language_config", key) => {
                    self.number(key, value, false);
                }
                _ => {}
            },
            // compressed-tensors: {"config_groups": {"group_0": {"weights": {"num_bits": 4}}}}
            [group, _, _, weights, bits]
                if &**group == "quantization_config"
                    && &**weights == "weights"
                    && &**bits == "num_bits" =>
            {
                self.millibits = self.millibits.or(bits_of(value));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Fields {
    fn top(&mut self, key: &str, value: Scalar<'_>) {
        match key {
            "model_type" => self.model_type = value.text().and_then(architecture),
            "_class_name" => {
                self.class(value);
                self.is_diffusers = true;
            }
            "_diffusers_version" => self.is_diffusers = true,
            "torch_dtype" | "dtype" => self.dtype = value.text().and_then(dtype),
            _ => self.number(key, value, true),
        }
    }

    fn number(&mut self, key: &str, value: Scalar<'_>, wins: bool) {
        let place = match key {
            "num_hidden_layers" | "n_layer" | "num_layers" => &mut self.layers,
            "max_position_embeddings" | "n_positions" | "max_seq_len" => &mut self.context,
            "vocab_size" => &mut self.vocabulary,
            "torch_dtype" | "dtype" if self.dtype.is_none() => {
                self.dtype = value.text().and_then(dtype);
                return;
            }
            _ => return,
        };
        if place.is_none() || wins {
            *place = value.u64().or(*place);
        }
    }

    fn class(&mut self, value: Scalar<'_>) {
        let Some(class) = value.text().and_then(architecture) else {
            return;
        };
        if self.kind == Kind::Unknown {
            self.kind = kind_of_architecture(&class);
        }
        self.class.get_or_insert(class);
    }

    fn quantization(&mut self, group: &str, key: &str, value: Scalar<'_>) {
        match key {
            "quant_method" => {
                self.has_method = true;
                self.method = value.text().and_then(quantization_method);
            }
            // MLX writes `quantization`, and newer ones the same again as `quantization_config`, without a method.
            "group_size" if group == "quantization" => {
                self.has_method = true;
                self.method.get_or_insert("MLX");
            }
            "bits" => self.millibits = self.millibits.or(bits_of(value)),
            "load_in_4bit" | "_load_in_4bit" if value == Scalar::Bool(true) => {
                self.load_in = Some(4000);
            }
            "load_in_8bit" | "_load_in_8bit" if value == Scalar::Bool(true) => {
                self.load_in = Some(8000);
            }
            _ => {}
        }
    }

    /// `"unet": ["diffusers", "UNet2DConditionModel"]` of a diffusers folder; `[null, null]` where it has none.
    fn component(&mut self, part: &str, key: &str, value: Scalar<'_>) {
        if !key.is_empty() || part.starts_with('_') || value.text().is_none() {
            return;
        }
        let Some(part) = file_name(part) else { return };
        if self.parts.contains(&part) {
            return;
        }
        if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        } else {
            self.dropped = true;
        }
    }

    fn describe(&mut self) -> Option<Description> {
        let known = self.model_type.is_some() || self.class.is_some();
        if !known || (self.diffusers && !self.is_diffusers) {
            return None;
        }
        let mut found = Description::new(if self.diffusers {
            Format::Diffusers
        } else {
            Format::Config
        });
        if self.kind == Kind::Unknown {
            self.kind = match &self.model_type {
                Some(model_type) => kind_of_architecture(model_type),
                None if self.is_diffusers => Kind::Diffusion,
                None => Kind::Unknown,
            };
        }
        found.kind = if self.diffusers {
            Kind::Diffusion
        } else {
            self.kind
        };
        found.architecture = self.model_type.take().or_else(|| self.class.take());
        found.layers = self.layers;
        found.context_length = self.context;
        found.vocabulary = self.vocabulary;
        found.millibits = self.millibits.or(self.load_in);
        found.quantization = match (self.method, found.millibits) {
            (Some(method), Some(bits)) => Some(format!("{method} {}-bit", bits_text(bits))),
            (Some(method), None) => Some(method.to_owned()),
            (None, Some(bits)) if self.has_method => Some(format!("{}-bit", bits_text(bits))),
            // Not quantized: what the weights are.
            (None, _) if !self.has_method => self.dtype.map(str::to_owned),
            (None, _) => None,
        };
        found.parts = std::mem::take(&mut self.parts);
        if self.dropped {
            found.flaw(Flaw::PartsDropped);
        }
        Some(found)
    }
}

/// Bits of a weight, whole or not, in thousandths; up to 32 are plausible.
fn bits_of(value: Scalar<'_>) -> Option<u32> {
    let Scalar::Number(Some(text)) = value else {
        return None;
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u32 = whole.parse().ok().filter(|bits| *bits <= 32)?;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millibits = whole.checked_mul(1000)?.checked_add(digits.parse().ok()?)?;
    (millibits > 0).then_some(millibits)
}

/// `4`, `4.65`.
fn bits_text(millibits: u32) -> String {
    let (whole, fraction) = (millibits / 1000, millibits % 1000);
    if fraction == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{fraction:03}");
    text.trim_end_matches('0').to_owned()
}

fn dtype(text: &str) -> Option<&'static str> {
    Some(match text.strip_prefix("torch.").unwrap_or(text) {
        "float32" | "float" => "F32",
        "float16" | "half" => "F16",
        "bfloat16" => "BF16",
        "float8_e4m3fn" | "float8_e5m2" => "F8",
        _ => return None,
    })
}

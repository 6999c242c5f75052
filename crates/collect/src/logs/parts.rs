//! Sizes and places as programs print them.

use model::{Bytes, Placement, SegmentKind, Text};
use raw::logs::{Field, KeptLine};

use super::ToldPart;

/// What a family's `MB` are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Units {
    /// 1024 kilobytes of 1024 bytes.
    Binary,
    /// A million bytes.
    Decimal,
}

/// The size whose number stands at this position, and its unit behind it.
pub(super) fn size(line: &KeptLine, position: usize, units: Units) -> Option<Bytes> {
    let number = line.text(position)?;
    let unit = line.text(position + 1)?;
    let base: u64 = match (units, unit.contains('i')) {
        (Units::Decimal, false) => 1_000,
        _ => 1_024,
    };
    let power = match unit.chars().next()? {
        'K' | 'k' => 1,
        'M' => 2,
        'G' => 3,
        _ => 0,
    };
    scaled(number, base.checked_pow(power)?).map(Bytes)
}

/// A decimal number times a unit, rounded to the nearest byte; `None` beyond what a size can be.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.get(..part.len().min(MAX_DECIMALS))?;
    let digits: u128 = format!("{whole}{part}").parse().ok()?;
    let divisor = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let bytes = digits.checked_mul(u128::from(unit))?;
    u64::try_from((bytes + divisor / 2) / divisor).ok()
}

/// Decimals that matter: a byte of a terabyte has twelve.
const MAX_DECIMALS: usize = 12;

/// The number at this position.
pub(super) fn number(line: &KeptLine, position: usize) -> Option<u64> {
    match line.fields.get(position)? {
        Field::Number(number) => number.parse().ok(),
        Field::Word(_) | Field::Path(_) | Field::Name(_) => None,
    }
}

/// The path or the name at this position.
pub(super) fn text(line: &KeptLine, position: usize) -> Option<Text> {
    line.text(position).cloned()
}

/// Where a buffer with this name lies; `None` for one that is not on this machine.
pub(super) fn placement(device: &str) -> Option<Placement> {
    let is_any = |names: &[&str]| names.iter().any(|name| device.starts_with(name));
    if device == "RPC" {
        return None;
    }
    Some(if device.ends_with("_Host") {
        Placement::PinnedHost
    } else if is_any(&["CPU", "BLAS", "AMX", "KleidiAI", "Host"]) {
        Placement::Cpu
    } else if is_any(&["HTP", "zDNN", "OpenVINO"]) || ["other", "none"].contains(&device) {
        Placement::Unknown
    } else {
        Placement::Gpu
    })
}

/// A part in a buffer with this name; `None` for one that is not on this machine.
pub(super) fn part(kind: SegmentKind, device: &str, bytes: Bytes) -> Option<ToldPart> {
    Some(ToldPart {
        kind,
        placement: placement(device)?,
        device: if device == "none" { "" } else { device }.into(),
        bytes,
        // Metal maps the file for the device, and that is where the weights are.
        is_span: device == "CPU_Mapped",
    })
}

/// A part of which only the place is known.
pub(super) fn placed(kind: SegmentKind, placement: Placement, bytes: Bytes) -> ToldPart {
    ToldPart {
        kind,
        placement,
        device: Text::default(),
        bytes,
        is_span: false,
    }
}

/// Adds up the parts of one kind in one buffer.
pub(super) fn merged(parts: impl IntoIterator<Item = ToldPart>) -> Vec<ToldPart> {
    let mut merged: Vec<ToldPart> = Vec::new();
    for part in parts {
        let same = merged.iter_mut().find(|known| {
            (known.kind, &known.device, known.placement)
                == (part.kind, &part.device, part.placement)
        });
        match same {
            Some(known) => known.bytes.0 = known.bytes.0.saturating_add(part.bytes.0),
            None => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_size_is_its_bytes_to_the_nearest_one() {
        for (number, unit, expected) in [
            ("3500.00", 1 << 20, Some(3_670_016_000)),
            ("0.01", 1 << 20, Some(10_486)),
            ("14.9889", 1 << 30, Some(16_094_208_826)),
            ("24077", 1, Some(24_077)),
            ("99999999999999999999", 1 << 30, None),
        ] {
            assert_eq!(scaled(number, unit), expected, "{number}");
        }
    }

    #[test]
    fn a_buffers_name_tells_where_it_lies() {
        for (device, expected) in [
            ("CUDA0", Some(Placement::Gpu)),
            ("CUDA_Split", Some(Placement::Gpu)),
            ("MTL0_Mapped", Some(Placement::Gpu)),
            ("Metal_Mapped", Some(Placement::Gpu)),
            ("MTL0_Private", Some(Placement::Gpu)),
            ("CUDA_Host", Some(Placement::PinnedHost)),
            ("Vulkan_Host", Some(Placement::PinnedHost)),
            ("CPU", Some(Placement::Cpu)),
            ("CPU_Mapped", Some(Placement::Cpu)),
            ("CPU_REPACK", Some(Placement::Cpu)),
            ("CPU_AARCH64", Some(Placement::Cpu)),
            ("other", Some(Placement::Unknown)),
            ("RPC", None),
        ] {
            assert_eq!(placement(device), expected, "{device}");
        }
    }
}

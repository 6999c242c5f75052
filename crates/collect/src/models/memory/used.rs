//! How much of the cache holds tokens.

use gguf::Range;
use gguf::kv::{CacheKind, KvEstimate, KvPart};
use model::{
    Bytes, Estimated, Method, Model, Placement, Provenance, Reading, Reported, Segment,
    SegmentKind, Text,
};

use super::arithmetic::{Arithmetic, from};

/// The share of the cache that `tokens` take, a part of what is reserved.
pub(super) fn segment(
    model: &Model,
    arithmetic: &Arithmetic<'_>,
    tokens: &Reported<u64>,
) -> Option<Segment<Estimated<Bytes>>> {
    let estimates = arithmetic.estimates().ok()?;
    let slots = arithmetic.settings.iter().map(|it| it.parallel);
    let ranges = estimates.iter().zip(slots);
    let range = ranges
        .map(|(estimate, slots)| used(estimate, tokens.value, slots))
        .reduce(Range::spanning)?;
    let offload = &arithmetic.offload;
    let placement = match offload.gpu_layers {
        _ if offload.kv_on_cpu => Placement::Cpu,
        Some(layers) if estimates.iter().all(|it| layers > it.layers.len() as u64) => {
            Placement::Gpu
        }
        _ => Placement::Unknown,
    };
    Some(Segment {
        model_id: model.id.clone(),
        kind: SegmentKind::KvUsed,
        bytes: Reading::Known(Estimated {
            low: Bytes(range.low),
            high: Bytes(range.high),
            method: Method::ModelFile,
            from: Provenance {
                counter: "header, and the cached tokens that the server tells",
                ..from(tokens.by.at)
            },
        }),
        placement,
        device_index: None,
        inputs: vec![("cached_tokens", Text::from(tokens.value.to_string()))],
    })
}

/// Bytes that so many tokens take in all caches that grow with tokens.
fn used(estimate: &KvEstimate, tokens: u64, slots: Option<u32>) -> Range {
    let growing = estimate
        .parts
        .iter()
        .filter(|part| part.kind != CacheKind::State);
    growing.fold(Range::exact(0), |sum, part| {
        sum.plus(of_part(part, tokens, slots))
    })
}

fn of_part(part: &KvPart, tokens: u64, slots: Option<u32>) -> Range {
    let (least, most) = part.cells;
    // Where a window is passed, one slot fills its own share alone, all slots fill the whole.
    let room = match (part.kind, slots) {
        (CacheKind::Windowed, Some(slots)) => least / u64::from(slots.max(1)),
        (CacheKind::Windowed, None) => 0,
        _ => least,
    };
    Range::between(
        share(part.bytes.low, tokens.min(room), least),
        share(part.bytes.high, tokens.min(most), most),
    )
}

/// `bytes` for `of` cells, scaled to `cells`.
fn share(bytes: u64, cells: u64, of: u64) -> u64 {
    // No cells, no bytes in them.
    let scaled = u128::from(bytes) * u128::from(cells.min(of)) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(kind: CacheKind, cells: (u64, u64), bytes: Range) -> KvPart {
        KvPart {
            kind,
            layers: 1,
            cells,
            bytes,
            by_layer: Vec::new(),
        }
    }

    #[test]
    fn tokens_take_their_share_of_a_full_cache() {
        let full = part(CacheKind::Full, (8192, 8192), Range::exact(8192 * 100));
        assert_eq!(of_part(&full, 100, Some(1)), Range::exact(10_000));
        assert_eq!(of_part(&full, 9000, Some(1)), Range::exact(819_200));
    }

    #[test]
    fn tokens_beyond_a_window_take_one_slots_share_at_least_and_the_whole_at_most() {
        let windowed = part(CacheKind::Windowed, (2048, 2048), Range::exact(2048 * 10));
        assert_eq!(
            of_part(&windowed, 5000, Some(4)),
            Range::between(5120, 20_480)
        );
        assert_eq!(of_part(&windowed, 5000, Some(1)), Range::exact(20_480));
        assert_eq!(of_part(&windowed, 100, None), Range::between(0, 1000));
    }

    proptest! {
        #[test]
        fn what_is_used_is_never_more_than_what_is_reserved(
            windowed in any::<bool>(),
            cells in (1_u64..1 << 32, 1_u64..1 << 32),
            bytes in (0_u64..1 << 50, 0_u64..1 << 50),
            tokens in any::<u64>(),
            slots in proptest::option::of(1_u32..2000),
        ) {
            let kind = if windowed { CacheKind::Windowed } else { CacheKind::Full };
            let cells = (cells.0.min(cells.1), cells.0.max(cells.1));
            let part = part(kind, cells, Range::between(bytes.0, bytes.1));
            let used = of_part(&part, tokens, slots);
            prop_assert!(used.low <= part.bytes.low.max(used.high));
            prop_assert!(used.high <= part.bytes.high.max(part.bytes.low));
        }
    }
}

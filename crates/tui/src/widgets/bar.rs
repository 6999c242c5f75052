//! A bar of segments. Cells are shared out by largest remainder; a segment above zero always gets
//! one, and where there are more segments than cells the smallest are merged into a `+`.

use ratatui::style::Style;

use crate::paint::Strip;
use crate::theme::Look;

/// A part of a bar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Drawn in the cells.
    pub(crate) letter: char,
    /// Its weight in any unit.
    pub(crate) weight: f64,
    /// Its style.
    pub(crate) style: Style,
    /// Whether it is drawn in letters even where others are blocks.
    pub(crate) hollow: bool,
}

/// Cells for each weight, together exactly `cells` if any weight is above zero and there are enough
/// cells for one each. Otherwise the result may be too long; the caller merges first.
pub(crate) fn share_out(weights: &[f64], cells: usize) -> Vec<usize> {
    let clean = |weight: &f64| {
        if weight.is_finite() {
            weight.max(0.0)
        } else {
            0.0
        }
    };
    let total: f64 = weights.iter().map(clean).sum();
    if total <= 0.0 || !total.is_finite() {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights
        .iter()
        .map(|weight| clean(weight) / total * cells_f64(cells))
        .collect();
    let mut shares: Vec<usize> = exact.iter().map(|exact| floor(*exact, cells)).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let remainder = |i: &usize| exact.get(*i).map_or(0.0, |exact| exact.fract());
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let mut left = cells.saturating_sub(shares.iter().sum());
    for i in order {
        if left == 0 {
            break;
        }
        if let Some(share) = shares.get_mut(i).filter(|_| exact.get(i) > Some(&0.0)) {
            *share += 1;
            left -= 1;
        }
    }
    // What is there must be seen: take the cell from the largest.
    for i in 0..shares.len() {
        if shares.get(i) == Some(&0) && exact.get(i) > Some(&0.0) {
            let largest = (0..shares.len()).max_by_key(|j| shares.get(*j).copied());
            if let Some(from) = largest.and_then(|j| shares.get_mut(j)).filter(|n| **n > 1) {
                *from -= 1;
                if let Some(share) = shares.get_mut(i) {
                    *share = 1;
                }
            }
        }
    }
    shares
}

/// Draws `parts` in brackets, `cells` wide in all.
pub(crate) fn draw(strip: &mut Strip<'_>, look: Look, parts: &[Part], cells: u16) {
    let inner = usize::from(cells.saturating_sub(2));
    if inner == 0 {
        return;
    }
    let parts = merged(parts, inner);
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    strip.put("[", look.plain());
    for (part, cells) in parts.iter().zip(share_out(&weights, inner)) {
        for cell in 0..cells {
            let letter = cell == 0 || part.hollow || look.letters();
            let glyph = if letter { part.letter } else { '█' };
            let mut bytes = [0; 4];
            let style = if letter && !part.hollow && !look.letters() {
                look.on_block(part.style)
            } else {
                part.style
            };
            strip.put(glyph.encode_utf8(&mut bytes), style);
        }
    }
    strip.put("]", look.plain());
}

/// No more parts than cells: the smallest become one.
fn merged(parts: &[Part], cells: usize) -> Vec<Part> {
    let mut kept: Vec<Part> = parts
        .iter()
        .copied()
        .filter(|part| part.weight > 0.0 && part.weight.is_finite())
        .collect();
    while kept.len() > cells.max(1) {
        let smallest = (0..kept.len()).min_by(|a, b| {
            let weight = |i: &usize| kept.get(*i).map_or(0.0, |part: &Part| part.weight);
            weight(a).total_cmp(&weight(b))
        });
        let Some(smallest) = smallest else { break };
        let gone = kept.remove(smallest);
        let neighbour = smallest.min(kept.len().saturating_sub(1));
        if let Some(part) = kept.get_mut(neighbour) {
            part.weight += gone.weight;
            part.letter = '+';
        }
    }
    kept
}

fn floor(value: f64, max: usize) -> usize {
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    usize::try_from(model::units::rounded_to(value.floor(), max)).unwrap_or(0)
}

fn cells_f64(cells: usize) -> f64 {
    f64::from(u32::try_from(cells).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_out_by_largest_remainder_and_nothing_vanishes() {
        for (weights, cells, expected) in [
            (vec![1.0, 1.0, 1.0], 10, vec![4, 3, 3]),
            (vec![97.0, 2.0, 1.0], 10, vec![8, 1, 1]),
            (vec![0.0, 5.0], 4, vec![0, 4]),
            (vec![0.0, 0.0], 4, vec![0, 0]),
            (vec![f64::NAN, 1.0, f64::INFINITY], 3, vec![0, 3, 0]),
        ] {
            assert_eq!(share_out(&weights, cells), expected, "{weights:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_bar_is_always_full(weights in proptest::collection::vec(0.001..1e12, 1..15), cells in 15_usize..200) {
            let shares = share_out(&weights, cells);
            proptest::prop_assert_eq!(shares.iter().sum::<usize>(), cells);
            proptest::prop_assert!(shares.iter().all(|share| *share > 0));
        }
    }
}

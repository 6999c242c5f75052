//! AMD's binary table `gpu_metrics`: read only for what the plain files do not have.
//!
//! Offsets are those of `drivers/gpu/drm/amd/include/kgd_pp_interface.h`. A table counts only if its size is the one
//! of its version: a layout that is not known is not guessed.

/// What a table says. `None`: not in this version, or the driver filled in all ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Metrics {
    /// Graphics load, percent.
    pub(super) graphics: Option<f64>,
    /// Memory controller activity, percent.
    pub(super) memory: Option<f64>,
    /// Video engine load, percent; of several engines the busiest. Some firmware never fills it in and leaves 0.
    pub(super) video: Option<f64>,
    /// Edge, or on processors with graphics the graphics part, degrees Celsius.
    pub(super) edge: Option<f64>,
    /// Hottest spot, degrees Celsius.
    pub(super) hotspot: Option<f64>,
    /// Memory, degrees Celsius.
    pub(super) memory_temperature: Option<f64>,
    /// Fan, turns per minute.
    pub(super) fan: Option<f64>,
}

/// Offsets of one layout.
#[derive(Clone, Copy, Default)]
struct Layout {
    edge: Option<usize>,
    hotspot: Option<usize>,
    memory_temperature: Option<usize>,
    /// Temperatures and loads in hundredths, as on all processors with graphics. Of loads the header does not say so,
    /// but the driver divides the same values by 100 for `gpu_busy_percent`, and a published pair of both files agrees
    /// (79 and 0).
    hundredths: bool,
    graphics: Option<usize>,
    memory: Option<usize>,
    /// First of the video engines, and how many.
    video: Option<(usize, usize)>,
    fan: Option<usize>,
}

/// A layout by size, format revision and content revision.
fn layout(size: u16, format: u8, content: u8) -> Option<Layout> {
    let discrete = Layout {
        edge: Some(4),
        hotspot: Some(6),
        memory_temperature: Some(8),
        graphics: Some(16),
        memory: Some(18),
        video: Some((20, 1)),
        fan: Some(72),
        ..Layout::default()
    };
    let accelerator = Layout {
        hotspot: Some(4),
        memory_temperature: Some(6),
        graphics: Some(12),
        memory: Some(14),
        video: Some((16, 4)),
        ..Layout::default()
    };
    let integrated = |edge, graphics, video| Layout {
        edge: Some(edge),
        hundredths: true,
        graphics,
        video: Some((video, 1)),
        ..Layout::default()
    };
    Some(match (format, content, size) {
        (1, 0, 80) => Layout {
            edge: Some(16),
            hotspot: Some(18),
            memory_temperature: Some(20),
            graphics: Some(28),
            memory: Some(30),
            video: Some((32, 1)),
            ..Layout::default()
        },
        (1, 1, 96) | (1, 2, 104) | (1, 3, 120) => discrete,
        (1, 4, 288) | (1, 5, 360) => accelerator,
        (2, 0, 120) => integrated(16, Some(40), 42),
        (2, 1, 120) | (2, 2, 128) | (2, 3, 152) | (2, 4, 168) => integrated(4, Some(28), 30),
        // Its graphics load is in percent or in hundredths, by the version of the firmware.
        (3, 0, 264) => integrated(4, None, 44),
        _ => return None,
    })
}

/// Reads a table; `None` where its layout is not known or it is cut off.
pub(super) fn parse(bytes: &[u8]) -> Option<Metrics> {
    let word = |offset: usize| {
        let pair = bytes.get(offset..offset.checked_add(2)?)?;
        Some(u16::from_le_bytes(pair.try_into().ok()?))
    };
    let (size, format, content) = (word(0)?, *bytes.get(2)?, *bytes.get(3)?);
    let layout = layout(size, format, content)?;
    if bytes.len() < usize::from(size) {
        return None;
    }
    let provided = |offset: usize| word(offset).filter(|word| *word != u16::MAX);
    let percent = |offset: usize| {
        let unit = if layout.hundredths { 100.0 } else { 1.0 };
        let share = f64::from(provided(offset)?) / unit;
        (share <= 100.0).then_some(share)
    };
    let celsius = |offset: usize| {
        let degrees = f64::from(provided(offset)?) / if layout.hundredths { 100.0 } else { 1.0 };
        (degrees <= 200.0).then_some(degrees)
    };
    Some(Metrics {
        graphics: layout.graphics.and_then(percent),
        memory: layout.memory.and_then(percent),
        video: layout.video.and_then(|(first, count)| {
            let engines = (0..count).filter_map(|number| percent(first + 2 * number));
            engines.reduce(f64::max)
        }),
        edge: layout.edge.and_then(celsius),
        hotspot: layout.hotspot.and_then(celsius),
        memory_temperature: layout.memory_temperature.and_then(celsius),
        fan: layout.fan.and_then(provided).map(f64::from),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(size: u16, format: u8, content: u8, words: &[(usize, u16)]) -> Vec<u8> {
        let mut bytes = vec![0xff; usize::from(size)];
        bytes[..2].copy_from_slice(&size.to_le_bytes());
        bytes[2..4].copy_from_slice(&[format, content]);
        for (offset, word) in words {
            bytes[*offset..*offset + 2].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn all_ones_are_not_provided() {
        assert_eq!(parse(&table(120, 1, 3, &[])), Some(Metrics::default()));
    }

    #[test]
    fn a_discrete_card_gives_degrees_and_a_processor_hundredths() {
        let card = table(
            120,
            1,
            3,
            &[
                (4, 56),
                (6, 59),
                (8, 54),
                (16, 25),
                (18, 3),
                (20, 0),
                (72, 900),
            ],
        );
        let expected = Metrics {
            graphics: Some(25.0),
            memory: Some(3.0),
            video: Some(0.0),
            edge: Some(56.0),
            hotspot: Some(59.0),
            memory_temperature: Some(54.0),
            fan: Some(900.0),
        };
        assert_eq!(parse(&card), Some(expected));
        let processor = table(120, 2, 1, &[(4, 2512), (28, 750), (30, 10_001)]);
        let it = parse(&processor).unwrap();
        assert_eq!(
            (it.edge, it.graphics, it.video),
            (Some(25.12), Some(7.5), None)
        );
        let newer = parse(&table(264, 3, 0, &[(4, 3812), (42, 3), (44, 150)])).unwrap();
        assert_eq!(
            (newer.edge, newer.graphics, newer.video),
            (Some(38.12), None, Some(1.5))
        );
    }

    #[test]
    fn of_four_video_engines_the_busiest_counts() {
        let it = parse(&table(288, 1, 4, &[(16, 5), (18, 80), (20, 7)])).unwrap();
        assert_eq!(it.video, Some(80.0));
    }

    #[test]
    fn a_table_of_another_size_or_version_is_not_guessed() {
        assert_eq!(parse(&table(121, 1, 3, &[])), None);
        assert_eq!(parse(&table(120, 1, 9, &[])), None);
        let mut cut = table(120, 1, 3, &[]);
        cut.truncate(119);
        assert_eq!(parse(&cut), None);
        assert_eq!(parse(&[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}

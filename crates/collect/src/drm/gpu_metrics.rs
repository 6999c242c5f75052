//! AMD's binary table `gpu_metrics`: read only for what the plain files do not have.
//!
//! Offsets are those of `drivers/gpu/drm/amd/include/kgd_pp_interface.h`. A table counts only if its size is the one
//! of its version: a layout that is not known is not guessed.

use model::Gap;

/// What a table says. [`Gap::NoCounter`]: not in this version; [`Gap::NotSupported`]: the driver filled in all ones;
/// [`Gap::Implausible`]: a load above 100 % or a temperature above 200 °C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metrics {
    /// Graphics load, percent.
    pub(super) graphics: Result<f64, Gap>,
    /// Memory controller activity, percent.
    pub(super) memory: Result<f64, Gap>,
    /// Video engine load, percent; of several engines the busiest. Some firmware never fills it in and leaves 0.
    pub(super) video: Result<f64, Gap>,
    /// Edge, or on processors with graphics the graphics part, degrees Celsius.
    pub(super) edge: Result<f64, Gap>,
    /// Hottest spot, degrees Celsius.
    pub(super) hotspot: Result<f64, Gap>,
    /// Memory, degrees Celsius.
    pub(super) memory_temperature: Result<f64, Gap>,
    /// Fan, turns per minute.
    pub(super) fan: Result<f64, Gap>,
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

/// Size and layout by format revision and content revision.
fn layout(format: u8, content: u8) -> Option<(u16, Layout)> {
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
    Some(match (format, content) {
        (1, 0) => (
            80,
            Layout {
                edge: Some(16),
                hotspot: Some(18),
                memory_temperature: Some(20),
                graphics: Some(28),
                memory: Some(30),
                video: Some((32, 1)),
                ..Layout::default()
            },
        ),
        (1, 1) => (96, discrete),
        (1, 2) => (104, discrete),
        (1, 3) => (120, discrete),
        (1, 4) => (288, accelerator),
        (1, 5) => (360, accelerator),
        (2, 0) => (120, integrated(16, Some(40), 42)),
        (2, 1) => (120, integrated(4, Some(28), 30)),
        (2, 2) => (128, integrated(4, Some(28), 30)),
        (2, 3) => (152, integrated(4, Some(28), 30)),
        (2, 4) => (168, integrated(4, Some(28), 30)),
        // Its graphics load is in percent or in hundredths, by the version of the firmware.
        (3, 0) => (264, integrated(4, None, 44)),
        _ => return None,
    })
}

/// Whether a table is of the kind that the driver has for processors with graphics: their format revisions are 2 and 3.
/// Revision 1 says nothing, since cards and accelerators that are processors too (MI300A) have it.
pub(super) fn is_of_processor(bytes: &[u8]) -> bool {
    match *bytes {
        [low, high, format, ..] => {
            let size = usize::from(u16::from_le_bytes([low, high]));
            (4..=bytes.len()).contains(&size) && matches!(format, 2 | 3)
        }
        _ => false,
    }
}

/// Reads a table: [`Gap::NotRecognised`] where its version is not known, [`Gap::Malformed`] where it is cut off or
/// has another size than its version.
pub(super) fn parse(bytes: &[u8]) -> Result<Metrics, Gap> {
    let word = |offset: usize| {
        let pair = bytes.get(offset..offset.checked_add(2)?)?;
        Some(u16::from_le_bytes(pair.try_into().ok()?))
    };
    let (Some(size), Some(&[format, content])) = (word(0), bytes.get(2..4)) else {
        return Err(Gap::Malformed);
    };
    let (expected, layout) = layout(format, content).ok_or(Gap::NotRecognised)?;
    if size != expected || bytes.len() < usize::from(size) {
        return Err(Gap::Malformed);
    }
    let provided = |offset: usize| {
        let word = word(offset).filter(|word| *word != u16::MAX);
        word.ok_or(Gap::NotSupported)
    };
    let unit = if layout.hundredths { 100.0 } else { 1.0 };
    let up_to = |most: f64, offset: Option<usize>| {
        let value = f64::from(provided(offset.ok_or(Gap::NoCounter)?)?) / unit;
        if value <= most {
            Ok(value)
        } else {
            Err(Gap::Implausible)
        }
    };
    let percent = |offset| up_to(100.0, offset);
    let celsius = |offset| up_to(200.0, offset);
    let video = |(first, count): (usize, usize)| {
        let engines = (0..count).map(|number| percent(Some(first + 2 * number)));
        let engines: Vec<Result<f64, Gap>> = engines.collect();
        // One that cannot be true says more than one that is not there.
        if engines.contains(&Err(Gap::Implausible)) {
            return Err(Gap::Implausible);
        }
        let busiest = engines.into_iter().flatten().reduce(f64::max);
        busiest.ok_or(Gap::NotSupported)
    };
    Ok(Metrics {
        graphics: percent(layout.graphics),
        memory: percent(layout.memory),
        video: layout.video.ok_or(Gap::NoCounter).and_then(video),
        edge: celsius(layout.edge),
        hotspot: celsius(layout.hotspot),
        memory_temperature: celsius(layout.memory_temperature),
        fan: layout
            .fan
            .ok_or(Gap::NoCounter)
            .and_then(provided)
            .map(f64::from),
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

    const NOTHING: Metrics = Metrics {
        graphics: Err(Gap::NotSupported),
        memory: Err(Gap::NotSupported),
        video: Err(Gap::NotSupported),
        edge: Err(Gap::NotSupported),
        hotspot: Err(Gap::NotSupported),
        memory_temperature: Err(Gap::NotSupported),
        fan: Err(Gap::NotSupported),
    };

    #[test]
    fn all_ones_are_not_provided() {
        assert_eq!(parse(&table(120, 1, 3, &[])), Ok(NOTHING));
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
            graphics: Ok(25.0),
            memory: Ok(3.0),
            video: Ok(0.0),
            edge: Ok(56.0),
            hotspot: Ok(59.0),
            memory_temperature: Ok(54.0),
            fan: Ok(900.0),
        };
        assert_eq!(parse(&card), Ok(expected));
        let on_a_processor = Metrics {
            memory: Err(Gap::NoCounter),
            hotspot: Err(Gap::NoCounter),
            memory_temperature: Err(Gap::NoCounter),
            fan: Err(Gap::NoCounter),
            ..NOTHING
        };
        let processor = table(120, 2, 1, &[(4, 2512), (28, 750), (30, 10_001)]);
        let expected = Metrics {
            edge: Ok(25.12),
            graphics: Ok(7.5),
            video: Err(Gap::Implausible),
            ..on_a_processor
        };
        assert_eq!(parse(&processor), Ok(expected));
        let newer = table(264, 3, 0, &[(4, 3812), (42, 3), (44, 150)]);
        let expected = Metrics {
            edge: Ok(38.12),
            graphics: Err(Gap::NoCounter),
            video: Ok(1.5),
            ..on_a_processor
        };
        assert_eq!(parse(&newer), Ok(expected));
    }

    #[test]
    fn of_four_video_engines_the_busiest_counts() {
        for (engines, expected) in [
            (&[(16, 5), (18, 80), (20, 7)][..], Ok(80.0)),
            (&[(22, 3)], Ok(3.0)),
            (&[(16, 5), (18, 101)], Err(Gap::Implausible)),
            (&[(16, 101), (18, 5)], Err(Gap::Implausible)),
            (&[(16, 101)], Err(Gap::Implausible)),
            (&[], Err(Gap::NotSupported)),
        ] {
            let it = parse(&table(288, 1, 4, engines)).unwrap();
            assert_eq!(it.video, expected, "{engines:?}");
        }
    }

    #[test]
    fn what_cannot_be_true_is_implausible_and_not_missing() {
        let it = parse(&table(
            120,
            1,
            3,
            &[(16, 101), (18, 100), (4, 201), (6, 200)],
        ))
        .unwrap();
        let expected = Metrics {
            graphics: Err(Gap::Implausible),
            memory: Ok(100.0),
            edge: Err(Gap::Implausible),
            hotspot: Ok(200.0),
            ..NOTHING
        };
        assert_eq!(it, expected);
    }

    #[test]
    fn a_table_of_another_size_or_version_is_not_guessed() {
        let cut = |bytes: usize| {
            let mut cut = table(120, 1, 3, &[]);
            cut.truncate(bytes);
            cut
        };
        for (bytes, expected) in [
            (table(121, 1, 3, &[]), Gap::Malformed),
            (table(96, 1, 3, &[]), Gap::Malformed),
            (table(120, 1, 9, &[]), Gap::NotRecognised),
            (table(120, 9, 3, &[]), Gap::NotRecognised),
            (cut(119), Gap::Malformed),
            (cut(4), Gap::Malformed),
            (cut(3), Gap::Malformed),
            (cut(0), Gap::Malformed),
            (b"hello world".to_vec(), Gap::NotRecognised),
        ] {
            assert_eq!(parse(&bytes), Err(expected), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }
    }
}

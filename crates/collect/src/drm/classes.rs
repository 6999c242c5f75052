//! Engine classes of the drivers as the columns that all devices have.

use model::Gap;

use super::engines::Loads;

/// How a device's video engines are told apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Video {
    /// Decoder and encoder have rings of their own.
    Split,
    /// One ring takes both (AMD's VCN 4 and newer): nothing says which it was.
    Unified,
    /// Not known which of the two it is.
    Unknown,
}

/// Loads by column, percent.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// 3D and graphics.
    pub graphics: Result<f64, Gap>,
    /// Compute.
    pub compute: Result<f64, Gap>,
    /// Copy engines.
    pub copy: Result<f64, Gap>,
    /// Video where the direction is not told.
    pub video: Result<f64, Gap>,
    /// Decoder.
    pub decode: Result<f64, Gap>,
    /// Encoder.
    pub encode: Result<f64, Gap>,
    /// JPEG engine.
    pub jpeg: Result<f64, Gap>,
    /// Engines that are none of these, by the driver's name.
    pub others: Vec<(String, Result<f64, Gap>)>,
    /// The busiest engine.
    pub busiest: Result<f64, Gap>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Class {
    Graphics,
    Compute,
    Copy,
    Decode,
    Encode,
    Video,
    Jpeg,
    Other,
}

fn class(driver: &str, engine: &str) -> Class {
    match (driver, engine) {
        ("amdgpu", "gfx")
        | ("i915" | "v3d", "render")
        | ("xe", "rcs")
        | ("msm" | "etnaviv" | "lima", "gpu")
        | ("panthor", "panthor") => Class::Graphics,
        ("amdgpu" | "i915", "compute") | ("xe", "ccs") | ("v3d", "csd") => Class::Compute,
        ("amdgpu", "dma") | ("i915", "copy") | ("xe", "bcs") => Class::Copy,
        ("amdgpu", "dec") => Class::Decode,
        ("amdgpu", "enc" | "enc_1") => Class::Encode,
        ("amdgpu", "jpeg") => Class::Jpeg,
        ("i915", "video") | ("xe", "vcs") => Class::Video,
        _ => Class::Other,
    }
}

/// Whether an engine takes both directions of video.
pub(super) fn is_both_directions(driver: &str, engine: &str) -> bool {
    class(driver, engine) == Class::Video
}

impl Columns {
    /// All of them missing for one reason.
    pub fn missing(gap: Gap) -> Self {
        Self {
            graphics: Err(gap),
            compute: Err(gap),
            copy: Err(gap),
            video: Err(gap),
            decode: Err(gap),
            encode: Err(gap),
            jpeg: Err(gap),
            others: Vec::new(),
            busiest: Err(gap),
        }
    }

    /// Sorts the loads of a driver's engines into columns.
    pub fn of(driver: &str, video: Video, loads: &Loads) -> Self {
        let is_amdgpu = driver == "amdgpu";
        // amdgpu leaves out engines that have done nothing; other drivers print those that exist.
        let none = if is_amdgpu {
            Ok(0.0)
        } else {
            Err(Gap::NoCounter)
        };
        let sum = |wanted: &[Class]| {
            let of_class = loads
                .iter()
                .filter(|(name, _)| wanted.contains(&class(driver, name)))
                .map(|(_, load)| *load);
            of_class.fold(None, |sum: Option<Result<f64, Gap>>, load| {
                Some(match (sum, load) {
                    (None, load) => load,
                    (Some(Ok(a)), Ok(b)) => Ok((a + b).min(100.0)),
                    (Some(Err(gap)), _) | (_, Err(gap)) => Err(gap),
                })
            })
        };
        let column = |wanted: &[Class]| sum(wanted).unwrap_or(none);
        let (video, decode, encode) = match video {
            Video::Split if is_amdgpu => (
                Err(Gap::NotApplicable),
                column(&[Class::Decode]),
                column(&[Class::Encode]),
            ),
            _ => {
                let both = column(&[Class::Decode, Class::Encode, Class::Video]);
                // Where there is no such engine there is none for either direction.
                let direction = match both {
                    Err(Gap::NoCounter) => Err(Gap::NoCounter),
                    _ => Err(Gap::SharedEngine),
                };
                (both, direction, direction)
            }
        };
        let graphics = column(&[Class::Graphics]);
        let compute = column(&[Class::Compute]);
        let copy = column(&[Class::Copy]);
        let others: Vec<(String, Result<f64, Gap>)> = loads
            .iter()
            .filter(|(name, _)| class(driver, name) == Class::Other)
            .map(|(name, load)| (name.clone(), *load))
            .collect();
        let jpeg = column(&[Class::Jpeg]);
        let all = [graphics, compute, copy, video, decode, encode, jpeg];
        let busiest = all
            .into_iter()
            .chain(others.iter().map(|(_, load)| *load))
            .fold(Err(Gap::NoCounter), busier);
        Self {
            graphics,
            compute,
            copy,
            video,
            decode,
            encode,
            jpeg,
            others,
            busiest,
        }
    }
}

/// The larger of two loads. One that could be read but is not known leaves the maximum unknown; a column that the
/// driver does not have is no load at all.
fn busier(most: Result<f64, Gap>, load: Result<f64, Gap>) -> Result<f64, Gap> {
    let absent = |gap| matches!(gap, Gap::NoCounter | Gap::NotApplicable | Gap::SharedEngine);
    match (most, load) {
        (Ok(a), Ok(b)) => Ok(f64::max(a, b)),
        (Err(gap), _) | (_, Err(gap)) if !absent(gap) => Err(gap),
        (Ok(load), Err(_)) | (Err(_), Ok(load)) => Ok(load),
        (Err(gap), Err(_)) => Err(gap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(entries: &[(&str, f64)]) -> Loads {
        let entry = |(name, load): &(&str, f64)| ((*name).to_owned(), Ok(*load));
        entries.iter().map(entry).collect()
    }

    #[test]
    fn a_unified_ring_says_video_and_neither_direction() {
        let it = Columns::of(
            "amdgpu",
            Video::Unified,
            &loads(&[("enc", 60.0), ("dec", 7.0), ("jpeg", 3.0), ("vpe", 1.0)]),
        );
        assert_eq!(it.video, Ok(67.0));
        assert_eq!(
            (it.decode, it.encode),
            (Err(Gap::SharedEngine), Err(Gap::SharedEngine))
        );
        assert_eq!(it.jpeg, Ok(3.0));
        assert_eq!(it.others, [("vpe".to_owned(), Ok(1.0))]);
        assert_eq!(it.busiest, Ok(67.0));
    }

    #[test]
    fn separate_rings_say_their_direction() {
        let it = Columns::of(
            "amdgpu",
            Video::Split,
            &loads(&[("enc", 60.0), ("enc_1", 70.0), ("dec", 7.0)]),
        );
        assert_eq!((it.decode, it.encode), (Ok(7.0), Ok(100.0)));
        assert_eq!(it.video, Err(Gap::NotApplicable));
    }

    #[test]
    fn engines_that_a_driver_does_not_print_are_idle_on_amdgpu_only() {
        let amd = Columns::of("amdgpu", Video::Unified, &loads(&[]));
        assert_eq!((amd.graphics, amd.busiest), (Ok(0.0), Ok(0.0)));
        let i915 = Columns::of("i915", Video::Split, &loads(&[("render", 5.0)]));
        assert_eq!(
            (i915.graphics, i915.compute),
            (Ok(5.0), Err(Gap::NoCounter))
        );
        assert_eq!(i915.busiest, Ok(5.0));
    }

    #[test]
    fn one_unknown_engine_leaves_the_busiest_unknown() {
        let mut loads = loads(&[("rcs", 5.0)]);
        loads.insert("ccs".to_owned(), Err(Gap::NoSample));
        let it = Columns::of("xe", Video::Split, &loads);
        assert_eq!((it.graphics, it.busiest), (Ok(5.0), Err(Gap::NoSample)));
    }
}

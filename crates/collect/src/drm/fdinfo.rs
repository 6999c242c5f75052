//! What a driver says of one open device: the text of `/proc/PID/fdinfo/FD`.
//!
//! Every driver prints the keys of `Documentation/gpu/drm-usage-stats.rst` in its own choice and order; which keys
//! are there decides what can be said, never the version of the kernel.

use std::collections::BTreeMap;

use model::PciAddress;

/// Regions or engines of one text. amdgpu prints eight regions, and no driver more.
const MAX_NAMES: usize = 64;

/// Bytes of a region's or engine's name; the longest known has thirteen.
const MAX_NAME_BYTES: usize = 32;

/// A value that is there and cannot be read: unknown, and not zero.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreadable;

/// A number as the driver gave it.
pub type Number = Result<u64, Unreadable>;

/// What one text says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fdinfo {
    /// `drm-driver`. Without it the text is not of a driver that gives statistics.
    pub driver: Option<String>,
    /// `drm-pdev`; PCI devices only.
    pub pci: Option<PciAddress>,
    /// `drm-client-id`. Where the key is printed twice, the first counts: it is the counter of the DRM core.
    pub client: Option<Number>,
    /// Memory by region (`vram`, `gtt`, `system0`, `local0`, `memory`, …).
    pub regions: BTreeMap<String, Region>,
    /// Busy time by engine class (`gfx`, `render`, `rcs`, …).
    pub engines: BTreeMap<String, Engine>,
    /// `amd-evicted-vram`, bytes.
    pub evicted_vram: Option<Number>,
    /// The dialect of amdgpu before Linux 5.19, which names no client.
    pub is_old_dialect: bool,
    /// Whether it breaks off within a line: the kernel ends each, so that more would have followed.
    pub is_cut: bool,
}

/// Memory of one region, bytes; `None` where the key is not printed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Region {
    /// `drm-total-R`: all buffers, in memory or not.
    pub total: Option<Number>,
    /// `drm-shared-R`: buffers with more than one handle, or exported. Stays while the export lives.
    pub shared: Option<Number>,
    /// `drm-resident-R`: in this region now.
    pub resident: Option<Number>,
    /// `drm-memory-R`: what amdgpu printed before it printed `resident`, with the same meaning.
    pub memory: Option<Number>,
}

impl Region {
    /// What is in the region now, under either of its names.
    pub fn here(&self) -> Option<Number> {
        self.resident.or(self.memory)
    }
}

/// Counters of one engine class; `None` where the key is not printed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Engine {
    /// `drm-engine-N`: busy time, nanoseconds.
    pub busy_ns: Option<Number>,
    /// `drm-engine-capacity-N`: identical engines in the class; not printed for one.
    pub capacity: Option<Number>,
    /// `drm-cycles-N`: busy cycles.
    pub cycles: Option<Number>,
    /// `drm-total-cycles-N`: cycles that have passed on the same clock (xe).
    pub total_cycles: Option<Number>,
    /// `drm-maxfreq-N`: highest clock, Hz.
    pub max_hz: Option<Number>,
}

/// Where a number of a region or an engine is kept.
type Field<T> = fn(&mut T) -> &mut Option<Number>;

/// A prefix of keys about engines, where its value goes, and how it is read.
type EngineKey = (&'static str, Field<Engine>, fn(&str) -> Number);

/// Longer prefixes come first: `drm-engine-capacity-rcs` is no engine.
const ENGINES: [EngineKey; 5] = [
    ("total-cycles-", |e| &mut e.total_cycles, integer),
    ("engine-capacity-", |e| &mut e.capacity, capacity),
    ("engine-", |e| &mut e.busy_ns, nanoseconds),
    ("cycles-", |e| &mut e.cycles, integer),
    ("maxfreq-", |e| &mut e.max_hz, hertz),
];

/// Looked at after the engines: `drm-total-cycles-rcs` is no region.
const REGIONS: [(&str, Field<Region>); 4] = [
    ("total-", |r| &mut r.total),
    ("shared-", |r| &mut r.shared),
    ("resident-", |r| &mut r.resident),
    ("memory-", |r| &mut r.memory),
];

impl Fdinfo {
    /// Reads a text. Lines that are not of this interface are passed over, and so is one that is not ended: half a
    /// number is a number too.
    pub fn parse(text: &str) -> Self {
        let mut it = Self::default();
        for line in text.split_inclusive('\n') {
            let Some(line) = line.strip_suffix('\n') else {
                it.is_cut = true;
                break;
            };
            // A key holds no colon; a value may (`drm-pdev`).
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            it.line(key.trim(), value.trim());
        }
        it
    }

    /// Whether a driver has said anything at all.
    pub const fn has_stats(&self) -> bool {
        self.driver.is_some() || self.is_old_dialect
    }

    fn line(&mut self, key: &str, value: &str) {
        match key {
            "drm-driver" => first(&mut self.driver, value.to_owned()),
            "drm-client-id" => first(&mut self.client, integer(value)),
            "drm-pdev" | "pdev" => {
                if key == "pdev" {
                    self.is_old_dialect = true;
                }
                if let Some(address) = PciAddress::parse(value) {
                    first(&mut self.pci, address);
                }
            }
            "amd-evicted-vram" => first(&mut self.evicted_vram, size(value)),
            "vram mem" | "gtt mem" | "cpu mem" => {
                let name = key.split(' ').next().unwrap_or(key);
                if let Some(region) = named(&mut self.regions, name) {
                    first(&mut region.memory, old_size(value));
                }
            }
            _ => self.statistic(key, value),
        }
    }

    fn statistic(&mut self, key: &str, value: &str) {
        let Some(key) = key.strip_prefix("drm-") else {
            return;
        };
        for (prefix, field, read) in ENGINES {
            if let Some(name) = key.strip_prefix(prefix) {
                if let Some(engine) = named(&mut self.engines, name) {
                    first(field(engine), read(value));
                }
                return;
            }
        }
        for (prefix, field) in REGIONS {
            if let Some(name) = key.strip_prefix(prefix) {
                if let Some(region) = named(&mut self.regions, name) {
                    first(field(region), size(value));
                }
                return;
            }
        }
    }
}

/// Where a key is printed twice the first counts.
fn first<T>(slot: &mut Option<T>, value: T) {
    if slot.is_none() {
        *slot = Some(value);
    }
}

/// The entry with this name, as long as there are not too many.
fn named<'a, T: Default>(entries: &'a mut BTreeMap<String, T>, name: &str) -> Option<&'a mut T> {
    let fits = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
    let has_room = entries.len() < MAX_NAMES || entries.contains_key(name);
    (fits && has_room).then(|| entries.entry(name.to_owned()).or_default())
}

/// Digits only: no sign, no fraction.
fn integer(text: &str) -> Number {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Unreadable);
    }
    text.parse().map_err(|_| Unreadable)
}

fn with_unit(text: &str) -> Result<(u64, &str), Unreadable> {
    let (number, unit) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Ok((integer(number)?, unit.trim()))
}

/// A size: bytes without a unit, else KiB or MiB. The core divides by 1024 as long as nothing is left over, at most
/// twice, so that `0`, `1048577` and `2048 MiB` are all real.
fn size(text: &str) -> Number {
    let (number, unit) = with_unit(text)?;
    let bytes: u64 = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(Unreadable),
    };
    number.checked_mul(bytes).ok_or(Unreadable)
}

/// Sizes before Linux 5.19: `kB`, meaning 1024 bytes.
fn old_size(text: &str) -> Number {
    let (number, unit) = with_unit(text)?;
    match unit {
        "kB" | "KiB" => number.checked_mul(1 << 10).ok_or(Unreadable),
        _ => Err(Unreadable),
    }
}

fn nanoseconds(text: &str) -> Number {
    match with_unit(text)? {
        (number, "ns") => Ok(number),
        _ => Err(Unreadable),
    }
}

/// A class without an engine is none.
fn capacity(text: &str) -> Number {
    integer(text).and_then(|number| {
        if number == 0 {
            Err(Unreadable)
        } else {
            Ok(number)
        }
    })
}

fn hertz(text: &str) -> Number {
    let (number, unit) = with_unit(text)?;
    let factor: u64 = match unit {
        "Hz" => 1,
        "KHz" => 1_000,
        "MHz" => 1_000_000,
        _ => return Err(Unreadable),
    };
    number.checked_mul(factor).ok_or(Unreadable)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_come_in_bytes_kib_and_mib() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("1048577", Ok(1_048_577)),
            ("544428 KiB", Ok(544_428 << 10)),
            ("22 MiB", Ok(22 << 20)),
            ("2048 MiB", Ok(2 << 30)),
            ("16000 MiB", Ok(16_000 << 20)),
            ("1 GiB", Ok(1 << 30)),
            ("12  KiB", Ok(12 << 10)),
            ("7 furlongs", Err(Unreadable)),
            ("4 kB", Err(Unreadable)),
            ("4 KB", Err(Unreadable)),
            ("4 B", Err(Unreadable)),
            ("", Err(Unreadable)),
            ("KiB", Err(Unreadable)),
            ("-1 KiB", Err(Unreadable)),
            ("+1", Err(Unreadable)),
            ("1.5 MiB", Err(Unreadable)),
            ("0x10", Err(Unreadable)),
            ("18446744073709551615", Ok(u64::MAX)),
            ("18446744073709551615 KiB", Err(Unreadable)),
            ("18446744073709551616", Err(Unreadable)),
        ] {
            assert_eq!(size(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_longer_key_is_not_taken_for_a_shorter_one() {
        let text = "drm-total-cycles-rcs:\t7655183225\ndrm-cycles-rcs:\t28257900\n\
                    drm-engine-capacity-vcs:\t2\ndrm-engine-enc_1:\t5 ns\ndrm-engine-enc:\t3 ns\n\
                    drm-total-vram0:\t23992 KiB\ndrm-cycles-other:\t1\n";
        let it = Fdinfo::parse(text);
        let names: Vec<&str> = it.engines.keys().map(String::as_str).collect();
        assert_eq!(names, ["enc", "enc_1", "other", "rcs", "vcs"]);
        assert_eq!(it.engines["rcs"].total_cycles, Some(Ok(7_655_183_225)));
        assert_eq!(it.engines["rcs"].cycles, Some(Ok(28_257_900)));
        assert_eq!(it.engines["vcs"].capacity, Some(Ok(2)));
        assert_eq!(it.engines["vcs"].busy_ns, None);
        assert_eq!(it.engines["enc"].busy_ns, Some(Ok(3)));
        let regions: Vec<&str> = it.regions.keys().map(String::as_str).collect();
        assert_eq!(regions, ["vram0"]);
    }

    #[test]
    fn the_first_of_two_equal_keys_counts() {
        let text = "drm-driver:\tamdgpu\ndrm-client-id:\t428\ndrm-pdev:\t0000:63:00.0\n\
                    drm-driver:\tother\ndrm-client-id:\t641912\ndrm-pdev:\t0000:64:00.0\n";
        let it = Fdinfo::parse(text);
        assert_eq!(it.client, Some(Ok(428)));
        assert_eq!(it.driver.as_deref(), Some("amdgpu"));
        assert_eq!(it.pci, PciAddress::parse("0000:63:00.0"));
    }

    #[test]
    fn amdgpu_prints_a_space_before_the_tab_and_others_expand_tabs() {
        let it = Fdinfo::parse("drm-memory-gtt: \t22528 KiB\ndrm-memory-cpu:       0 KiB\n");
        assert_eq!(it.regions["gtt"].memory, Some(Ok(22_528 << 10)));
        assert_eq!(it.regions["cpu"].here(), Some(Ok(0)));
    }

    #[test]
    fn an_engine_class_of_no_engines_is_unreadable() {
        let it = Fdinfo::parse("drm-engine-capacity-video:\t0\n");
        assert_eq!(it.engines["video"].capacity, Some(Err(Unreadable)));
    }

    #[test]
    fn clocks_come_in_hz_khz_and_mhz() {
        for (text, expected) in [
            ("799999987 Hz", Ok(799_999_987)),
            ("800000 KHz", Ok(800_000_000)),
            ("800 MHz", Ok(800_000_000)),
            ("800", Err(Unreadable)),
        ] {
            assert_eq!(hertz(text), expected);
        }
    }

    #[test]
    fn the_dialect_before_5_19_names_memory_and_no_client() {
        let text = "pdev:\t0000:03:00.0\npasid:\t32771\nvram mem:\t81920 kB\ngtt mem:\t2048 kB\n\
                    cpu mem:\t0 kB\ngfx0:\t12.34%\n";
        let it = Fdinfo::parse(text);
        assert!(it.is_old_dialect && it.has_stats());
        assert_eq!(it.client, None);
        assert_eq!(it.regions["vram"].here(), Some(Ok(81_920 << 10)));
        assert!(it.engines.is_empty(), "a percentage of unknown window");
    }

    #[test]
    fn a_text_of_an_ordinary_file_says_nothing() {
        let it = Fdinfo::parse("pos:\t0\nflags:\t0100000\nmnt_id:\t36\nino:\t4\n");
        assert_eq!(it, Fdinfo::default());
        assert!(!it.has_stats());
    }

    #[test]
    fn names_without_end_are_not_kept() {
        let many = (0..1000).map(|n| format!("drm-total-r{n}: 1\ndrm-engine-e{n}: 1 ns"));
        let long = format!("drm-total-{}: 1", "x".repeat(100));
        let lines: Vec<String> = many.chain([long]).collect();
        let it = Fdinfo::parse(&(lines.join("\n") + "\n"));
        assert_eq!((it.regions.len(), it.engines.len()), (MAX_NAMES, MAX_NAMES));
    }

    const LINES: [&str; 9] = [
        "drm-driver:\tamdgpu",
        "drm-client-id:\t7",
        "drm-pdev:\t0000:03:00.0",
        "drm-total-vram:\t12 KiB",
        "drm-shared-vram:\t0",
        "drm-resident-vram:\t8 KiB",
        "drm-engine-gfx:\t77 ns",
        "amd-evicted-vram:\t1 KiB",
        "drm-memory-gtt: \t1 KiB",
    ];

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,400}") {
            let _ = Fdinfo::parse(&text);
        }

        #[test]
        fn hostile_lines_are_read_without_a_panic(
            lines in prop::collection::vec(("drm-(total|engine|cycles|shared|resident|memory|total-cycles|engine-capacity)-?[a-z0-9:\\-]{0,6}", "[ \t]?[0-9]{0,22} ?(KiB|MiB|ns|Hz|)"), 0..20)
        ) {
            let lines: Vec<String> = lines.iter().map(|(key, value)| format!("{key}:{value}\n")).collect();
            let it = Fdinfo::parse(&lines.concat());
            prop_assert!(it.regions.len() <= MAX_NAMES && it.engines.len() <= MAX_NAMES);
        }

        #[test]
        fn the_order_of_lines_does_not_matter(order in Just(LINES.to_vec()).prop_shuffle()) {
            let whole = |lines: &[&str]| Fdinfo::parse(&(lines.join("\n") + "\n"));
            prop_assert_eq!(whole(&order), whole(&LINES));
        }

        #[test]
        fn a_text_that_breaks_off_says_less_and_nothing_else(length in 0_usize..200) {
            let text = LINES.join("\n") + "\n";
            let cut = Fdinfo::parse(text.get(..length).unwrap_or(&text));
            let whole = Fdinfo::parse(&text);
            prop_assert_eq!(cut.is_cut, length < text.len() && length > 0 && !text[..length].ends_with('\n'));
            for (name, region) in &cut.regions {
                let same = |part: Option<Number>, all: Option<Number>| part.is_none() || part == all;
                let all = whole.regions[name];
                prop_assert!(same(region.total, all.total) && same(region.here(), all.here()));
            }
            prop_assert!(cut.client.is_none() || cut.client == whole.client);
            prop_assert!(cut.driver.is_none() || cut.driver == whole.driver);
        }

        #[test]
        fn a_printed_size_is_read_back(bytes in any::<u64>()) {
            // As `drm_fdinfo_print_size` of the kernel prints it.
            let (mut number, mut units) = (bytes, ["", " KiB", " MiB"].iter());
            let mut unit = units.next().unwrap();
            for next in units {
                if number == 0 || !number.is_multiple_of(1024) {
                    break;
                }
                number /= 1024;
                unit = next;
            }
            prop_assert_eq!(size(&format!("{number}{unit}")), Ok(bytes));
        }
    }
}

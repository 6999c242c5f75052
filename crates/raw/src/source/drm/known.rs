//! What of `/proc/PID/fdinfo/FD` leaves the reader: lines with a known key, and of these only values of the form
//! that belongs to it.
//!
//! A client can give itself a name (`drm-client-name`, Linux 6.13), and drivers may print keys of their own: what is
//! not known may say more of a person than of a machine, so that it is neither shown nor recorded.

/// Bytes of a region's or engine's name; the longest known has thirteen.
const MAX_NAME: usize = 32;

/// Bytes of a driver's name; the longest known has nineteen.
const MAX_WORD: usize = 32;

/// Digits of a number; 2^64 has twenty.
const MAX_DIGITS: usize = 24;

/// Bytes of a place on the PCI bus: `10000:64:00.0` and a little more.
const MAX_ADDRESS: usize = 16;

/// Units that drivers print (`Documentation/gpu/drm-usage-stats.rst`; `kB` before Linux 5.19).
const UNITS: [&str; 9] = ["", "KiB", "MiB", "GiB", "kB", "ns", "Hz", "KHz", "MHz"];

/// The form of a value.
#[derive(Clone, Copy)]
enum Form {
    Number,
    Word,
    Address,
}

/// Keys as they stand.
const KEYS: [(&str, Form); 8] = [
    ("drm-driver", Form::Word),
    ("drm-pdev", Form::Address),
    ("drm-client-id", Form::Number),
    ("amd-evicted-vram", Form::Number),
    // amdgpu before Linux 5.19.
    ("pdev", Form::Address),
    ("vram mem", Form::Number),
    ("gtt mem", Form::Number),
    ("cpu mem", Form::Number),
];

/// Keys that end in the name of a region or an engine; all have numbers.
const PREFIXES: [&str; 7] = [
    "drm-engine-",
    "drm-cycles-",
    "drm-maxfreq-",
    "drm-total-",
    "drm-shared-",
    "drm-resident-",
    "drm-memory-",
];

/// The known lines of a text. A value of another form is left out and its key kept, so that it is unreadable and not
/// missing. A text that breaks off within a line still does.
pub fn known_lines(text: &[u8]) -> Vec<u8> {
    let mut kept = String::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(form) = form(key) else { continue };
        kept.push_str(key);
        kept.push_str(":\t");
        if form.has(value) {
            kept.push_str(value);
        }
        kept.push('\n');
    }
    if !text.ends_with(b"\n") {
        kept.pop();
    }
    kept.into_bytes()
}

fn form(key: &str) -> Option<Form> {
    if let Some((_, form)) = KEYS.iter().find(|(known, _)| *known == key) {
        return Some(*form);
    }
    let mut prefixes = PREFIXES.iter();
    let name = prefixes.find_map(|prefix| key.strip_prefix(prefix))?;
    is_word(name, MAX_NAME).then_some(Form::Number)
}

impl Form {
    fn has(self, value: &str) -> bool {
        match self {
            Self::Word => is_word(value, MAX_WORD),
            Self::Address => {
                let is_part = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
                value.len() <= MAX_ADDRESS && value.bytes().all(is_part)
            }
            Self::Number => {
                let (digits, unit) = value.split_once([' ', '\t']).unwrap_or((value, ""));
                let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
                is_number && digits.len() <= MAX_DIGITS && UNITS.contains(&unit.trim())
            }
        }
    }
}

fn is_word(text: &str, most: usize) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=most).contains(&text.len()) && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(text: &str) -> String {
        String::from_utf8(known_lines(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_text_that_breaks_off_still_does() {
        assert_eq!(
            known("drm-client-id:\t1\ndrm-total-vram:\t12"),
            "drm-client-id:\t1\ndrm-total-vram:\t12"
        );
        assert_eq!(
            known("drm-client-id:\t1\nunknown:\t12"),
            "drm-client-id:\t1"
        );
        assert_eq!(known(""), "");
    }

    #[test]
    fn known_keys_keep_their_values() {
        for line in [
            "drm-driver:\tamdgpu\n",
            "drm-pdev:\t0000:03:00.0\n",
            "drm-client-id:\t428\n",
            "drm-total-vram:\t544428 KiB\n",
            "drm-shared-stolen-system0:\t0\n",
            "drm-resident-local0:\t2048 MiB\n",
            "drm-engine-enc_1:\t5 ns\n",
            "drm-engine-capacity-vcs:\t2\n",
            "drm-total-cycles-rcs:\t7655183225\n",
            "drm-maxfreq-gpu:\t800000 KHz\n",
            "amd-evicted-vram:\t1 KiB\n",
            "vram mem:\t81920 kB\n",
            "pdev:\t0000:03:00.0\n",
        ] {
            assert_eq!(known(line), line);
        }
        assert_eq!(
            known("drm-memory-gtt: \t22528 KiB\r\n"),
            "drm-memory-gtt:\t22528 KiB\n"
        );
    }

    #[test]
    fn what_is_not_known_goes() {
        for line in [
            "drm-client-name:\tzorgon",
            "zorgon:\t1",
            "x-secret:\t1",
            "amd-zorgon:\t1 KiB",
            "drm-total-zorgon secret:\t1",
            "drm-total-\u{1b}[31m:\t1",
            "drm-total-:\t1",
            "drm-purgeable-vram:\t1",
            "zorgon",
            "pos:\t0",
            "pasid:\t32771",
            " drm-client-name : drm-driver: zorgon",
            &format!("drm-total-{}:\t1", "z".repeat(33)),
        ] {
            assert_eq!(known(line), "", "{line}");
        }
    }

    #[test]
    fn a_value_of_another_form_goes_and_its_key_stays() {
        for (line, expected) in [
            ("drm-shared-vram:\t7 furlongs", "drm-shared-vram:\t\n"),
            ("drm-total-vram:\tzorgon", "drm-total-vram:\t\n"),
            ("drm-total-vram:\t-3 MiB", "drm-total-vram:\t\n"),
            ("drm-driver:\tzorgon of alice", "drm-driver:\t\n"),
            ("drm-pdev:\tzorgon", "drm-pdev:\t\n"),
            ("drm-client-id:\t", "drm-client-id:\t\n"),
        ] {
            assert_eq!(known(&format!("{line}\n")), expected);
        }
        let bytes = known_lines(b"drm-driver:\t\xff\xfe\n\xff:\t1\n");
        assert_eq!(bytes, b"drm-driver:\t\n");
    }

    proptest! {
        #[test]
        fn what_is_kept_is_kept_again(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let once = known_lines(&bytes);
            prop_assert_eq!(known_lines(&once), once);
        }

        #[test]
        fn hostile_lines_keep_no_control_character(
            lines in prop::collection::vec(("(drm-(total|engine|shared)-[a-z\u{1b}\r ]{0,6}|drm-driver|zorgon)", "[ \t]?[0-9a-z\u{1b}\u{0} ]{0,12}"), 0..20)
        ) {
            let lines: Vec<String> = lines.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            let text = known(&lines.join("\n"));
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!text.contains("zorgon"));
        }
    }
}

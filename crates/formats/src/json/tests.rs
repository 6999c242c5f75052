//! The scanner against `serde_json`: whatever that accepts is read the same.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Path and text of every scalar, in order.
#[derive(Default)]
struct Seen(Vec<(String, String)>);

impl Sink for Seen {
    fn scalar(&mut self, keys: &[Box<str>], value: Scalar<'_>, _at: u64) -> Result<(), Error> {
        let value = match value {
            Scalar::Text(text) => format!("text {}", text.unwrap()),
            Scalar::Number(text) => format!("number {}", text.unwrap()),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Null => "null".to_owned(),
        };
        self.0.push((keys.join("\u{1}"), value));
        Ok(())
    }
}

fn scan(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, Error> {
    let mut seen = Seen::default();
    let mut scanner = Scanner::new(0);
    for piece in pieces {
        scanner.feed(piece, &mut seen)?;
    }
    scanner.finish(&mut seen)?;
    Ok(seen.0)
}

fn expected(value: &Value, keys: &mut Vec<String>, out: &mut Vec<(String, String)>) {
    let scalar = match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.push(key.clone());
                expected(value, keys, out);
                keys.pop();
            }
            return;
        }
        Value::Array(values) => {
            for value in values {
                keys.push(String::new());
                expected(value, keys, out);
                keys.pop();
            }
            return;
        }
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("number {number}"),
        Value::String(text) => format!("text {text}"),
    };
    if keys.len() <= MAX_JSON_KEYS {
        out.push((keys.join("\u{1}"), scalar));
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(|text| Value::from(text.chars().take(20).collect::<String>())),
    ];
    leaf.prop_recursive(9, 48, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_are_read_as_serde_json_wrote_them(value in values(), pretty: bool, cut in 0_usize..400) {
        let text = if pretty {
            serde_json::to_vec_pretty(&value).unwrap()
        } else {
            serde_json::to_vec(&value).unwrap()
        };
        let (first, second) = text.split_at(cut.min(text.len()));
        let mut wanted = Vec::new();
        expected(&value, &mut Vec::new(), &mut wanted);
        prop_assert_eq!(scan(&[first, second]).unwrap(), wanted);
    }

    #[test]
    fn what_serde_json_refuses_is_refused(
        value in values(), at in any::<prop::sample::Index>(), byte in any::<u8>(), remove: bool,
    ) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        if remove { text.remove(at); } else { text[at] = byte; }
        // Bytes that are no UTF-8 are replaced here and refused there.
        if let Ok(text) = str::from_utf8(&text) {
            let theirs = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            let ours = scan(&[text.as_bytes()]);
            let lone = theirs.as_ref().is_err_and(|why| why.contains("surrogate") || why.contains("range"));
            prop_assert!(ours.is_ok() == theirs.is_ok() || lone, "{ours:?} {theirs:?}");
        }
    }
}

#[test]
fn escapes_and_pairs_are_decoded() {
    let text = br#"["\u00e9\ud83d\ude00\ud83dx\ude00\n\/", "\ud83d", "\ud83d\u0041"]"#;
    let seen = scan(&[text]).unwrap();
    let values: Vec<&str> = seen.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(
        values,
        [
            "text é😀\u{fffd}x\u{fffd}\n/",
            "text \u{fffd}",
            "text \u{fffd}A"
        ]
    );
}

#[test]
fn depth_is_bounded_and_the_place_is_told() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(scan(&[deep(64).as_bytes()]).is_ok());
    let error = scan(&[deep(65).as_bytes()]).unwrap_err();
    assert_eq!(
        error,
        Error::TooLarge {
            what: What::Json,
            offset: 64
        }
    );
    let error = scan(&[br#"{"a": 1,}"#]).unwrap_err();
    assert_eq!(error, malformed(What::Json, 8));
}

//! Positions of the top-level keys in a YAML text, to remove or add a key without changing the rest. Does not know any key.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_saphyr::Spanned;

/// Top-level YAML keys with their byte offsets, in the order of the file.
pub(super) struct Outline {
    keys: Vec<(String, usize)>,
}

impl Outline {
    /// Removes a top-level key and its value. Other lines keep their numbers; in a map in braces, other keys keep their columns.
    pub(super) fn remove_key(&self, text: &str, key: &str) -> String {
        let Some(index) = self.keys.iter().position(|(name, _)| name == key) else {
            return text.to_owned();
        };
        let start = self.keys[index].1;
        let next = self.keys.get(index + 1).map(|(_, start)| *start);
        let in_braces = self.is_in_braces(text);
        let end = next.unwrap_or_else(|| if in_braces { last_brace(text) } else { text.len() });
        let blank = text[start..end].chars().filter_map(|letter| match letter {
            '\n' => Some('\n'),
            _ if in_braces => Some(' '),
            _ => None,
        });
        let blank: String = blank.collect();
        [&text[..start], &blank, &text[end..]].concat()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| name == key)
    }

    /// Adds a top-level key with this value, which must be JSON.
    pub(super) fn add_key(&self, text: &str, key: &str, value: &str) -> String {
        if !self.is_in_braces(text) {
            return format!("{}\n{key}: {value}\n", text.trim_end());
        }
        let start = self.keys.first().map_or(0, |(_, start)| *start);
        format!("{}\"{key}\": {value}, {}", &text[..start], &text[start..])
    }

    fn is_in_braces(&self, text: &str) -> bool {
        let start = self.keys.first().map_or(0, |(_, start)| *start);
        text[..start].trim_end().ends_with('{')
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Outline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry::<Spanned<String>, IgnoredAny>()? {
                    let start = offset(key.defined.span().byte_offset());
                    keys.push((key.value, start.unwrap_or_default()));
                }
                Ok(Outline { keys })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A byte offset or length from the YAML parser.
pub(super) fn offset(bytes: Option<u64>) -> Option<usize> {
    usize::try_from(bytes?).ok()
}

/// Byte offset of the closing brace of the top-level map. Comments may follow the brace.
fn last_brace(text: &str) -> usize {
    let mut end = text.len();
    for line in text.split_inclusive('\n').rev() {
        let start = end - line.len();
        let code = if line.trim_start().starts_with('#') {
            ""
        } else {
            line
        };
        let code = code.find(" #").map_or(code, |comment| &code[..comment]);
        if let Some(brace) = code.rfind('}') {
            return start + brace;
        }
        end = start;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse_yaml;

    #[test]
    fn removing_a_key_keeps_the_positions_of_others() {
        for (text, expected) in [
            ("a: 1\nb:\n  - 2\n# of c\nc: 3\n", "a: 1\n\n\n\nc: 3\n"),
            ("a: 1\nc: 3\nb: 2\n", "a: 1\nc: 3\n\n"),
            (r#"{"b": 2, "c": 3}"#, r#"{        "c": 3}"#),
            ("{a: 1, b: {d: 2}} # {b}\n# }\n", "{a: 1,          } # {b}\n# }\n"),
            ("a: 1\n", "a: 1\n"),
        ] {
            let outline: Outline = parse_yaml("f.yaml", text).unwrap();
            assert_eq!(outline.remove_key(text, "b"), expected);
        }
    }

    #[test]
    fn adding_a_key_follows_the_style_of_the_file() {
        for (text, expected) in [
            ("a: 1\n\n", "a: 1\nb: {\"c\":2}\n"),
            ("{a: 1}", "{\"b\": {\"c\":2}, a: 1}"),
        ] {
            let outline: Outline = parse_yaml("f.yaml", text).unwrap();
            assert_eq!(outline.add_key(text, "b", "{\"c\":2}"), expected);
        }
    }
}

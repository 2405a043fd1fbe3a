//! YAML bodies, parsed and written as apimachinery does.
//!
//! Go's YAML 1.1: numbers with a leading zero are octal, `yes` and `on` are true, and the last of several fields of the same name wins. A
//! YAML body is converted to the equivalent JSON.

use crate::machinery::document::{Document, Position};
use crate::machinery::stack::with_stack;
use bytes::Bytes;
use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;
use std::cell::RefCell;

pub(crate) const MEDIA: &str = "application/yaml";

/// Maximum nesting depth of YAML bodies, the same as of JSON bodies.
const DEPTH: usize = 128;

/// Parses a YAML body that contains one document. Also finds the duplicate fields.
pub(crate) fn parse(body: &[u8]) -> Result<Document, String> {
    with_stack(DEPTH, || parse_document(body))
}

fn parse_document(body: &[u8]) -> Result<Document, String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("yaml: {error}"))?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let duplicates = RefCell::default();
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        Position::root(&duplicates).deserialize(reader)
    });
    let value = value.map_err(|error| {
        let why = message(text, &error);
        format!("error converting YAML to JSON: yaml: {why}")
    })?;
    Ok(Document {
        value,
        duplicates: duplicates.into_inner(),
        source: None,
    })
}

/// Go's error message for the most frequent syntax errors. Go omits the line number of some errors in the first line.
fn message(text: &str, error: &serde_saphyr::Error) -> String {
    let parser_message = error.without_snippet().to_string();
    let line = error.location().map_or(1, |location| location.line());
    let opens = text.trim_end().ends_with(['{', '[', ',', ':']);
    let nested = "mapping values are not allowed in this context";
    let unclosed = |bracket: char| parser_message.starts_with(&format!("unclosed bracket '{bracket}'"));
    if parser_message.starts_with(nested) && line > 1 {
        format!("line {line}: {nested}")
    } else if parser_message.starts_with(nested) {
        nested.to_owned()
    } else if (unclosed('{') || unclosed('[')) && opens {
        format!("line {line}: did not find expected node content")
    } else if unclosed('{') {
        format!("line {line}: did not find expected ',' or '}}'")
    } else if unclosed('[') {
        format!("line {line}: did not find expected ',' or ']'")
    } else {
        parser_message
    }
}

/// The first duplicate field with its line, as Go's strict parser reports it.
pub(crate) fn first_duplicate(body: &[u8]) -> Option<String> {
    with_stack(DEPTH, || find_duplicate(body))
}

fn find_duplicate(body: &[u8]) -> Option<String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH },
        duplicate_keys: DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let text = std::str::from_utf8(body).ok()?;
    let error = serde_saphyr::from_str_with_options::<Value>(text, options).err()?;
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key, location } => Some(format!(
            "line {}: key {:?} already set in map",
            location.line(),
            key.as_deref().unwrap_or_default()
        )),
        _ => None,
    }
}

pub(crate) fn write(value: &Value) -> Bytes {
    let options = serde_saphyr::ser_options! { compact_list_indent: true };
    let mut text = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)
        .expect("JSON values always serialize into memory");
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn yaml_is_parsed_as_go_does() {
        let text = "a: 0644\nb: yes\nc: !!str 1\nd: [1.5, null, ~]\n\"e\": |\n  x\n  y\na: 0755\n";
        let parsed = parse(text.as_bytes()).expect("the text is valid YAML");
        assert_eq!(
            parsed.value,
            json!({"a": 493, "b": true, "c": "1", "d": [1.5, null, null], "e": "x\ny\n"})
        );
        assert_eq!(parsed.duplicates, ["a"]);
    }

    #[test]
    fn lists_are_written_without_indentation() {
        let text = write(&json!({"items": [{"name": "a", "port": "80"}], "of": null}));
        assert_eq!(text, "items:\n- name: a\n  port: \"80\"\nof: null\n");
    }

    proptest! {
        #[test]
        fn written_yaml_parses_to_the_same_value(
            keys in prop::collection::btree_map("[a-z]{1,4}|on|null", "\\PC{0,12}|[0-9]{1,5}|true|0x1f|~", 0..6)
        ) {
            let value = serde_json::to_value(&keys).expect("maps of strings serialize to JSON");
            let parsed = parse(&write(&value)).expect("written YAML is valid");
            if !keys.is_empty() {
                prop_assert_eq!(parsed.value, value);
            }
        }
    }
}

//! Formats JSON values as one line of YAML (flow style).

use serde_json::Value;

/// Keys of a map that are written first, in this order.
const FIRST: [&str; 4] = ["apiVersion", "kind", "metadata", "name"];

/// Formats a value in YAML flow style, with quotes only where necessary.
pub fn format_flow(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let position = |key: &str| FIRST.iter().position(|first| *first == key);
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_by_key(|key| (position(key).unwrap_or(FIRST.len()), *key));
            let field = |key: &String| format!("{}: {}", scalar(key), format_flow(&fields[key]));
            let fields: Vec<String> = keys.into_iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(format_flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Formats a string as a YAML scalar: without quotes if no parser can read it as another type.
pub fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_word || is_size(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Formats a double-quoted YAML string. All characters except printable ASCII are escaped, because YAML forbids more characters than JSON.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        '\0'..='\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        _ => format!("\\U{:08x}", u32::from(c)),
    };
    let text: String = text.chars().map(escape).collect();
    format!("\"{text}\"")
}

/// Whether the text is a size such as `10Gi`, which needs no quotes.
fn is_size(text: &str) -> bool {
    const UNITS: [&str; 5] = ["Ki", "Mi", "Gi", "Ti", "Pi"];
    let digits = UNITS.iter().find_map(|unit| text.strip_suffix(unit));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn flow_style_has_few_quotes() {
        let value = json!({"class": "fast", "name": "n1", "labels": {"disk.example.com/node": "n1"}, "capacity": "10Gi",
            "on": "no", "size": "1", "list": [1, null, true]});
        assert_eq!(
            format_flow(&value),
            "{name: n1, capacity: 10Gi, class: fast, labels: {disk.example.com/node: n1}, list: [1, null, true], \"on\": \"no\", \
             size: \"1\"}"
        );
    }

    proptest! {
        #[test]
        fn every_text_round_trips(texts in proptest::collection::vec(".*", 1..4), key in ".{1,8}") {
            let value = json!({key: texts});
            let read: Value = serde_saphyr::from_str(&format_flow(&value)).unwrap();
            prop_assert_eq!(read, value);
        }
    }
}

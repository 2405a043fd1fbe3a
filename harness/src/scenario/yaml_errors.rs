//! Rewrites errors of the YAML parser for authors of cases and manifests, because the original errors contain parser events, Rust types and
//! option names. Does not know the keys of the format, except renamed keys and keys that need an explanation.

use serde_saphyr::Error;

use super::yaml_position::PositionContext;
use crate::alike::nearest;
use crate::renamed::old_of;

/// Line and column in a YAML text, from 1.
type Position = (u64, u64);

pub(crate) fn yaml_error(text: &str, error: &Error) -> (Option<Position>, String) {
    let position = error.location().map(|at| (at.line(), at.column()));
    let message = error.without_snippet().to_string();
    // The position is removed from the message, because it is returned separately.
    let message = message
        .rfind(" at line ")
        .map_or(message.as_str(), |end| &message[..end])
        .trim()
        .to_owned();
    let context = position.and_then(|position| PositionContext::of(text, position));
    context
        .and_then(|context| message_with_context(&context, &message, position))
        .unwrap_or_else(|| (position, replace_parser_terms(message)))
}

/// An error message that names the YAML keys around the position. None if the keys do not explain the error.
fn message_with_context(
    context: &PositionContext,
    message: &str,
    position: Option<Position>,
) -> Option<(Option<Position>, String)> {
    let lacks_value = message == "unexpected end of input"
        || message == "unexpected mapping end"
        || message == "unexpected sequence end"
        || message.starts_with("expected ") && context.key.is_some();
    if message == "expected end of mapping after enum variant value" {
        return Some((position, second_key(context)?));
    }
    if lacks_value {
        let (position, word) = context.word_before.as_ref()?;
        let message = format!("`{word}` needs a value; write `{word}: …`");
        return Some((Some(*position), message));
    }
    let message = match message {
        "expected string scalar" => format!(
            "{} a string, and no list or map: put it in quotes if it is a string",
            context.sentence_start()
        ),
        "expected sequence start" => format!(
            "{} a list: write its entries in brackets (`[…, …]`), or on lines that begin with `- `",
            context.sentence_start()
        ),
        "expected mapping start" => format!(
            "{} a map: write its keys in braces (`{{key: value}}`), or on lines of their own, with a space after each `:`",
            context.sentence_start()
        ),
        "cannot deserialize null into string; use Option<String>" => {
            let key = context.value_of.as_deref()?;
            format!("`{key}` has no value; write one, or leave the key out")
        }
        _ => return None,
    };
    Some((position, message))
}

/// Explains that a map that allows only one key contains a second key.
fn second_key(context: &PositionContext) -> Option<String> {
    let key = context.key.as_ref()?;
    let what = match (&key.map_of, &key.list_of) {
        (Some(of), _) => format!("`{of}`"),
        (None, Some(of)) => format!("an entry of `{of}`"),
        (None, None) => "this map".to_owned(),
    };
    let (first, second) = (&key.first, &key.name);
    Some(format!(
        "{what} takes one key, and `{second}` follows `{first}`; to nest it, write \
         `{first}: {{…, {second}: …}}`, otherwise write a separate entry"
    ))
}

/// Renamed YAML keys and words, as (old name, new name).
const RENAMED: [(&str, &str); 7] = [
    ("hold", "stays"),
    ("hold", "lag"),
    ("driver", "csiDriver"),
    ("driver", "registered"),
    ("capacities", "capacityObjects"),
    ("foreignDriver", "externalDriver"),
    ("maximumVolumeSize", "maximum"),
];

/// The unknown word in a YAML error, and the valid words.
fn unknown_word(message: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let rest = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"))?;
    let (word, expected) = rest.split_once("`, expected ")?;
    let expected = expected.split(|letter: char| !letter.is_ascii_alphanumeric());
    Some((word, expected.filter(|word| !word.is_empty())))
}

/// Removes old spellings from the list of valid words in an error message. None if the list contains no old spellings.
fn without_old_spellings(message: &str) -> Option<String> {
    let (head, list) = message.split_once("`, expected ")?;
    let words = list.strip_prefix("one of ").unwrap_or(list).split(", ");
    let words: Vec<&str> = words.flat_map(|words| words.split(" or ")).collect();
    let is_old = |word: &str| {
        words
            .iter()
            .any(|new| old_of(new.trim_matches('`')) == Some(word))
    };
    let current: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !is_old(word.trim_matches('`')))
        .collect();
    (current.len() < words.len()).then(|| format!("{head}`, expected one of {}", current.join(", ")))
}

/// An error message with the new name of a renamed YAML key. None if the key was not renamed.
fn renamed_key_error(message: &str) -> Option<String> {
    let (old, expected) = unknown_word(message)?;
    let expected: Vec<&str> = expected.collect();
    let (_, new) = RENAMED
        .iter()
        .find(|(from, to)| *from == old && expected.contains(to))?;
    Some(format!("the key `{old}` is called `{new}` here; rename it"))
}

/// Adds the most similar valid word to an error message about an unknown word.
fn with_suggestion(message: String) -> String {
    let meant = unknown_word(&message).and_then(|(word, expected)| nearest(word, expected));
    match meant {
        Some(meant) => format!("{message}; did you mean `{meant}`?"),
        None => message,
    }
}

/// Replaces a Rust number type in an error message by a description of the expected number.
fn explain_number(message: &str) -> Option<String> {
    let kind = message.strip_prefix("invalid ")?;
    let expected = match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ => return None,
    };
    Some(format!("expected {expected}"))
}

/// Explains that an unquoted string cannot start with this character.
fn explain_character(message: &str) -> Option<String> {
    let character = message
        .strip_prefix("unexpected character: `")?
        .strip_suffix('\'')?;
    Some(format!(
        "a text without quotes can't begin with `{character}`; put it in quotes"
    ))
}

/// Replaces terms of the YAML parser (parser events, option names) in an error message.
fn replace_parser_terms(message: String) -> String {
    if let Some(rest) = message.strip_prefix("duplicate mapping key") {
        let key = rest
            .strip_prefix(": ")
            .and_then(|rest| rest.split_once(", set ").map(|(key, _)| key));
        return key.map_or_else(
            || "duplicate key; remove one of them".to_owned(),
            |key| format!("duplicate key `{}`; remove one of them", key.trim_matches('`')),
        );
    }
    if let Some(key) = message.strip_prefix("duplicate field `") {
        let key = key.trim_end_matches('`');
        let old = old_of(key).map_or_else(String::new, |old| format!(", once in its old spelling `{old}`"));
        return format!("the key `{key}` is given twice{old}; remove one of them");
    }
    let message = without_old_spellings(&message).unwrap_or(message);
    if let Some(renamed) = renamed_key_error(&message) {
        return renamed;
    }
    if let Some(explained) = explain_number(&message).or_else(|| explain_character(&message)) {
        return explained;
    }
    let message = with_suggestion(message);
    if message.starts_with("budget breached")
        || message.starts_with("alias ") && message.contains("exceeded")
        || message == "recursion limit exceeded"
    {
        return "the file is too large, or too deeply nested, to be a case or a manifest; make several files of it".to_owned();
    }
    let words = include_str!("yaml_errors.txt").lines();
    words
        .filter_map(|line| line.split_once(" => "))
        .fold(message, |message, (from, to)| message.replace(from, to))
}

//! What is wrong with a case file: the message, the place, and the line that is meant. Knows no key of the format.

use std::fmt;
use std::path::Path;

use serde_saphyr::Location;

use crate::alike::nearest;

/// Something is wrong with a case file: what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named.
    pub source: String,
    /// Line and column, from 1; none where the file as a whole is meant.
    pub place: Option<(u64, u64)>,
    /// What is wrong and what to do.
    pub message: String,
    /// The line that is meant, where there is one.
    pub line: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.place else {
            return write!(f, "{}: {}", self.source, self.message);
        };
        write!(f, "{}:{line}:{column}: {}", self.source, self.message)?;
        if let Some(text) = &self.line {
            let number = line.to_string();
            let (text, caret) = around(text, usize::try_from(column).unwrap_or(usize::MAX));
            write!(
                f,
                "\n {number} | {text}\n {:width$} | {:caret$}^",
                "",
                "",
                width = number.len()
            )?;
        }
        Ok(())
    }
}

/// A line as far as it fits on a screen, and how many characters of that stand before the column, which counts from 1.
fn around(line: &str, column: usize) -> (String, usize) {
    /// Characters that are shown of a long line.
    const SHOWN: usize = 160;
    let length = line.chars().count();
    let caret = column.saturating_sub(1).min(length);
    if length <= SHOWN {
        return (line.to_owned(), caret);
    }
    let first = caret.saturating_sub(SHOWN / 2);
    let shown: String = line.chars().skip(first).take(SHOWN).collect();
    let (before, after) = (
        if first > 0 { "…" } else { "" },
        if first + SHOWN < length { "…" } else { "" },
    );
    (
        format!("{before}{shown}{after}"),
        caret - first + before.chars().count(),
    )
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// An error about a place in a text.
    pub fn at(source: &str, text: &str, location: Location, message: impl Into<String>) -> Self {
        Self::in_text(
            source,
            text,
            Some((location.line(), location.column())),
            message.into(),
        )
    }

    pub(super) fn in_text(source: &str, text: &str, place: Option<(u64, u64)>, message: String) -> Self {
        let place = place.filter(|(line, _)| *line > 0);
        let nth = |line: u64| text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?);
        let line = place.and_then(|(line, _)| nth(line)).map(str::to_owned);
        ScenarioError {
            source: source.to_owned(),
            place,
            message,
            line,
        }
    }

    /// An error about a whole file.
    pub fn whole(source: &Path, message: impl Into<String>) -> Self {
        let source = source.display().to_string();
        ScenarioError {
            source,
            place: None,
            message: message.into(),
            line: None,
        }
    }
}

/// Keys and words that had another name in older cases: the old one, and the one that stands where the old one stood.
const RENAMED: [(&str, &str); 6] = [
    ("hold", "stays"),
    ("hold", "lag"),
    ("driver", "csiDriver"),
    ("driver", "registered"),
    ("capacities", "capacityObjects"),
    ("foreignDriver", "externalDriver"),
];

/// What to write in the place of an unknown key, where the key is an old name of one that is expected.
fn renamed(message: &str) -> Option<String> {
    let told = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"));
    let (old, expected) = told?.split_once("`, expected ")?;
    let expected: Vec<&str> = expected
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .collect();
    let (_, new) = RENAMED
        .iter()
        .find(|(from, to)| *from == old && expected.contains(to))?;
    Some(format!("the key `{old}` is called `{new}` here; rename it"))
}

/// The message with what may have been meant, where it is about a word that is none of those that are expected.
fn guessed(message: String) -> String {
    let told = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"));
    let Some((word, expected)) = told.and_then(|told| told.split_once("`, expected ")) else {
        return message;
    };
    let known = expected
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    match nearest(word, known) {
        Some(meant) => format!("{message}; did you mean `{meant}`?"),
        None => message,
    }
}

/// A message of the YAML reader in the words of people who write lists and maps: the reader's own words are events of its parser, and
/// names of its options.
pub(super) fn plain_words(message: String) -> String {
    if let Some(rest) = message.strip_prefix("duplicate mapping key") {
        let key = rest
            .strip_prefix(": ")
            .and_then(|rest| rest.split_once(", set ").map(|(key, _)| key));
        return key.map_or_else(
            || "a key is there twice; remove one of them".to_owned(),
            |key| {
                format!(
                    "the key `{}` is there twice; remove one of them",
                    key.trim_matches('`')
                )
            },
        );
    }
    if let Some(renamed) = renamed(&message) {
        return renamed;
    }
    let message = guessed(message);
    if message.starts_with("budget breached") || message == "recursion limit exceeded" {
        return "the file is too large, or too deeply nested, to be a case or a manifest; make several files of it".to_owned();
    }
    const WORDS: [(&str, &str); 24] = [
        (
            "invalid type: unit value, expected",
            "nothing stands here; expected",
        ),
        ("unit value", "nothing"),
        (
            "unexpected container end while reading key",
            "a list or map ends where a key has to be",
        ),
        (
            "alias references unknown anchor",
            "this alias (`*name`) names no anchor (`&name`)",
        ),
        (
            "list or mapping end with no start",
            "a list or map ends here that did not begin",
        ),
        ("sequence start", "a list, such as [n1, n2]"),
        ("mapping start", "a map, such as {name: n1}"),
        ("string scalar", "a text; put it in quotes"),
        ("value for key", "a value after the key"),
        ("unknown variant", "unknown word"),
        (
            "unexpected value for unit enum variant",
            "this word takes no value; write it alone, as in `csiDriver: delete`",
        ),
        (
            "externally tagged enum expected scalar or mapping",
            "expected one word, or a map with one key, and not a list",
        ),
        ("invalid u64", "expected a whole number that is not negative"),
        ("invalid u32", "expected a whole number that is not negative"),
        (
            "invalid boolean (strict mode expects true/false)",
            "expected true or false",
        ),
        (
            "mapping values are not allowed in this context",
            "a key cannot stand here; look at the indentation of this line and of the one before",
        ),
        (
            "missing field `features`",
            "missing field `features`; list what the programs can do, and `[]` claims nothing",
        ),
        (
            "missing field `why`",
            "missing field `why`; say why it must be so, for whoever reads the failure",
        ),
        ("unexpected end of input", "the file is empty, or ends too early"),
        (
            "while parsing a block mapping, did not find expected key",
            "expected a key here; indent this line like the keys that it belongs to",
        ),
        (
            "while parsing a block collection, did not find expected '-' indicator",
            "expected an entry of the list here (`- `); indent this line like what it belongs to",
        ),
        (
            "illegal placement of ':' indicator",
            "a `:` cannot stand here; look for a bracket or a quote before it that is not closed",
        ),
        (
            "while scanning a plain scalar, found a tab",
            "a tab follows; indent with spaces",
        ),
        (
            "invalid indentation in multiline quoted scalar",
            "a text in quotes does not end before this line; close it",
        ),
    ];
    WORDS
        .iter()
        .fold(message, |message, (from, to)| message.replace(from, to))
}

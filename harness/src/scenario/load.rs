//! From files to [`Scenario`]s: reading, table expansion, ids, and errors that point into the file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Location;

use super::table::{self, Table};
use super::{Scenario, ScenarioFile, Spanned};
use crate::text::text_of;

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

    fn in_text(source: &str, text: &str, place: Option<(u64, u64)>, message: String) -> Self {
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

/// Only the table of a file: everything else may still hold `$names`.
#[derive(Deserialize)]
struct TableOnly {
    table: Option<Table>,
}

/// Reads all cases of a text. `source` is only used in messages.
pub fn parse(source: &str, text: &str) -> Result<Vec<Scenario>, ScenarioError> {
    let only: TableOnly = read(source, text).map_err(|error| ill_formed(source, text).unwrap_or(error))?;
    let Some(table) = only.table else {
        return Ok(vec![scenario(source, text.to_owned(), None)?]);
    };
    let rows = table::expand(text, &table).map_err(|error| {
        ScenarioError::in_text(source, text, Some((error.line, error.column)), error.message)
    })?;
    rows.into_iter()
        .map(|row| scenario(source, row.text, Some(&row.name)))
        .collect()
}

/// What is wrong with a table that is written in another way than ours, where that is what is wrong.
fn ill_formed(source: &str, text: &str) -> Option<ScenarioError> {
    #[derive(Deserialize)]
    struct AnyTable {
        table: Spanned<Value>,
    }
    let table = read::<AnyTable>(source, text).ok()?.table;
    let rows = table.value["rows"].as_array();
    let has_maps = rows.is_some_and(|rows| rows.iter().any(Value::is_object));
    let message = if !table.value.is_object() {
        "a table has the keys `columns` and `rows`; write {columns: [row, size], rows: [[small, 1Gi], [large, 9Gi]]}"
    } else if has_maps {
        "a row of a table is a list of cells in the order of `columns`; write [small, 1Gi] instead of {row: small, size: 1Gi}"
    } else {
        return None;
    };
    Some(ScenarioError::at(source, text, table.defined, message))
}

fn scenario(source: &str, text: String, row: Option<&str>) -> Result<Scenario, ScenarioError> {
    let file: ScenarioFile = read(source, &text).map_err(|mut error| {
        if let Some(row) = row {
            error.message = format!("in row `{row}`: {}", error.message);
        }
        error
    })?;
    let id = match row {
        Some(row) => format!("{}/{row}", file.id.value),
        None => file.id.value.clone(),
    };
    if !is_id(&file.id.value) {
        let message = format!(
            "id `{}` must be lower-case words joined by / and -",
            file.id.value
        );
        return Err(ScenarioError::at(source, &text, file.id.defined, message));
    }
    Ok(Scenario {
        id,
        source: source.to_owned(),
        text,
        file,
    })
}

fn is_id(id: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    id.split('/').all(word)
}

pub(crate) fn read<'de, T: Deserialize<'de>>(source: &str, text: &'de str) -> Result<T, ScenarioError> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map(|at| (at.line(), at.column()));
        let message = error.without_snippet().to_string();
        // The position stands in front already.
        let message = message
            .rfind(" at line ")
            .map_or(message.as_str(), |end| &message[..end])
            .trim()
            .to_owned();
        ScenarioError::in_text(source, text, place, plain_words(message))
    })
}

/// The YAML reader speaks of events of its parser and of its own options; people write lists and maps.
fn plain_words(message: String) -> String {
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
    if message.starts_with("budget breached") || message == "recursion limit exceeded" {
        return "the file is too large, or too deeply nested, to be a case or a manifest; make several files of it".to_owned();
    }
    const WORDS: [(&str, &str); 9] = [
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
    ];
    WORDS
        .iter()
        .fold(message, |message, (from, to)| message.replace(from, to))
}

/// Reads one case file.
pub fn load_file(path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let text = text_of(path)
        .map_err(|error| ScenarioError::whole(path, format!("cannot be read: {error}; check the name")))?;
    parse(&path.display().to_string(), &text)
}

/// Reads all cases below a folder, in the order of their ids. A case's id is its path in the folder.
pub fn load_tree(root: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let mut cases: BTreeMap<String, Scenario> = BTreeMap::new();
    for path in files_in(root)? {
        for case in load_below(root, &path)? {
            if let Some(other) = cases.get(&case.id) {
                let message = format!(
                    "id `{}` is taken by {}; choose another row name",
                    case.id, other.source
                );
                return Err(ScenarioError::at(
                    &case.source,
                    &case.text,
                    case.file.id.defined,
                    message,
                ));
            }
            cases.insert(case.id.clone(), case);
        }
    }
    Ok(cases.into_values().collect())
}

/// Finds one case by its id without reading the others; none if there is no such file or row.
pub fn load_row(root: &Path, id: &str) -> Result<Option<Scenario>, ScenarioError> {
    if !is_id(id) {
        return Ok(None);
    }
    let whole = root.join(format!("{id}.yaml"));
    let of_row = id
        .rsplit_once('/')
        .map(|(file, _)| root.join(format!("{file}.yaml")));
    for path in std::iter::once(whole).chain(of_row).filter(|path| path.is_file()) {
        if let Some(case) = load_below(root, &path)?.into_iter().find(|case| case.id == id) {
            return Ok(Some(case));
        }
    }
    Ok(None)
}

fn load_below(root: &Path, path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let cases = load_file(path)?;
    let expected = path.strip_prefix(root).unwrap_or(path).with_extension("");
    for case in &cases {
        if Path::new(&case.file.id.value) != expected {
            let message = format!(
                "id `{}` must be the file's path, `{}`",
                case.file.id.value,
                expected.display()
            );
            return Err(ScenarioError::at(
                &case.source,
                &case.text,
                case.file.id.defined,
                message,
            ));
        }
    }
    Ok(cases)
}

fn files_in(root: &Path) -> Result<Vec<PathBuf>, ScenarioError> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable =
            |error| ScenarioError::whole(&folder, format!("cannot be read: {error}; check the name"));
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(path);
            } else {
                return Err(ScenarioError::whole(&path, "is no case; cases end in .yaml"));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "id: a/b\ntitle: t\nsteps: []\n";

    #[test]
    fn unknown_keys_name_the_key_and_the_place() {
        let error = parse("f.yaml", &format!("{MINIMAL}colour: red\n")).unwrap_err();
        assert_eq!(error.place.map(|place| place.0), Some(4), "{error}");
        assert!(error.message.contains("colour"), "{error}");
    }

    #[test]
    fn wrong_types_name_what_was_expected() {
        let text = MINIMAL.replace("steps: []", "cluster:\n  nodes: [{nome: n1}]\nsteps: []");
        let error = parse("f.yaml", &text).unwrap_err();
        assert_eq!(error.place.map(|place| place.0), Some(4), "{error}");
        assert!(error.message.contains("nome"), "{error}");
    }

    #[test]
    fn a_place_far_to_the_right_is_shown_with_what_stands_around_it() {
        let far = " ".repeat(70_000);
        let error = parse(
            "f.yaml",
            &format!("{MINIMAL}cluster: {{nodes: [n1],{far}colour: red}}\n"),
        )
        .unwrap_err();
        assert!(
            error
                .place
                .is_some_and(|(line, column)| line == 4 && column > 65_535),
            "{:?}",
            error.place
        );
        let told = error.to_string();
        assert!(told.contains("colour: red"), "{told}");
        assert!(told.len() < 1000, "{}", told.len());
        let wide = parse("f.yaml", &format!("{MINIMAL}{}: red\n", "é".repeat(70_000))).unwrap_err();
        assert!(
            wide.to_string()
                .lines()
                .all(|line| line.chars().count() < 140_100)
        );
    }

    #[test]
    fn errors_speak_no_words_of_the_yaml_library() {
        let deep = format!("{MINIMAL}cluster: {}{}\n", "[".repeat(3000), "]".repeat(3000));
        let large = format!("{MINIMAL}cluster: {{nodes: [{}n]}}\n", "n, ".repeat(300_000));
        for (text, words) in [
            (
                format!("{MINIMAL}title: again\n"),
                "the key `title` is there twice; remove one of them",
            ),
            (
                format!("{MINIMAL}cluster: {{nodes: [~]}}\n"),
                "nothing stands here; expected",
            ),
            (deep, "too large, or too deeply nested"),
            (large, "too large, or too deeply nested"),
        ] {
            let error = parse("f.yaml", &text).unwrap_err().to_string();
            assert!(error.contains(words), "no “{words}” in {error}");
            for own in ["Policy", "budget", "unit value", "recursion"] {
                assert!(!error.contains(own), "{error}");
            }
        }
    }

    #[test]
    fn a_row_that_is_wrong_is_named() {
        let text = "id: a/b\ntitle: t\ntable:\n  columns: [row, size]\n  rows:\n  - [good, 1Gi]\n  - [bad, lots]\n\
                    cluster:\n  backend: {n1: $size}\nsteps: []\n";
        let error = parse("f.yaml", text).unwrap_err();
        assert!(error.message.contains("in row `bad`"), "{error}");
        assert_eq!(error.place.map(|place| place.0), Some(9), "{error}");
    }

    #[test]
    fn ids_are_paths_of_plain_words() {
        assert!(is_id("publisher/topology/new-node"));
        for bad in ["", "A/b", "a//b", "../b", "a/b.yaml"] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}

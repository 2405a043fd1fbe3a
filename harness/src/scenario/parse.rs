//! Parses the text of a case file to [`Scenario`]s. Expands tables and axes, so that each row becomes a case with a text of its own.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::axes::{Axes, JOIN};
use super::cover::Strength;
use super::coverage::PairCoverage;
use super::outline::{Outline, offset};
use super::table::{self, Table, TableError};
use super::yaml_errors::yaml_error;
use super::{Scenario, ScenarioError, ScenarioFile, Spanned};

/// The YAML keys that expand a file to several cases. Other keys are not parsed yet, because their values may contain `$names`.
#[derive(Deserialize)]
struct Expansion {
    table: Option<Table>,
    axes: Option<IgnoredAny>,
}

/// Parses all cases of a text. Axes expand to rows that contain all pairs of values. `source`: name of the case file in messages.
pub fn parse(source: &str, text: &str) -> Result<Vec<Scenario>, ScenarioError> {
    parse_at(source, text, Strength::default())
}

/// Like `parse`, but `id`, `title` and `steps` are optional, because the text may describe only a cluster.
pub(super) fn parse_cluster(source: &str, text: &str) -> Result<Vec<Scenario>, ScenarioError> {
    const NEEDED: [(&str, &str); 3] = [
        ("id", r#""cluster""#),
        ("title", r#""a cluster""#),
        ("steps", "[]"),
    ];
    let mut whole = text.to_owned();
    for (key, value) in NEEDED {
        match parse_yaml::<Outline>(source, &whole) {
            Ok(outline) if !outline.has(key) => whole = outline.add_key(&whole, key, value),
            Ok(_) => {}
            Err(_) => return parse(source, text),
        }
    }
    parse(source, &whole)
}

/// Like `parse`. `strength`: whether covering arrays contain every pair or every triple of values.
pub(super) fn parse_at(source: &str, text: &str, strength: Strength) -> Result<Vec<Scenario>, ScenarioError> {
    let by: Expansion =
        parse_yaml(source, text).map_err(|error| table_notation_error(source, text).unwrap_or(error))?;
    let rows = match (by.table, by.axes) {
        (None, None) => return Ok(vec![parse_scenario(source, text.to_owned(), None)?]),
        (Some(table), None) => table::expand(&remove_keys(source, text, &["table"])?, &table),
        (None, Some(_)) => {
            parse_yaml::<Axes>(source, text)?.expand(&remove_keys(source, text, &AXES)?, strength)
        }
        (Some(_), Some(_)) => {
            let message = "a case file has either `table` or `axes`; remove one of them".to_owned();
            return Err(ScenarioError::whole(Path::new(source), message));
        }
    };
    let rows = rows.map_err(|error| at_position(source, text, error))?;
    rows.into_iter()
        .map(|row| parse_scenario(source, row.text, Some(&row.name)))
        .collect()
}

/// The case of the row with this name, even if the covering array lacks the row. None if the row does not exist or the text has no axes.
pub(super) fn parse_row(source: &str, text: &str, name: &str) -> Result<Option<Scenario>, ScenarioError> {
    if parse_yaml::<Expansion>(source, text)?.axes.is_none() {
        return Ok(None);
    }
    let axes: Axes = parse_yaml(source, text)?;
    let row = axes.row(&remove_keys(source, text, &AXES)?, name);
    let row = row.map_err(|error| at_position(source, text, error))?;
    row.map(|row| parse_scenario(source, row.text, Some(&row.name)))
        .transpose()
}

/// Coverage of pairs of axis values in the rows with these names. None if the text has no axes.
pub(super) fn pairs(
    source: &str,
    text: &str,
    rows: &[&str],
) -> Result<Option<Vec<PairCoverage>>, ScenarioError> {
    if parse_yaml::<Expansion>(source, text)?.axes.is_none() {
        return Ok(None);
    }
    let pairs = parse_yaml::<Axes>(source, text)?.pairs(rows);
    pairs.map(Some).map_err(|error| at_position(source, text, error))
}

/// The YAML key `axes`, and keys that are allowed only together with `axes`.
const AXES: [&str; 3] = ["axes", "cells", "constraints"];

fn remove_keys(source: &str, text: &str, keys: &[&str]) -> Result<String, ScenarioError> {
    let mut left = text.to_owned();
    for key in keys {
        let outline: Outline = parse_yaml(source, &left)?;
        left = outline.remove_key(&left, key);
    }
    Ok(left)
}

fn at_position(source: &str, text: &str, error: TableError) -> ScenarioError {
    ScenarioError::in_text(source, text, Some((error.line, error.column)), error.message)
}

/// Parses the text of a case file that contains exactly one case.
pub fn parse_one(source: &str, text: &str) -> Result<Scenario, ScenarioError> {
    let mut cases = parse(source, text)?;
    match (cases.pop(), cases.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(ScenarioError::whole(
            Path::new(source),
            "the file has several cases, and only one is allowed; remove the table",
        )),
    }
}

/// Parses a generated text, which must contain one case without table or axes.
pub fn parse_plain(source: &str, text: &str) -> Result<Scenario, ScenarioError> {
    parse_scenario(source, text.to_owned(), None)
}

/// Explains an error in a table that is written in another notation, such as rows as maps. None if the error has another cause.
fn table_notation_error(source: &str, text: &str) -> Option<ScenarioError> {
    #[derive(Deserialize)]
    struct AnyTable {
        table: Spanned<Value>,
    }
    let table = parse_yaml::<AnyTable>(source, text).ok()?.table;
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

fn parse_scenario(source: &str, text: String, row: Option<&str>) -> Result<Scenario, ScenarioError> {
    let file: ScenarioFile = parse_yaml(source, &text).map_err(|mut error| {
        if let Some(row) = row {
            error.message = format!("in row `{row}`: {}", error.message);
        }
        error
    })?;
    let id = match row {
        Some(row) => format!("{}/{row}", file.id.value),
        None => file.id.value.clone(),
    };
    if !is_id(&file.id.value) && !is_row_id(&file.id.value) {
        let message = format!(
            "id `{}` must be lower-case words joined by / and -",
            file.id.value
        );
        return Err(ScenarioError::at(source, &text, file.id.defined, message));
    }
    if file.cells.is_some() || file.constraints.is_some() {
        let message = "`cells` and `constraints` belong to `axes`; add `axes`, or remove these keys";
        return Err(ScenarioError::whole(Path::new(source), message));
    }
    Ok(Scenario {
        text: with_id(text, &file.id, &id),
        id,
        source: source.to_owned(),
        file,
    })
}

fn with_id(mut text: String, current: &Spanned<String>, id: &str) -> String {
    let span = current.defined.span();
    if current.value != id
        && let (Some(start), Some(length)) = (offset(span.byte_offset()), offset(span.byte_len()))
    {
        text.replace_range(start..start + length, id);
    }
    text
}

pub(super) fn is_id(id: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    id.split('/').all(word)
}

/// Whether the id names a row of axes: its last part consists of value names joined by `+`.
fn is_row_id(id: &str) -> bool {
    let is_name = |name: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        !name.is_empty() && name.bytes().all(plain)
    };
    id.rsplit_once('/')
        .is_some_and(|(file, row)| is_id(file) && row.contains(JOIN) && row.split(JOIN).all(is_name))
}

pub(crate) fn parse_yaml<'de, T: Deserialize<'de>>(source: &str, text: &'de str) -> Result<T, ScenarioError> {
    let budget = serde_saphyr::budget! { max_depth: super::yaml_position::DEPTH_MAX };
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true, budget: budget };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (position, message) = yaml_error(text, &error);
        ScenarioError::in_text(source, text, position, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "id: a/b\ntitle: t\nsteps: []\n";

    #[test]
    fn unknown_keys_are_errors_with_key_and_line() {
        let error = parse("f.yaml", &format!("{MINIMAL}colour: red\n")).unwrap_err();
        assert_eq!(error.position.map(|position| position.0), Some(4), "{error}");
        assert!(error.message.contains("colour"), "{error}");
    }

    #[test]
    fn unknown_keys_in_nested_maps_are_errors_with_key_and_line() {
        let text = MINIMAL.replace("steps: []", "cluster:\n  nodes: [{nome: n1}]\nsteps: []");
        let error = parse("f.yaml", &text).unwrap_err();
        assert_eq!(error.position.map(|position| position.0), Some(4), "{error}");
        assert!(error.message.contains("nome"), "{error}");
    }

    #[test]
    fn long_lines_are_shortened_around_the_error() {
        let far = " ".repeat(70_000);
        let error = parse(
            "f.yaml",
            &format!("{MINIMAL}cluster: {{nodes: [n1],{far}colour: red}}\n"),
        )
        .unwrap_err();
        assert!(
            error
                .position
                .is_some_and(|(line, column)| line == 4 && column > 65_535),
            "{:?}",
            error.position
        );
        let formatted = error.to_string();
        assert!(formatted.contains("colour: red"), "{formatted}");
        assert!(formatted.len() < 1000, "{}", formatted.len());
        let wide = parse("f.yaml", &format!("{MINIMAL}{}: red\n", "é".repeat(70_000))).unwrap_err();
        assert!(
            wide.to_string()
                .lines()
                .all(|line| line.chars().count() < 140_100)
        );
    }

    #[test]
    fn errors_do_not_contain_terms_of_the_yaml_library() {
        let deep = format!("{MINIMAL}cluster: {}{}\n", "[".repeat(3000), "]".repeat(3000));
        let large = format!("{MINIMAL}cluster: {{nodes: [{}n]}}\n", "n, ".repeat(300_000));
        for (text, words) in [
            (
                format!("{MINIMAL}title: again\n"),
                "duplicate key `title`; remove one of them",
            ),
            (
                format!("{MINIMAL}cluster: {{nodes: [~]}}\n"),
                "the value is empty; expected",
            ),
            (
                format!("{MINIMAL}cluster: {{nodes: [[n1]]}}\n"),
                "with `name`, `labels`, `registered`, `topologyKeys`",
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
    fn errors_for_renamed_keys_contain_the_new_name() {
        let head = "id: a/b\ntitle: t\n";
        for (rest, words) in [
            (
                "cluster: {capacities: []}\nsteps: []\n",
                "`capacities` is called `capacityObjects`",
            ),
            (
                "cluster: {nodes: [{name: n1, driver: false}]}\nsteps: []\n",
                "`driver` is called `registered`",
            ),
            (
                "steps: [{id: s, do: [{driver: delete}]}]\n",
                "`driver` is called `csiDriver`",
            ),
            (
                "steps: [{id: s, do: [{fault: {id: f, hold: true}}]}]\n",
                "`hold` is called `lag`",
            ),
            (
                "steps: [{id: s, expect: [{placement: {p: n1}, hold: 1s, why: w}]}]\n",
                "`hold` is called `stays`",
            ),
        ] {
            let error = parse("f.yaml", &format!("{head}{rest}")).unwrap_err();
            assert!(error.message.contains(words), "no “{words}” in {error}");
            assert_eq!(error.position.map(|position| position.0), Some(3), "{error}");
        }
        let row = "steps: [{id: s, expect: [{capacities: {fast: {n1: none}}, why: w}]}]\n";
        let error = parse("f.yaml", &format!("{head}{row}")).unwrap_err();
        assert!(error.message.contains("write `nothing`"), "{error}");
    }

    #[test]
    fn errors_in_a_row_name_the_row() {
        let text = "id: a/b\ntitle: t\ntable:\n  columns: [row, size]\n  rows:\n  - [good, 1Gi]\n  - [bad, lots]\n\
                    cluster:\n  backend: {n1: $size}\nsteps: []\n";
        let error = parse("f.yaml", text).unwrap_err();
        assert!(error.message.contains("in row `bad`"), "{error}");
        assert_eq!(error.position.map(|position| position.0), Some(9), "{error}");
    }

    #[test]
    fn ids_are_paths_of_lower_case_words() {
        assert!(is_id("publisher/topology/new-node"));
        for bad in ["", "A/b", "a//b", "../b", "a/b.yaml"] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn the_text_of_a_row_parses_to_a_single_case() {
        let block = "# about\nid: a/b\ntitle: t\ntable:\n  columns: [row, size]\n  rows:\n  - [small, 1Gi]\n  - [large, 9Gi]\n\
                     cluster:\n  backend: {n1: $size}\nsteps: []\n";
        let flow = r#"{"id": "a/b", "title": "t", "table": {"columns": ["row", "size"], "rows": [["small", "1Gi"], ["large", "9Gi"]]},
            "cluster": {"backend": {"n1": "$size"}}, "steps": []}"#;
        let last = r#"{"id": "a/b", "title": "t", "cluster": {"backend": {"n1": "$size"}}, "steps": [],
            "table": {"columns": ["row", "size"], "rows": [["small", "1Gi"], ["large", "9Gi"]]}}
            # the end {of it}"#;
        for text in [block, flow, last] {
            let rows = parse("f.yaml", text).unwrap();
            let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            assert_eq!(ids, ["a/b/small", "a/b/large"]);
            for row in &rows {
                assert_eq!(row.text.lines().count(), text.lines().count(), "{}", row.text);
                let again = parse("f.yaml", &row.text).unwrap();
                assert_eq!(again.len(), 1, "{}", row.text);
                assert_eq!((&again[0].id, &again[0].text), (&row.id, &row.text));
                assert_eq!(again[0].file.cluster.backend.len(), 1);
            }
        }
    }
}

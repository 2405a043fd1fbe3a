//! The `table` key: expands a file to one case per row.
//!
//! Cells are inserted into the *text* of the file, so that errors in any row have the right line of the file.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// A table. The first column is `row`, the name of the row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Names of the columns. `$name` in the rest of the file is replaced by the cell of the row.
    pub columns: Spanned<Vec<String>>,
    /// The rows. Each row becomes a case.
    pub rows: Vec<Spanned<Vec<Value>>>,
}

/// Maximum total size in bytes of all expanded rows of a file. Limited, because each row repeats the text of the file.
pub(super) const ROWS_BYTES_MAX: usize = 32 << 20;

pub(super) struct TableError {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: String,
}

/// The name of a table row, and the text of the case file with the row's cells.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) text: String,
}

pub(super) fn expand(text: &str, table: &Table) -> Result<Vec<Row>, TableError> {
    check(table)?;
    let columns = &table.columns.value;
    let mut used = vec![false; columns.len()];
    let (mut rows, mut bytes_left) = (Vec::with_capacity(table.rows.len()), ROWS_BYTES_MAX);
    for row in &table.rows {
        let text = insert_cells(text, columns, &row.value, &mut used, &mut bytes_left)?;
        rows.push(Row {
            name: row_name(&row.value[0]),
            text,
        });
    }
    if let Some(unused) = columns.iter().zip(&used).skip(1).find(|(_, used)| !**used) {
        return Err(error_at(
            &table.columns,
            format!("column `{0}` is not used; write ${0} where it belongs", unused.0),
        ));
    }
    Ok(rows)
}

fn check(table: &Table) -> Result<(), TableError> {
    let columns = &table.columns.value;
    if columns.first().map(String::as_str) != Some("row") {
        return Err(error_at(
            &table.columns,
            "the first column must be `row`: it names the case".to_owned(),
        ));
    }
    if table.rows.is_empty() {
        return Err(error_at(
            &table.columns,
            "the table has no rows; add a row, or remove the table".to_owned(),
        ));
    }
    let mut names = std::collections::BTreeSet::new();
    for row in &table.rows {
        let (got, want) = (row.value.len(), columns.len());
        if got != want {
            return Err(error_at(
                row,
                format!("the row has {got} cells, the table has {want} columns"),
            ));
        }
        let name = row_name(&row.value[0]);
        if !name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Err(error_at(
                row,
                format!("row name `{name}` is not lower-case-with-dashes"),
            ));
        }
        if !names.insert(name.clone()) {
            return Err(error_at(
                row,
                format!("row name `{name}` appears twice; case ids must be unique"),
            ));
        }
    }
    Ok(())
}

pub(super) fn error_at<T>(value: &Spanned<T>, message: String) -> TableError {
    TableError {
        line: value.defined.line(),
        column: value.defined.column(),
        message,
    }
}

/// Replaces each `$name` in a text by the cell of the row. `bytes_left`: how many bytes the result may still use.
pub(super) fn insert_cells(
    text: &str,
    columns: &[String],
    cells: &[Value],
    used: &mut [bool],
    bytes_left: &mut usize,
) -> Result<String, TableError> {
    let too_large = |line: usize| TableError {
        line: line as u64 + 1,
        column: 1,
        message: format!(
            "the file with all rows filled in has more than {} MiB; make several files of it",
            ROWS_BYTES_MAX >> 20
        ),
    };
    let mut out = String::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let mut rest = line;
        while let Some(start) = rest.find('$') {
            let name = identifier(&rest[start + 1..]);
            if name.is_empty() {
                out.push_str(&rest[..=start]);
                rest = &rest[start + 1..];
                continue;
            }
            let Some(index) = columns.iter().position(|column| column == name) else {
                let column = line.len() - rest.len() + start + 1;
                let message = format!(
                    "`${name}` is not a column of the table; columns: {}",
                    columns.join(", ")
                );
                return Err(TableError {
                    line: number as u64 + 1,
                    column: column as u64,
                    message,
                });
            };
            used[index] = true;
            out.push_str(&rest[..start]);
            out.push_str(&render(&cells[index]));
            rest = &rest[start + 1 + name.len()..];
            if out.len() > *bytes_left {
                return Err(too_large(number));
            }
        }
        out.push_str(rest);
    }
    *bytes_left = bytes_left.checked_sub(out.len()).ok_or_else(|| too_large(0))?;
    Ok(out)
}

fn identifier(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_lowercase()) {
        &text[..end]
    } else {
        ""
    }
}

/// Formats a cell for the text of a case file: as plain text if unambiguous, otherwise as JSON, which is valid YAML.
fn render(cell: &Value) -> String {
    match cell {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats a cell as a row name, even if YAML parses it as a boolean or number.
fn row_name(cell: &Value) -> String {
    match cell {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let safe = |b: u8| b.is_ascii_alphanumeric() || b"._/+-".contains(&b);
    let ambiguous = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    !text.is_empty()
        && text.bytes().all(safe)
        && !text.starts_with('-')
        // A cell such as the release 1.20 must remain a string, because the number would be 1.2.
        && text.parse::<f64>().is_err()
        && !ambiguous.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(yaml: &str) -> Table {
        crate::scenario::parse_yaml("f.yaml", yaml).unwrap()
    }

    #[test]
    fn cells_of_every_type_are_filled_in() {
        let table = table("columns: [row, size, on, extra]\nrows:\n- [exactly, 10Gi, [n1, n2], null]\n");
        let rows = expand("a: $size\nb: $on\nc: $extra # $1 stays\n", &table)
            .ok()
            .unwrap();
        assert_eq!(rows[0].name, "exactly");
        assert_eq!(rows[0].text, "a: 10Gi\nb: [\"n1\",\"n2\"]\nc: null # $1 stays\n");
    }

    #[test]
    fn strings_that_look_like_other_types_are_quoted() {
        let table =
            table("columns: [row, release, flag]\nrows: [[a, \"1.20\", \"off\"], [b, \"1.2-rc\", maybe]]\n");
        let rows = expand("a: $release\nb: $flag\n", &table).ok().unwrap();
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(texts, ["a: \"1.20\"\nb: \"off\"\n", "a: 1.2-rc\nb: maybe\n"]);
    }

    #[test]
    fn row_names_may_be_yaml_booleans() {
        let table = table("columns: [row, a]\nrows: [[on, 1], [off, 2], [yes, 3], [n, 4], [true, 5]]\n");
        let rows = expand("$a", &table).ok().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["on", "off", "yes", "n", "true"]);
    }

    #[test]
    fn the_longest_column_name_wins() {
        let table = table("columns: [row, a, ab]\nrows: [[r, 1, 2]]\n");
        assert_eq!(expand("$ab $a", &table).ok().unwrap()[0].text, "2 1");
    }

    #[test]
    fn unknown_names_are_errors_with_their_position() {
        let table = table("columns: [row, a]\nrows: [[r, 1]]\n");
        let error = expand("x: $a\ny: $b\n", &table).err().unwrap();
        assert_eq!((error.line, error.column), (2, 4));
    }

    #[test]
    fn uneven_rows_duplicate_names_and_unused_columns_are_errors() {
        for (yaml, text, part) in [
            ("columns: [row, a]\nrows: [[r]]\n", "$a", "1 cells"),
            ("columns: [row, a]\nrows: [[r, 1], [r, 2]]\n", "$a", "twice"),
            ("columns: [row, a]\nrows: [[r, 1]]\n", "x", "not used"),
            ("columns: [a]\nrows: [[r]]\n", "$a", "first column"),
        ] {
            let error = expand(text, &table(yaml)).err().unwrap();
            assert!(error.message.contains(part), "{}", error.message);
        }
    }
}

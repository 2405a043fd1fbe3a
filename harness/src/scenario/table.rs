//! `table:`: one file, many cases.
//!
//! A row is filled into the *text* of the file, so that errors in any row still point at the right line of the file.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// Named columns, of which the first is `row`, and the rows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Column names; `$name` in the rest of the file stands for the row's cell.
    pub columns: Spanned<Vec<String>>,
    /// One case each.
    pub rows: Vec<Spanned<Vec<Value>>>,
}

/// Maximum size in bytes of all rows of a file together, filled in: each row repeats the text of its file.
pub(super) const ROWS_BYTES_MAX: usize = 32 << 20;

/// What is wrong with a table, and where.
pub(super) struct TableError {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: String,
}

/// One row, filled in.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) text: String,
}

/// Fills each row into the text of its file.
pub(super) fn expand(text: &str, table: &Table) -> Result<Vec<Row>, TableError> {
    check(table)?;
    let columns = &table.columns.value;
    let mut used = vec![false; columns.len()];
    let (mut rows, mut left) = (Vec::with_capacity(table.rows.len()), ROWS_BYTES_MAX);
    for row in &table.rows {
        let text = fill(text, columns, &row.value, &mut used, &mut left)?;
        rows.push(Row {
            name: name(&row.value[0]),
            text,
        });
    }
    if let Some(unused) = columns.iter().zip(&used).skip(1).find(|(_, used)| !**used) {
        return Err(at(
            &table.columns,
            format!("column `{0}` is not used; write ${0} where it belongs", unused.0),
        ));
    }
    Ok(rows)
}

fn check(table: &Table) -> Result<(), TableError> {
    let columns = &table.columns.value;
    if columns.first().map(String::as_str) != Some("row") {
        return Err(at(
            &table.columns,
            "the first column must be `row`: it names the case".to_owned(),
        ));
    }
    if table.rows.is_empty() {
        return Err(at(
            &table.columns,
            "the table has no rows; add one, or remove the table".to_owned(),
        ));
    }
    let mut names = std::collections::BTreeSet::new();
    for row in &table.rows {
        let (got, want) = (row.value.len(), columns.len());
        if got != want {
            return Err(at(
                row,
                format!("the row has {got} cells, the table has {want} columns"),
            ));
        }
        let name = name(&row.value[0]);
        if !name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Err(at(
                row,
                format!("row name `{name}` is not lower-case-with-dashes"),
            ));
        }
        if !names.insert(name.clone()) {
            return Err(at(
                row,
                format!("row name `{name}` appears twice; case ids must be unique"),
            ));
        }
    }
    Ok(())
}

pub(super) fn at<T>(place: &Spanned<T>, message: String) -> TableError {
    TableError {
        line: place.defined.line(),
        column: place.defined.column(),
        message,
    }
}

/// Replaces each `$name` by the row's cell. `left`: how many bytes the result may have.
pub(super) fn fill(
    text: &str,
    columns: &[String],
    cells: &[Value],
    used: &mut [bool],
    left: &mut usize,
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
            if out.len() > *left {
                return Err(too_large(number));
            }
        }
        out.push_str(rest);
    }
    *left = left.checked_sub(out.len()).ok_or_else(|| too_large(0))?;
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

/// A cell as it is written into the file: bare where that is safe, as JSON otherwise (which YAML reads).
fn render(cell: &Value) -> String {
    match cell {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A cell as the name of its row, whatever YAML would make of such a word.
fn name(cell: &Value) -> String {
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
        // A release such as 1.20 is no number.
        && text.parse::<f64>().is_err()
        && !ambiguous.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(yaml: &str) -> Table {
        crate::scenario::read("f.yaml", yaml).unwrap()
    }

    #[test]
    fn fills_cells_of_every_type() {
        let table = table("columns: [row, size, on, extra]\nrows:\n- [exactly, 10Gi, [n1, n2], null]\n");
        let rows = expand("a: $size\nb: $on\nc: $extra # $1 stays\n", &table)
            .ok()
            .unwrap();
        assert_eq!(rows[0].name, "exactly");
        assert_eq!(rows[0].text, "a: 10Gi\nb: [\"n1\",\"n2\"]\nc: null # $1 stays\n");
    }

    #[test]
    fn a_text_that_looks_like_something_else_stays_a_text() {
        let table =
            table("columns: [row, release, flag]\nrows: [[a, \"1.20\", \"off\"], [b, \"1.2-rc\", maybe]]\n");
        let rows = expand("a: $release\nb: $flag\n", &table).ok().unwrap();
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(texts, ["a: \"1.20\"\nb: \"off\"\n", "a: 1.2-rc\nb: maybe\n"]);
    }

    #[test]
    fn a_row_may_be_called_what_yaml_takes_for_a_boolean() {
        let table = table("columns: [row, a]\nrows: [[on, 1], [off, 2], [yes, 3], [n, 4], [true, 5]]\n");
        let rows = expand("$a", &table).ok().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["on", "off", "yes", "n", "true"]);
    }

    #[test]
    fn longest_name_wins_over_its_prefix() {
        let table = table("columns: [row, a, ab]\nrows: [[r, 1, 2]]\n");
        assert_eq!(expand("$ab $a", &table).ok().unwrap()[0].text, "2 1");
    }

    #[test]
    fn unknown_names_are_errors_with_a_place() {
        let table = table("columns: [row, a]\nrows: [[r, 1]]\n");
        let error = expand("x: $a\ny: $b\n", &table).err().unwrap();
        assert_eq!((error.line, error.column), (2, 4));
    }

    #[test]
    fn ragged_duplicate_and_unused_are_errors() {
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

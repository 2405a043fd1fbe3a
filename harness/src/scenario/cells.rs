//! Replaces `$name` references to cells of a table inside other cells.

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) type Cells = BTreeMap<String, Value>;

/// Maximum depth of references from one cell to another.
const DEPTH_MAX: usize = 4;

/// Replaces the `$name` references in a cell, each of which is the whole cell or a part of a string. `bytes_left`: maximum size of the
/// result, reduced by its size; 0 after the call means that the limit was exceeded and the result is incomplete.
pub(super) fn replace_references(cell: &Value, cells: &Cells, bytes_left: &mut usize) -> Value {
    replace_at_depth(cell, cells, 0, bytes_left)
}

fn replace_at_depth(cell: &Value, cells: &Cells, depth: usize, bytes_left: &mut usize) -> Value {
    *bytes_left = bytes_left.saturating_sub(1);
    if *bytes_left == 0 {
        return Value::Null;
    }
    if depth > DEPTH_MAX {
        return cell.clone();
    }
    match cell {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| cells.get(name)) {
            Some(other) => replace_at_depth(other, cells, depth + 1, bytes_left),
            None => replace_references_in_text(text, cells, depth, bytes_left).into(),
        },
        Value::Array(list) => list
            .iter()
            .map(|item| replace_at_depth(item, cells, depth, bytes_left))
            .collect(),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| {
                (
                    replace_references_in_text(key, cells, depth, bytes_left),
                    replace_at_depth(value, cells, depth, bytes_left),
                )
            };
            Value::Object(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

fn replace_references_in_text(text: &str, cells: &Cells, depth: usize, bytes_left: &mut usize) -> String {
    *bytes_left = bytes_left.saturating_sub(text.len());
    if *bytes_left == 0 {
        return String::new();
    }
    let mut text = text.to_owned();
    // Names are replaced in reverse order, so that `$ab` is replaced before its prefix `$a`.
    for (name, value) in cells.iter().rev() {
        let word = format!("${name}");
        if text.contains(&word)
            && let Value::String(value) = replace_at_depth(value, cells, depth + 1, bytes_left)
        {
            let added = value.len().saturating_mul(text.matches(&word).count());
            *bytes_left = bytes_left.saturating_sub(added);
            if *bytes_left == 0 {
                return text;
            }
            text = text.replace(&word, &value);
        }
    }
    text
}

//! Cells that name other cells.

use std::collections::BTreeMap;

use serde_json::Value;

/// Cells by name.
pub(super) type Cells = BTreeMap<String, Value>;

/// Cells that name others may do so so many times over.
const DEPTH_MAX: usize = 4;

/// A cell with the cells in it that it names: as a whole, or as a part of a text.
pub(super) fn replaced(cell: &Value, cells: &Cells) -> Value {
    replaced_at(cell, cells, 0)
}

fn replaced_at(cell: &Value, cells: &Cells, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return cell.clone();
    }
    match cell {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| cells.get(name)) {
            Some(other) => replaced_at(other, cells, depth + 1),
            None => text_with(text, cells, depth).into(),
        },
        Value::Array(list) => list.iter().map(|item| replaced_at(item, cells, depth)).collect(),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| {
                (text_with(key, cells, depth), replaced_at(value, cells, depth))
            };
            Value::Object(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

fn text_with(text: &str, cells: &Cells, depth: usize) -> String {
    let mut text = text.to_owned();
    // The longest name first: it may begin with another.
    for (name, value) in cells.iter().rev() {
        let word = format!("${name}");
        if text.contains(&word)
            && let Value::String(value) = replaced_at(value, cells, depth + 1)
        {
            text = text.replace(&word, &value);
        }
    }
    text
}

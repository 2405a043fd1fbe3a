//! Cells that refer to other cells.

use std::collections::BTreeMap;

use serde_json::Value;

/// Cell values by name.
pub(super) type Cells = BTreeMap<String, Value>;

/// Maximum depth of references between cells.
const DEPTH_MAX: usize = 4;

/// A cell with its `$name` references replaced, as a whole value or inside a string. `left`: bytes that the result may still use; 0 after
/// the call means that the limit was exceeded and the result is incomplete.
pub(super) fn replaced(cell: &Value, cells: &Cells, left: &mut usize) -> Value {
    replaced_at(cell, cells, 0, left)
}

fn replaced_at(cell: &Value, cells: &Cells, depth: usize, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return Value::Null;
    }
    if depth > DEPTH_MAX {
        return cell.clone();
    }
    match cell {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| cells.get(name)) {
            Some(other) => replaced_at(other, cells, depth + 1, left),
            None => text_with(text, cells, depth, left).into(),
        },
        Value::Array(list) => list
            .iter()
            .map(|item| replaced_at(item, cells, depth, left))
            .collect(),
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| {
                (
                    text_with(key, cells, depth, left),
                    replaced_at(value, cells, depth, left),
                )
            };
            Value::Object(map.iter().map(entry).collect())
        }
        other => other.clone(),
    }
}

fn text_with(text: &str, cells: &Cells, depth: usize, left: &mut usize) -> String {
    *left = left.saturating_sub(text.len());
    if *left == 0 {
        return String::new();
    }
    let mut text = text.to_owned();
    // Longest name first, as shorter names may be its prefix.
    for (name, value) in cells.iter().rev() {
        let word = format!("${name}");
        if text.contains(&word)
            && let Value::String(value) = replaced_at(value, cells, depth + 1, left)
        {
            let added = value.len().saturating_mul(text.matches(&word).count());
            *left = left.saturating_sub(added);
            if *left == 0 {
                return text;
            }
            text = text.replace(&word, &value);
        }
    }
    text
}

//! Merge of a configuration into an object without field ownership, for mutating policies.
//!
//! Owns the fields that such a configuration must not contain. Does not know policies.

use super::nature::Nature;
use super::{check, merge};
use crate::kinds::Kind;
use crate::machinery::json;
use serde_json::Value;

/// Merges a configuration into an object of the same version, without field ownership. Atomic fields are an error: they
/// would be replaced as a whole.
pub(crate) fn overlay(kind: &Kind, object: &mut Value, document: &Value) -> Result<(), String> {
    let nature = Nature::of_kind(kind);
    let mut named = document.clone();
    for name in ["apiVersion", "kind"] {
        json::assign(&mut named, name, Value::Null);
    }
    check::check(nature, &named)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = Vec::new();
    atomics(nature, &named, &mut String::new(), &mut atomic);
    if !atomic.is_empty() {
        let all = atomic.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {all}"
        ));
    }
    merge::merge(nature, object, &named);
    Ok(())
}

/// Adds the paths of atomic lists, maps and structs in a value.
fn atomics(nature: Nature<'_>, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let length = path.len();
    match (nature.of_value(value), value) {
        (Nature::Leaf, Value::Object(_) | Value::Array(_)) => found.push(path.clone()),
        (nature, Value::Object(members)) => {
            for (name, member) in members {
                path.push('.');
                path.push_str(name);
                if let Some(inner) = nature.member(name) {
                    atomics(inner, member, path, found);
                }
                path.truncate(length);
            }
        }
        (nature, Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("[{at}]"));
                atomics(nature.entry(), item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

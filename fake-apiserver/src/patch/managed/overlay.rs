//! Merges a configuration into an object without field ownership, for mutating admission policies.
//!
//! Owns which fields a configuration in a policy must not contain. Does not know policies.

use super::type_structure::TypeStructure;
use super::{check, merge};
use crate::kinds::Kind;
use crate::machinery::json;
use serde_json::Value;

/// Merges a configuration into an object of the same version, without field ownership. Atomic fields in the configuration are an error,
/// because the merge would replace them as a whole.
pub fn overlay(kind: &Kind, object: &mut Value, document: &Value) -> Result<(), String> {
    let structure = TypeStructure::of_kind(kind);
    let mut named = document.clone();
    for name in ["apiVersion", "kind"] {
        json::assign(&mut named, name, Value::Null);
    }
    check::check(structure, &named)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = Vec::new();
    collect_atomic_paths(structure, &named, &mut String::new(), &mut atomic);
    if !atomic.is_empty() {
        let all = atomic.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {all}"
        ));
    }
    merge::merge(structure, object, &named);
    Ok(())
}

/// Adds the paths of all atomic lists, maps and structs in a value to `found`.
fn collect_atomic_paths(
    structure: TypeStructure<'_>,
    value: &Value,
    path: &mut String,
    found: &mut Vec<String>,
) {
    let length = path.len();
    match (structure.of_value(value), value) {
        (TypeStructure::Leaf, Value::Object(_) | Value::Array(_)) => found.push(path.clone()),
        (structure, Value::Object(members)) => {
            for (name, member) in members {
                path.push('.');
                path.push_str(name);
                if let Some(inner) = structure.member(name) {
                    collect_atomic_paths(inner, member, path, found);
                }
                path.truncate(length);
            }
        }
        (structure, Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("[{at}]"));
                collect_atomic_paths(structure.entry(), item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

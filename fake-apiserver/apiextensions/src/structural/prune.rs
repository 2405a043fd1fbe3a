//! Pruning: removal of members that the schema does not declare.

use super::trail::Trail;
use fake_apiserver::extension::schema::{Additional, OBJECT_MEMBERS, Schema};
use serde_json::Value;

/// Maximum number of reported unknown members: a request can contain millions.
const UNKNOWN_MAX: usize = 100;

/// Removes the members that the schema does not declare; returns their sorted paths. `is_object`: `apiVersion`, `kind` and `metadata` are
/// preserved even if the schema does not declare them.
pub(crate) fn prune(value: &mut Value, schema: &Schema, is_object: bool) -> Vec<String> {
    let mut unknown = Vec::new();
    let place = SchemaPosition {
        schema: Some(schema),
        is_object,
    };
    visit(value, place, &mut Trail::default(), &mut unknown);
    unknown.sort();
    unknown
}

/// The schema of the value that is being visited.
#[derive(Clone, Copy)]
struct SchemaPosition<'a> {
    /// None if the visited value has no schema: all members of the value are unknown.
    schema: Option<&'a Schema>,
    is_object: bool,
}

impl<'a> SchemaPosition<'a> {
    fn of(schema: Option<&'a Schema>) -> Self {
        let is_object = schema.is_some_and(|schema| schema.embedded);
        Self { schema, is_object }
    }

    /// The schema of a member; None if the schema of the object does not declare the member.
    fn member(self, name: &str) -> Option<Self> {
        let schema = self.schema?;
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Some(Self::of(Some(property))),
            (None, Some(Additional::Schema(schema))) => Some(Self::of(Some(schema))),
            (None, Some(Additional::Any(_))) => Some(Self::of(None)),
            (None, None) => None,
        }
    }

    fn entry(self) -> Self {
        Self::of(self.schema.and_then(|schema| schema.items.as_deref()))
    }

    fn is_meta(self, name: &str) -> bool {
        self.is_object && OBJECT_MEMBERS.contains(&name)
    }
}

fn visit(value: &mut Value, at: SchemaPosition<'_>, trail: &mut Trail, unknown: &mut Vec<String>) {
    if at.schema.is_some_and(|schema| schema.preserve) {
        return visit_preserving(value, at, trail, unknown);
    }
    match value {
        Value::Object(members) => members.retain(|name, member| {
            let known = at.member(name);
            if at.is_meta(name) {
                return true;
            }
            match known {
                Some(inner) => trail.member(name, |trail| visit(member, inner, trail, unknown)),
                None => report(name, trail, unknown),
            }
            known.is_some()
        }),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                trail.entry(index, |trail| visit(item, at.entry(), trail, unknown));
            }
        }
        _ => {}
    }
}

/// Visits a value with `x-kubernetes-preserve-unknown-fields`: retains all members, and prunes the values of members with a schema.
fn visit_preserving(value: &mut Value, at: SchemaPosition<'_>, trail: &mut Trail, unknown: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !at.is_meta(name)) {
                if let Some(inner) = at.member(name) {
                    trail.member(name, |trail| visit(member, inner, trail, unknown));
                }
            }
        }
        Value::Array(items) if at.entry().schema.is_some() => {
            for (index, item) in items.iter_mut().enumerate() {
                trail.entry(index, |trail| visit_preserving(item, at.entry(), trail, unknown));
            }
        }
        _ => {}
    }
}

fn report(name: &str, trail: &Trail, unknown: &mut Vec<String>) {
    let is_type = trail.is_root() && OBJECT_MEMBERS.contains(&name);
    if !is_type && unknown.len() < UNKNOWN_MAX {
        unknown.push(trail.member_path(name));
    }
}

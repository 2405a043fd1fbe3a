//! Validates an applied configuration against the schema, with the errors of structured-merge-diff.
//!
//! Stricter than decoding: rejects unknown fields and does not coerce values.

use super::type_structure::TypeStructure;
use crate::machinery::go;
use crate::schema::structural::Schema;
use crate::schema::{Field, Ownership, Type, ValueType};
use serde_json::Value;
use std::collections::HashSet;

/// Maximum number of reported violations: a body can contain millions.
const VIOLATIONS_MAX: usize = 100;

/// Validates a document. The error contains all violations.
pub(super) fn check(structure: TypeStructure<'_>, document: &Value) -> Result<(), String> {
    let mut errors = Violations::default();
    match structure {
        TypeStructure::Struct(of) => errors.check_members(of, document),
        structure => errors.by_structure(structure, "object", document),
    }
    match errors.found.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

#[derive(Default)]
struct Violations {
    path: String,
    found: Vec<String>,
}

impl Violations {
    fn report(&mut self, why: &str) {
        if self.found.len() < VIOLATIONS_MAX {
            let separator = if self.path.is_empty() { "" } else { ": " };
            self.found.push(format!("{}{separator}{why}", self.path));
        }
    }

    fn below(&mut self, element: &str, check_value: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(element);
        check_value(self);
        self.path.truncate(length);
    }

    fn check_members(&mut self, of: &'static Type, value: &Value) {
        let Value::Object(members) = value else {
            return self.report(&format!("expected map, got &{{{}}}", go::format_map(value)));
        };
        for (name, member) in members {
            let Some(field) = of.field(name) else {
                // As in structured-merge-diff, an unknown field ends the validation of its struct.
                return self.below(&format!(".{name}"), |at| {
                    at.report("field not declared in schema");
                });
            };
            self.below(&format!(".{name}"), |at| at.check_field(field, member));
        }
    }

    /// Validates a value by its structure. `of` is the OpenAPI type in error messages.
    fn by_structure(&mut self, structure: TypeStructure<'_>, of: &str, value: &Value) {
        match (structure, value) {
            (_, Value::Null) => {}
            (TypeStructure::Struct(of), _) => self.check_members(of, value),
            (TypeStructure::Schema(_), Value::Object(members)) => {
                for (name, member) in members {
                    let Some(inner) = structure.member(name) else {
                        return self.below(&format!(".{name}"), |at| {
                            at.report("field not declared in schema");
                        });
                    };
                    let schema = structure.schema_of(name);
                    self.below(&format!(".{name}"), |at| at.by_schema(inner, schema, member));
                }
            }
            (TypeStructure::Entries(list), Value::Array(items)) => {
                self.entries(structure, items, |at, item| {
                    at.by_schema(structure.entry(), list.items.as_deref(), item);
                });
            }
            (TypeStructure::Set, Value::Array(items)) => self.entries(structure, items, |_, _| {}),
            (TypeStructure::Free, _) => {}
            _ => self.report_type(of, value),
        }
    }

    fn by_schema(&mut self, structure: TypeStructure<'_>, schema: Option<&Schema>, value: &Value) {
        let of = schema.map_or("", |schema| schema.of);
        let inner = schema.and_then(|schema| schema.items.as_deref());
        match (structure, value, inner) {
            (TypeStructure::Leaf, Value::Array(items), Some(inner)) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(&format!("[{at}]"), |violations| {
                        violations.by_schema(TypeStructure::of_schema(inner), Some(inner), item);
                    });
                }
            }
            (TypeStructure::Leaf, ..) => self.report_type(of, value),
            _ => self.by_structure(structure, of, value),
        }
    }

    /// Adds an error unless the value has the OpenAPI type `of`.
    fn report_type(&mut self, of: &str, value: &Value) {
        let shown = || format!("&{{{}}}", go::format_map(value));
        match (of, value) {
            (_, Value::Null)
            | ("string", Value::String(_))
            | ("boolean", Value::Bool(_))
            | ("integer" | "number", Value::Number(_))
            | ("object", Value::Object(_))
            | ("array", Value::Array(_))
            | ("", _) => {}
            ("string", _) => {
                let got = format!("&value.valueUnstructured{{Value:{}}}", go_syntax(value));
                self.report(&format!("expected string, got {got}"));
            }
            ("integer" | "number", _) => {
                self.report(&format!(
                    "expected numeric (int or float), got {}",
                    go::type_name(value)
                ));
            }
            ("object", _) => self.report(&format!("expected map, got {}", shown())),
            ("array", _) => self.report(&format!("expected list, got {}", shown())),
            (of, _) => self.report(&format!("expected {of}, got {}", shown())),
        }
    }

    fn check_field(&mut self, field: &'static Field, value: &Value) {
        match (&field.form, value, &field.ownership) {
            (ValueType::List(_), Value::Array(items), Ownership::Keyed(_) | Ownership::Set) => {
                let element = field.form.element();
                self.entries(
                    TypeStructure::of(&field.form, &field.ownership),
                    items,
                    |at, item| {
                        if let Some(element) = element {
                            at.value(element, item);
                        }
                    },
                );
            }
            _ => self.value(&field.form, value),
        }
    }

    /// Validates the entries of an associative list: each key can occur once.
    fn entries(
        &mut self,
        structure: TypeStructure<'_>,
        items: &[Value],
        check_value: impl Fn(&mut Self, &Value),
    ) {
        let mut seen = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let name = match structure.path_element(item) {
                Ok(name) => name,
                Err(why) => return self.report(&format!("element {at}: {why}")),
            };
            let shown = name.display();
            if !seen.insert(name) {
                self.report(&format!("duplicate entries for key {shown}"));
            }
            self.below(&shown, |at| check_value(at, item));
        }
    }

    fn value(&mut self, form: &'static ValueType, value: &Value) {
        if value.is_null() {
            return;
        }
        let shown = || format!("&{{{}}}", go::format_map(value));
        match (form, value) {
            (ValueType::Raw, _) | (ValueType::Bool, Value::Bool(_)) => {}
            (ValueType::Int32 | ValueType::Int64 | ValueType::Double, Value::Number(_)) => {}
            (
                ValueType::Text(_) | ValueType::Bytes | ValueType::Time | ValueType::MicroTime,
                Value::String(_),
            ) => {}
            (
                ValueType::Quantity | ValueType::IntOrString,
                Value::Bool(_) | Value::Number(_) | Value::String(_),
            ) => {}
            // The format of a time string is validated when the object is decoded.
            (ValueType::Time | ValueType::MicroTime, Value::Bool(_) | Value::Number(_)) => {}
            // Union types accept several JSON types; their values are validated when the object is decoded.
            (ValueType::Struct(id), _) if id.get().either => {}
            (ValueType::Struct(id), _) => self.check_members(id.get(), value),
            (ValueType::List(inner), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(&format!("[{at}]"), |violations| violations.value(inner, item));
                }
            }
            (ValueType::Map(inner), Value::Object(members)) => {
                for (name, member) in members {
                    self.below(&format!(".{name}"), |at| at.value(inner, member));
                }
            }
            (ValueType::Bool, _) => self.report(&format!("expected boolean, got {}", shown())),
            (ValueType::Int32 | ValueType::Int64 | ValueType::Double, _) => {
                self.report(&format!(
                    "expected numeric (int or float), got {}",
                    go::type_name(value)
                ));
            }
            (ValueType::Text(_) | ValueType::Bytes | ValueType::Time | ValueType::MicroTime, _) => {
                let got = format!("&value.valueUnstructured{{Value:{}}}", go_syntax(value));
                self.report(&format!("expected string, got {got}"));
            }
            (ValueType::Quantity | ValueType::IntOrString, _) => {
                self.report(&format!("expected any scalar, got {}", shown()));
            }
            (ValueType::List(_), _) => self.report(&format!("expected list, got {}", shown())),
            (ValueType::Map(_), _) => self.report(&format!("expected map, got {}", shown())),
        }
    }
}

/// A JSON value in Go syntax (`%#v`).
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
        Value::Null => "interface {}(nil)".to_owned(),
        scalar => scalar.to_string(),
    }
}

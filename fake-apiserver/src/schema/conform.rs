//! Converts an object to the form of its type, like decoding into the Go struct and encoding again.
//!
//! Wrong types are errors. Unknown fields are dropped and reported. `null` means absent. Zero values are omitted or added as in Go
//! (`omitempty`). Quantities and times are converted to canonical form. Does not validate values further.

use super::empties::{Empty, is_without_entries};
use super::field_path::{FieldPath, PathStep};
use super::form_error::{Class, FormError, GoTarget};
use super::scalar::{Layout, MICRO_TIME_LAYOUT, TIME_LAYOUT, bytes, is_int32, quantity, time};
use super::types::{Field, Presence, Type, ValueType};
use crate::machinery::member_order::{self, Occurrence};
use serde_json::{Map, Value};

/// Maximum number of reported unknown fields: a request can contain millions.
const UNKNOWN_MAX: usize = 100;

/// Maximum number of recorded type errors.
const WRONG_MAX: usize = 100;

/// Members of every top-level object that are not listed in its type.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

const EMPTIES_MAX: usize = 100;

/// The results of decoding in addition to the object.
#[derive(Debug, Default)]
pub(crate) struct Conformed {
    /// The paths of unknown fields, which were dropped.
    pub(crate) unknown: Vec<String>,
    pub(crate) empties: Vec<Empty>,
}

/// Type errors, unknown fields, and empty lists and maps found while visiting an object.
#[derive(Default)]
struct Found {
    conformed: Conformed,
    /// Type errors with their field paths.
    wrong: Vec<(String, FormError)>,
}

impl Found {
    /// Records the error in `outcome`, if any. Returns whether the member has the right type.
    fn has_form(&mut self, at: &FieldPath<'_>, outcome: Result<(), FormError>) -> bool {
        let Err(error) = outcome else { return true };
        if self.wrong.len() < WRONG_MAX {
            self.wrong.push((at.strict_path(), error));
        }
        false
    }

    fn note_empty(&mut self, at: &FieldPath<'_>, value: &Value) {
        let empties = &mut self.conformed.empties;
        if empties.len() < EMPTIES_MAX {
            empties.push(Empty {
                pointer: at.pointer(),
                is_list: value.is_array(),
            });
        }
    }

    /// The results of decoding, or one type error: the first by position in `body` or, without `body`, the first by member name.
    fn outcome(mut self, body: Option<&[u8]>) -> Result<Conformed, FormError> {
        let first = match body {
            Some(body) if self.wrong.len() > 1 => {
                let wanted: Vec<Occurrence<'_>> =
                    self.wrong.iter().map(|(path, _)| (path.as_str(), 1)).collect();
                let positions = member_order::positions(body, &wanted);
                (0..positions.len())
                    .min_by_key(|i| positions[*i])
                    .unwrap_or_default()
            }
            _ => 0,
        };
        match self.wrong.is_empty() {
            true => Ok(self.conformed),
            false => Err(self.wrong.swap_remove(first).1),
        }
    }
}

/// Converts a whole object to the form of its type. If several members have wrong types, reports the first one in `body`.
pub(crate) fn conform(
    of: &'static Type,
    object: &mut Value,
    body: Option<&[u8]>,
) -> Result<Conformed, FormError> {
    let mut found = Found::default();
    let root = FieldPath {
        parent: None,
        step: PathStep::Root,
    };
    let Value::Object(members) = object else {
        return Err(root.mismatch(object, struct_of(of)));
    };
    let type_meta = TYPE_META.map(|name| (name, members.remove(name)));
    walk_struct(of, object, root, &mut found)?;
    if let Value::Object(members) = object {
        let restored = type_meta
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        members.extend(restored);
    }
    found.outcome(body)
}

/// Converts the metadata of an object to the form of its type. Returns the paths of unknown fields, which are dropped.
pub fn conform_metadata(object: &mut Value) -> Result<Vec<String>, FormError> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(Vec::new());
    };
    let unknown = conform_part(Type::object_meta(), metadata)?;
    let unknown = unknown.into_iter();
    Ok(unknown.map(|path| format!("metadata.{path}")).collect())
}

/// Converts a part of an object, without `apiVersion` and `kind`, to the form of its type. Returns the paths of unknown fields, which are
fn conform_part(of: &'static Type, part: &mut Value) -> Result<Vec<String>, FormError> {
    let mut found = Found::default();
    let root = FieldPath {
        parent: None,
        step: PathStep::Root,
    };
    walk_struct(of, part, root, &mut found)?;
    found.outcome(None).map(|conformed| conformed.unknown)
}

impl Type {
    pub(crate) fn empty_object(&self) -> &Value {
        self.nothing.get_or_init(|| empty(self))
    }
}

impl ValueType {
    /// The Go type as written in decoding errors.
    fn go_name(&self) -> String {
        match self {
            Self::Raw => "interface {}".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Double => "float64".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Text(go) => (*go).to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::MicroTime => "v1.MicroTime".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Struct(id) => id.get().go_name().to_owned(),
            Self::List(inner) => format!("[]{}", inner.go_name()),
            Self::Map(inner) if **inner == Self::Quantity => "v1.ResourceList".to_owned(),
            Self::Map(inner) => format!("map[string]{}", inner.go_name()),
        }
    }
}

/// Go's zero value of a type.
pub(crate) fn zero(form: &ValueType) -> Value {
    match form {
        ValueType::Raw
        | ValueType::Bytes
        | ValueType::Time
        | ValueType::MicroTime
        | ValueType::List(_)
        | ValueType::Map(_) => Value::Null,
        ValueType::Bool => false.into(),
        ValueType::Int32 | ValueType::Int64 | ValueType::IntOrString | ValueType::Double => 0.into(),
        ValueType::Text(_) => "".into(),
        ValueType::Quantity => "0".into(),
        ValueType::Struct(id) => empty(id.get()),
    }
}

/// An object of a type without any field set.
pub(super) fn empty(of: &Type) -> Value {
    let mut members = Map::new();
    add_always_written(of, &mut members);
    members.into()
}

fn walk_struct(
    of: &'static Type,
    value: &mut Value,
    at: FieldPath<'_>,
    found: &mut Found,
) -> Result<(), FormError> {
    let Value::Object(members) = value else {
        return Err(at.mismatch(value, struct_of(of)));
    };
    let mut dropped: Vec<String> = Vec::new();
    for (name, member) in members.iter_mut() {
        let here = at.below(PathStep::Field(of, name));
        match of.field(name) {
            // An embedded object has `apiVersion` and `kind`, which its type does not list; null counts as unset.
            None if TYPE_META.contains(&name.as_str()) && member.is_null() && of.is_kind() => {
                dropped.push(name.clone());
            }
            None if TYPE_META.contains(&name.as_str()) && member.is_string() && of.is_kind() => {}
            None => {
                if found.conformed.unknown.len() < UNKNOWN_MAX {
                    found.conformed.unknown.push(here.strict_path());
                }
                dropped.push(name.clone());
            }
            Some(_) if member.is_null() => dropped.push(name.clone()),
            Some(field) => {
                let outcome = walk(&field.form, member, here, found);
                if !found.has_form(&here, outcome) {
                    continue;
                }
                if is_without_entries(&field.form, member) {
                    found.note_empty(&here, member);
                }
                if is_left_out(field, member) {
                    dropped.push(name.clone());
                }
            }
        }
    }
    for name in dropped {
        members.remove(&name);
    }
    add_always_written(of, members);
    Ok(())
}

fn walk(form: &ValueType, value: &mut Value, at: FieldPath<'_>, found: &mut Found) -> Result<(), FormError> {
    match (form, &mut *value) {
        (ValueType::Raw, _) | (ValueType::Bool, Value::Bool(_)) | (ValueType::Text(_), Value::String(_)) => {
            Ok(())
        }
        (ValueType::IntOrString, Value::String(_)) => Ok(()),
        (ValueType::Double, Value::Number(_)) => Ok(()),
        (ValueType::Int64, Value::Number(n)) if n.is_i64() => Ok(()),
        (ValueType::Int32 | ValueType::IntOrString, Value::Number(n)) if is_int32(n.as_i64()) => Ok(()),
        (ValueType::Quantity, _) => quantity(value).map_err(FormError::Scalar),
        (ValueType::Time, Value::String(text)) => canonical(text, TIME_LAYOUT),
        (ValueType::MicroTime, Value::String(text)) => canonical(text, MICRO_TIME_LAYOUT),
        (ValueType::Bytes, Value::String(text)) => bytes(text).map_err(FormError::Scalar),
        (ValueType::List(inner), Value::Array(items)) => {
            for (i, item) in items.iter_mut().enumerate() {
                element(inner, item, at.below(PathStep::Index(i)), found);
            }
            Ok(())
        }
        (ValueType::Map(inner), Value::Object(members)) => {
            for (key, member) in members.iter_mut() {
                element(inner, member, at.below(PathStep::Key(key)), found);
            }
            Ok(())
        }
        (ValueType::Struct(id), _) if id.get().either => walk_either(id.get(), value, at),
        (ValueType::Struct(id), _) => walk_struct(id.get(), value, at, found),
        (ValueType::Time | ValueType::MicroTime, _) => {
            Err(at.mismatch(value, wanted(form, "string".to_owned())))
        }
        (ValueType::IntOrString, _) => Err(at.mismatch(value, wanted(form, "int32".to_owned()))),
        _ => Err(at.mismatch(value, wanted(form, form.go_name()))),
    }
}

/// Converts a value of a union type (`JSONSchemaPropsOr…`). The Go type has its own `UnmarshalJSON`, which ignores unknown fields.
fn walk_either(of: &'static Type, value: &mut Value, at: FieldPath<'_>) -> Result<(), FormError> {
    let fits = |field: &&Field| {
        matches!(
            (&field.form, &*value),
            (ValueType::Struct(_), Value::Object(_))
                | (ValueType::List(_), Value::Array(_))
                | (ValueType::Bool, Value::Bool(_))
        )
    };
    match of.fields.iter().find(fits) {
        Some(field) => {
            let mut found = Found::default();
            walk(&field.form, value, at, &mut found)?;
            found.outcome(None).map(drop)
        }
        None => Err(FormError::Scalar(format!(
            "{} expected",
            of.fields
                .iter()
                .map(|field| either_name(&field.form))
                .collect::<Vec<_>>()
                .join(" or ")
        ))),
    }
}

fn either_name(form: &ValueType) -> &'static str {
    match form {
        ValueType::Bool => "boolean",
        ValueType::List(_) => "list",
        _ => "JSON schema",
    }
}

/// The Go type into which a value is decoded. `name`: the name of the type in errors.
fn wanted(form: &ValueType, name: String) -> GoTarget {
    let class = Class::of(form);
    GoTarget { name, class }
}

fn struct_of(of: &Type) -> GoTarget {
    GoTarget {
        name: of.go_name().to_owned(),
        class: Class::Struct,
    }
}

/// Converts a time to canonical form.
fn canonical(text: &mut String, layout: Layout) -> Result<(), FormError> {
    *text = time(text, layout).map_err(FormError::Scalar)?;
    Ok(())
}

/// Converts a list item or map value to the form of its type; `null` becomes the zero value.
fn element(form: &ValueType, value: &mut Value, at: FieldPath<'_>, found: &mut Found) {
    if value.is_null() {
        *value = zero(form);
        return;
    }
    let outcome = walk(form, value, at, found);
    found.has_form(&at, outcome);
}

/// Adds the fields of a struct that Go serializes even if they are unset.
fn add_always_written(of: &Type, members: &mut Map<String, Value>) {
    for field in of.fields.iter().filter(|field| is_always_written(field)) {
        if !members.contains_key(field.name) {
            let value = match field.presence {
                Presence::Nullable => Value::Null,
                _ => zero(&field.form),
            };
            members.insert(field.name.to_owned(), value);
        }
    }
}

/// Whether Go serializes an unset field: `omitempty` omits empty scalars, lists and maps, but never structs, and types such as Time and
/// Quantity are structs in Go.
fn is_always_written(field: &Field) -> bool {
    match field.presence {
        Presence::Always | Presence::Nullable => true,
        Presence::Set | Presence::UnlessZero => false,
        Presence::Unless => matches!(
            field.form,
            ValueType::Struct(_)
                | ValueType::Time
                | ValueType::MicroTime
                | ValueType::Quantity
                | ValueType::IntOrString
                | ValueType::Raw
        ),
    }
}

fn is_left_out(field: &Field, value: &Value) -> bool {
    match field.presence {
        Presence::Unless => is_zero(&field.form, value),
        Presence::UnlessZero => is_zero(&field.form, value) || *value == zero(&field.form),
        Presence::Always | Presence::Nullable | Presence::Set => false,
    }
}

/// Whether `omitempty` omits a value: false, 0, an empty text, list or map.
fn is_zero(form: &ValueType, value: &Value) -> bool {
    match (form, value) {
        (ValueType::Text(_) | ValueType::Bytes, Value::String(text)) => text.is_empty(),
        (ValueType::Bool, Value::Bool(set)) => !set,
        (ValueType::Int32 | ValueType::Int64 | ValueType::Double, Value::Number(n)) => {
            n.as_f64() == Some(0.0)
        }
        _ => is_without_entries(form, value),
    }
}

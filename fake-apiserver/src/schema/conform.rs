//! Bringing a document into the form of its type, as decoding it into a Go struct and encoding it again would.
//!
//! Wrong types are errors with the text of Go's decoder; unknown fields are dropped and reported; `null` means absent;
//! what is empty vanishes or appears as its field demands; quantities and times become canonical. Knows no rule about
//! values beyond their form.

use super::types::{Field, Presence, Type, ValueType};
use crate::machinery::go;
use crate::machinery::quantity::{Quantity, QuantityError};
use base64::Engine;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// How many unknown fields are reported: a peer can send millions.
const UNKNOWN_MAX: usize = 100;

/// Members of every top level object that its type does not list.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

/// Fields of a PersistentVolumeSpec that are not those of the PersistentVolumeSource in it.
const VOLUME_BUT_SOURCE: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

/// Structs of Go that hold another one without a name of its own in JSON; Go's decoder names it all the same.
const EMBEDDED: [(&[&str], &str, Fields); 5] = [
    (
        &["PersistentVolumeSpec"],
        "PersistentVolumeSource",
        Fields::AllBut(&VOLUME_BUT_SOURCE),
    ),
    (&["Volume"], "VolumeSource", Fields::AllBut(&["name"])),
    (
        &["EphemeralContainer"],
        "EphemeralContainerCommon",
        Fields::AllBut(&["targetContainerName"]),
    ),
    (
        &["Probe"],
        "ProbeHandler",
        Fields::Only(&["exec", "grpc", "httpGet", "tcpSocket"]),
    ),
    (
        &[
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        ],
        "LocalObjectReference",
        Fields::Only(&["name"]),
    ),
];

/// Which fields of a struct are those of the one that it holds.
enum Fields {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// Where the walk is. Frames live on the stack, so that nothing is allocated unless there is something to report.
#[derive(Clone, Copy)]
struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: PathStep<'a>,
}

#[derive(Clone, Copy)]
enum PathStep<'a> {
    Root,
    Field(&'static Type, &'a str),
    Key(&'a str),
    Index(usize),
}

/// Brings a whole object into the form of its type and returns the paths of the unknown fields that were dropped.
///
/// The error is the text of Go's decoder.
pub(crate) fn conform(of: &'static Type, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let root = FieldPath {
        parent: None,
        step: PathStep::Root,
    };
    let Value::Object(members) = object else {
        return Err(root.mismatch(object, of.go_name()));
    };
    let apart = TYPE_META.map(|name| (name, members.remove(name)));
    let outcome = walk_struct(of, object, root, &mut unknown);
    if let Value::Object(members) = object {
        let kept = apart
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        members.extend(kept);
    }
    outcome.map(|()| unknown)
}

impl Type {
    /// An object with no field set.
    pub(crate) fn nothing(&self) -> &Value {
        self.nothing.get_or_init(|| empty(self))
    }
}

impl ValueType {
    /// The Go type, as decoding errors name it.
    fn go_name(&self) -> String {
        match self {
            Self::Raw => "interface {}".to_owned(),
            Self::Bool => "bool".to_owned(),
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

/// The value that a field of this form has when nothing was set.
pub(crate) fn zero(form: &ValueType) -> Value {
    match form {
        ValueType::Raw
        | ValueType::Bytes
        | ValueType::Time
        | ValueType::MicroTime
        | ValueType::List(_)
        | ValueType::Map(_) => Value::Null,
        ValueType::Bool => false.into(),
        ValueType::Int32 | ValueType::Int64 | ValueType::IntOrString => 0.into(),
        ValueType::Text(_) => "".into(),
        ValueType::Quantity => "0".into(),
        ValueType::Struct(id) => empty(id.get()),
    }
}

/// An object of a type of which nothing was set.
pub(super) fn empty(of: &Type) -> Value {
    let mut members = Map::new();
    fill(of, &mut members);
    members.into()
}

fn walk_struct(
    of: &'static Type,
    value: &mut Value,
    at: FieldPath<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let Value::Object(members) = value else {
        return Err(at.mismatch(value, of.go_name()));
    };
    let mut dropped: Vec<String> = Vec::new();
    for (name, member) in members.iter_mut() {
        let here = FieldPath {
            parent: Some(&at),
            step: PathStep::Field(of, name),
        };
        match of.field(name) {
            None => {
                if unknown.len() < UNKNOWN_MAX {
                    unknown.push(here.strict_path());
                }
                dropped.push(name.clone());
            }
            Some(_) if member.is_null() => dropped.push(name.clone()),
            Some(field) => {
                walk(&field.form, member, here, unknown)?;
                if is_left_out(field, member) {
                    dropped.push(name.clone());
                } else if is_list_or_map(&field.form) && is_zero(&field.form, member) {
                    // What was stored once comes back without a difference between empty and absent.
                    *member = Value::Null;
                }
            }
        }
    }
    for name in dropped {
        members.remove(&name);
    }
    fill(of, members);
    Ok(())
}

fn walk(
    form: &ValueType,
    value: &mut Value,
    at: FieldPath<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match (form, &mut *value) {
        (ValueType::Raw, _) | (ValueType::Bool, Value::Bool(_)) | (ValueType::Text(_), Value::String(_)) => {
            Ok(())
        }
        (ValueType::IntOrString, Value::String(_)) => Ok(()),
        (ValueType::Int64, Value::Number(n)) if n.is_i64() => Ok(()),
        (ValueType::Int32 | ValueType::IntOrString, Value::Number(n)) if is_int32(n.as_i64()) => Ok(()),
        (ValueType::Quantity, _) => quantity(value),
        (ValueType::Time, Value::String(text)) => time(text, TIME_LAYOUT).map(|time| *text = time),
        (ValueType::MicroTime, Value::String(text)) => time(text, MICRO_TIME_LAYOUT).map(|time| *text = time),
        (ValueType::Bytes, Value::String(text)) => bytes(text),
        (ValueType::List(inner), Value::Array(items)) => {
            items.iter_mut().enumerate().try_for_each(|(i, item)| {
                element(
                    inner,
                    item,
                    FieldPath {
                        parent: Some(&at),
                        step: PathStep::Index(i),
                    },
                    unknown,
                )
            })
        }
        (ValueType::Map(inner), Value::Object(members)) => {
            members.iter_mut().try_for_each(|(key, member)| {
                element(
                    inner,
                    member,
                    FieldPath {
                        parent: Some(&at),
                        step: PathStep::Key(key),
                    },
                    unknown,
                )
            })
        }
        (ValueType::Struct(id), _) => walk_struct(id.get(), value, at, unknown),
        (ValueType::Time | ValueType::MicroTime, _) => Err(at.mismatch(value, "string")),
        (ValueType::IntOrString, _) => Err(at.mismatch(value, "int32")),
        _ => Err(at.mismatch(value, &form.go_name())),
    }
}

/// An entry of a list or a map: `null` stands for the zero value.
fn element(
    form: &ValueType,
    value: &mut Value,
    at: FieldPath<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    if value.is_null() {
        *value = zero(form);
        return Ok(());
    }
    walk(form, value, at, unknown)
}

/// Adds the fields that are written even when nothing was set.
fn fill(of: &Type, members: &mut Map<String, Value>) {
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

/// Go leaves out empty scalars, lists and maps, but never structs; many small types are structs.
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

fn is_list_or_map(form: &ValueType) -> bool {
    matches!(form, ValueType::List(_) | ValueType::Map(_))
}

/// Whether Go would leave the value out of a field with `omitempty`.
fn is_zero(form: &ValueType, value: &Value) -> bool {
    match (form, value) {
        (ValueType::Text(_) | ValueType::Bytes, Value::String(text)) => text.is_empty(),
        (ValueType::List(_), Value::Array(items)) => items.is_empty(),
        (ValueType::Map(_), Value::Object(members)) => members.is_empty(),
        (ValueType::Bool, Value::Bool(set)) => !set,
        (ValueType::Int32 | ValueType::Int64, Value::Number(n)) => n.as_f64() == Some(0.0),
        _ => false,
    }
}

fn is_int32(number: Option<i64>) -> bool {
    number.is_some_and(|n| i32::try_from(n).is_ok())
}

fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let parsed: Quantity = text.parse().map_err(|error: QuantityError| error.to_string())?;
    *value = parsed.to_string().into();
    Ok(())
}

/// A layout of times: how Go writes it, and how its canonical form is written here.
type Layout = (&'static str, &'static str);
const TIME_LAYOUT: Layout = ("2006-01-02T15:04:05Z07:00", "%Y-%m-%dT%H:%M:%SZ");
const MICRO_TIME_LAYOUT: Layout = ("2006-01-02T15:04:05.000000Z07:00", "%Y-%m-%dT%H:%M:%S.%6fZ");

/// The canonical form of a time.
fn time(text: &str, (layout, format): Layout) -> Result<String, String> {
    let refuse = |rest: &str, wanted: &str| {
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"
        ))
    };
    let Ok(parsed) = text.parse::<Timestamp>() else {
        return refuse(text, "2006");
    };
    // Where the layout has a fraction, Go insists on one of that many digits.
    if format == MICRO_TIME_LAYOUT.1 {
        let rest = text.get(19..).unwrap_or_default();
        let digits = rest
            .strip_prefix('.')
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit);
        if digits.count() != 6 {
            return refuse(rest, ".000000");
        }
    }
    Ok(parsed.strftime(format).to_string())
}

fn bytes(text: &str) -> Result<(), String> {
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.map(drop).map_err(|error| go::no_base64(text, &error))
}

/// The struct without a name in JSON that has this field.
fn embedded(of: &Type, field: &str) -> Option<&'static str> {
    let holds = |fields: &Fields| match fields {
        Fields::Only(some) => some.contains(&field),
        Fields::AllBut(some) => !some.contains(&field),
    };
    EMBEDDED
        .iter()
        .find(|(outer, _, fields)| outer.contains(&of.short_name()) && holds(fields))
        .map(|(_, name, _)| *name)
}

impl FieldPath<'_> {
    fn mismatch(&self, value: &Value, wanted: &str) -> String {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            // A number that would fit but for its value is named.
            Value::Number(n) if wanted.starts_with("int") => format!("number {n}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let mut names = Vec::new();
        let mut owner = None;
        let mut place = Some(self);
        while let Some(at) = place {
            if let PathStep::Field(of, name) = at.step {
                owner.get_or_insert(of);
                names.push(name);
                names.extend(embedded(of, name));
            }
            place = at.parent;
        }
        names.reverse();
        let into = match owner {
            None => format!("value of type {wanted}"),
            Some(owner) => format!(
                "struct field {}.{} of type {wanted}",
                owner.short_name(),
                names.join(".")
            ),
        };
        go::cannot_unmarshal(&found, &into)
    }

    /// The path as strict decoding reports it, with keys and indices.
    fn strict_path(&self) -> String {
        let mut path = self.parent.map(FieldPath::strict_path).unwrap_or_default();
        match self.step {
            PathStep::Root => {}
            PathStep::Index(i) => path.push_str(&format!("[{i}]")),
            PathStep::Field(_, name) | PathStep::Key(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
        }
        path
    }
}

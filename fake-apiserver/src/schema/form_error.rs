//! Errors for objects that do not match their type, with the messages of Go's JSON decoder and of `FromUnstructured`, which converts the
//! result of a strategic merge patch.

use std::fmt;

use super::types::ValueType;
use crate::machinery::document::json_type;
use crate::machinery::go;
use serde_json::{Number, Value};

/// Why an object does not match its type.
#[derive(Debug)]
pub enum FormError {
    /// The JSON type of a value does not match its field.
    Mismatch(Mismatch),
    /// A string or number has the right JSON type but cannot be parsed. Contains Go's error message.
    Scalar(String),
}

/// A value whose JSON type does not match its field.
#[derive(Debug)]
pub struct Mismatch {
    /// The JSON type of the value, as named by Go's decoder.
    found: &'static str,
    /// The value if it is a number, for the error message.
    number: Option<Number>,
    wanted: GoTarget,
    /// The innermost struct and the path of the field; `None` for the whole object.
    place: Option<(&'static str, String)>,
}

/// The Go type into which a value is decoded.
#[derive(Debug)]
pub(super) struct GoTarget {
    /// The name of the Go type in decoding errors.
    pub(super) name: String,
    pub(super) class: Class,
}

/// The classes of Go types that `FromUnstructured` distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Struct,
    Slice,
    Map,
    /// A string, or a type based on string.
    Text,
    /// A time. Its `UnmarshalJSON` expects a string.
    Time,
    /// Booleans and numbers.
    Basic,
}

impl Class {
    pub(super) fn of(form: &ValueType) -> Self {
        match form {
            ValueType::Struct(_) => Self::Struct,
            ValueType::List(_) | ValueType::Bytes => Self::Slice,
            ValueType::Map(_) => Self::Map,
            ValueType::Text(_) => Self::Text,
            ValueType::Time | ValueType::MicroTime => Self::Time,
            ValueType::Raw
            | ValueType::Bool
            | ValueType::Double
            | ValueType::Int32
            | ValueType::Int64
            | ValueType::Quantity
            | ValueType::IntOrString => Self::Basic,
        }
    }
}

impl FormError {
    pub(super) fn mismatch(value: &Value, wanted: GoTarget, place: Option<(&'static str, String)>) -> Self {
        Self::Mismatch(Mismatch {
            found: json_type(value),
            number: value.as_number().cloned(),
            wanted,
            place,
        })
    }

    /// The error message of `FromUnstructured`, which contains no path.
    pub(crate) fn unstructured_message(&self) -> String {
        match self {
            Self::Mismatch(mismatch) => mismatch.unstructured_message(),
            Self::Scalar(text) => text.clone(),
        }
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => f.write_str(&mismatch.decoder_message()),
            Self::Scalar(text) => f.write_str(text),
        }
    }
}

impl Mismatch {
    /// The error message of Go's JSON decoder.
    fn decoder_message(&self) -> String {
        let wanted = &self.wanted.name;
        let into = match &self.place {
            None => format!("value of type {wanted}"),
            Some((owner, path)) => format!("struct field {owner}.{path} of type {wanted}"),
        };
        match &self.number {
            // Go includes the number if it is out of range for an integer type.
            Some(number) if wanted.starts_with("int") => {
                go::cannot_unmarshal(&format!("{} {number}", self.found), &into)
            }
            _ => go::cannot_unmarshal(self.found, &into),
        }
    }

    fn unstructured_message(&self) -> String {
        let GoTarget { name, class } = &self.wanted;
        let found = match (self.found, &self.number) {
            ("object", _) => "map",
            ("array", _) => "slice",
            (_, Some(number)) if number.is_f64() => "float64",
            (_, Some(_)) => "int64",
            (other, None) => other,
        };
        match class {
            // The error is the one returned by `UnmarshalJSON`, which `metav1.Time` implements itself.
            Class::Time => go::cannot_unmarshal(self.found, "value of type string"),
            Class::Slice => format!("cannot restore slice from {found}"),
            Class::Map => format!("cannot restore map from {found}"),
            Class::Struct => format!("cannot restore struct from: {found}"),
            // `FromUnstructured` converts integers to strings and floats to integers; the JSON decoder does not.
            Class::Text if found == "int64" => format!("cannot convert {found} to {name}"),
            Class::Basic if found == "float64" && name.starts_with("int") => {
                format!("cannot convert {found} to {name}")
            }
            Class::Text => "unrecognized type: string".to_owned(),
            Class::Basic => format!("unrecognized type: {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Type, conform};
    use serde_json::{Value, json};

    /// The errors of the JSON decoder and of `FromUnstructured` if `spec.fsGroupPolicy`, a string field, has this value.
    fn texts(value: &Value) -> [String; 2] {
        let of = Type::find("storage.k8s.io/v1", "CSIDriver").expect("CSIDrivers are in the table");
        let error = conform(of, &mut json!({"spec": {"fsGroupPolicy": value}}), None)
            .expect_err("the value is not a string");
        [error.to_string(), error.unstructured_message()]
    }

    #[test]
    fn decoder_and_converter_format_type_errors_differently() {
        for (value, found, converter) in [
            (json!(5), "number", "cannot convert int64 to v1.FSGroupPolicy"),
            // `FromUnstructured` converts integers to strings, but not floats.
            (json!(1.5), "number", "unrecognized type: string"),
            (json!(true), "bool", "unrecognized type: string"),
            (json!({}), "object", "unrecognized type: string"),
        ] {
            let place = "Go struct field CSIDriverSpec.spec.fsGroupPolicy of type v1.FSGroupPolicy";
            let decoder = format!("json: cannot unmarshal {found} into {place}");
            assert_eq!(texts(&value), [decoder, converter.to_owned()]);
        }
    }
}

//! Why a document does not have the form of its type, and the texts of it: those of Go's JSON decoder, and those of the converter that
//! strategic merge patches pass.

use std::fmt;

use super::types::ValueType;
use crate::machinery::document::form;
use crate::machinery::go;
use serde_json::{Number, Value};

/// Why a document does not have the form of its type.
#[derive(Debug)]
pub(crate) enum FormError {
    /// A value is of another JSON type than its field.
    Mismatch(Mismatch),
    /// A text or number cannot be read; with the text of Go's reader.
    Scalar(String),
}

/// A value of another JSON type than its field.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// The JSON type of the value, as Go's decoder names it.
    found: &'static str,
    /// The value, if it is a number.
    number: Option<Number>,
    wanted: Wanted,
    /// The innermost struct and the path of the field; none: the whole document.
    place: Option<(&'static str, String)>,
}

/// What Go decodes a value into.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The Go type, as decoding errors name it.
    pub(super) name: String,
    pub(super) class: Class,
}

/// The classes of Go types that the converter tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Struct,
    Slice,
    Map,
    /// A string, perhaps under another name.
    Text,
    /// A time, which reads a string by itself.
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
    pub(super) fn mismatch(value: &Value, wanted: Wanted, place: Option<(&'static str, String)>) -> Self {
        Self::Mismatch(Mismatch {
            found: form(value),
            number: value.as_number().cloned(),
            wanted,
            place,
        })
    }

    /// The same mistake as the converter of strategic merge patches reports it: without the place.
    pub(crate) fn unstructured(&self) -> String {
        match self {
            Self::Mismatch(mismatch) => mismatch.unstructured(),
            Self::Scalar(text) => text.clone(),
        }
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => f.write_str(&mismatch.decoding()),
            Self::Scalar(text) => f.write_str(text),
        }
    }
}

impl Mismatch {
    /// As Go's decoder reports it.
    fn decoding(&self) -> String {
        let wanted = &self.wanted.name;
        let into = match &self.place {
            None => format!("value of type {wanted}"),
            Some((owner, path)) => format!("struct field {owner}.{path} of type {wanted}"),
        };
        match &self.number {
            // A number that would fit but for its value is named.
            Some(number) if wanted.starts_with("int") => {
                go::cannot_unmarshal(&format!("{} {number}", self.found), &into)
            }
            _ => go::cannot_unmarshal(self.found, &into),
        }
    }

    fn unstructured(&self) -> String {
        let Wanted { name, class } = &self.wanted;
        let found = match (self.found, &self.number) {
            ("object", _) => "map",
            ("array", _) => "slice",
            (_, Some(number)) if number.is_f64() => "float64",
            (_, Some(_)) => "int64",
            (other, None) => other,
        };
        match class {
            // Times read themselves.
            Class::Time => go::cannot_unmarshal(self.found, "value of type string"),
            Class::Slice => format!("cannot restore slice from {found}"),
            Class::Map => format!("cannot restore map from {found}"),
            Class::Struct => format!("cannot restore struct from: {found}"),
            // Go converts whole numbers to strings and others to whole ones, which JSON does not.
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

    /// The texts of the decoder and of the converter for a `spec.fsGroupPolicy`, which is a string.
    fn texts(value: &Value) -> [String; 2] {
        let of = Type::find("storage.k8s.io/v1", "CSIDriver").expect("CSIDrivers are in the table");
        let error =
            conform(of, &mut json!({"spec": {"fsGroupPolicy": value}}), None).expect_err("it is no string");
        [error.to_string(), error.unstructured()]
    }

    #[test]
    fn decoder_and_converter_word_the_same_mistake_differently() {
        for (value, found, converter) in [
            (json!(5), "number", "cannot convert int64 to v1.FSGroupPolicy"),
            // Go converts whole numbers to strings, and no others.
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

//! Printer columns of CRDs (`additionalPrinterColumns`).
//!
//! Owns the conversion of values to cells. Does not read CRDs.

use super::ages::since;
use crate::machinery::json_path::JsonPath;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A column of `kubectl get`, as a CRD defines it in `additionalPrinterColumns`.
#[derive(Debug)]
pub struct PrinterColumn {
    /// Title of the column, such as `Age`.
    pub name: String,
    /// JSON type of the cells, such as `integer`, or `date`.
    pub of: String,
    /// The OpenAPI format of the cells.
    pub format: String,
    /// Description of the column, for clients that show it.
    pub description: String,
    /// Greater than 0 if the column is shown with `-o wide` only.
    pub priority: i64,
    /// The JSON path of the field whose value a cell shows.
    pub path: JsonPath,
}

impl PrinterColumn {
    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.of,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    /// The cell for an object; `null` if the field is unset or its value does not have the type of the column.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let Some(found) = self.path.find(object).filter(|found| !found.is_null()) else {
            return Value::Null;
        };
        let number = found.as_f64();
        match self.of.as_str() {
            "string" => found
                .as_str()
                .map_or_else(|| found.to_string(), str::to_owned)
                .into(),
            "integer" => number.map_or(Value::Null, |number| (number as i64).into()),
            "number" => number.map_or(Value::Null, |_| found.clone()),
            "boolean" if found.is_boolean() => found.clone(),
            "date" => found.as_str().map_or(Value::Null, |text| date(text, now)),
            _ => Value::Null,
        }
    }
}

fn date(text: &str, now: Timestamp) -> Value {
    match (text, text.parse::<Timestamp>()) {
        ("", _) => "<unknown>".into(),
        (_, Ok(_)) => since(text, now).into(),
        (_, Err(_)) => "<invalid>".into(),
    }
}

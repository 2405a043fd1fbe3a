//! The JSON Schema matches the serialized report types exactly, the copy in the repository is current, and reports survive a round trip.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use suites::report::{rounded_seconds, schema};

use super::{every_verdict, read, write_all_formats};

fn parsed() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

fn record() -> Value {
    serde_json::from_str(&read(&write_all_formats(&every_verdict()), "report.json")).unwrap()
}

/// The first violation of the JSON Schema; `None` if the record is valid.
fn error(record: &Value) -> Option<String> {
    let schema = parsed();
    check(&schema, &schema, record, "").err()
}

fn is_valid(record: &Value) -> bool {
    error(record).is_none()
}

/// Checks a value against a JSON Schema; panics at an unknown keyword, so that no keyword is ignored. A validator library
/// would be a large dependency.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (keyword, wanted) in schema.as_object().unwrap() {
        let good = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                check(root, root.pointer(pointer).unwrap(), value, at)?;
                true
            }
            "type" => match wanted {
                Value::Array(types) => types.iter().any(|wanted| is_of(wanted, value)),
                wanted => is_of(wanted, value),
            },
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "anyOf" | "oneOf" => {
                let choices = wanted.as_array().unwrap().iter();
                let fit = choices
                    .filter(|choice| check(root, choice, value, at).is_ok())
                    .count();
                fit == 1 || (fit > 1 && keyword == "anyOf")
            }
            "required" => {
                let fields = wanted.as_array().unwrap();
                fields
                    .iter()
                    .all(|field| value.get(field.as_str().unwrap()).is_some())
            }
            "properties" => {
                for (field, schema) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(field) {
                        check(root, schema, value, &format!("{at}/{field}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                for (field, value) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(field)) && wanted.is_object() {
                        check(root, wanted, value, &format!("{at}/{field}"))?;
                    }
                }
                let is_known = |field: &String| known.is_some_and(|known| known.contains_key(field));
                *wanted != Value::Bool(false)
                    || value.as_object().is_none_or(|fields| fields.keys().all(is_known))
            }
            "propertyNames" => {
                for name in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
                    check(root, wanted, &name.as_str().into(), at)?;
                }
                true
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}/{number}"))?;
                }
                true
            }
            other => panic!("the schema uses {other}, which is not checked here"),
        };
        if !good {
            return Err(format!("{at}: {value} is not as {keyword} {wanted} demands"));
        }
    }
    Ok(())
}

fn is_of(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is not a JSON type"),
    }
}

#[test]
fn the_copy_in_the_repository_is_current() {
    let copy = include_str!("../../../report.schema.json");
    assert!(
        copy == schema(),
        "suites/report.schema.json is stale; write it with `cargo xtask report schema > suites/report.schema.json`"
    );
}

#[test]
fn a_report_with_every_verdict_is_valid() {
    assert_eq!(error(&record()), None);
}

/// Paths of all objects with typed fields in a report record.
fn objects() -> [&'static str; 4] {
    ["", "/system", "/settings", "/cases/0"]
}

#[test]
fn every_field_is_in_the_schema_and_required() {
    let (schema, record) = (parsed(), record());
    let described = [
        &schema,
        &schema["$defs"]["SystemRecord"],
        &schema["$defs"]["SettingsRecord"],
        &schema["$defs"]["CaseRecord"],
    ];
    for (place, described) in objects().into_iter().zip(described) {
        let fields = record.pointer(place).unwrap().as_object().unwrap();
        let written: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
        let properties = described["properties"].as_object().unwrap();
        let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(written, known, "at {place:?}");
        for field in written {
            let mut without = record.clone();
            without
                .pointer_mut(place)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(field);
            assert!(!is_valid(&without), "valid without {place}/{field}");
            assert!(
                properties[field]["description"].is_string(),
                "{place}/{field} is not described"
            );
        }
    }
}

#[test]
fn values_that_no_run_writes_are_invalid() {
    for (place, value) in [
        ("/format", Value::from(2)),
        ("/cases/0/verdict", "great".into()),
        ("/cases/0/level", "optional".into()),
        ("/cases/0/cause", "weather".into()),
        ("/cases/0/line", "seven".into()),
        ("/counts/pass", 0.into()),
        ("/partial", Value::Null),
    ] {
        let mut record = record();
        *record.pointer_mut(place).unwrap() = value;
        assert!(!is_valid(&record), "{place} accepts any value");
    }
}

proptest! {
    #[test]
    fn a_duration_survives_a_round_trip(nanoseconds in 0_u64..1_000_000_000_000_000) {
        let written = rounded_seconds(Duration::from_nanos(nanoseconds));
        let text = serde_json::to_string(&written).unwrap();
        prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), written, "{}", text);
    }
}

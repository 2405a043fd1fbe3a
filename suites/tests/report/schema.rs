//! The JSON Schema says what the types write: neither less nor more, and the copy in the repository is that schema.

use std::collections::BTreeSet;

use serde_json::Value;
use suites::report::schema;

use crate::{every_verdict, read, written};

fn parsed() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

fn record() -> Value {
    serde_json::from_str(&read(&written(&every_verdict()), "report.json")).unwrap()
}

fn is_valid(record: &Value) -> bool {
    jsonschema::validator_for(&parsed()).unwrap().is_valid(record)
}

#[test]
fn the_copy_in_the_repository_is_up_to_date() {
    let copy = include_str!("../../report.schema.json");
    assert!(
        copy == schema(),
        "suites/report.schema.json is stale; write it with `cargo xtask report schema > suites/report.schema.json`"
    );
}

#[test]
fn a_record_with_every_verdict_is_valid() {
    let validator = jsonschema::validator_for(&parsed()).unwrap();
    let record = record();
    let errors: Vec<String> = validator
        .iter_errors(&record)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// The places of all objects with fields of their own.
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
fn what_no_run_writes_is_invalid() {
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
        assert!(!is_valid(&record), "{place} can be anything");
    }
}

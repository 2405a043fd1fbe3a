//! Tests of CRDs and custom resources, by area.

mod apply;
mod conversion;
mod definitions;
mod documents;
mod ending;
mod fixtures;
mod objects;
mod parts;
mod rules;
mod schemas;
mod versions;

use super::client::{self, TestServer};
use fixtures::{DEFINITIONS, FOOS, causes, condition, definition, foo, foos, version, with_spec};
use serde_json::{Value, json};

/// The causes of the error response to an invalid custom resource.
async fn create_rejected(wire: &TestServer, spec: Value) -> Vec<String> {
    let answer = wire.post(FOOS, foo("x", spec)).await;
    assert_eq!(answer.code, 422, "{}", answer.text);
    causes(&answer)
}

fn definition_with_versions(first: &Value, second: &Value) -> Value {
    let mut definition = definition("foos", "Foo", Value::Null);
    definition["spec"]["versions"] = json!([first, second]);
    definition
}

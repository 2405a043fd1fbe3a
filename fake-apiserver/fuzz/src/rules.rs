//! Fuzz targets for CustomResourceDefinitions: schemas, CEL rules, patterns, and JSONPaths of printer columns.

use super::bench::Bench;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS: &str = "/apis/fuzzed.example.com/v1/namespaces/default/ruleds";
const JSON: &str = "application/json";

/// The input is a CEL validation rule. If the server accepts it, it is evaluated for an object.
pub(super) fn rule(bench: &mut Bench, bytes: &[u8]) {
    let rule = String::from_utf8_lossy(bytes);
    let text = json!({"type": "string", "maxLength": 9});
    let spec = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "broken"}], "properties": {
        "s": text, "n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"},
        "l": {"type": "array", "maxItems": 5, "items": text},
        "m": {"type": "object", "maxProperties": 5, "additionalProperties": text}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    if !define(bench, &schema, &json!([])) {
        return;
    }
    let spec = json!({"s": "a text", "n": 7, "x": 1.5, "b": true, "l": ["a", "b"], "m": {"k": "v"}});
    let object = json!({"apiVersion": "fuzzed.example.com/v1", "kind": "Ruled", "metadata": {"name": "a"}, "spec": spec});
    let path = format!("{OBJECTS}?dryRun=All");
    let judged = bench.send("POST", &path, JSON, object.to_string().as_bytes());
    assert!(matches!(judged.code, 201 | 422), "{}", judged.text());
    undefine(bench);
}

/// Creates a CRD with this schema and these columns; returns whether the server accepts it.
fn define(bench: &mut Bench, schema: &Value, columns: &Value) -> bool {
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": columns});
    let definition = json!({"metadata": {"name": "ruleds.fuzzed.example.com"}, "spec": {"group": "fuzzed.example.com",
        "scope": "Namespaced", "names": {"plural": "ruleds", "kind": "Ruled"}, "versions": [version]}});
    let made = bench.send("POST", DEFINITIONS, JSON, definition.to_string().as_bytes());
    made.code == 201
}

fn undefine(bench: &mut Bench) {
    let path = format!("{DEFINITIONS}/ruleds.fuzzed.example.com");
    bench.send("DELETE", &path, JSON, b"");
}

/// The input is the JSONPath of a printer column. If the server accepts it, it is evaluated for an object.
pub(super) fn json_path(bench: &mut Bench, bytes: &[u8]) {
    let path = String::from_utf8_lossy(bytes);
    let columns = json!([{"name": "c", "type": "string", "jsonPath": path}]);
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    if !define(
        bench,
        &json!({"type": "object", "properties": {"spec": schema}}),
        &columns,
    ) {
        return;
    }
    let spec = json!({"a": [{"b": "c", "n": 1, "l": [1, [2]]}, {"b": "d"}, 7, null], "m": {"k": {"k": "v"}}});
    let object = json!({"apiVersion": "fuzzed.example.com/v1", "kind": "Ruled", "metadata": {"name": "a"}, "spec": spec});
    let made = bench.send("POST", OBJECTS, JSON, object.to_string().as_bytes());
    assert_eq!(made.code, 201, "{}", made.text());
    let table = bench.get(OBJECTS, b"application/json;as=Table;g=meta.k8s.io;v=v1");
    assert_eq!(table.code, 200, "{}", table.text());
    bench.send("DELETE", &format!("{OBJECTS}/a"), JSON, b"");
    undefine(bench);
}

/// The input is a `pattern`. If the server accepts it, strings are validated against it.
pub(super) fn pattern(bench: &mut Bench, bytes: &[u8]) {
    let text = json!({"type": "string", "pattern": String::from_utf8_lossy(bytes)});
    schema(
        bench,
        json!({"type": "object", "properties": {"spec": text}})
            .to_string()
            .as_bytes(),
    );
}

/// The input is a schema. If the server accepts it, objects are defaulted and validated.
pub(super) fn schema(bench: &mut Bench, bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice(bytes) else {
        return;
    };
    if !define(bench, &schema, &json!([])) {
        return;
    }
    for spec in [
        json!({}),
        json!("aaa"),
        json!({"a": [1, "b", null, {"c": {}}], "s": "x", "n": 7}),
        json!([[]]),
    ] {
        let object = json!({"apiVersion": "fuzzed.example.com/v1", "kind": "Ruled", "metadata": {"name": "a"}, "spec": spec});
        let path = format!("{OBJECTS}?dryRun=All");
        let made = bench.send("POST", &path, JSON, object.to_string().as_bytes());
        assert!(matches!(made.code, 201 | 400 | 422), "{}", made.text());
    }
    undefine(bench);
}

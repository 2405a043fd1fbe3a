//! Rules in CEL.

use super::bench::Bench;
use serde_json::json;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS: &str = "/apis/fuzzed.example.com/v1/namespaces/default/ruleds";
const JSON: &str = "application/json";

/// As the rule of a definition; one that is taken judges an object.
pub(super) fn rule(bench: &mut Bench, bytes: &[u8]) {
    let rule = String::from_utf8_lossy(bytes);
    let text = json!({"type": "string", "maxLength": 9});
    let spec = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule, "message": "broken"}], "properties": {
        "s": text, "n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"},
        "l": {"type": "array", "maxItems": 5, "items": text},
        "m": {"type": "object", "maxProperties": 5, "additionalProperties": text}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"metadata": {"name": "ruleds.fuzzed.example.com"}, "spec": {"group": "fuzzed.example.com",
        "scope": "Namespaced", "names": {"plural": "ruleds", "kind": "Ruled"}, "versions": [version]}});
    let made = bench.send("POST", DEFINITIONS, JSON, definition.to_string().as_bytes());
    if made.code != 201 {
        return;
    }
    let spec = json!({"s": "a text", "n": 7, "x": 1.5, "b": true, "l": ["a", "b"], "m": {"k": "v"}});
    let object = json!({"apiVersion": "fuzzed.example.com/v1", "kind": "Ruled", "metadata": {"name": "a"}, "spec": spec});
    let path = format!("{OBJECTS}?dryRun=All");
    let judged = bench.send("POST", &path, JSON, object.to_string().as_bytes());
    assert!(matches!(judged.code, 201 | 422), "{}", judged.text());
    let path = format!("{DEFINITIONS}/ruleds.fuzzed.example.com");
    bench.send("DELETE", &path, JSON, b"");
}

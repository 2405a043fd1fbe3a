//! Effects of structural schemas: pruning, defaulting, null handling, validation.

use super::super::client::TestServer;
use super::{FOOS, causes, create_rejected, foo, foos, version, with_spec};
use serde_json::{Value, json};

async fn created_spec(wire: &TestServer, name: &str, spec: Value) -> Value {
    wire.create(FOOS, foo(name, spec)).await["spec"].clone()
}

#[tokio::test]
async fn undeclared_fields_are_pruned_unless_preserved() {
    let wire = TestServer::start().await;
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let map = json!({"type": "object", "additionalProperties": {"type": "object", "properties": {
        "a": {"type": "string"}}}});
    foos(&wire, with_spec(json!({"open": open, "map": map}))).await;
    let sent =
        json!({"x": 1, "open": {"x": 1, "closed": {"a": "1", "x": 1}}, "map": {"k": {"a": "1", "x": 1}}});
    assert_eq!(
        created_spec(&wire, "a", sent).await,
        json!({"open": {"x": 1, "closed": {"a": "1"}}, "map": {"k": {"a": "1"}}})
    );
}

#[tokio::test]
async fn defaults_replace_missing_fields_and_disallowed_nulls() {
    let wire = TestServer::start().await;
    let inner =
        json!({"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 2}}});
    let list = json!({"type": "array", "items": {"type": "object", "properties": {
        "c": {"type": "string", "default": "x"}}}});
    let nullable = json!({"type": "string", "nullable": true, "default": "d"});
    foos(
        &wire,
        with_spec(
            json!({"a": {"type": "string", "default": "1"}, "inner": inner, "list": list, "maybe": nullable}),
        ),
    )
    .await;
    assert_eq!(
        created_spec(&wire, "a", json!({"a": null, "list": [{}], "maybe": null})).await,
        json!({"a": "1", "inner": {"b": 2}, "list": [{"c": "x"}], "maybe": null})
    );
    assert_eq!(
        created_spec(&wire, "b", json!({})).await,
        json!({"a": "1", "inner": {"b": 2}, "maybe": "d"})
    );
}

#[tokio::test]
async fn validation_errors_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let spec = json!({
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "color": {"type": "string", "enum": ["red", "green"]},
        "list": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": true},
        "inner": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
    });
    foos(&wire, with_spec(spec)).await;
    let cases = [
        (
            json!({"count": 9}),
            "spec.count: Invalid value: 9: spec.count in body should be less than or equal to 5",
        ),
        (
            json!({"count": "1"}),
            "spec.count: Invalid value: \"string\": spec.count in body must be of type integer: \"string\"",
        ),
        (
            json!({"name": "A"}),
            "spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]+$'",
        ),
        (
            json!({"name": "abcd"}),
            "spec.name: Too long: may not be more than 3 bytes",
        ),
        (
            json!({"color": "blue"}),
            "spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\"",
        ),
        (
            json!({"list": ["a", "b"]}),
            "spec.list: Too many: 2: must have at most 1 items",
        ),
        (
            json!({"port": true}),
            "spec.port: Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\"",
        ),
        (json!({"inner": {}}), "spec.inner.a: Required value"),
    ];
    for (spec, expected) in cases {
        assert_eq!(create_rejected(&wire, spec).await, [expected]);
    }
    for port in [json!(80), json!("http")] {
        assert_eq!(
            created_spec(&wire, &format!("p{}", port.is_string()), json!({"port": port})).await["port"],
            port
        );
    }
}

#[tokio::test]
async fn set_and_map_lists_reject_duplicate_items() {
    let wire = TestServer::start().await;
    let item = json!({"type": "object", "required": ["k"], "properties": {
        "k": {"type": "string"}, "v": {"type": "string"}}});
    let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": item});
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    foos(&wire, with_spec(json!({"map": map, "set": set}))).await;
    assert_eq!(
        create_rejected(&wire, json!({"set": ["a", "a"]})).await,
        ["spec.set[1]: Duplicate value: \"a\""]
    );
    assert_eq!(
        create_rejected(
            &wire,
            json!({"map": [{"k": "a", "v": "1"}, {"k": "a", "v": "2"}]})
        )
        .await,
        ["spec.map[1]: Duplicate value: {\"k\":\"a\"}"]
    );
}

#[tokio::test]
async fn embedded_resources_are_decoded_and_validated() {
    let wire = TestServer::start().await;
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    foos(&wire, with_spec(json!({"template": embedded}))).await;
    let fine =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "bad": 1}, "spec": {"x": 1}});
    let stored = created_spec(&wire, "a", json!({"template": fine})).await;
    assert_eq!(stored["template"]["metadata"], json!({"name": "p"}));
    assert_eq!(stored["template"]["spec"], json!({"x": 1}));
    assert_eq!(
        create_rejected(&wire, json!({"template": {"kind": "Pod"}})).await,
        ["spec.template.apiVersion: Required value"]
    );
}

#[tokio::test]
async fn invalid_values_may_stay_if_unchanged() {
    let wire = TestServer::start().await;
    foos(
        &wire,
        with_spec(json!({"a": {"type": "string"}, "b": {"type": "string"}})),
    )
    .await;
    wire.create(FOOS, foo("x", json!({"a": "long", "b": "ok"}))).await;
    let place = format!("{}/foos.example.com", super::DEFINITIONS);
    let mut definition = wire.get(&place).await.body;
    let properties =
        json!({"a": {"type": "string", "maxLength": 2}, "b": {"type": "string", "maxLength": 2}});
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        properties;
    assert_eq!(wire.put(&place, definition).await.code, 200);
    let place = format!("{FOOS}/x");
    let fine = wire.merge(&place, json!({"spec": {"b": "no"}})).await;
    assert_eq!(fine.code, 200, "{}", fine.text);
    let refused = wire.merge(&place, json!({"spec": {"a": "other"}})).await;
    assert_eq!(
        causes(&refused),
        ["spec.a: Too long: may not be more than 2 bytes"]
    );
}

#[tokio::test]
async fn one_of_requires_exactly_one_valid_schema() {
    let wire = TestServer::start().await;
    let mut spec =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    spec["oneOf"] = json!([{"required": ["a"]}, {"required": ["b"]}]);
    foos(
        &wire,
        version(json!({"type": "object", "properties": {"spec": spec}})),
    )
    .await;
    created_spec(&wire, "a", json!({"a": "1"})).await;
    let both = create_rejected(&wire, json!({"a": "1", "b": "1"})).await;
    assert_eq!(
        both,
        [
            "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found 2 valid alternatives"
        ]
    );
}

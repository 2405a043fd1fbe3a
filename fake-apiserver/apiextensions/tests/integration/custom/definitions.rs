//! CustomResourceDefinitions: serialization, names, conditions and validation.

use super::super::client::TestServer;
use super::super::envelope;
use super::{DEFINITIONS, FOOS, causes, condition, definition, foo, foos, version, with_spec};
use serde_json::{Value, json};

fn version_without_schema() -> Value {
    version(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
}

#[tokio::test]
async fn resources_are_served_once_their_definition_is_established() {
    let wire = TestServer::start().await;
    assert_eq!(wire.get(FOOS).await.code, 404);
    let made = wire
        .create(DEFINITIONS, definition("foos", "Foo", version_without_schema()))
        .await;
    assert_eq!(made["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(made["spec"]["names"]["listKind"], "FooList");
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    let found = wire.get(&format!("{DEFINITIONS}/foos.example.com")).await.body;
    assert_eq!(condition(&found, "NamesAccepted"), ("True", "NoConflicts"));
    assert_eq!(condition(&found, "Established"), ("True", "InitialNamesAccepted"));
    assert_eq!(found["status"]["acceptedNames"]["singular"], "foo");
    wire.create(FOOS, foo("a", json!({"any": 1}))).await;
}

#[tokio::test]
async fn definitions_in_yaml_and_protobuf_are_equal() {
    let wire = TestServer::start().await;
    let yaml = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
        metadata: {name: bars.example.com}, spec: {group: example.com, scope: Cluster, names: {plural: bars, kind: Bar}, \
        versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    let media = [("content-type", "application/yaml")];
    let made = wire.send("POST", DEFINITIONS, &media, yaml.to_owned()).await;
    assert_eq!(made.code, 201, "{}", made.text);
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "number", "maximum": 2.5, "default": 1, "enum": [1, 2]},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "map": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
    foos(&wire, version(schema.clone())).await;
    let place = format!("{DEFINITIONS}/foos.example.com");
    let bytes = envelope::get(&wire, &place, envelope::PROTOBUF).await;
    assert_eq!(bytes.media, envelope::PROTOBUF);
    let sent = envelope::send(&wire, "PUT", &place, "application/json", bytes.bytes).await;
    assert_eq!(sent.code, 200, "{}", String::from_utf8_lossy(&sent.bytes));
    let same: Value = serde_json::from_slice(&sent.bytes).unwrap();
    assert_eq!(same, wire.get(&place).await.body);
    assert_eq!(same["spec"]["versions"][0]["schema"]["openAPIV3Schema"], schema);
}

#[tokio::test]
async fn conflicting_names_are_not_accepted_until_they_are_free() {
    let wire = TestServer::start().await;
    foos(&wire, version_without_schema()).await;
    let mut second = definition("others", "Other", version_without_schema());
    second["spec"]["names"]["shortNames"] = json!(["foo"]);
    wire.create(DEFINITIONS, second).await;
    let place = format!("{DEFINITIONS}/others.example.com");
    let found = wire.get(&place).await.body;
    assert_eq!(
        condition(&found, "NamesAccepted"),
        ("False", "ShortNamesConflict")
    );
    assert_eq!(condition(&found, "Established"), ("False", "NotAccepted"));
    assert_eq!(wire.get("/apis/example.com/v1/others").await.code, 404);
    wire.delete(&format!("{DEFINITIONS}/foos.example.com")).await;
    let found = wire.get(&place).await.body;
    assert_eq!(condition(&found, "Established"), ("True", "InitialNamesAccepted"));
    assert_eq!(wire.get("/apis/example.com/v1/others").await.code, 200);
}

#[tokio::test]
async fn invalid_definitions_are_rejected_with_the_field() {
    let wire = TestServer::start().await;
    let faulty = [
        (
            json!({"type": "object", "properties": {"a": {}}}),
            "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for \
             specified object fields",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            "spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}),
            "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: \"string\":  in body must \
             be of type integer: \"string\"",
        ),
        (
            json!({"type": "string"}),
            "spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
        ),
    ];
    for (schema, expected) in faulty {
        let answer = wire
            .post(DEFINITIONS, definition("foos", "Foo", version(schema)))
            .await;
        assert_eq!(answer.code, 422, "{}", answer.text);
        assert!(
            causes(&answer).iter().any(|cause| cause == expected),
            "{expected}: {:?}",
            causes(&answer)
        );
    }
    let mut misnamed = definition("foos", "Foo", version_without_schema());
    misnamed["metadata"]["name"] = "bars.example.com".into();
    let answer = wire.post(DEFINITIONS, misnamed).await;
    assert_eq!(
        causes(&answer),
        ["metadata.name: Invalid value: \"bars.example.com\": must be spec.names.plural+\".\"+spec.group"]
    );
    let mut unstored = definition("foos", "Foo", version_without_schema());
    unstored["spec"]["versions"][0]["storage"] = false.into();
    let answer = wire.post(DEFINITIONS, unstored).await;
    assert_eq!(answer.code, 422, "{}", answer.text);
    let cause = &causes(&answer)[0];
    assert!(cause.starts_with("spec.versions: Invalid value"), "{cause}");
    assert!(
        cause.ends_with("must have exactly one version marked as storage version"),
        "{cause}"
    );
}

#[tokio::test]
async fn watches_observe_a_definition_becoming_established() {
    let wire = TestServer::start().await;
    let mut watch = wire.watch(&format!("{DEFINITIONS}?watch=true")).await;
    foos(&wire, version_without_schema()).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&("True".to_owned(), "InitialNamesAccepted".to_owned())) {
        let event = watch.next().await.expect("the watch has not ended");
        let (status, reason) = condition(&event["object"], "Established");
        seen.push((status.to_owned(), reason.to_owned()));
    }
    assert_eq!(seen[0].0, "", "a new definition has no conditions: {seen:?}");
}

#[tokio::test]
async fn schema_changes_apply_to_later_writes() {
    let wire = TestServer::start().await;
    foos(&wire, with_spec(json!({"a": {"type": "integer"}}))).await;
    wire.create(FOOS, foo("a", json!({"a": 1}))).await;
    let place = format!("{DEFINITIONS}/foos.example.com");
    let mut watch = wire.watch(&format!("{FOOS}?watch=true")).await;
    assert_eq!(watch.next_events(1).await, ["ADDED a"]);
    let patch = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
        "value": {"type": "string", "default": "x"}}]);
    let media = [("content-type", "application/json-patch+json")];
    let changed = wire.send("PATCH", &place, &media, patch.to_string()).await;
    assert_eq!(changed.code, 200, "{}", changed.text);
    assert_eq!(changed.body["metadata"]["generation"], 2);
    assert_eq!(watch.next().await, None, "a schema change ends watches");
    let found = wire.get(&format!("{FOOS}/a")).await.body;
    assert_eq!(
        found["spec"],
        json!({"a": 1, "b": "x"}),
        "objects stored earlier are defaulted on read"
    );
}

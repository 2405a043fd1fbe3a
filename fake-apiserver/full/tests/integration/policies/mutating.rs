//! Tests of MutatingAdmissionPolicies: apply configurations, JSON patches, order and denials.

use super::{DEPLOYMENTS, apply_configuration_mutation, deployment, json_patch_mutation, register_mutating};
use crate::client::TestServer;
use serde_json::json;

#[tokio::test]
async fn apply_configurations_are_merged_into_the_object() {
    let wire = TestServer::start().await;
    let annotate = "Object{metadata: Object.metadata{annotations: {\"mutated-by\": \"admission-policy\"}}}";
    let container = "Object{spec: Object.spec{replicas: 1337, template: Object.spec.template{spec: \
                     Object.spec.template.spec{initContainers: [Object.spec.template.spec.initContainers{name: 'i', \
                     image: object.spec.template.spec.containers[0].image}]}}}}";
    register_mutating(
        &wire,
        "a",
        json!({"mutations": [apply_configuration_mutation(annotate), apply_configuration_mutation(container)]}),
    )
    .await;
    let made = wire.create(DEPLOYMENTS, deployment("a", 1)).await;
    assert_eq!(
        made["metadata"]["annotations"],
        json!({"mutated-by": "admission-policy"})
    );
    assert_eq!(made["spec"]["replicas"], 1337);
    let init = &made["spec"]["template"]["spec"]["initContainers"][0];
    assert_eq!(
        (&init["name"], &init["image"]),
        (&json!("i"), &json!("example.com/app:1"))
    );
    assert_eq!(init["imagePullPolicy"], "IfNotPresent", "a default");
    let changed = wire
        .merge(&format!("{DEPLOYMENTS}/a"), json!({"spec": {"replicas": 2}}))
        .await;
    assert_eq!(changed.body["spec"]["replicas"], 1337);
}

#[tokio::test]
async fn json_patches_are_applied_unless_one_of_their_tests_fails() {
    let wire = TestServer::start().await;
    let patch = "[JSONPatch{op: 'test', path: '/spec/replicas', value: 1}, \
                 JSONPatch{op: 'replace', path: '/spec/replicas', value: variables.wanted}, \
                 JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, \
                 JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/a~b'), value: 'x'}]";
    let spec = json!({
        "variables": [{"name": "wanted", "expression": "object.spec.replicas + 4"}],
        "mutations": [json_patch_mutation(patch)],
    });
    // A label key with a tilde is invalid; validation runs after the mutation.
    register_mutating(&wire, "a", spec).await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 1)).await;
    assert!(
        refused
            .text
            .contains("metadata.labels: Invalid value: \\\"example.com/a~b\\\""),
        "{}",
        refused.text
    );
    let made = wire.create(DEPLOYMENTS, deployment("two", 2)).await;
    assert_eq!(
        (&made["spec"]["replicas"], &made["metadata"]["labels"]),
        (&json!(2), &json!(null))
    );
}

#[tokio::test]
async fn policies_run_in_name_order_and_can_be_reinvoked() {
    let wire = TestServer::start().await;
    let add = |by: u32| {
        json_patch_mutation(&format!(
            "[JSONPatch{{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + {by}}}]"
        ))
    };
    let first = json!({"mutations": [add(1)], "reinvocationPolicy": "IfNeeded"});
    register_mutating(&wire, "a", first).await;
    let second = json!({
        "mutations": [add(10)],
        "matchConditions": [{"name": "c", "expression": "object.metadata.name == 'both'"}],
    });
    register_mutating(&wire, "b", second).await;
    assert_eq!(
        wire.create(DEPLOYMENTS, deployment("both", 0)).await["spec"]["replicas"],
        12
    );
}

#[tokio::test]
async fn denials_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let atomic = "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}";
    register_mutating(
        &wire,
        "a",
        json!({"mutations": [apply_configuration_mutation(atomic)]}),
    )
    .await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 1)).await;
    let message = "policy 'a' with binding 'a' denied request: error applying patch: invalid ApplyConfiguration: may not \
                   mutate atomic arrays, maps or structs: .spec.selector";
    assert_eq!((refused.code, &refused.body["message"]), (403, &json!(message)));
    assert_eq!(refused.body["reason"], "Invalid");
    let path = format!("{}/mutatingadmissionpolicies/a", super::GROUP);
    let unknown = json!([apply_configuration_mutation(
        "Object{spec: Object.spec{nothing: 1}}"
    )]);
    assert_eq!(
        wire.merge(&path, json!({"spec": {"mutations": unknown}}))
            .await
            .code,
        200
    );
    let refused = wire.post(DEPLOYMENTS, deployment("a", 1)).await;
    assert!(
        refused
            .text
            .contains(".spec.nothing: field not declared in schema"),
        "{}",
        refused.text
    );
    wire.merge(&path, json!({"spec": {"failurePolicy": "Ignore"}}))
        .await;
    wire.create(DEPLOYMENTS, deployment("a", 1)).await;
}

//! Tests of ValidatingAdmissionPolicies: matching, variables, denials and evaluation errors.

use super::{DEPLOYMENTS, GROUP, deployment, register_validating};
use crate::client::{CONFIG_MAPS, TestServer};
use serde_json::json;

const DENIED: &str = "ValidatingAdmissionPolicy 'p.example.com' with binding 'b.example.com' denied request";

#[tokio::test]
async fn denials_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let validations = json!([
        {"expression": "object.spec.replicas > 1",
            "messageExpression": "'wants replicas > 1, got ' + string(object.spec.replicas)"},
        {"expression": "object.metadata.name != 'named'", "message": "not that name", "reason": "Forbidden"},
        {"expression": "namespaceObject.metadata.name == 'default'"},
        {"expression": "!has(object.metadata.annotations)", "messageExpression": "'broken ' + object.spec.replicas"},
    ]);
    register_validating(&wire, json!({"validations": validations}), json!({})).await;
    let text = |name: &str, why: &str| format!("deployments.apps {name:?} is forbidden: {DENIED}: {why}");
    let mut annotated = deployment("annotated", 2);
    annotated["metadata"]["annotations"] = json!({"a": "b"});
    for (object, code, reason, message) in [
        (
            deployment("one", 1),
            422,
            "Invalid",
            text("one", "wants replicas > 1, got 1"),
        ),
        (
            deployment("named", 2),
            403,
            "Forbidden",
            text("named", "not that name"),
        ),
        (
            annotated,
            422,
            "Invalid",
            text(
                "annotated",
                "failed expression: !has(object.metadata.annotations)",
            ),
        ),
    ] {
        let refused = wire.post(DEPLOYMENTS, object).await;
        assert_eq!(
            (refused.code, &refused.body["reason"]),
            (code, &json!(reason)),
            "{}",
            refused.text
        );
        assert_eq!(refused.body["message"], message);
        assert_eq!(refused.body["details"]["kind"], "deployments");
        let cause = refused.body["details"]["causes"][0]["message"].as_str().unwrap();
        assert!(cause.starts_with(DENIED), "{cause}");
    }
    wire.create(DEPLOYMENTS, deployment("fine", 2)).await;
    let refused = wire
        .merge(&format!("{DEPLOYMENTS}/fine"), json!({"spec": {"replicas": 1}}))
        .await;
    assert_eq!(refused.code, 422);
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    wire.create(sets, deployment("other", 1)).await;
}

#[tokio::test]
async fn variables_may_use_earlier_variables() {
    let wire = TestServer::start().await;
    let spec = json!({
        "variables": [
            {"name": "replicas", "expression": "object.spec.replicas"},
            {"name": "odd", "expression": "variables.replicas % 2 == 1"},
            {"name": "broken", "expression": "object.spec.nothing.here"},
        ],
        "validations": [
            {"expression": "variables.replicas > 1"},
            {"expression": "variables.odd || object.metadata.name == 'even'"},
            {"expression": "object.metadata.name != 'uses' || variables.broken == 'x'"},
        ],
    });
    register_validating(&wire, spec, json!({})).await;
    wire.create(DEPLOYMENTS, deployment("three", 3)).await;
    assert_eq!(wire.post(DEPLOYMENTS, deployment("one", 1)).await.code, 422);
    assert_eq!(wire.post(DEPLOYMENTS, deployment("four", 4)).await.code, 422);
    let refused = wire.post(DEPLOYMENTS, deployment("uses", 3)).await;
    assert!(
        refused
            .text
            .contains("composited variable \\\"broken\\\" fails to evaluate"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn validation_actions_of_the_binding_are_applied() {
    let wire = TestServer::start().await;
    let validations = json!([{"expression": "object.spec.replicas > 1", "message": "too few"}]);
    register_validating(
        &wire,
        json!({"validations": validations}),
        json!({"validationActions": ["Warn", "Audit"]}),
    )
    .await;
    let made = wire.post(DEPLOYMENTS, deployment("one", 1)).await;
    assert_eq!(made.code, 201);
    let expected = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p.example.com' with binding 'b.example.com': too few\"";
    assert_eq!(made.headers["warning"], expected);
}

#[tokio::test]
async fn policies_take_effect_with_their_binding() {
    let wire = TestServer::start().await;
    let validations = json!([{"expression": "false", "message": "never"}]);
    register_validating(&wire, json!({"validations": validations}), json!({})).await;
    assert_eq!(wire.post(DEPLOYMENTS, deployment("a", 1)).await.code, 422);
    let local = wire.server.client("local");
    let mut object = deployment("a", 1);
    object["apiVersion"] = "apps/v1".into();
    object["kind"] = "Deployment".into();
    object["metadata"]["namespace"] = "default".into();
    assert_eq!(
        local.create(object).unwrap_err().code,
        422,
        "policies apply to in-process clients"
    );
    wire.delete(&format!(
        "{GROUP}/validatingadmissionpolicybindings/b.example.com"
    ))
    .await;
    wire.create(DEPLOYMENTS, deployment("a", 1)).await;
}

#[tokio::test]
async fn selectors_exclusions_conditions_and_bindings_narrow_the_match() {
    let wire = TestServer::start().await;
    let spec = json!({
        "matchConstraints": {
            "resourceRules": [{"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"],
                "resources": ["configmaps", "secrets"]}],
            "excludeResourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"], "resourceNames": ["free"]}],
        },
        "matchConditions": [
            {"name": "named", "expression": "object.metadata.name != 'skipped'"},
            {"name": "may", "expression": "authorizer.requestResource.check('create').allowed()"},
        ],
        "validations": [{"expression": "false"}],
    });
    let selector = json!({"matchResources": {"objectSelector": {"matchLabels": {"judged": "yes"}}}});
    register_validating(&wire, spec, selector).await;
    let object = |name: &str, label: &str| json!({"metadata": {"name": name, "labels": {"judged": label}}});
    for (name, label, code) in [
        ("a", "yes", 422),
        ("b", "no", 201),
        ("free", "yes", 201),
        ("skipped", "yes", 201),
    ] {
        assert_eq!(
            wire.post(CONFIG_MAPS, object(name, label)).await.code,
            code,
            "{name}"
        );
    }
}

#[tokio::test]
async fn evaluation_errors_deny_unless_failure_policy_is_ignore() {
    let wire = TestServer::start().await;
    let validations = json!([{"expression": "object.spec.nothing.here == 'x'"}]);
    register_validating(&wire, json!({"validations": validations}), json!({})).await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 1)).await;
    let why = "expression 'object.spec.nothing.here == 'x'' resulted in error: no such key: nothing";
    let message = format!("deployments.apps \"a\" is forbidden: {DENIED}: {why}");
    assert_eq!((refused.code, &refused.body["message"]), (422, &json!(message)));
    let path = format!("{GROUP}/validatingadmissionpolicies/p.example.com");
    wire.merge(&path, json!({"spec": {"failurePolicy": "Ignore"}}))
        .await;
    wire.create(DEPLOYMENTS, deployment("a", 1)).await;
}

#[tokio::test]
async fn deletions_are_validated_with_the_old_object() {
    let wire = TestServer::start().await;
    let validations = json!([{
        "expression": "request.operation != 'DELETE' || oldObject.spec.replicas == 0", "message": "still in use",
    }]);
    register_validating(&wire, json!({"validations": validations}), json!({})).await;
    wire.create(DEPLOYMENTS, deployment("a", 1)).await;
    wire.create(DEPLOYMENTS, deployment("b", 0)).await;
    let refused = wire.delete(&format!("{DEPLOYMENTS}/a")).await;
    assert!(refused.text.contains("still in use"), "{}", refused.text);
    assert_eq!(wire.delete(&format!("{DEPLOYMENTS}/b")).await.code, 200);
    assert_eq!(wire.delete(DEPLOYMENTS).await.code, 422);
}

#[tokio::test]
async fn policy_status_has_the_observed_generation() {
    let wire = TestServer::start().await;
    let policies = format!("{GROUP}/validatingadmissionpolicies");
    let validations = json!([{"expression": "object.spec.replicas > 1"}]);
    let policy = json!({"metadata": {"name": "a"}, "spec": {"matchConstraints": super::deployments(),
        "validations": validations}});
    wire.create(&policies, policy).await;
    let found = wire.get(&format!("{policies}/a")).await.body;
    assert_eq!(
        found["status"],
        json!({"observedGeneration": 1, "typeChecking": {}})
    );
}

/// Declares policy variables of which each is twice as long as the previous one; evaluation must stop.
#[tokio::test]
async fn exponentially_growing_variables_are_stopped() {
    let wire = TestServer::start().await;
    let mut variables = vec![json!({"name": "v0", "expression": "object.metadata.name"})];
    for i in 1..60 {
        let sum = format!("variables.v{} + variables.v{}", i - 1, i - 1);
        variables.push(json!({"name": format!("v{i}"), "expression": sum}));
    }
    let validations = json!([{"expression": "size(variables.v59) > 0"}]);
    register_validating(
        &wire,
        json!({"variables": variables, "validations": validations}),
        json!({}),
    )
    .await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 1)).await;
    assert_eq!(refused.code, 422, "{}", refused.text);
    assert!(refused.text.contains("cost"), "{}", refused.text);
    assert_eq!(wire.get("/readyz").await.code, 200);
}

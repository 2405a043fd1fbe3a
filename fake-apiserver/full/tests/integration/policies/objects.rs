//! Tests of validation and defaulting of policies and bindings.

use super::{GROUP, apply_configuration_mutation, causes, deployments};
use crate::client::TestServer;
use serde_json::{Value, json};

#[tokio::test]
async fn policies_are_defaulted() {
    let wire = TestServer::start().await;
    let spec = json!({"matchConstraints": deployments(), "validations": [{"expression": "true"}]});
    let made = wire
        .post(
            &format!("{GROUP}/validatingadmissionpolicies"),
            json!({"metadata": {"generateName": "p-"}, "spec": spec}),
        )
        .await;
    assert_eq!((made.code, made.headers.get("warning")), (201, None));
    let spec = &made.body["spec"];
    assert_eq!(spec["failurePolicy"], "Fail");
    let constraints = &spec["matchConstraints"];
    assert_eq!(constraints["matchPolicy"], "Equivalent");
    assert_eq!(constraints["namespaceSelector"], json!({}));
    assert_eq!(constraints["resourceRules"][0]["scope"], "*");
}

#[tokio::test]
async fn validation_errors_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let policy = |own: Value| {
        let mut spec = json!({"matchConstraints": deployments(), "validations": [{"expression": "true"}]});
        super::merge(&mut spec, own);
        ("validatingadmissionpolicies", spec)
    };
    let changing = |own: Value| {
        let mut spec = json!({"matchConstraints": deployments(), "reinvocationPolicy": "Never",
            "mutations": [apply_configuration_mutation("Object{}")]});
        super::merge(&mut spec, own);
        ("mutatingadmissionpolicies", spec)
    };
    let binding = |own: Value| {
        let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
        super::merge(&mut spec, own);
        ("validatingadmissionpolicybindings", spec)
    };
    for ((plural, spec), expected) in [
        (
            policy(json!({"matchConstraints": null})),
            "spec.matchConstraints: Required value",
        ),
        (
            policy(json!({"validations": []})),
            "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        ),
        (
            policy(json!({"validations": [{"expression": "object.x =="}]})),
            "spec.validations[0].expression: Invalid value: \"object.x ==\": compilation failed: ERROR: <input>:1:12: Syntax error",
        ),
        (
            policy(
                json!({"validations": [{"expression": "variables.none"}], "variables": [{"name": "in", "expression": "1"}]}),
            ),
            "spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier",
        ),
        (
            policy(json!({"validations": [{"expression": "1 + 1"}]})),
            "spec.validations[0].expression: Invalid value: \"1 + 1\": must evaluate to bool but got int",
        ),
        (
            policy(json!({"validations": [{"expression": "true", "reason": "Because"}]})),
            "spec.validations[0].reason: Unsupported value: \"Because\": supported values: \"Forbidden\", \"Invalid\", \
             \"RequestEntityTooLarge\"",
        ),
        (
            policy(json!({"validations": [{"expression": "params.x == 1"}]})),
            "undeclared reference to 'params' (in container '')",
        ),
        (
            changing(json!({})),
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \
             \"CONNECT\", \"CREATE\", \"UPDATE\"",
        ),
        (
            changing(json!({"mutations": []})),
            "spec.mutations: Required value: mutations must contain at least one item",
        ),
        (
            changing(json!({"mutations": [{"patchType": "JSONPatch"}]})),
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
        ),
        (
            changing(json!({"mutations": [apply_configuration_mutation("1")]})),
            "must evaluate to Object but got int",
        ),
        (
            binding(json!({"validationActions": ["Deny", "Warn"]})),
            "must not contain both Deny and Warn",
        ),
        (
            binding(json!({"paramRef": {"name": "x"}})),
            "spec.paramRef.parameterNotFoundAction: Required value",
        ),
    ] {
        let mut spec = spec;
        if plural == "mutatingadmissionpolicies" {
            spec["matchConstraints"]["resourceRules"][0]["operations"] = json!(["DELETE"]);
        }
        let path = format!("{GROUP}/{plural}");
        let refused = wire
            .post(&path, json!({"metadata": {"name": "p"}, "spec": spec}))
            .await;
        assert_eq!(refused.code, 422, "{expected}: {}", refused.text);
        assert!(
            causes(&refused).iter().any(|cause| cause.contains(expected)),
            "{expected}: {:#?}",
            causes(&refused)
        );
    }
}

//! Tests of validation and defaulting of webhook configurations.

use super::{MUTATING, VALIDATING, hook};
use crate::client::TestServer;
use crate::custom_resources::causes;
use serde_json::{Value, json};

fn client() -> Value {
    json!({"url": "https://127.0.0.1:1/validate"})
}

#[tokio::test]
async fn webhook_configurations_are_defaulted() {
    let wire = TestServer::start().await;
    for (path, again) in [(VALIDATING, Value::Null), (MUTATING, json!("Never"))] {
        let service = json!({"service": {"namespace": "default", "name": "hook"}});
        let made = wire
            .create(
                path,
                json!({"metadata": {"name": "a"}, "webhooks": [hook("a", service, json!({}))]}),
            )
            .await;
        let made = &made["webhooks"][0];
        assert_eq!(made["failurePolicy"], "Fail");
        assert_eq!(made["matchPolicy"], "Equivalent");
        assert_eq!(made["timeoutSeconds"], 10);
        assert_eq!(
            (&made["namespaceSelector"], &made["objectSelector"]),
            (&json!({}), &json!({}))
        );
        assert_eq!(made["rules"][0]["scope"], "*");
        assert_eq!(made["clientConfig"]["service"]["port"], 443);
        assert_eq!(made["reinvocationPolicy"], again);
    }
}

#[tokio::test]
async fn validation_errors_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let bad = |own: Value| hook("a", client(), own);
    for (hooks, reported) in [
        (
            vec![bad(json!({"name": "short"}))],
            "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
        ),
        (
            vec![bad(json!({})), bad(json!({}))],
            "webhooks[1].name: Duplicate value: \"a.example.com\"",
        ),
        (
            vec![bad(json!({"sideEffects": null}))],
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            vec![bad(json!({"sideEffects": "Some"}))],
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (
            vec![bad(json!({"timeoutSeconds": 31}))],
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            vec![bad(json!({"admissionReviewVersions": []}))],
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            vec![bad(json!({"admissionReviewVersions": ["v7"]}))],
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v7\"]: must include at least one of v1, v1beta1",
        ),
        (
            vec![bad(json!({"clientConfig": {"url": "http://example.com/x?y=z"}}))],
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired \
             format: https://host[/path]",
        ),
        (
            vec![bad(json!({"clientConfig": {}}))],
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            vec![bad(
                json!({"rules": [{"operations": ["CREATE", "*"], "apiGroups": ["*"], "apiVersions": ["*"],
                "resources": ["pods"]}]}),
            )],
            "webhooks[0].rules[0].operations: Invalid value: [\"CREATE\",\"*\"]: if '*' is present, must not specify other \
             operations",
        ),
    ] {
        let refused = wire
            .post(VALIDATING, json!({"metadata": {"name": "a"}, "webhooks": hooks}))
            .await;
        assert_eq!(refused.code, 422, "{}", refused.text);
        assert!(
            causes(&refused).iter().any(|cause| cause == reported),
            "{:#?}",
            causes(&refused)
        );
    }
}

#[tokio::test]
async fn match_conditions_are_compiled() {
    let wire = TestServer::start().await;
    for (expression, reported) in [
        ("... [", "compilation failed: ERROR: <input>:1:2: Syntax error"),
        (
            "object.x == unknown",
            "undeclared reference to 'unknown' (in container '')",
        ),
        ("'text'", "must evaluate to bool but got string"),
        ("params.x == 1", "undeclared reference to 'params'"),
    ] {
        let conditions = json!({"matchConditions": [{"name": "c", "expression": expression}]});
        let hooks = [hook("a", client(), conditions)];
        let refused = wire
            .post(MUTATING, json!({"metadata": {"name": "a"}, "webhooks": hooks}))
            .await;
        assert_eq!(refused.code, 422, "{expression}: {}", refused.text);
        assert!(
            refused
                .text
                .contains("webhooks[0].matchConditions[0].expression: Invalid value"),
            "{}",
            refused.text
        );
        assert!(
            refused.text.contains(&reported.replace('"', "\\\"")),
            "{expression}: {}",
            refused.text
        );
    }
}

#[tokio::test]
async fn creating_a_configuration_returns_no_warning() {
    let wire = TestServer::start().await;
    let hooks = [hook("a", client(), json!({}))];
    let made = wire
        .post(VALIDATING, json!({"metadata": {"name": "a"}, "webhooks": hooks}))
        .await;
    assert_eq!((made.code, made.headers.get("warning")), (201, None));
}

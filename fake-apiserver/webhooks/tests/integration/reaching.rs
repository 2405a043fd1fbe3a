//! Tests of webhook calls: addresses, TLS, timeouts and failures.

use super::{VALIDATING, config_map, denied, hook, register, register_validating};
use crate::client::{CONFIG_MAPS, TestServer};
use crate::webhook_server::Hook;
use fake_apiserver::ServerOptions;
use serde_json::json;

#[tokio::test]
async fn errors_in_match_conditions_deny_unless_failure_policy_is_ignore() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| denied("seen")).await;
    let condition = json!([{"name": "broken", "expression": "object.data.missing == 'x'"}]);
    register_validating(&wire, &server, json!({"matchConditions": condition})).await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({"k": "v"}))).await;
    let text = "configmaps \"a\" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no such key: \
                missing";
    assert_eq!((refused.code, &refused.body["message"]), (403, &json!(text)));
    let path = format!("{VALIDATING}/validates");
    let ignoring = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    let json_patch = [("content-type", "application/json-patch+json")];
    wire.send("PATCH", &path, &json_patch, ignoring.to_string()).await;
    wire.create(CONFIG_MAPS, config_map("a", json!({"k": "v"}))).await;
    assert!(server.reviews().is_empty());
}

#[tokio::test]
async fn failed_calls_deny_unless_failure_policy_is_ignore() {
    let wire = TestServer::start().await;
    let gone = {
        let server = Hook::start(|_| json!({"allowed": true})).await;
        server.client("/validate")
    };
    let address = gone["url"]
        .as_str()
        .unwrap()
        .trim_start_matches("https://")
        .trim_end_matches("/validate");
    register(
        &wire,
        VALIDATING,
        "gone",
        vec![hook("gone", gone.clone(), json!({}))],
    )
    .await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    let text = format!(
        "Internal error occurred: failed calling webhook \"gone.example.com\": failed to call webhook: Post \
         \"https://{address}/validate?timeout=10s\": dial tcp {address}: connect: connection refused"
    );
    assert_eq!((refused.code, &refused.body["message"]), (500, &json!(text)));
    assert_eq!(refused.body["reason"], "InternalError");
    wire.delete(&format!("{VALIDATING}/gone")).await;
    let ignored = json!({"failurePolicy": "Ignore"});
    register(&wire, VALIDATING, "gone", vec![hook("gone", gone, ignored)]).await;
    wire.create(CONFIG_MAPS, config_map("a", json!({}))).await;
}

#[tokio::test]
async fn malformed_reviews_are_errors() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(|path, review| {
        let uid = &review["request"]["uid"];
        match path {
            "/other" => json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                "response": {"uid": "other", "allowed": true}}),
            "/empty" => json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}),
            "/untyped" => json!({"response": {"uid": uid, "allowed": true}}),
            "/patched" => json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                "response": {"uid": uid, "allowed": true, "patch": "W10=", "patchType": "JSONPatch"}}),
            _ => json!({"httpCode": 404}),
        }
    })
    .await;
    for (path, reported) in [
        (
            "/other",
            "received invalid webhook response: expected response.uid=",
        ),
        (
            "/empty",
            "received invalid webhook response: webhook response was absent",
        ),
        (
            "/untyped",
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        ("/patched", "validating webhook may not return response.patch"),
        (
            "/none",
            "failed to call webhook: the server could not find the requested resource",
        ),
    ] {
        let hooks = vec![hook("odd", server.client(path), json!({}))];
        register(&wire, VALIDATING, "odd", hooks).await;
        let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
        assert!(refused.text.contains(reported), "{path}: {}", refused.text);
        wire.delete(&format!("{VALIDATING}/odd")).await;
    }
}

#[tokio::test]
async fn webhook_certificates_must_be_trusted_by_the_ca_bundle() {
    let wire = TestServer::start().await;
    let (server, other) = (
        Hook::start(|_| json!({"allowed": true})).await,
        Hook::start(|_| json!({"allowed": true})).await,
    );
    for bundle in [json!(""), json!(other.authority)] {
        let mut client = server.client("/validate");
        client["caBundle"] = bundle;
        register(
            &wire,
            VALIDATING,
            "distrusted",
            vec![hook("distrusted", client, json!({}))],
        )
        .await;
        let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
        let reported = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
        assert!(refused.text.contains(reported), "{}", refused.text);
        wire.delete(&format!("{VALIDATING}/distrusted")).await;
    }
}

#[tokio::test]
async fn dry_runs_are_rejected_if_a_webhook_has_side_effects() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["dryRun"] == true {
        true => denied("dry"),
        false => json!({"allowed": true}),
    })
    .await;
    register_validating(&wire, &server, json!({"sideEffects": "NoneOnDryRun"})).await;
    let refused = wire
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), config_map("a", json!({})))
        .await;
    assert!(
        refused.text.contains("denied the request: dry"),
        "{}",
        refused.text
    );
    wire.create(CONFIG_MAPS, config_map("a", json!({}))).await;
}

#[tokio::test]
async fn services_resolve_to_their_endpoints_or_to_the_configured_address() {
    let server = Hook::start(|_| denied("found")).await;
    let service = json!({"service": {"namespace": "default", "name": "hook", "path": "/validate"},
        "caBundle": server.authority});
    let hooks = || vec![hook("serves", service.clone(), json!({}))];
    let by_options = ServerOptions {
        services: [("default/hook".to_owned(), server.address)].into(),
        ..Default::default()
    };
    let wire = TestServer::start_with(by_options, None).await;
    register(&wire, VALIDATING, "serves", hooks()).await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert!(
        refused.text.contains("denied the request: found"),
        "{}",
        refused.text
    );

    let wire = TestServer::start().await;
    register(&wire, VALIDATING, "serves", hooks()).await;
    let reported = |why: &str| {
        format!(
            "Internal error occurred: failed calling webhook \"serves.example.com\": failed to call webhook: Post \
             \"https://hook.default.svc:443/validate?timeout=10s\": {why}"
        )
    };
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert_eq!(refused.body["message"], reported("service \"hook\" not found"));
    let ports = json!([{"port": 443, "targetPort": 8443, "protocol": "TCP"}]);
    let object = json!({"metadata": {"name": "hook"}, "spec": {"ports": ports, "selector": {"a": "b"}}});
    wire.create("/api/v1/namespaces/default/services", object).await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert_eq!(
        refused.body["message"],
        reported("no endpoints available for service \"hook\"")
    );
    let slice = json!({
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
        "ports": [{"name": "", "port": server.address.port(), "protocol": "TCP"}],
    });
    wire.create(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        slice,
    )
    .await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert!(
        refused.text.contains("denied the request: found"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn only_loopback_addresses_are_dialled_by_default() {
    const HOSTS: [&str; 6] = [
        "169.254.169.254",
        "10.0.0.1:1",
        "0.0.0.0:1",
        "[::ffff:10.0.0.1]:1",
        "[fe80::1]:1",
        "[::]:1",
    ];
    let refused = |wire: TestServer, url: String| async move {
        let client = json!({"url": url, "caBundle": Hook::start(|_| json!({})).await.authority});
        register(&wire, VALIDATING, "h", vec![hook("h", client, json!({}))]).await;
        wire.post(CONFIG_MAPS, config_map("a", json!({}))).await.text
    };
    for host in HOSTS {
        let text = refused(TestServer::start().await, format!("https://{host}/")).await;
        assert!(text.contains("not a loopback address; use --allow"), "{text}");
    }
    for host in ["127.8.9.1:1", "localhost:1", "[::ffff:127.0.0.1]:1"] {
        let text = refused(TestServer::start().await, format!("https://{host}/")).await;
        assert!(!text.contains("not a loopback address"), "{text}");
    }
    let allowed = ServerOptions {
        remote_webhooks: true,
        ..Default::default()
    };
    let text = refused(
        TestServer::start_with(allowed, None).await,
        "https://0.0.0.0:1/".to_owned(),
    )
    .await;
    assert!(text.contains("connection refused"), "{text}");
}

#[tokio::test]
async fn webhook_paths_are_normalized() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(|path, review| {
        let response =
            json!({"uid": review["request"]["uid"], "allowed": false, "status": {"message": path}});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    })
    .await;
    for (reported, reviews) in [
        ("", "/"),
        ("//validate", "/validate"),
        ("/validate/", "/validate"),
        ("/a/./b/../validate", "/a/validate"),
        ("/../validate", "/validate"),
    ] {
        let hooks = vec![hook("validates", server.client(reported), json!({}))];
        register(&wire, VALIDATING, "validates", hooks).await;
        let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
        let text = format!("admission webhook \"validates.example.com\" denied the request: {reviews}");
        assert_eq!(refused.body["message"], text, "{reported}");
        wire.delete(&format!("{VALIDATING}/validates")).await;
    }
}

#[tokio::test]
async fn webhook_calls_end_after_timeout_seconds() {
    let wire = TestServer::start().await;
    // A listener that accepts connections, but never responds.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let client = json!({"url": format!("https://{address}/validate")});
    let hooks = vec![hook("silent", client, json!({"timeoutSeconds": 1}))];
    register(&wire, VALIDATING, "silent", hooks).await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    let text = format!(
        "Internal error occurred: failed calling webhook \"silent.example.com\": failed to call webhook: Post \
         \"https://{address}/validate?timeout=1s\": context deadline exceeded"
    );
    assert_eq!((refused.code, &refused.body["message"]), (500, &json!(text)));
}

#[tokio::test]
async fn certificates_in_the_ca_bundle_itself_are_trusted() {
    let wire = TestServer::start().await;
    let server = Hook::self_signed(|_| denied("reached")).await;
    register(
        &wire,
        VALIDATING,
        "own",
        vec![hook("own", server.client("/validate"), json!({}))],
    )
    .await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert!(
        refused.text.contains("denied the request: reached"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn the_first_supported_review_version_is_sent() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(
        |_, review| json!({"response": {"allowed": review["apiVersion"] == "admission.k8s.io/v1beta1"}}),
    );
    let server = server.await;
    let versions = json!({"admissionReviewVersions": ["v9", "v1beta1", "v1"]});
    let hooks = vec![hook("older", server.client("/validate"), versions)];
    register(&wire, VALIDATING, "older", hooks).await;
    wire.create(CONFIG_MAPS, config_map("a", json!({}))).await;
}

#[tokio::test]
async fn webhook_connections_are_reused_unless_closed() {
    let wire = TestServer::start().await;
    for (close, connections) in [(false, 1), (true, 3)] {
        let server = Hook::start_raw(move |_, review| {
            let response = json!({"uid": review["request"]["uid"], "allowed": true});
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response, "close": close})
        })
        .await;
        register_validating(&wire, &server, json!({})).await;
        for name in ["a", "b", "c"] {
            wire.create(
                CONFIG_MAPS,
                config_map(&format!("{name}-{connections}"), json!({})),
            )
            .await;
        }
        assert_eq!(server.connections(), connections);
        wire.delete(&format!("{VALIDATING}/validates")).await;
    }
}

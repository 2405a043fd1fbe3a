//! Health endpoints, metrics and response headers.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestServer, capacity, client};
use fake_apiserver::{Effect, Match, Rule, Verb};
use serde_json::json;

#[tokio::test]
async fn health_checks_can_be_listed_selected_and_excluded() {
    let wire = TestServer::start().await;
    let verbose = wire.get("/readyz?verbose").await;
    assert!(
        verbose
            .text
            .starts_with("[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n")
    );
    assert!(verbose.text.ends_with("[+]shutdown ok\nreadyz check passed\n"));
    let hook = "poststarthook/rbac/bootstrap-roles";
    assert!(verbose.text.contains(&format!("[+]{hook} ok\n")));
    assert_eq!(wire.get(&format!("/healthz/{hook}")).await.text, "ok");
    assert_eq!(wire.get("/livez/ping").await.text, "ok");
    assert_eq!(
        wire.get("/livez/shutdown").await.code,
        404,
        "only readyz has this check"
    );
    assert_eq!(wire.get("/healthz/nothing").await.code, 404);
    let excluded = wire.get("/livez?verbose&exclude=etcd&exclude=x").await.text;
    assert!(excluded.contains("[+]etcd excluded: ok\n"), "{excluded}");
    let end = "warn: some health checks cannot be excluded: no matches for \"x\"\nlivez check passed\n";
    assert!(excluded.ends_with(end), "{excluded}");
}

#[tokio::test]
async fn health_checks_are_exported_as_slis() {
    let wire = TestServer::start().await;
    let text = wire.get("/metrics/slis").await.text;
    assert!(
        text.contains("\nkubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 1\n"),
        "{text}"
    );
    let total = "\nkubernetes_healthchecks_total{name=\"ping\",type=\"livez\",status=\"success\"} 1\n";
    assert!(text.contains(total), "{text}");
}

#[tokio::test]
async fn access_reviews_cannot_be_returned_as_a_table() {
    let wire = TestServer::start().await;
    let review = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let headers = [
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        ("content-type", "application/json"),
    ];
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = wire.send("POST", path, &headers, review.to_string()).await;
    let text = "the resource selfsubjectaccessreviews.authorization.k8s.io does not support being converted to a Table";
    assert_eq!((answer.code, &answer.body["message"]), (406, &json!(text)));
}

/// The value of the first metric sample whose line contains all `parts`.
fn sample(text: &str, parts: &[&str]) -> f64 {
    let line = text
        .lines()
        .find(|line| parts.iter().all(|part| line.contains(part)));
    let line = line.unwrap_or_else(|| panic!("no sample with {parts:?} in\n{text}"));
    let value = line.rsplit(' ').next().and_then(|value| value.parse().ok());
    value.expect("a sample line ends with its value")
}

#[tokio::test]
async fn requests_are_counted_by_verb_resource_and_code() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    wire.get(&format!("{CONFIG_MAPS}/a")).await;
    wire.get(&format!("{CONFIG_MAPS}/b")).await;
    wire.get("/api/v1/pods").await;
    let _watch = wire.watch(&format!("{PODS}?watch=true")).await;
    let answer = wire.get("/metrics").await;
    assert_eq!(
        answer.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
    );
    assert!(
        answer
            .text
            .contains("# TYPE apiserver_request_total counter\napiserver_request_total{"),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("# EOF"), "{}", answer.text);
    let requests = |parts: &[&str]| sample(&answer.text, &[&["apiserver_request_total{"], parts].concat());
    let of_maps = "resource=\"configmaps\"";
    assert_eq!(
        requests(&[of_maps, "verb=\"POST\"", "scope=\"resource\"", "code=\"201\""]),
        1.0
    );
    assert_eq!(requests(&[of_maps, "verb=\"GET\"", "code=\"404\""]), 1.0);
    assert_eq!(
        requests(&[
            "resource=\"pods\"",
            "verb=\"LIST\"",
            "scope=\"cluster\"",
            "code=\"200\""
        ]),
        1.0
    );
    assert_eq!(
        requests(&["resource=\"pods\"", "verb=\"WATCH\"", "scope=\"namespace\""]),
        1.0
    );
    let gets = [
        "apiserver_request_duration_seconds_count{",
        of_maps,
        "verb=\"GET\"",
    ];
    assert_eq!(sample(&answer.text, &gets), 2.0);
    assert_eq!(
        sample(
            &answer.text,
            &["apiserver_longrunning_requests{", "verb=\"WATCH\""]
        ),
        1.0
    );
    let in_flight = [
        "apiserver_current_inflight_requests{",
        "request_kind=\"readOnly\"",
    ];
    assert_eq!(
        sample(&answer.text, &in_flight),
        1.0,
        "this is the only request in flight"
    );
    assert!(
        !answer
            .text
            .contains("apiserver_request_duration_seconds_count{verb=\"WATCH\"")
    );
}

/// MET-10 and MET-11 (KEP-1472, rollout): operators must be able to see that the CSIStorageCapacity API is slow or failing.
#[tokio::test]
async fn metrics_show_slow_and_failing_requests_for_capacities() {
    let wire = TestServer::start().await;
    let on = |verb| Match {
        verbs: vec![verb],
        resource: Some("csistoragecapacities".to_owned()),
        ..Match::default()
    };
    let fails = Effect::Status {
        code: 500,
        retry_after_seconds: 0,
    };
    wire.server
        .add_fault_rule(Rule::new(on(Verb::Create), fails).times(2))
        .unwrap();
    let slow = Effect::Delay { milliseconds: 300 };
    wire.server
        .add_fault_rule(Rule::new(on(Verb::List), slow))
        .unwrap();
    for code in [500, 500, 201] {
        assert_eq!(wire.post(CAPACITIES, capacity("a", "1Gi")).await.code, code);
    }
    assert_eq!(wire.get(CAPACITIES).await.code, 200);
    let text = wire.get("/metrics").await.text;
    let of_capacity = "resource=\"csistoragecapacities\"";
    let created = |code| {
        sample(
            &text,
            &["apiserver_request_total{", of_capacity, "verb=\"POST\"", code],
        )
    };
    assert_eq!((created("code=\"500\""), created("code=\"201\"")), (2.0, 1.0));
    let seconds = "apiserver_request_duration_seconds_sum{";
    assert!(sample(&text, &[seconds, of_capacity, "verb=\"LIST\""]) >= 0.3);
}

#[tokio::test]
async fn unknown_paths_create_no_metric_series() {
    let wire = TestServer::start().await;
    let anonymous = client(&wire.running, None);
    for path in ["/one", "/two", "/apis/one", "/api/v1/one", "/api/v1/two"] {
        drop(super::client::request(&anonymous, "GET", path, &[], String::new()).await);
    }
    let text = wire.get("/metrics").await.text;
    assert!(!text.contains("one") && !text.contains("two"), "{text}");
}

#[tokio::test]
async fn health_endpoints_accept_any_method() {
    let wire = TestServer::start().await;
    for method in ["HEAD", "PUT", "OPTIONS"] {
        let whole = wire.send(method, "/livez", &[], String::new()).await;
        let words = if method == "HEAD" { "" } else { "ok" };
        assert_eq!((whole.code, whole.text.as_str()), (200, words), "{method}");
        assert_eq!(whole.headers["x-content-type-options"], "nosniff");
        let one = wire.send(method, "/livez/ping", &[], String::new()).await;
        assert!(one.code == 200 && !one.headers.contains_key("x-content-type-options"));
    }
}

#[tokio::test]
async fn delete_of_metrics_resets_the_counters() {
    let wire = TestServer::start().await;
    let counted = "apiserver_request_total{verb=\"LIST\",group=\"\",version=\"v1\",resource=\"nodes\"";
    wire.get("/api/v1/nodes").await;
    assert!(wire.get("/metrics").await.text.contains(counted));
    for path in ["/metrics", "/metrics/slis"] {
        let reset = wire.send("DELETE", path, &[], String::new()).await;
        assert_eq!((reset.code, reset.text.as_str()), (200, "metrics reset\n"));
        assert_eq!(reset.headers["content-type"], "text/plain; charset=utf-8");
        let text = wire.get("/metrics").await.text;
        assert!(!text.contains(counted), "{text}");
        assert!(text.contains("process_start_time_seconds"), "{text}");
    }
}

#[tokio::test]
async fn responses_are_private_except_cacheable_discovery() {
    let wire = TestServer::start().await;
    let private = [
        "/api/v1/namespaces/default",
        "/apis/apps",
        "/version",
        "/livez",
        "/none",
        "/api/v1/nodes/none",
    ];
    for path in private {
        let answer = wire.get(path).await;
        assert_eq!(answer.headers["cache-control"], "no-cache, private", "{path}");
        assert!(!answer.headers.contains_key("etag"), "{path}");
    }
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let stored = wire
        .send("GET", "/apis", &[("accept", aggregated)], String::new())
        .await;
    assert_eq!(stored.headers["cache-control"], "public");
    assert_eq!(stored.headers["vary"], "Accept");
    let known = [
        ("accept", aggregated),
        ("if-none-match", stored.headers["etag"].to_str().unwrap()),
    ];
    assert_eq!(wire.send("GET", "/apis", &known, String::new()).await.code, 304);
}

#[tokio::test]
async fn responses_contain_the_audit_id_of_the_request() {
    let wire = TestServer::start().await;
    let sent = [("audit-id", "of-the-client")];
    let answer = wire.send("GET", "/version", &sent, String::new()).await;
    assert_eq!(answer.headers["audit-id"], "of-the-client");
    let (one, other) = (wire.get("/version").await, wire.get("/version").await);
    assert_eq!(one.headers["audit-id"].len(), 36);
    assert_ne!(one.headers["audit-id"], other.headers["audit-id"]);
}

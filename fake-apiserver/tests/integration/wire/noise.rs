//! Random input in every part of a request: the sender gets a well-formed response, and other clients are still served.

use super::client::{CAPACITIES, CONFIG_MAPS, TestResponse, TestServer, answer, request};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

async fn send(wire: &TestServer, method: &str, path: &str, media: &str, body: &[u8]) -> TestResponse {
    answer(request(&wire.client, method, path, &[("content-type", media)], body).await).await
}

/// Asserts that the response is no server error, and that a client error is a Status object with code and message.
fn assert_well_formed(answer: &TestResponse, sent: &str) {
    assert!(answer.code < 500, "{sent}: {} {}", answer.code, answer.text);
    if answer.code >= 400 {
        let (kind, code) = (&answer.body["kind"], &answer.body["code"]);
        assert_eq!(
            (kind, code),
            (&json!("Status"), &json!(answer.code)),
            "{sent}: {}",
            answer.text
        );
        assert!(
            answer.body["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{sent}"
        );
    }
}

/// Generates a valid document with a few bytes changed, or random bytes.
fn mutated(good: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((0..good.len(), any::<u8>(), 0..3_u8), 1..5);
    let changed = changes.prop_map(move |changes| {
        let mut bytes = good.to_vec();
        for (at, byte, how) in changes {
            let at = at.min(bytes.len() - 1);
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => {}
            }
        }
        bytes
    });
    prop_oneof![3 => changed, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

/// Runs an asynchronous check on random inputs, all against one server.
fn check_random_inputs<T: std::fmt::Debug>(
    inputs: impl Strategy<Value = T>,
    check: &impl AsyncFn(&TestServer, T),
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    let wire = runtime.block_on(TestServer::start());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 192,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = runner.run(&inputs, |input| {
        runtime.block_on(check(&wire, input));
        Ok(())
    });
    ran.expect("the check holds for every input");
    assert_eq!(runtime.block_on(wire.get("/readyz")).text, "ok");
}

const CAPACITY: &[u8] = br#"{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"c","labels":{"a":"b"}},"storageClassName":"fast","nodeTopology":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},"capacity":"1Gi","maximumVolumeSize":1e3}"#;
const CAPACITY_YAML: &[u8] = b"apiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {name: &a c, labels: {x: *a}}\nstorageClassName: fast\ncapacity: 1Gi\n";
const CAPACITY_PROTOBUF: &[u8] =
    b"k8s\0\x0a\x2a\n\x11storage.k8s.io/v1\x12\x12CSIStorageCapacityXX\x12\x0b\n\x03\n\x01c\x1a\x04fast";

#[test]
fn mutated_json_gets_a_well_formed_response() {
    check_random_inputs(mutated(CAPACITY), &async |wire, body| {
        for method in ["POST", "DELETE"] {
            assert_well_formed(
                &send(wire, method, CAPACITIES, JSON, &body).await,
                &String::from_utf8_lossy(&body),
            );
        }
    });
}

#[test]
fn mutated_yaml_gets_a_well_formed_response() {
    check_random_inputs(mutated(CAPACITY_YAML), &async |wire, body| {
        assert_well_formed(
            &send(wire, "POST", CAPACITIES, YAML, &body).await,
            &String::from_utf8_lossy(&body),
        );
    });
}

#[test]
fn mutated_protobuf_gets_a_well_formed_response() {
    check_random_inputs(mutated(CAPACITY_PROTOBUF), &async |wire, body| {
        assert_well_formed(
            &send(wire, "POST", CAPACITIES, PROTOBUF, &body).await,
            &format!("{body:?}"),
        );
    });
}

#[test]
fn mutated_patches_get_a_well_formed_response() {
    let merge = br#"{"data":{"a":"b","c":null},"metadata":{"labels":{"x":"y"},"$patch":"merge","finalizers":["example.com/f"]}}"#;
    let operations = br#"[{"op":"add","path":"/data/x","value":"y"},{"op":"test","path":"/data/x","value":"y"},{"op":"move","from":"/data/x","path":"/data/z~1"}]"#;
    let patches = prop_oneof![
        mutated(merge).prop_map(|body| (MERGE, body)),
        mutated(merge).prop_map(|body| (STRATEGIC, body)),
        mutated(operations).prop_map(|body| (JSON_PATCH, body)),
    ];
    check_random_inputs(patches, &async |wire, (media, body)| {
        let map = json!({"metadata": {"name": "m"}, "data": {"a": "z"}});
        wire.post(CONFIG_MAPS, map).await;
        let path = format!("{CONFIG_MAPS}/m");
        let seen = send(wire, "PATCH", &path, media, &body).await;
        // As kube-apiserver does, the server returns a 500 without reason for a malformed strategic merge patch.
        let does_not_fit = seen.code == 500 && media == STRATEGIC && seen.body["kind"] == "Status";
        if !does_not_fit {
            assert_well_formed(&seen, &String::from_utf8_lossy(&body));
        }
    });
}

#[test]
fn random_query_parameters_get_a_well_formed_response() {
    let names = [
        "labelSelector",
        "fieldSelector",
        "continue",
        "resourceVersion",
        "limit",
        "resourceVersionMatch",
        "timeoutSeconds",
        "dryRun",
    ];
    let texts = prop_oneof![
        "\\PC{0,40}",
        "[!a-z]{0,3}( in | notin |=|==|!=|>|,|\\(|\\)){0,4}[a-z0-9(),]{0,8}",
        "metadata.(name|namespace|x)(=|!=|==)[a-z\\\\,=]{0,6}",
        "-?[0-9]{1,30}",
        "[A-Za-z0-9_=-]{0,60}",
    ];
    check_random_inputs((prop::sample::select(names.to_vec()), texts), &async |wire,
                                                                               (
        name,
        text,
    )| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let query = query.append_pair(name, &text).finish();
        let path = format!("{CONFIG_MAPS}?{query}");
        let seen = wire.get(&path).await;
        // A request for a future resourceVersion is answered with 504 after a timeout, as by kube-apiserver.
        if seen.body["reason"] != "Timeout" {
            assert_well_formed(&seen, &path);
        }
    });
}

#[test]
fn random_paths_and_accept_headers_get_a_well_formed_response() {
    let segments = prop_oneof![
        Just("api".to_owned()),
        Just("apis".to_owned()),
        Just("v1".to_owned()),
        Just("namespaces".to_owned()),
        Just("configmaps".to_owned()),
        Just("watch".to_owned()),
        "[a-z.%0-9]{0,8}",
    ];
    let paths = prop::collection::vec(segments, 0..8).prop_map(|it| format!("/{}", it.join("/")));
    let ranges = "[a-z*/;=,. 0-9]{0,30}|application/json;as=[A-Za-z]{0,9};g=meta[.]k8s[.]io;v=v[0-9]|\\*/\\*;q=[-0-9.e]{0,6}";
    check_random_inputs((paths, ranges), &async |wire, (path, accept)| {
        // A watch response does not end, so only the status is checked.
        let headers = [("accept", accept.as_str())];
        let response = request(&wire.client, "GET", &path, &headers, "").await;
        assert!(response.status().as_u16() < 500, "{path} {accept}");
    });
}

#[tokio::test]
async fn too_deeply_nested_bodies_are_rejected() {
    let wire = TestServer::start().await;
    let deep = 100_000;
    let (open, close) = ("[".repeat(deep), "]".repeat(deep));
    let objects = r#"{"a":"#.repeat(deep);
    let mut message = Vec::new();
    for _ in 0..1000 {
        // An unterminated protobuf group, followed by a field that contains the next 127 bytes.
        message.extend_from_slice(b"\x0b\x0a\x7f");
    }
    let protobuf = [&CAPACITY_PROTOBUF[..4], &message].concat();
    for (media, body) in [
        (JSON, open.clone().into_bytes()),
        (JSON, format!("{open}{close}").into_bytes()),
        (JSON, objects.clone().into_bytes()),
        (YAML, format!("{open}{close}").into_bytes()),
        (
            YAML,
            (0..2000)
                .map(|n| format!("{}a:\n", " ".repeat(n)))
                .collect::<String>()
                .into_bytes(),
        ),
        (PROTOBUF, protobuf),
    ] {
        let refused = send(&wire, "POST", CONFIG_MAPS, media, &body).await;
        assert_eq!(refused.code, 400, "{media}: {}", refused.text);
        assert_well_formed(&refused, media);
    }
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    for media in [MERGE, STRATEGIC, JSON_PATCH] {
        let refused = send(
            &wire,
            "PATCH",
            &format!("{CONFIG_MAPS}/m"),
            media,
            objects.as_bytes(),
        )
        .await;
        assert_eq!(refused.code, 400, "{media}: {}", refused.text);
    }
}

#[tokio::test]
async fn yaml_alias_bombs_are_rejected() {
    let wire = TestServer::start().await;
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = n - 1;
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", format!("*a{before}, ").repeat(10)));
    }
    let refused = send(&wire, "POST", CONFIG_MAPS, YAML, bomb.as_bytes()).await;
    assert_eq!(refused.code, 400, "{}", refused.text);
}

#[tokio::test]
async fn huge_numbers_are_rejected_or_bounded() {
    let wire = TestServer::start().await;
    let digits = "9".repeat(100_000);
    for (field, value) in [
        ("capacity", format!("\"{digits}\"")),
        ("capacity", format!("\"1e{digits}\"")),
        ("capacity", "\"1e-999999999\"".to_owned()),
        ("capacity", digits.clone()),
        ("capacity", "1e400".to_owned()),
        ("maximumVolumeSize", format!("\"0.{digits}\"")),
        ("storageClassName", digits.clone()),
    ] {
        let body =
            format!(r#"{{"metadata":{{"generateName":"c"}},"storageClassName":"s","{field}":{value}}}"#);
        let seen = send(&wire, "POST", CAPACITIES, JSON, body.as_bytes()).await;
        let shown = format!("{field} {}", &value[..value.len().min(20)]);
        assert_well_formed(&seen, &shown);
        assert!(seen.text.len() < 4 * digits.len(), "{shown}: response too long");
    }
    let path = format!("{CONFIG_MAPS}?limit={digits}&resourceVersion={digits}");
    assert!((400..500).contains(&wire.get(&path[..8000]).await.code));
}

#[tokio::test]
async fn json_patches_that_copy_exponentially_are_rejected() {
    let wire = TestServer::start().await;
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "m"}, "data": {"a": "b"}}),
    )
    .await;
    let copies: Vec<_> = (0..60)
        .map(|n| json!({"op": "copy", "from": "/data", "path": format!("/data/c{n}")}))
        .collect();
    let body = serde_json::to_vec(&copies).expect("the patch serializes");
    let refused = send(&wire, "PATCH", &format!("{CONFIG_MAPS}/m"), JSON_PATCH, &body).await;
    assert_eq!(
        (refused.code, &refused.body["reason"]),
        (422, &json!("Invalid")),
        "{}",
        refused.text
    );
    let text = "the server rejected our request due to an error in our request";
    assert_eq!(refused.body["message"], text);
}

/// Merges finalizer lists as long as request bodies allow, in worst-case order: merging must not take quadratic time.
#[tokio::test]
async fn merging_long_lists_takes_linear_time() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    let path = format!("{CONFIG_MAPS}/m");
    let forward: Vec<String> = (0..40_000).map(|n| format!("example.com/{n}")).collect();
    let backward: Vec<String> = forward.iter().rev().cloned().collect();
    let patch = async |media, patch: serde_json::Value| {
        let answer = send(&wire, "PATCH", &path, media, patch.to_string().as_bytes()).await;
        assert_eq!(answer.code, 200, "{}", answer.text);
        answer.body["metadata"]["finalizers"].clone()
    };
    let set = json!({"metadata": {"finalizers": forward}});
    assert_eq!(patch(STRATEGIC, set).await, json!(forward));
    let order = json!({"metadata": {"finalizers": backward, "$setElementOrder/finalizers": backward}});
    assert_eq!(patch(STRATEGIC, order).await, json!(backward));
    let half = &backward[..20_000];
    let delete = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": &backward[20_000..]}});
    assert_eq!(patch(STRATEGIC, delete).await, json!(half));
    let path = format!("{path}?fieldManager=f");
    let apply =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "finalizers": forward}});
    let body = apply.to_string();
    let media = "application/apply-patch+yaml";
    let applied = send(&wire, "PATCH", &path, media, body.as_bytes()).await;
    assert_eq!(
        applied.body["metadata"]["finalizers"],
        json!(forward),
        "{}",
        applied.code
    );
}

/// Sends lists as long as request bodies allow; all items are equal, though the list requires unique items.
#[tokio::test]
async fn long_lists_of_duplicates_are_rejected_with_limited_causes() {
    let wire = TestServer::start().await;
    let terms = vec![json!({}); 200_000];
    let class = json!({"metadata": {"name": "c"}, "provisioner": "d", "allowedTopologies": terms});
    let containers = vec![json!({"name": "c", "image": "i"}); 50_000];
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": containers}});
    for (path, body) in [
        ("/apis/storage.k8s.io/v1/storageclasses", class),
        ("/api/v1/namespaces/default/pods", pod),
    ] {
        let body = body.to_string();
        let refused = send(&wire, "POST", path, JSON, body.as_bytes()).await;
        assert_eq!(refused.code, 422, "{path}");
        let causes = refused.body["details"]["causes"].as_array().map(Vec::len);
        assert_eq!(causes, Some(10_000), "{path}");
    }
}

//! The public building blocks for other servers and proxies: paths, request lines, protobuf bodies and fault rules.

use fake_apiserver::{
    Effect, FaultAction, Match, RequestAttributes, ResourcePath, ResourceRef, Rule, Rules, Tls, Verb,
    json_of_protobuf,
};
use serde_json::json;
use std::net::Ipv4Addr;

#[test]
fn request_lines_are_parsed_like_served_requests() {
    let read = |method: &str, path: &str, query: &str| {
        let (verb, path) = ResourcePath::of_request(method, path, query)?;
        let name = |name: Option<String>| name.unwrap_or_else(|| "-".to_owned());
        let (namespace, subresource) = (name(path.namespace), name(path.subresource));
        Some(format!(
            "{verb} {} {} {namespace} {} {subresource}",
            path.group,
            path.resource,
            name(path.name)
        ))
    };
    let storage = "/apis/storage.k8s.io/v1";
    assert_eq!(
        read("GET", &format!("{storage}/csinodes"), "watch=1").unwrap(),
        "watch storage.k8s.io csinodes - - -"
    );
    assert_eq!(
        read("POST", "/api/v1/namespaces/a/pods/p/binding", "").unwrap(),
        "create  pods a p binding"
    );
    assert_eq!(
        read("PUT", "/api/v1/namespaces/a/status", "").unwrap(),
        "update  namespaces - a status"
    );
    assert_eq!(read("GET", "/version", ""), None);
    assert_eq!(read("GET", "/apis/example.com/v1/things", ""), None);
}

#[test]
fn path_of_an_object_is_derived_from_its_type_and_metadata() {
    let object = json!({
        "apiVersion": "storage.k8s.io/v1beta1", "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "a"},
    });
    let at = ResourceRef::of(&object).unwrap();
    assert_eq!(
        at.path().unwrap(),
        "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities/c"
    );
    let beta = at.collection().path_in("storage.k8s.io/v1beta1");
    assert_eq!(
        beta.unwrap(),
        "/apis/storage.k8s.io/v1beta1/namespaces/a/csistoragecapacities"
    );
    // The namespace of a cluster-scoped object is ignored.
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "a"}});
    assert_eq!(ResourceRef::of(&node).unwrap().path().unwrap(), "/api/v1/nodes/n");
    assert_eq!(
        ResourceRef::of(&json!({"apiVersion": "v1", "kind": "Nothing"})),
        None
    );
}

#[test]
fn protobuf_bodies_are_decoded_to_json() {
    // meta.v1.DeleteOptions with gracePeriodSeconds 7, in its envelope.
    let body = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x02\x08\x07";
    assert_eq!(
        json_of_protobuf(body).unwrap(),
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 7})
    );
    assert_eq!(json_of_protobuf(b"{}").unwrap_err().code, 400);
}

#[test]
fn fault_rules_decide_the_outcome_of_a_request() {
    let mut rules = Rules::default();
    let on = Match {
        verbs: vec![Verb::Create],
        ..Match::default()
    };
    rules.install(Rule::new(on, Effect::Disconnect).times(1)).unwrap();
    let (verb, path) = ResourcePath::of_request("POST", "/api/v1/nodes", "").unwrap();
    let requested = RequestAttributes {
        client: "c",
        verb,
        resource: Some(&path),
        revision: "",
    };
    let (effect, applied) = rules.evaluate(&requested);
    assert!(matches!(effect.action, Some(FaultAction::Disconnect)));
    assert_eq!(
        applied[0].to_string(),
        "disconnected before processing: create nodes"
    );
    assert!(
        rules.evaluate(&requested).0.action.is_none(),
        "the rule is used up"
    );
}

#[tokio::test]
async fn tls_rejects_connections_of_other_listeners_that_do_not_speak_tls() {
    let tls = Tls::generate(Ipv4Addr::LOCALHOST.into()).unwrap();
    let (ours, mut theirs) = tokio::io::duplex(1024);
    // A client without TLS sends an HTTP request to the TLS listener.
    tokio::io::AsyncWriteExt::write_all(&mut theirs, b"GET / HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    assert!(tls.accept(ours).await.is_err());
}

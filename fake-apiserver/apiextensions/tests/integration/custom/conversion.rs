//! Tests of conversion webhooks: which objects are converted when, and errors.

use super::super::client::TestServer;
use super::super::webhook_server::{Hook, patch};
use super::{DEFINITIONS, causes, definition_with_versions, version};
use serde_json::{Value, json};

const FIRST: &str = "/apis/example.com/v1/namespaces/default/foos";
const V2_PROTOBUF: &str = "/apis/example.com/v2/namespaces/default/foos";

/// A CRD with two versions: `hostPort` in `v1` corresponds to `host` and `port` in `v2`.
fn crd_with_two_versions(hook: &Hook, stored: &str) -> Value {
    let text = json!({"type": "string"});
    let version = |name: &str, properties: Value| {
        let mut schema = json!({"type": "object"});
        schema["properties"] = properties;
        let mut made = version(schema);
        made["name"] = name.into();
        made["storage"] = (name == stored).into();
        made
    };
    let first = version("v1", json!({"hostPort": text}));
    let second = version("v2", json!({"host": text, "port": text}));
    let mut definition = definition_with_versions(&first, &second);
    definition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": hook.client("/convert"), "conversionReviewVersions": ["v1"],
    }});
    definition
}

/// A conversion webhook that fails for objects named `bad`.
async fn converter() -> Hook {
    Hook::start_raw(|_, review| {
        let request = &review["request"];
        let wanted = request["desiredAPIVersion"].as_str().unwrap();
        let all = request["objects"].as_array().unwrap().iter();
        let is_bad = all.clone().any(|object| object["metadata"]["name"] == "bad");
        let converted: Vec<Value> = all.map(|object| convert(object, wanted)).collect();
        let result = match is_bad {
            true => json!({"status": "Failure", "message": "cannot do that one"}),
            false => json!({"status": "Success"}),
        };
        json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": {
            "uid": request["uid"], "result": result, "convertedObjects": converted,
        }})
    })
    .await
}

fn convert(object: &Value, wanted: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = wanted.into();
    let members = object.as_object_mut().unwrap();
    if wanted == "example.com/v2" {
        if let Some(Value::String(text)) = members.remove("hostPort") {
            let (host, port) = text.split_once(':').unwrap();
            members.insert("host".to_owned(), host.into());
            members.insert("port".to_owned(), port.into());
        }
    } else if let (Some(Value::String(host)), Some(Value::String(port))) =
        (members.remove("host"), members.remove("port"))
    {
        members.insert("hostPort".to_owned(), format!("{host}:{port}").into());
    }
    object
}

fn foo_v1(name: &str, text: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "hostPort": text})
}

fn foo_v2(name: &str, host: &str, port: &str) -> Value {
    json!({"apiVersion": "example.com/v2", "kind": "Foo", "metadata": {"name": name}, "host": host, "port": port})
}

#[tokio::test]
async fn each_version_is_read_and_written_through_the_webhook() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    wire.create(DEFINITIONS, crd_with_two_versions(&hook, "v1")).await;
    let made = wire.create(FIRST, foo_v1("a", "here:80")).await;
    assert!(hook.reviews().is_empty(), "the stored version was sent");
    let found = wire.get(&format!("{V2_PROTOBUF}/a")).await.body;
    assert_eq!((&found["host"], &found["port"]), (&json!("here"), &json!("80")));
    assert_eq!(found["metadata"], made["metadata"]);
    let made = wire.create(V2_PROTOBUF, foo_v2("b", "there", "81")).await;
    assert_eq!(
        (&made["apiVersion"], &made["port"]),
        (&json!("example.com/v2"), &json!("81"))
    );
    assert_eq!(wire.get(&format!("{FIRST}/b")).await.body["hostPort"], "there:81");
    let changed = wire
        .merge(&format!("{V2_PROTOBUF}/b"), json!({"port": "82"}))
        .await;
    assert_eq!(
        (changed.code, &changed.body["port"]),
        (200, &json!("82")),
        "{}",
        changed.text
    );
    assert_eq!(wire.get(&format!("{FIRST}/b")).await.body["hostPort"], "there:82");
    let mut whole = changed.body;
    whole["host"] = "elsewhere".into();
    assert_eq!(wire.put(&format!("{V2_PROTOBUF}/b"), whole).await.code, 200);
    let applied = foo_v2("b", "applied", "82");
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{V2_PROTOBUF}/b?fieldManager=me&force=true");
    let applied = wire.send("PATCH", &path, &apply, applied.to_string()).await;
    assert_eq!(
        (applied.code, &applied.body["host"]),
        (200, &json!("applied")),
        "{}",
        applied.text
    );
    assert_eq!(
        wire.get(&format!("{FIRST}/b")).await.body["hostPort"],
        "applied:82"
    );
    assert_eq!(wire.delete(&format!("{V2_PROTOBUF}/b")).await.code, 200);
}

#[tokio::test]
async fn lists_are_converted_in_one_review() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    wire.create(DEFINITIONS, crd_with_two_versions(&hook, "v1")).await;
    wire.create(FIRST, foo_v1("a", "here:80")).await;
    wire.create(FIRST, foo_v1("b", "here:81")).await;
    let place = format!("{DEFINITIONS}/foos.example.com");
    let versions = crd_with_two_versions(&hook, "v2")["spec"]["versions"].clone();
    assert_eq!(
        wire.merge(&place, json!({"spec": {"versions": versions}}))
            .await
            .code,
        200
    );
    wire.create(V2_PROTOBUF, foo_v2("c", "there", "82")).await;
    let reviews = hook.reviews().len();
    let list = wire.get(V2_PROTOBUF).await.body;
    let ports: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["port"])
        .collect();
    assert_eq!(ports, ["80", "81", "82"]);
    assert_eq!(
        hook.reviews().len(),
        reviews + 1,
        "all objects are converted in one review"
    );
    let list = wire.get(FIRST).await.body;
    let texts: Vec<&Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["hostPort"])
        .collect();
    assert_eq!(texts, ["here:80", "here:81", "there:82"]);
}

#[tokio::test]
async fn watches_return_converted_objects() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    wire.create(DEFINITIONS, crd_with_two_versions(&hook, "v1")).await;
    wire.create(FIRST, foo_v1("a", "here:80")).await;
    let mut watch = wire.watch(&format!("{V2_PROTOBUF}?watch=true")).await;
    let added = watch.next().await.unwrap();
    assert_eq!(
        (&added["type"], &added["object"]["port"]),
        (&json!("ADDED"), &json!("80"))
    );
    wire.merge(&format!("{FIRST}/a"), json!({"hostPort": "here:81"}))
        .await;
    let modified = watch.next().await.unwrap();
    assert_eq!(
        (&modified["type"], &modified["object"]["port"]),
        (&json!("MODIFIED"), &json!("81"))
    );
    wire.delete(&format!("{FIRST}/a")).await;
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        (&deleted["type"], &deleted["object"]["port"]),
        (&json!("DELETED"), &json!("81"))
    );
    wire.create(FIRST, foo_v1("bad", "x:1")).await;
    let failed = watch.next().await.unwrap();
    assert_eq!(failed["type"], "ERROR");
    wire.server.quiet().await;
}

#[tokio::test]
async fn conversion_errors_have_the_message_of_kube_apiserver() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    wire.create(DEFINITIONS, crd_with_two_versions(&hook, "v1")).await;
    wire.create(FIRST, foo_v1("bad", "x:1")).await;
    let reported = |what: &str, why: &str| format!("conversion webhook for example.com/{what} failed: {why}");
    let refused = wire.get(&format!("{V2_PROTOBUF}/bad")).await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (500, &json!(reported("v1, Kind=Foo", "cannot do that one")))
    );
    let refused = wire.post(V2_PROTOBUF, foo_v2("bad", "x", "2")).await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (500, &json!(reported("v2, Kind=Foo", "cannot do that one")))
    );
    let refused = wire
        .merge(&format!("{V2_PROTOBUF}/bad"), json!({"port": "3"}))
        .await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (500, &json!(reported("v1, Kind=Foo", "cannot do that one")))
    );
    let gone = hook.address;
    drop(hook);
    wire.create(FIRST, foo_v1("good", "x:1")).await;
    let refused = wire.get(&format!("{V2_PROTOBUF}/good")).await;
    let why =
        format!("Post \"https://{gone}/convert?timeout=30s\": dial tcp {gone}: connect: connection refused");
    assert_eq!(refused.body["message"], reported("v1, Kind=Foo", &why));
    let local = wire.server.client("local");
    let at = fake_apiserver::ResourceRef::new("example.com", "foos")
        .namespace("default")
        .name("good");
    assert!(
        local
            .get(&at)
            .unwrap_err()
            .message
            .contains("cannot call the webhook that converts foos")
    );
}

#[tokio::test]
async fn client_configs_of_conversion_webhooks_are_validated() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    let mut made = crd_with_two_versions(&hook, "v1");
    made["spec"]["conversion"]["webhook"]["clientConfig"]["url"] = "http://example.com/x".into();
    let refused = wire.post(DEFINITIONS, made).await;
    let at = "spec.conversion.webhookClientConfig.url";
    let reported = [format!(
        "{at}: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]"
    )];
    assert_eq!(causes(&refused), reported);
}

#[tokio::test]
async fn admission_webhooks_receive_the_version_in_their_rules() {
    let (wire, hook) = (TestServer::start().await, converter().await);
    wire.create(DEFINITIONS, crd_with_two_versions(&hook, "v1")).await;
    let admission = Hook::start(|request| match request["operation"] == "DELETE" {
        true => json!({"allowed": true}),
        false => patch(&json!([{"op": "replace", "path": "/port", "value": "443"}])),
    })
    .await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["foos"]}]);
    let hooks = json!([{"name": "a.example.com", "clientConfig": admission.client("/"), "rules": rules,
        "sideEffects": "None", "admissionReviewVersions": ["v1"]}]);
    let configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    wire.create(
        configurations,
        json!({"metadata": {"name": "a"}, "webhooks": hooks}),
    )
    .await;
    let made = wire.create(FIRST, foo_v1("a", "here:80")).await;
    assert_eq!(
        (&made["apiVersion"], &made["hostPort"]),
        (&json!("example.com/v1"), &json!("here:443"))
    );
    assert_eq!(wire.delete(&format!("{FIRST}/a")).await.code, 200);
    let requests = admission.requests();
    assert_eq!(requests[0]["object"]["host"], "here");
    assert_eq!(requests[0]["requestKind"]["version"], "v1");
    assert_eq!(
        (&requests[1]["operation"], &requests[1]["oldObject"]["port"]),
        (&json!("DELETE"), &json!("443"))
    );
}

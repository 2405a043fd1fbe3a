//! Tests of label and field selectors, and of paged lists.

use super::client::{CONFIG_MAPS, PODS, TestServer, pod};
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .map(|item| item["metadata"]["name"].as_str().expect("items have names"))
        .collect()
}

async fn start_with_maps() -> TestServer {
    let wire = TestServer::start().await;
    for (name, labels) in [
        ("a", json!({"tier": "web", "size": "3"})),
        ("b", json!({"tier": "db"})),
        ("c", json!({})),
        ("d", json!({"tier": "", "size": "12"})),
    ] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name, "labels": labels}}))
            .await;
    }
    wire
}

#[tokio::test]
async fn label_selectors_filter_lists() {
    let wire = start_with_maps().await;
    for (selector, expected) in [
        ("tier=web", vec!["a"]),
        ("tier%3D%3Dweb", vec!["a"]),
        ("tier%21%3Dweb", vec!["b", "c", "d"]),
        ("tier%20in%20(web,%20db)", vec!["a", "b"]),
        ("tier%20notin%20(web,db)", vec!["c", "d"]),
        ("tier", vec!["a", "b", "d"]),
        ("%21tier", vec!["c"]),
        ("tier,size", vec!["a", "d"]),
        ("tier=", vec!["d"]),
        ("tier%20in%20(,web)", vec!["a", "d"]),
        ("size%3E5", vec!["d"]),
        ("", vec!["a", "b", "c", "d"]),
    ] {
        let list = wire.get(&format!("{CONFIG_MAPS}?labelSelector={selector}")).await;
        assert_eq!(list.code, 200, "{selector}: {}", list.text);
        assert_eq!(names(&list.body), expected, "{selector}");
    }
}

#[tokio::test]
async fn malformed_selectors_are_rejected() {
    let wire = start_with_maps().await;
    for selector in [
        "labelSelector=a%20b",
        "labelSelector=a%3Db%20c",
        "labelSelector=%3Dx",
        "labelSelector=a,",
        "labelSelector=a%20in%20b",
        "labelSelector=-bad-",
        "labelSelector=a%3Dnot%20ok",
        "fieldSelector=metadata.name",
        "fieldSelector=data.x%3D1",
    ] {
        let list = wire.get(&format!("{CONFIG_MAPS}?{selector}")).await;
        assert_eq!(
            (list.code, &list.body["reason"]),
            (400, &json!("BadRequest")),
            "{selector}"
        );
    }
}

#[tokio::test]
async fn field_selectors_support_the_fields_of_each_kind() {
    let wire = TestServer::start().await;
    for name in ["p1", "p2", "p3"] {
        wire.create(PODS, pod(name)).await;
    }
    wire.create(
        &format!("{PODS}/p2/binding"),
        json!({"metadata": {"name": "p2"}, "target": {"name": "n1"}}),
    )
    .await;
    wire.merge(
        &format!("{PODS}/p3/status"),
        json!({"status": {"phase": "Succeeded"}}),
    )
    .await;
    for (selector, expected) in [
        ("spec.nodeName%3D", vec!["p1", "p3"]),
        ("spec.nodeName%3Dn1", vec!["p2"]),
        ("spec.nodeName%21%3Dn1", vec!["p1", "p3"]),
        (
            "status.phase%21%3DSucceeded,status.phase%21%3DFailed",
            vec!["p1", "p2"],
        ),
        ("metadata.name%3Dp1,metadata.namespace%3Ddefault", vec!["p1"]),
        ("spec.hostNetwork%3Dfalse", vec!["p1", "p2", "p3"]),
    ] {
        let list = wire.get(&format!("{PODS}?fieldSelector={selector}")).await;
        assert_eq!(names(&list.body), expected, "{selector}");
    }
    let unknown = wire.get(&format!("{PODS}?fieldSelector=spec.color%3Dred")).await;
    assert_eq!(unknown.body["message"], "field label not supported: spec.color");
}

#[tokio::test]
async fn all_pages_are_of_the_revision_of_the_first() {
    let wire = start_with_maps().await;
    let first = wire.get(&format!("{CONFIG_MAPS}?limit=2")).await.body;
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a", "b"], &json!(2))
    );
    wire.delete(&format!("{CONFIG_MAPS}/c")).await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "bb"}}))
        .await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = wire
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await
        .body;
    assert_eq!(names(&second), ["c", "d"], "at the first revision");
    assert!(second["metadata"]["continue"].is_null());
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let unlimited = wire
        .get(&format!("{CONFIG_MAPS}?limit=1&resourceVersion=0"))
        .await
        .body;
    assert_eq!(
        names(&unlimited).len(),
        4,
        "limit is ignored with resourceVersion=0"
    );
}

#[tokio::test]
async fn expired_continue_tokens_return_410_with_a_new_token() {
    let options = ServerOptions {
        history: 3,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    for name in ["a", "b", "c"] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name}}))
            .await;
    }
    let first = wire.get(&format!("{CONFIG_MAPS}?limit=1")).await.body;
    for round in 0..4 {
        wire.merge(
            &format!("{CONFIG_MAPS}/a"),
            json!({"data": {"round": round.to_string()}}),
        )
        .await;
    }
    let token = first["metadata"]["continue"].as_str().unwrap();
    let gone = wire.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).await;
    assert_eq!((gone.code, &gone.body["reason"]), (410, &json!("Expired")));
    let onward = gone.body["metadata"]["continue"].as_str().unwrap();
    let rest = wire.get(&format!("{CONFIG_MAPS}?continue={onward}")).await.body;
    assert_eq!(names(&rest), ["b", "c"]);
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = wire
        .get(&format!(
            "{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(exact.code, 410);
}

#[tokio::test]
async fn continue_tokens_stay_within_their_namespace() {
    let wire = TestServer::start().await;
    wire.create("/api/v1/namespaces", json!({"metadata": {"name": "default-2"}}))
        .await;
    for namespace in ["default", "default-2"] {
        for name in ["a", "b"] {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps");
            wire.create(&path, json!({"metadata": {"name": name}})).await;
        }
    }
    let first = wire.get(&format!("{CONFIG_MAPS}?limit=1")).await.body;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = wire.get(&format!("{CONFIG_MAPS}?continue={token}")).await.body;
    assert_eq!(names(&rest), ["b"]);
    // kube-system is excluded because the server itself creates ConfigMaps there.
    let all = wire
        .get("/api/v1/configmaps?fieldSelector=metadata.namespace!=kube-system")
        .await
        .body;
    assert_eq!(names(&all).len(), 4);
}

#[tokio::test]
async fn resource_version_parameters_are_validated() {
    let wire = start_with_maps().await;
    for (query, code) in [
        ("resourceVersion=abc", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422),
        ("resourceVersion=5&resourceVersionMatch=Sometimes", 422),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 422),
        ("continue=zzz", 400),
        ("limit=many", 400),
        ("resourceVersion=999999", 504),
    ] {
        let list = wire.get(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(list.code, code, "{query}: {}", list.text);
        if code == 504 {
            assert_eq!(list.headers["retry-after"], "1");
        }
    }
}

#[tokio::test]
async fn metadata_name_selectors_find_only_that_object() {
    let wire = TestServer::start().await;
    for namespace in ["a", "b"] {
        wire.create("/api/v1/namespaces", json!({"metadata": {"name": namespace}}))
            .await;
        for name in ["m", "n"] {
            let map = json!({"metadata": {"name": name, "labels": {"in": namespace}}});
            wire.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), map)
                .await;
        }
    }
    let (everywhere, a) = ("/api/v1/configmaps", "/api/v1/namespaces/a/configmaps");
    for (path, selector, found) in [
        (a, "fieldSelector=metadata.name%3Dm", 1),
        (a, "fieldSelector=metadata.name%3Dother", 0),
        (a, "fieldSelector=metadata.name%3Dm,metadata.name%3Dn", 0),
        (a, "fieldSelector=metadata.name%3Dm,metadata.name!%3Dm", 0),
        (a, "fieldSelector=metadata.name!%3Dm", 1),
        (a, "fieldSelector=metadata.name%3Dm,metadata.namespace%3Db", 0),
        (a, "fieldSelector=metadata.name%3Dm&labelSelector=in%3Db", 0),
        (a, "fieldSelector=metadata.name%3Dm&labelSelector=in%3Da", 1),
        (a, "fieldSelector=metadata.name%3D", 0),
        (everywhere, "fieldSelector=metadata.name%3Dm", 2),
        (
            everywhere,
            "fieldSelector=metadata.name%3Dm,metadata.namespace%3Db",
            1,
        ),
        ("/api/v1/namespaces", "fieldSelector=metadata.name%3Da", 1),
        (
            "/api/v1/persistentvolumes",
            "fieldSelector=metadata.name%3Da,metadata.namespace%3Da",
            0,
        ),
    ] {
        let list = wire.get(&format!("{path}?{selector}")).await.body;
        assert_eq!(names(&list).len(), found, "{path} {selector}");
        // A watch starts with events for the objects of the list, followed by a bookmark.
        let mut watch = wire
            .watch(&format!("{path}?watch=1&allowWatchBookmarks=true&{selector}"))
            .await;
        let reported = watch.next_events(found + 1).await;
        assert!(
            reported[..found].iter().all(|it| it.starts_with("ADDED")),
            "{selector}: {reported:?}"
        );
        assert!(
            reported[found].starts_with("BOOKMARK"),
            "{selector}: {reported:?}"
        );
    }
}

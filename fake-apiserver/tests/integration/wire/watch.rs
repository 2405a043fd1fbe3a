//! Tests of watches: where they start, their events, and how they end.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestServer, capacity, type_and_name};
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

async fn create_map(wire: &TestServer, name: &str, label: &str) -> String {
    let body = json!({"metadata": {"name": name, "labels": {"team": label}}});
    let created = wire.create(CONFIG_MAPS, body).await;
    created["metadata"]["resourceVersion"]
        .as_str()
        .expect("stored objects have a resourceVersion")
        .to_owned()
}

#[tokio::test]
async fn deletions_between_list_and_watch_are_delivered() {
    let wire = TestServer::start().await;
    create_map(&wire, "a", "x").await;
    let list = wire.get(CONFIG_MAPS).await.body;
    wire.delete(&format!("{CONFIG_MAPS}/a")).await;
    create_map(&wire, "b", "x").await;
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = wire
        .watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={revision}"))
        .await;
    assert_eq!(watch.next_events(2).await, ["DELETED a", "ADDED b"]);
    wire.merge(&format!("{CONFIG_MAPS}/b"), json!({"data": {"k": "v"}}))
        .await;
    assert_eq!(watch.next_events(1).await, ["MODIFIED b"]);
}

#[tokio::test]
async fn watch_events_reflect_entering_and_leaving_a_selector() {
    let wire = TestServer::start().await;
    let revision = create_map(&wire, "a", "x").await;
    let query = format!("watch=true&labelSelector=team%3Dx&resourceVersion={revision}");
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    create_map(&wire, "b", "y").await;
    let left = wire
        .merge(
            &format!("{CONFIG_MAPS}/a"),
            json!({"metadata": {"labels": {"team": "y"}}}),
        )
        .await
        .body;
    wire.merge(
        &format!("{CONFIG_MAPS}/b"),
        json!({"metadata": {"labels": {"team": "x"}}}),
    )
    .await;
    wire.delete(&format!("{CONFIG_MAPS}/a")).await;
    wire.delete(&format!("{CONFIG_MAPS}/b")).await;
    let leaving = watch.next().await.unwrap();
    assert_eq!(type_and_name(&leaving), "DELETED a");
    assert_eq!(
        leaving["object"]["metadata"]["labels"]["team"], "x",
        "the event contains the last matching state"
    );
    assert_eq!(
        leaving["object"]["metadata"]["resourceVersion"], left["metadata"]["resourceVersion"],
        "the event has the resourceVersion of the change"
    );
    assert_eq!(watch.next_events(2).await, ["ADDED b", "DELETED b"]);
}

#[tokio::test]
async fn watches_without_revision_start_with_initial_events_and_a_bookmark() {
    let wire = TestServer::start().await;
    for name in ["b", "a"] {
        create_map(&wire, name, "x").await;
    }
    for query in [
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0",
        "watch=true&allowWatchBookmarks=true",
    ] {
        let mut watch = wire.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.next_events(2).await, ["ADDED a", "ADDED b"], "{query}");
        let end = watch.next().await.unwrap();
        let expected = json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
            "resourceVersion": wire.server.revision().to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }}});
        assert_eq!(end, expected, "{query}");
    }
    let mut plain = wire
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&resourceVersion=0&allowWatchBookmarks=true"
        ))
        .await;
    assert_eq!(plain.next_events(2).await, ["ADDED a", "ADDED b"]);
    create_map(&wire, "c", "x").await;
    assert_eq!(plain.next_events(1).await, ["ADDED c"], "no bookmark");
}

#[tokio::test]
async fn empty_initial_events_end_with_a_bookmark() {
    let wire = TestServer::start().await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    let mut watch = wire.watch(&format!("{CAPACITIES}?{query}")).await;
    assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK");
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    assert_eq!(watch.next_events(1).await, ["ADDED c"]);
}

#[tokio::test]
async fn initial_events_can_be_disabled() {
    let wire = TestServer::start().await;
    create_map(&wire, "a", "x").await;
    let query = "watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    create_map(&wire, "b", "x").await;
    assert_eq!(watch.next_events(1).await, ["ADDED b"]);
}

#[tokio::test]
async fn compacted_revisions_return_an_error_event() {
    let options = ServerOptions {
        history: 2,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let revision = create_map(&wire, "a", "x").await;
    for round in 0..4 {
        wire.merge(
            &format!("{CONFIG_MAPS}/a"),
            json!({"data": {"round": round.to_string()}}),
        )
        .await;
    }
    let mut watch = wire
        .watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={revision}"))
        .await;
    let error = watch.next().await.unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(error["object"]["reason"], "Expired");
    let message = error["object"]["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("too old resource version: {revision} (")),
        "{message}"
    );
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn writes_of_other_resources_do_not_exhaust_the_history() {
    let options = ServerOptions {
        history: 50,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let mut watch = wire
        .watch(&format!("{CAPACITIES}?watch=true&resourceVersion=1"))
        .await;
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    assert_eq!(
        watch.next_events(1).await,
        ["ADDED c"],
        "a resource without compacted events accepts any revision"
    );
}

#[tokio::test]
async fn watches_end_after_timeout_seconds() {
    let wire = TestServer::start().await;
    create_map(&wire, "a", "x").await;
    let mut watch = wire
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true"
        ))
        .await;
    assert_eq!(type_and_name(&watch.next().await.unwrap()), "ADDED a");
    let mut rest = Vec::new();
    while let Some(event) = watch.next().await {
        rest.push(event["type"].clone());
    }
    assert_eq!(rest, ["BOOKMARK"], "a bookmark, then the end of the stream");
}

#[tokio::test]
async fn stopping_the_server_ends_watches() {
    let wire = TestServer::start().await;
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?watch=true")).await;
    let TestServer { running, .. } = wire;
    running.stop().await;
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn tables_and_partial_metadata_can_be_watched() {
    let wire = TestServer::start().await;
    create_map(&wire, "a", "x").await;
    create_map(&wire, "b", "x").await;
    for (accept, kind) in [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        (
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "PartialObjectMetadata",
        ),
    ] {
        let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0&timeoutSeconds=1");
        let answer = wire
            .send("GET", &path, &[("accept", accept)], String::new())
            .await;
        let events: Vec<Value> = answer
            .text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(events.len(), 2, "{}", answer.text);
        assert!(
            events.iter().all(|event| event["object"]["kind"] == kind),
            "{}",
            answer.text
        );
        if kind == "Table" {
            assert!(events[0]["object"]["columnDefinitions"].is_array());
            assert!(
                events[1]["object"]["columnDefinitions"].is_null(),
                "sent only once"
            );
        }
    }
}

#[tokio::test]
async fn watch_parameters_are_validated() {
    let wire = TestServer::start().await;
    for (query, code) in [
        ("watch=true&sendInitialEvents=true", 422),
        (
            "watch=true&resourceVersion=5&resourceVersionMatch=NotOlderThan",
            422,
        ),
        ("watch=true&resourceVersion=x", 500),
        ("watch=true&fieldSelector=data.x%3D1", 400),
        ("watch=true&timeoutSeconds=soon", 400),
    ] {
        assert_eq!(
            wire.get(&format!("{CONFIG_MAPS}?{query}")).await.code,
            code,
            "{query}"
        );
    }
}

#[tokio::test]
async fn lists_wait_for_a_future_revision() {
    let wire = TestServer::start().await;
    let next = wire.server.revision() + 1;
    let path = format!("{CONFIG_MAPS}?resourceVersion={next}&resourceVersionMatch=NotOlderThan");
    let (listed, _) = tokio::join!(
        wire.get(&path),
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": "c"}}))
    );
    assert_eq!(listed.code, 200, "{}", listed.text);
    assert_eq!(listed.body["items"][0]["metadata"]["name"], "c");
}

#[tokio::test]
async fn bookmarks_are_empty_objects_of_their_kind() {
    let wire = TestServer::start().await;
    let query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = wire.watch(&format!("{PODS}?{query}")).await;
    let bookmark = watch
        .next()
        .await
        .expect("the initial events end with a bookmark");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["spec"], json!({"containers": null}));
    assert_eq!(bookmark["object"]["status"], json!({}));
}

/// Number of changes after which the watch history stores a superseded object in serialized form only.
const LONG_AGO: usize = 2_100;

#[tokio::test]
async fn superseded_states_are_watched_and_listed_unchanged() {
    let wire = TestServer::start().await;
    let begin = create_map(&wire, "first", "x").await;
    let path = format!("{CONFIG_MAPS}/a");
    let mut states = vec![
        wire.create(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a", "labels": {"team": "x"}}}),
        )
        .await,
    ];
    for change in [
        json!({"data": {"number": "1.0", "text": "\"\u{1f4be}\\"}}),
        json!({"metadata": {"labels": {"team": "y"}}}),
    ] {
        states.push(wire.merge(&path, change).await.body);
    }
    wire.delete(&path).await;
    for number in 0..LONG_AGO {
        wire.merge(
            &format!("{CONFIG_MAPS}/first"),
            json!({"data": {"number": number.to_string()}}),
        )
        .await;
    }
    let watch = format!("{CONFIG_MAPS}?watch=true&resourceVersion={begin}");
    let mut all = wire.watch(&watch).await;
    for state in &states {
        assert_eq!(all.next().await.unwrap()["object"], *state);
    }
    let gone = all.next().await.unwrap();
    assert_eq!(type_and_name(&gone), "DELETED a");
    assert_eq!(gone["object"]["data"], states[1]["data"]);
    let mut of_team = wire.watch(&format!("{watch}&labelSelector=team%3Dx")).await;
    assert_eq!(
        of_team.next_events(3).await,
        ["ADDED a", "MODIFIED a", "DELETED a"]
    );
    let revision = states[1]["metadata"]["resourceVersion"].as_str().unwrap();
    let exactly =
        format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact&labelSelector=team%3Dx");
    let mut then = wire.get(&exactly).await.body["items"][0].clone();
    for (name, value) in [("kind", "ConfigMap"), ("apiVersion", "v1")] {
        then[name] = value.into();
    }
    assert_eq!(then, states[1]);
}

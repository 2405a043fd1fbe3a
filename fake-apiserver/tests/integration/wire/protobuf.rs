//! Protobuf bodies as sent and accepted by client-go, decoded by hand.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestServer, capacity, pod};
use super::envelope::{
    PROTOBUF, ProtobufWatch, decode_envelope, encode_envelope, field, field_values, fields, get, object_name,
    send, single_field, text,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

#[tokio::test]
async fn objects_in_protobuf_are_stored_like_json() {
    let wire = TestServer::start().await;
    let metadata = field(1, field(1, "from-protobuf"));
    let selector = field(2, field(1, [field(1, "zone"), field(2, "a")].concat()));
    let size = field(4, field(1, "1024Mi"));
    let raw = [metadata, selector, field(3, "fast"), size].concat();
    let created = send(
        &wire,
        "POST",
        CAPACITIES,
        "application/json",
        encode_envelope("storage.k8s.io/v1", "CSIStorageCapacity", &raw),
    )
    .await;
    assert_eq!((created.code, created.media.as_str()), (201, "application/json"));
    let mut object = capacity("from-json", "1Gi");
    object["nodeTopology"] = json!({"matchLabels": {"zone": "a"}});
    wire.create(CAPACITIES, object).await;
    let mut stored = Vec::new();
    for name in ["from-protobuf", "from-json"] {
        let mut object = wire.get(&format!("{CAPACITIES}/{name}")).await.body;
        object["metadata"] = Value::Null;
        stored.push(object);
    }
    assert_eq!(stored[0], stored[1]);
    assert_eq!(stored[0]["capacity"], "1Gi");
}

#[tokio::test]
async fn false_is_distinguished_from_absent() {
    let wire = TestServer::start().await;
    for (name, expansion, expected) in [("no", &b"\x30\0"[..], json!(false)), ("none", b"", Value::Null)] {
        let raw = [
            &field(1, field(1, name))[..],
            &field(2, "p.example.com"),
            expansion,
        ]
        .concat();
        let created = send(
            &wire,
            "POST",
            CLASSES,
            PROTOBUF,
            encode_envelope("storage.k8s.io/v1", "StorageClass", &raw),
        )
        .await;
        assert_eq!(created.code, 201);
        let class = wire.get(&format!("{CLASSES}/{name}")).await.body;
        assert_eq!(class["allowVolumeExpansion"], expected, "{name}");
    }
}

#[tokio::test]
async fn objects_read_in_protobuf_can_be_written_back() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let path = format!("{PODS}/p");
    let read = get(&wire, &path, PROTOBUF).await;
    assert_eq!((read.code, read.media.as_str()), (200, PROTOBUF));
    let before = wire.get(&path).await.body;
    let written = send(&wire, "PUT", &path, PROTOBUF, read.bytes.clone()).await;
    assert_eq!(written.code, 200);
    assert_eq!(
        wire.get(&path).await.body,
        before,
        "an update without changes preserves the object"
    );
    // The same object is rejected if the URL contains another object name.
    assert_eq!(
        send(&wire, "PUT", &format!("{PODS}/other"), PROTOBUF, read.bytes)
            .await
            .code,
        400
    );
}

#[tokio::test]
async fn get_list_and_watch_return_the_same_bytes() {
    let wire = TestServer::start().await;
    for name in ["a", "b"] {
        wire.create(
            CONFIG_MAPS,
            json!({"metadata": {"name": name}, "data": {"k": "v"}}),
        )
        .await;
    }
    let (version, kind, object) = get(&wire, &format!("{CONFIG_MAPS}/a"), PROTOBUF)
        .await
        .decode_envelope();
    assert_eq!(
        (version.as_str(), kind.as_str(), object_name(&object).as_str()),
        ("v1", "ConfigMap", "a")
    );
    assert_eq!(
        single_field(&object, 2),
        [field(1, "k"), field(2, "v")].concat(),
        "data is field 2"
    );
    let list = get(&wire, CONFIG_MAPS, &format!("{PROTOBUF}, */*")).await;
    assert_eq!((list.code, list.media.as_str()), (200, PROTOBUF));
    let (version, kind, list) = list.decode_envelope();
    assert_eq!((version.as_str(), kind.as_str()), ("v1", "ConfigMapList"));
    let items = field_values(&list, 2);
    assert_eq!(
        items.iter().map(|item| object_name(item)).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(items[0], object);
    let json = wire.get(CONFIG_MAPS).await.body;
    assert_eq!(
        text(&single_field(&list, 1), 2),
        json["metadata"]["resourceVersion"],
        "resourceVersion of the list"
    );
    let mut frames = ProtobufWatch::open(&wire, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=0")).await;
    let (event, body) = frames.next().await;
    assert_eq!((event.as_str(), decode_envelope(&body).2), ("ADDED", object));
}

#[tokio::test]
async fn pages_contain_a_continue_token() {
    let wire = TestServer::start().await;
    for name in ["a", "b", "c"] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name}}))
            .await;
    }
    let (_, _, page) = get(&wire, &format!("{CONFIG_MAPS}?limit=2"), PROTOBUF)
        .await
        .decode_envelope();
    let metadata = single_field(&page, 1);
    assert_eq!(
        single_field(&metadata, 4),
        1_u64.to_be_bytes(),
        "remainingItemCount"
    );
    let token = text(&metadata, 3);
    let (_, _, rest) = get(
        &wire,
        &format!("{CONFIG_MAPS}?limit=2&continue={token}"),
        PROTOBUF,
    )
    .await
    .decode_envelope();
    assert_eq!(
        field_values(&rest, 2)
            .iter()
            .map(|item| object_name(item))
            .collect::<Vec<_>>(),
        ["c"]
    );
}

#[tokio::test]
async fn watch_frames_contain_initial_events_bookmark_and_changes() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    let options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut frames = ProtobufWatch::open(&wire, &format!("{CONFIG_MAPS}?watch=1&{options}")).await;
    assert_eq!(frames.next().await.0, "ADDED");
    let (event, mark) = frames.next().await;
    let (version, kind, mark) = decode_envelope(&mark);
    assert_eq!(
        (event.as_str(), version.as_str(), kind.as_str()),
        ("BOOKMARK", "v1", "ConfigMap")
    );
    let annotation = single_field(&single_field(&mark, 1), 12);
    assert_eq!(
        (text(&annotation, 1).as_str(), text(&annotation, 2).as_str()),
        ("k8s.io/initial-events-end", "true")
    );
    // Events of up to 1 kB: the response needs several frames, and some length prefixes need more than one byte.
    for number in 0..100 {
        let filler = "x".repeat(number * 10);
        wire.create(
            CONFIG_MAPS,
            json!({"metadata": {"name": format!("m{number}")}, "data": {"k": filler}}),
        )
        .await;
    }
    for number in 0..100 {
        let (event, object) = frames.next().await;
        assert_eq!(
            (event.as_str(), object_name(&decode_envelope(&object).2)),
            ("ADDED", format!("m{number}"))
        );
    }
    wire.delete(&format!("{CONFIG_MAPS}/a")).await;
    let (event, object) = frames.next().await;
    assert_eq!(
        (event.as_str(), object_name(&decode_envelope(&object).2).as_str()),
        ("DELETED", "a")
    );
}

#[tokio::test]
async fn watch_errors_are_sent_as_a_frame() {
    let options = fake_apiserver::ServerOptions {
        history: 1,
        ..fake_apiserver::ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    for name in ["a", "b", "c"] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name}}))
            .await;
    }
    let mut frames = ProtobufWatch::open(&wire, &format!("{CONFIG_MAPS}?watch=1&resourceVersion=1")).await;
    let (event, body) = frames.next().await;
    let (version, kind, status) = decode_envelope(&body);
    assert_eq!(
        (event.as_str(), version.as_str(), kind.as_str()),
        ("ERROR", "v1", "Status")
    );
    assert_eq!(
        (text(&status, 4).as_str(), single_field(&status, 6)),
        ("Expired", 410_u64.to_be_bytes().to_vec())
    );
}

#[tokio::test]
async fn partial_object_metadata_is_returned_on_request() {
    let wire = TestServer::start().await;
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
    )
    .await;
    let (version, kind, object) = get(&wire, &format!("{CONFIG_MAPS}/a"), METADATA)
        .await
        .decode_envelope();
    assert_eq!(
        (version.as_str(), kind.as_str()),
        ("meta.k8s.io/v1", "PartialObjectMetadata")
    );
    assert_eq!((fields(&object).len(), object_name(&object).as_str()), (1, "a"));
    let list = METADATA.replace("Metadata;", "MetadataList;");
    let (version, kind, list) = get(&wire, CONFIG_MAPS, &list).await.decode_envelope();
    assert_eq!(
        (version.as_str(), kind.as_str()),
        ("meta.k8s.io/v1", "PartialObjectMetadataList")
    );
    assert_eq!(field_values(&list, 2), std::slice::from_ref(&object));
    let mut frames = ProtobufWatch::open_accepting(
        &wire,
        &format!("{CONFIG_MAPS}?watch=1&resourceVersion=0"),
        METADATA,
    )
    .await;
    let (_, event) = frames.next().await;
    let (_, kind, watched) = decode_envelope(&event);
    assert_eq!((kind.as_str(), watched), ("PartialObjectMetadata", object));
}

#[tokio::test]
async fn the_first_supported_media_type_is_chosen() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    let table_or_json = format!("{table},application/json");
    for (accept, code, media) in [
        (PROTOBUF, 200, PROTOBUF),
        (
            "application/vnd.kubernetes.protobuf,application/json",
            200,
            PROTOBUF,
        ),
        (
            "application/json,application/vnd.kubernetes.protobuf",
            200,
            "application/json",
        ),
        ("*/*", 200, "application/json"),
        (&table_or_json, 200, "application/json"),
        // Tables are only available as JSON.
        (table, 406, "application/json"),
    ] {
        for path in [CONFIG_MAPS.to_owned(), format!("{CONFIG_MAPS}/a")] {
            let answer = get(&wire, &path, accept).await;
            assert_eq!(
                (answer.code, answer.media.as_str()),
                (code, media),
                "{accept} of {path}"
            );
        }
    }
}

#[tokio::test]
async fn errors_and_discovery_are_returned_in_protobuf() {
    let wire = TestServer::start().await;
    let missing = get(&wire, &format!("{CONFIG_MAPS}/missing"), PROTOBUF).await;
    assert_eq!((missing.code, missing.media.as_str()), (404, PROTOBUF));
    let (version, kind, status) = missing.decode_envelope();
    assert_eq!((version.as_str(), kind.as_str()), ("v1", "Status"));
    assert_eq!(
        (text(&status, 2).as_str(), text(&status, 4).as_str()),
        ("Failure", "NotFound")
    );
    assert_eq!(text(&single_field(&status, 5), 3), "configmaps", "details.kind");
    for (path, kind, first) in [
        ("/api", "APIVersions", "v1"),
        ("/api/v1", "APIResourceList", "v1"),
    ] {
        let (_, found, document) = get(&wire, path, PROTOBUF).await.decode_envelope();
        assert_eq!((found.as_str(), text(&document, 1).as_str()), (kind, first));
    }
}

#[tokio::test]
async fn delete_options_in_protobuf_are_honoured() {
    let wire = TestServer::start().await;
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    let path = format!("{CAPACITIES}/c");
    // Typed clients encode DeleteOptions in the group version of the resource.
    let wrong = encode_envelope(
        "storage.k8s.io/v1",
        "DeleteOptions",
        &field(2, field(1, "11111111-1111-1111-1111-111111111111")),
    );
    let refused = send(&wire, "DELETE", &path, "application/json", wrong).await;
    assert_eq!(refused.code, 409, "{}", String::from_utf8_lossy(&refused.bytes));
    let dry = encode_envelope("v1", "DeleteOptions", &field(5, "All"));
    assert_eq!(send(&wire, "DELETE", &path, PROTOBUF, dry).await.code, 200);
    assert_eq!(wire.get(&path).await.code, 200, "a dry run deletes nothing");
    let deleted = send(
        &wire,
        "DELETE",
        &path,
        PROTOBUF,
        encode_envelope("v1", "DeleteOptions", b""),
    )
    .await;
    let (_, kind, status) = deleted.decode_envelope();
    assert_eq!(
        (deleted.code, kind.as_str(), text(&status, 2).as_str()),
        (200, "Status", "Success")
    );
    assert_eq!(wire.get(&path).await.code, 404);
}

#[tokio::test]
async fn pods_are_bound_by_a_protobuf_binding() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let target = [field(1, "Node"), field(3, "n1")].concat();
    let binding = [field(1, field(1, "p")), field(2, target)].concat();
    let path = format!("{PODS}/p/binding");
    let bound = send(
        &wire,
        "POST",
        &path,
        PROTOBUF,
        encode_envelope("v1", "Binding", &binding),
    )
    .await;
    assert_eq!((bound.code, bound.decode_envelope().1.as_str()), (201, "Status"));
    assert_eq!(
        wire.get(&format!("{PODS}/p")).await.body["spec"]["nodeName"],
        "n1"
    );
}

#[tokio::test]
async fn bodies_of_other_kinds_are_rejected_like_json() {
    let wire = TestServer::start().await;
    for (version, kind) in [
        ("v1", "Pod"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("example.com/v1", "Thing"),
    ] {
        let sent = send(
            &wire,
            "POST",
            CONFIG_MAPS,
            "application/json",
            encode_envelope(version, kind, &field(1, field(1, "x"))),
        )
        .await;
        let json = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}});
        let other = wire.post(CONFIG_MAPS, json).await;
        assert_eq!(sent.code, 400);
        let sent: Value = serde_json::from_slice(&sent.bytes).unwrap();
        assert_eq!(sent, other.body, "{kind}");
    }
}

#[test]
fn random_bodies_are_a_bad_request() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let wire = runtime.block_on(TestServer::start());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let bodies = prop_oneof![
        any::<Vec<u8>>(),
        any::<Vec<u8>>().prop_map(|raw| [b"k8s\0", raw.as_slice()].concat()),
        any::<Vec<u8>>().prop_map(|raw| encode_envelope("v1", "Pod", &raw)),
    ];
    runner
        .run(&bodies, |bytes| {
            let answer = runtime.block_on(send(&wire, "POST", PODS, "application/json", bytes));
            let status: Value = serde_json::from_slice(&answer.bytes).expect("the response is JSON");
            // Random bytes may decode as a pod, but the pod is invalid.
            prop_assert!([400, 422].contains(&answer.code), "{status}");
            prop_assert_eq!(&status["kind"], "Status");
            Ok(())
        })
        .unwrap();
}

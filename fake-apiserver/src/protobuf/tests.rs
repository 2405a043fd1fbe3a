//! Property tests of the encoding, and comparisons with hand-written bytes.

use super::maker::MessageGenerator;
use super::{decode, encode, is_known, list};
use crate::kinds::KINDS;
use crate::machinery::status::Status;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// All kinds that occur in bodies: the served kinds, their lists, and the kinds of apimachinery.
fn kinds() -> Vec<(String, String)> {
    let mut kinds: Vec<(String, String)> = [
        ("v1", "Status"),
        ("v1", "Binding"),
        ("v1", "DeleteOptions"),
        ("storage.k8s.io/v1", "DeleteOptions"),
        ("policy/v1", "Eviction"),
        ("meta.k8s.io/v1", "PartialObjectMetadata"),
        ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        ("v1", "APIVersions"),
        ("v1", "APIGroupList"),
        ("v1", "APIResourceList"),
    ]
    .map(|(version, kind)| (version.to_owned(), kind.to_owned()))
    .to_vec();
    for kind in KINDS
        .iter()
        .filter(|kind| is_known(&kind.api_version(), kind.kind))
    {
        kinds.push((kind.api_version(), kind.kind.to_owned()));
        // Resources that are not stored have no list.
        if kind.unstored.is_none() {
            kinds.push((kind.api_version(), format!("{}List", kind.kind)));
        }
    }
    kinds
}

fn roundtrip(object: &Value) -> Result<Value, Status> {
    let encoded = encode(object).expect("the object has the form of its type");
    decode(encoded.whole(), ("v1", "Nothing"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_survives_a_protobuf_round_trip(seed: [u8; 32]) {
        let mut maker = MessageGenerator::new(seed, false);
        for (api_version, kind) in kinds() {
            let object = maker.object(&api_version, &kind);
            prop_assert_eq!(&roundtrip(&object).expect("encoded objects can be decoded"), &object);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, magic: bool) {
        let body = if magic { [b"k8s\0", bytes.as_slice()].concat() } else { bytes };
        if let Err(status) = decode(&body, ("v1", "Pod")) {
            prop_assert_eq!(status.code, 400);
        } else {
            prop_assert!(magic, "a body without magic bytes was decoded");
        }
    }

    #[test]
    fn corrupted_objects_never_panic(seed: [u8; 32], at: prop::sample::Index, byte: u8, truncate: bool) {
        let pod = MessageGenerator::new(seed, false).object("v1", "Pod");
        let mut body = encode(&pod).expect("the object has the form of its type").whole().to_vec();
        let at = at.index(body.len());
        if truncate { body.truncate(at) } else { body[at] = byte }
        if let Err(status) = decode(&body, ("v1", "Pod")) {
            prop_assert_eq!(status.code, 400);
        }
    }
}

/// Compares members and JSON types with those of k8s-openapi, for every field of the listed kinds.
#[test]
fn message_table_matches_k8s_openapi() {
    use k8s_openapi::api::{apps, coordination, core, events, policy, storage};
    fn check<T: serde::de::DeserializeOwned + serde::Serialize>(api_version: &str, kind: &str) {
        let mut object = MessageGenerator::new([7; 32], true).object(api_version, kind);
        let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let mut known = serde_json::to_value(typed).expect("typed objects serialize");
        drop_nulls(&mut object);
        drop_nulls(&mut known);
        compare(kind, &object, &known);
    }
    check::<core::v1::Pod>("v1", "Pod");
    check::<core::v1::Node>("v1", "Node");
    check::<core::v1::Namespace>("v1", "Namespace");
    check::<core::v1::ConfigMap>("v1", "ConfigMap");
    check::<core::v1::Event>("v1", "Event");
    check::<core::v1::PersistentVolume>("v1", "PersistentVolume");
    check::<core::v1::PersistentVolumeClaim>("v1", "PersistentVolumeClaim");
    check::<core::v1::Service>("v1", "Service");
    check::<core::v1::ServiceAccount>("v1", "ServiceAccount");
    check::<core::v1::ReplicationController>("v1", "ReplicationController");
    check::<core::v1::Binding>("v1", "Binding");
    check::<apps::v1::DaemonSet>("apps/v1", "DaemonSet");
    check::<apps::v1::Deployment>("apps/v1", "Deployment");
    check::<apps::v1::ReplicaSet>("apps/v1", "ReplicaSet");
    check::<apps::v1::StatefulSet>("apps/v1", "StatefulSet");
    check::<coordination::v1::Lease>("coordination.k8s.io/v1", "Lease");
    check::<events::v1::Event>("events.k8s.io/v1", "Event");
    check::<policy::v1::PodDisruptionBudget>("policy/v1", "PodDisruptionBudget");
    check::<policy::v1::Eviction>("policy/v1", "Eviction");
    check::<storage::v1::CSIDriver>("storage.k8s.io/v1", "CSIDriver");
    check::<storage::v1::CSINode>("storage.k8s.io/v1", "CSINode");
    check::<storage::v1::CSIStorageCapacity>("storage.k8s.io/v1", "CSIStorageCapacity");
    check::<storage::v1::StorageClass>("storage.k8s.io/v1", "StorageClass");
    check::<storage::v1::VolumeAttachment>("storage.k8s.io/v1", "VolumeAttachment");
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Compares the structure of two values, not their text: times and empty lists may be formatted differently.
fn compare(path: &str, table: &Value, known: &Value) {
    match (table, known) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let path = format!("{path}.{name}");
                match b.get(name) {
                    Some(known) => compare(&path, value, known),
                    // Typed clients omit empty values, so k8s-openapi may lack them.
                    None => assert!(is_empty(value), "{path} is not in the published type"),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}");
            a.iter().zip(b).for_each(|(a, b)| compare(path, a, b));
        }
        (Value::String(_), Value::String(_)) => {}
        (a, b) => assert_eq!(a, b, "{path}"),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Compares the encoding of a whole StorageClass, field by field.
#[test]
fn encoded_object_matches_hand_written_bytes() {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "fast", "creationTimestamp": "1970-01-01T00:02:08Z", "generation": 300},
        "provisioner": "p", "parameters": {"b": "2", "a": "1"}, "allowVolumeExpansion": false,
    });
    let metadata: &[u8] = &[
        &b"\x0a\x04fast\x12\0\x1a\0\x22\0\x2a\0\x32\0"[..],
        // `generation`: a varint of two bytes; `creationTimestamp`: 128 seconds, 0 nanoseconds.
        b"\x38\xac\x02\x42\x05\x08\x80\x01\x10\0",
    ]
    .concat();
    let raw = [
        &[0x0a, metadata.len() as u8][..],
        metadata,
        b"\x12\x01p\x1a\x06\x0a\x01a\x12\x011\x1a\x06\x0a\x01b\x12\x012",
        // `allowVolumeExpansion` is a pointer that is set to false.
        b"\x30\0",
    ]
    .concat();
    let body = [
        &b"k8s\0\x0a\x21\x0a\x11storage.k8s.io/v1\x12\x0cStorageClass\x12"[..],
        &[raw.len() as u8],
        &raw,
        b"\x1a\0\x22\0",
    ]
    .concat();
    let encoded = encode(&class).expect("the class has the form of its type");
    assert_eq!(&encoded.whole()[..], &body[..]);
    assert_eq!(encoded.raw(), &raw[..]);
}

#[test]
fn list_contains_the_bytes_of_its_items() {
    let metadata = Map::from_iter([("remainingItemCount".to_owned(), json!(3))]);
    let body =
        list("v1", "PodList", metadata, [&b"one"[..], b"two"].into_iter()).expect("the metadata is good");
    let raw = b"\x0a\x08\x0a\0\x12\0\x1a\0\x20\x03\x12\x03one\x12\x03two";
    let expected = [
        &b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList\x12"[..],
        &[raw.len() as u8],
        raw,
        b"\x1a\0\x22\0",
    ]
    .concat();
    assert_eq!(&body[..], &expected[..]);
}

/// Clients may send encodings that this crate never writes: split messages are merged, packed numbers decoded, and groups skipped.
#[test]
fn alternative_encodings_are_decoded() {
    let body = |raw: &[u8]| {
        [
            &b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12"[..],
            &[raw.len() as u8],
            raw,
        ]
        .concat()
    };
    let read = |raw: &[u8]| decode(&body(raw), ("v1", "Pod")).expect("the body is good");
    let pod = read(b"\x0a\x03\x0a\x01a\x0a\x05\x1a\x03dir");
    assert_eq!(pod["metadata"], json!({"name": "a", "namespace": "dir"}));
    // `securityContext.supplementalGroups`, field 4, packed; then a group that contains a field.
    let pod = read(b"\x12\x07\x72\x05\x22\x03\x01\xac\x02\x4b\x08\x01\x4c");
    assert_eq!(
        pod["spec"]["securityContext"]["supplementalGroups"],
        json!([1, 300])
    );
    // A second, empty `name` field overrides the first one.
    assert_eq!(read(b"\x0a\x03\x0a\x01a\x0a\x02\x0a\0")["metadata"], json!({}));
}

/// Each case: a malformed body and the expected error message.
#[test]
fn malformed_bodies_return_the_decoder_errors_of_kube_apiserver() {
    let wrap = |raw: &[u8]| {
        [
            &b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12"[..],
            &[raw.len() as u8],
            raw,
        ]
        .concat()
    };
    let whole = "Pod in version \"v1\" cannot be handled as a Pod: ";
    for (body, text) in [
        (
            b"".to_vec(),
            "the object provided is unrecognized (must be of type Pod): empty data (<empty>)",
        ),
        (
            b"k8s\0".to_vec(),
            "the object provided is unrecognized (must be of type Pod): empty body (6b387300)",
        ),
        (
            b"k8s\0\x12\x05a".to_vec(),
            "the object provided is unrecognized (must be of type Pod): unexpected EOF (6b387300120561)",
        ),
        (wrap(b"\x0a\x05a"), &format!("{whole}unexpected EOF")),
        (
            wrap(b"\x0c"),
            &format!("{whole}proto: Pod: wiretype end group for non-group"),
        ),
        (
            wrap(b"\x02\0"),
            &format!("{whole}proto: Pod: illegal tag 0 (wire type 2)"),
        ),
        (
            wrap(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            &format!("{whole}proto: negative length found during unmarshaling"),
        ),
        (
            wrap(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            &format!("{whole}proto: integer overflow"),
        ),
        (
            wrap(b"\x08\x01"),
            &format!("{whole}proto: wrong wireType = 0 for field Metadata"),
        ),
        (wrap(b"\x47"), &format!("{whole}proto: illegal wireType 7")),
    ] {
        let status = decode(&body, ("v1", "Pod")).expect_err(text);
        assert_eq!((status.code, status.message.as_str()), (400, text));
    }
}

/// Each container takes two bytes on the wire, but decoding all of them would take hundreds of megabytes.
#[test]
fn bodies_with_too_many_values_are_rejected() {
    let containers = b"\x12\0".repeat(1_400_000);
    let spec = [&b"\x12"[..], &varint(containers.len()), &containers].concat();
    let body = [
        &b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12"[..],
        &varint(spec.len()),
        &spec,
    ]
    .concat();
    let status = decode(&body, ("v1", "Pod")).expect_err("the body exceeds the limit");
    assert_eq!(status.code, 400);
    assert!(
        status
            .message
            .ends_with("the body contains more than 1000000 values"),
        "{}",
        status.message
    );
}

/// Sends objects in envelopes that are nested in each other.
#[test]
fn bodies_nested_too_deep_are_rejected() {
    let mut body = b"k8s\0\x12\0".to_vec();
    for _ in 0..200 {
        // The `data` of a ControllerRevision is an object in a protobuf envelope.
        let data = [&b"\x0a"[..], &varint(body.len()), &body].concat();
        let raw = [&b"\x12"[..], &varint(data.len()), &data].concat();
        let head = b"k8s\0\x0a\x1d\x0a\x07apps/v1\x12\x12ControllerRevision\x12";
        body = [&head[..], &varint(raw.len()), &raw].concat();
    }
    let status = decode(&body, ("apps/v1", "ControllerRevision")).expect_err("the body exceeds the limit");
    assert_eq!(status.code, 400);
    assert!(
        status
            .message
            .ends_with("messages are nested deeper than 100 levels"),
        "{}",
        status.message
    );
}

fn varint(value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    super::wire::put_varint(&mut out, value as u64);
    out
}

#[test]
fn custom_resources_have_no_protobuf_form() {
    assert!(!is_known("snapshot.storage.k8s.io/v1", "VolumeSnapshot"));
    let snapshot = json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot"});
    assert!(encode(&snapshot).is_err());
}

/// Encoding can fail for kinds that are not fully validated. The error names the field.
#[test]
fn encoding_errors_name_the_field() {
    for (spec, text) in [
        (
            json!({"hostNetwork": "yes"}),
            "spec: hostNetwork: expected Bool, found a string",
        ),
        (
            json!({"containers": {}}),
            "spec: containers: expected a list, found an object",
        ),
        (
            json!({"priority": 3_000_000_000_u32}),
            "spec: priority: 3000000000 is not in the range of the field",
        ),
        (json!({"overhead": {"cpu": "much"}}), "spec: overhead: "),
    ] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
        let fault = encode(&pod).expect_err(text);
        assert!(fault.to_string().starts_with(text), "{fault}");
    }
}

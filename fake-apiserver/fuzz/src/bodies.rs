//! Fuzz targets for request bodies of every media type: objects, options and patches.
//!
//! If a target covers several kinds, the first byte of the input selects one.

use super::bench::Bench;
use super::texts::escaped;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PRESENT: &str = "/api/v1/namespaces/default/configmaps/present";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";
const CLAIM: &str = "/api/v1/namespaces/default/persistentvolumeclaims/c";

/// Collections of kinds with special validation, conversion, defaults, keyed lists or actions.
const COLLECTIONS: [&str; 15] = [
    "/api/v1/namespaces/default/configmaps",
    "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/api/v1/nodes",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
];

/// Splits the input into the collection that the first byte selects and the remaining bytes.
fn collection(bytes: &[u8]) -> (&'static str, &[u8]) {
    let (first, rest) = bytes.split_first().unwrap_or((&b'a', &[]));
    let number = usize::from(first.wrapping_sub(b'a'));
    (COLLECTIONS[number % COLLECTIONS.len()], rest)
}

pub(super) fn json_body(bench: &mut Bench, bytes: &[u8]) {
    create(bench, JSON, bytes);
}

pub(super) fn yaml_body(bench: &mut Bench, bytes: &[u8]) {
    create(bench, YAML, bytes);
}

pub(super) fn protobuf_body(bench: &mut Bench, bytes: &[u8]) {
    create(bench, PROTOBUF, bytes);
}

/// Creates an object, reads it back, and deletes it.
fn create(bench: &mut Bench, media: &str, bytes: &[u8]) {
    let (collection, body) = collection(bytes);
    let made = bench.send(
        "POST",
        &format!("{collection}?fieldValidation=Strict"),
        media,
        body,
    );
    let lax = bench.send("POST", collection, media, body);
    for made in [made, lax] {
        if let Some(path) = path_of(collection, made.code, &made.json()) {
            let found = bench.get(&path, JSON.as_bytes());
            assert_eq!(found.json(), made.json(), "{path} was changed");
            remove(bench, &path);
        }
    }
}

/// Path of the object in the response to a create; `None` if none was created.
fn path_of(collection: &str, code: u16, object: &Value) -> Option<String> {
    let name = object["metadata"]["name"].as_str()?;
    // Names are valid path segments, except those of RBAC objects, which may contain any characters.
    let name = escaped(name.as_bytes(), b"-_.~:");
    (code == 201 && !name.is_empty()).then(|| format!("{collection}/{name}"))
}

/// Deletes an object and then removes its finalizers.
fn remove(bench: &mut Bench, path: &str) {
    let free = br#"{"metadata":{"finalizers":null,"ownerReferences":null}}"#;
    bench.send("DELETE", &format!("{path}?gracePeriodSeconds=0"), JSON, b"");
    bench.send("PATCH", path, "application/merge-patch+json", free);
}

/// Reads an object in every media type and writes it back: the object must not change.
pub(super) fn forms(bench: &mut Bench, bytes: &[u8]) {
    let (collection, body) = collection(bytes);
    let made = bench.send("POST", collection, JSON, body);
    let Some(path) = path_of(collection, made.code, &made.json()) else {
        return;
    };
    let revision = made.json()["metadata"]["resourceVersion"].clone();
    for media in [JSON, YAML, PROTOBUF] {
        let read = bench.get(&path, media.as_bytes());
        // Some kinds have no protobuf form.
        if read.code == 406 && media == PROTOBUF {
            continue;
        }
        assert_eq!((read.code, read.media.as_str()), (200, media), "{}", read.text());
        let written = bench.send("PUT", &path, media, &read.body);
        if written.code == 200 {
            assert_eq!(
                written.json()["metadata"]["resourceVersion"],
                revision,
                "{media}: {}",
                made.text()
            );
        }
    }
    for narrowed in ["Table", "PartialObjectMetadata"] {
        for version in ["v1", "v1beta1"] {
            for media in [JSON, PROTOBUF] {
                let accept = format!("{media};as={narrowed};g=meta.k8s.io;v={version},{JSON}");
                let of_list = accept.replace("ObjectMetadata", "ObjectMetadataList");
                for (path, accept) in [(path.as_str(), &accept), (collection, &of_list)] {
                    let shown = bench.get(path, accept.as_bytes());
                    assert_eq!(shown.code, 200, "{accept}: {}", shown.text());
                }
            }
        }
    }
    remove(bench, &path);
}

pub(super) fn delete_options(bench: &mut Bench, bytes: &[u8]) {
    bench.send(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        JSON,
        br#"{"metadata":{"name":"doomed"}}"#,
    );
    let path = "/api/v1/namespaces/default/configmaps/doomed";
    for media in [JSON, YAML, PROTOBUF] {
        bench.send("DELETE", path, media, bytes);
    }
    remove(bench, path);
}

pub(super) fn json_patch(bench: &mut Bench, bytes: &[u8]) {
    patch(bench, "application/json-patch+json", bytes);
}

pub(super) fn merge_patch(bench: &mut Bench, bytes: &[u8]) {
    patch(bench, "application/merge-patch+json", bytes);
}

pub(super) fn strategic_patch(bench: &mut Bench, bytes: &[u8]) {
    patch(bench, "application/strategic-merge-patch+json", bytes);
}

pub(super) fn apply_patch(bench: &mut Bench, bytes: &[u8]) {
    for path in [PRESENT, CLAIM] {
        let path = format!("{path}?fieldManager=fuzzer&force=true");
        let applied = bench.send("PATCH", &path, "application/apply-patch+yaml", bytes);
        let is_garbage = applied.json()["metadata"]["ownerReferences"].is_array();
        if applied.code < 300 && !is_garbage {
            let again = bench.send("PATCH", &path, "application/apply-patch+yaml", bytes);
            assert_eq!(
                again.json(),
                applied.json(),
                "applying the same document twice changes the object"
            );
        }
    }
    remove(bench, CLAIM);
}

/// The input is the `fieldsV1` of a field manager; an apply patch is then merged with it.
pub(super) fn managed_fields(bench: &mut Bench, bytes: &[u8]) {
    let Ok(fields) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let entry = json!({"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "managed", "managedFields": [entry]},
        "data": {"a": "b"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    bench.send("POST", maps, JSON, map.to_string().as_bytes());
    let path = format!("{maps}/managed");
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "c"}}).to_string();
    for manager in ["m", "n"] {
        let path = format!("{path}?fieldManager={manager}");
        bench.send("PATCH", &path, "application/apply-patch+yaml", applied.as_bytes());
    }
    remove(bench, &path);
}

fn patch(bench: &mut Bench, media: &str, bytes: &[u8]) {
    let claim = br#"{"metadata":{"name":"c","finalizers":["example.com/a"],"ownerReferences":[]},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}"#;
    bench.send(
        "POST",
        "/api/v1/namespaces/default/persistentvolumeclaims",
        JSON,
        claim,
    );
    make_deployment(bench);
    for path in [PRESENT, CLAIM, &format!("{CLAIM}/status"), SCALE] {
        bench.send("PATCH", path, media, bytes);
    }
    let restored = br#"{"metadata":{"labels":{"a":"b"},"finalizers":null},"data":{"a":"b"}}"#;
    bench.send("PATCH", PRESENT, "application/merge-patch+json", restored);
}

fn make_deployment(bench: &mut Bench) {
    let deployment = br#"{"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}}}"#;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    bench.send("POST", deployments, JSON, deployment);
}

/// The input is the body of a subresource, which has a type of its own.
pub(super) fn subresource_body(bench: &mut Bench, bytes: &[u8]) {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
    make_deployment(bench);
    let pod = br#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"b"}]}}"#;
    bench.send("POST", PODS, JSON, pod);
    bench.send("POST", ACCOUNTS, JSON, br#"{"metadata":{"name":"s"}}"#);
    bench.send(
        "POST",
        "/api/v1/namespaces",
        JSON,
        br#"{"metadata":{"name":"n"}}"#,
    );
    for media in [JSON, YAML, PROTOBUF] {
        bench.send("POST", &format!("{PODS}/p/binding"), media, bytes);
        bench.send("POST", &format!("{PODS}/p/eviction"), media, bytes);
        bench.send("POST", &format!("{ACCOUNTS}/s/token"), media, bytes);
        bench.send("PUT", "/api/v1/namespaces/n/finalize", media, bytes);
        bench.send("PUT", SCALE, media, bytes);
    }
    remove(bench, &format!("{PODS}/p"));
}

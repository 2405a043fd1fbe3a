//! Fuzz targets for text in the request head: paths, parameters and headers.

use super::bench::Bench;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use std::fmt::Write;

const JSON: &[u8] = b"application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Percent-encodes all bytes except alphanumeric ones and those in `plain`.
pub(super) fn escaped(bytes: &[u8], plain: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || plain.contains(byte) {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02X}").expect("writing to a String cannot fail");
        }
    }
    text
}

pub(super) fn label_selector(bench: &mut Bench, bytes: &[u8]) {
    for collection in [MAPS, "/api/v1/nodes"] {
        bench.get(
            &format!("{collection}?labelSelector={}", escaped(bytes, b"-_.")),
            JSON,
        );
    }
}

pub(super) fn field_selector(bench: &mut Bench, bytes: &[u8]) {
    for collection in [
        MAPS,
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/apis/events.k8s.io/v1/events",
    ] {
        bench.get(
            &format!("{collection}?fieldSelector={}", escaped(bytes, b"-_.")),
            JSON,
        );
    }
}

/// The input is a continue token, sent verbatim and in base64.
pub(super) fn continue_token(bench: &mut Bench, bytes: &[u8]) {
    for token in [escaped(bytes, b"-_.="), URL_SAFE_NO_PAD.encode(bytes)] {
        for options in ["limit=1", "limit=1&resourceVersion=0", "labelSelector=a"] {
            let page = bench.get(&format!("{MAPS}?{options}&continue={token}"), JSON);
            let namespaces = page.json()["items"].as_array().cloned().unwrap_or_default();
            let is_own = namespaces
                .iter()
                .all(|item| item["metadata"]["namespace"] == "default");
            assert!(is_own, "the continue token crosses namespaces: {}", page.text());
        }
    }
}

/// The input is the capacity of a CSIStorageCapacity and the request of a PVC.
pub(super) fn quantity(bench: &mut Bench, bytes: &[u8]) {
    let size = String::from_utf8_lossy(bytes);
    let capacity = json!({"metadata": {"name": "q"}, "storageClassName": "c", "capacity": size, "maximumVolumeSize": size});
    let claim = json!({"metadata": {"name": "q"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}, "limits": {"storage": size}}}});
    for (collection, object) in [
        (
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            capacity,
        ),
        ("/api/v1/namespaces/default/persistentvolumeclaims", claim),
    ] {
        let path = format!("{collection}?dryRun=All");
        bench.send("POST", &path, "application/json", object.to_string().as_bytes());
    }
}

/// The input is the Accept header of requests for an object, a list, a watch, discovery, a plain text and OpenAPI.
pub(super) fn accept(bench: &mut Bench, bytes: &[u8]) {
    let value: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !b"\r\n".contains(byte))
        .collect();
    let present = format!("{MAPS}/present");
    let watch = format!("{MAPS}?watch=1");
    for path in [&present, MAPS, &watch, "/apis", "/readyz", "/openapi/v3"] {
        bench.get(path, &value);
    }
}

/// The input is a path with query. The first byte selects the method.
pub(super) fn path(bench: &mut Bench, bytes: &[u8]) {
    const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FUZZ"];
    let (first, rest) = bytes.split_first().unwrap_or((&b'a', b"/"));
    let method = METHODS[usize::from(first.wrapping_sub(b'a')) % METHODS.len()];
    let target = escaped(rest, b"/?&=%-_.~:;,+*@!$'()");
    let body: &[u8] = if ["POST", "PUT", "PATCH"].contains(&method) {
        b"{}"
    } else {
        b""
    };
    let media = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    bench.send(
        method,
        &format!("/{}", target.trim_start_matches('/')),
        media,
        body,
    );
}

//! Compression: only long responses are compressed, and only if the client accepts gzip.

use super::client::{CONFIG_MAPS, TestServer, request};
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use serde_json::{Value, json};
use std::io::Read;

/// Headers and body of a response, without decompression.
async fn fetch(wire: &TestServer, path: &str, headers: &[(&str, &str)]) -> (HeaderMap, Vec<u8>) {
    let response = request(&wire.client, "GET", path, headers, String::new()).await;
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a complete body").to_bytes();
    (head.headers, bytes.to_vec())
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).expect("valid gzip");
    out
}

/// Creates ConfigMaps of 60 kB each.
async fn create_large_maps(wire: &TestServer, count: usize) {
    for i in 0..count {
        let data = json!({"metadata": {"name": format!("m{i}")}, "data": {"text": "abcdef".repeat(10_000)}});
        wire.create(CONFIG_MAPS, data).await;
    }
}

#[tokio::test]
async fn long_lists_are_compressed_if_the_client_accepts_gzip() {
    let wire = TestServer::start().await;
    create_large_maps(&wire, 3).await;
    let (headers, plain) = fetch(&wire, CONFIG_MAPS, &[]).await;
    assert_eq!(
        (headers.get("content-encoding"), headers.get("vary")),
        (None, None)
    );
    for requested in ["gzip", "deflate, gzip;q=0.5"] {
        let (headers, zipped) = fetch(&wire, CONFIG_MAPS, &[("accept-encoding", requested)]).await;
        assert_eq!(headers["content-encoding"], "gzip", "{requested}");
        assert_eq!(headers["vary"], "Accept-Encoding");
        assert!(
            zipped.len() < plain.len() / 10,
            "{} of {}",
            zipped.len(),
            plain.len()
        );
        assert_eq!(unzipped(&zipped), plain);
    }
    for requested in ["identity", "gzip;q=0", "x-gzip"] {
        let (headers, same) = fetch(&wire, CONFIG_MAPS, &[("accept-encoding", requested)]).await;
        assert_eq!(
            (headers.get("content-encoding"), same.len()),
            (None, plain.len()),
            "{requested}"
        );
    }
}

#[tokio::test]
async fn short_responses_are_not_compressed() {
    let wire = TestServer::start().await;
    create_large_maps(&wire, 2).await;
    for path in [CONFIG_MAPS, "/apis", "/api/v1/namespaces/default/configmaps/m0"] {
        let (headers, body) = fetch(&wire, path, &[("accept-encoding", "gzip")]).await;
        assert_eq!(headers.get("content-encoding"), None, "{path}");
        let _: Value = serde_json::from_slice(&body).expect("the body is JSON");
    }
}

#[tokio::test]
async fn lists_of_other_media_types_are_compressed() {
    let wire = TestServer::start().await;
    create_large_maps(&wire, 3).await;
    for accept in [
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    ] {
        let (_, plain) = fetch(&wire, CONFIG_MAPS, &[("accept", accept)]).await;
        let requested = [("accept", accept), ("accept-encoding", "gzip")];
        let (headers, body) = fetch(&wire, CONFIG_MAPS, &requested).await;
        let is_long = plain.len() > 128 * 1024;
        assert_eq!(headers.contains_key("content-encoding"), is_long, "{accept}");
        let body = if is_long { unzipped(&body) } else { body };
        assert_eq!(body, plain, "{accept}");
    }
}

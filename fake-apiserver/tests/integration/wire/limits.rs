//! Tests of limits on request and object sizes, of slow watches, and of a panicking request.

use super::client::{CONFIG_MAPS, TestServer};
use fake_apiserver::{Event, Observer, ServerOptions, WatchEnd};
use serde_json::json;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[tokio::test]
async fn bodies_above_three_mebibytes_are_rejected() {
    let wire = TestServer::start().await;
    let filler = "x".repeat(3 * 1024 * 1024);
    let answer = wire
        .post(
            CONFIG_MAPS,
            json!({"metadata": {"name": "m"}, "data": {"k": filler}}),
        )
        .await;
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (413, &json!("RequestEntityTooLarge"))
    );
}

#[tokio::test]
async fn objects_above_the_size_limit_of_etcd_are_rejected() {
    let wire = TestServer::start().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = |name: &str, bytes: usize| {
        let rule = json!({"apiGroups": ["x".repeat(bytes)], "resources": ["r"], "verbs": ["get"]});
        json!({"metadata": {"name": name}, "rules": [rule]})
    };
    let fits = wire.create(roles, role("fits", 1_572_000)).await;
    assert!(fits["metadata"]["managedFields"].is_array());
    let barely = wire.create(roles, role("big-role", 1_572_619)).await;
    assert!(
        barely["metadata"].get("managedFields").is_none(),
        "managedFields are dropped if they exceed the size limit"
    );
    for (bytes, why) in [
        (1_572_641, "etcdserver: request is too large"),
        (
            2_100_000,
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2100212 vs. 2097152)",
        ),
    ] {
        let refused = wire.post(roles, role("b", bytes)).await;
        let message = refused.body["message"].as_str().unwrap_or_default();
        assert!(refused.code == 500 && message == why, "{}", refused.text);
        assert!(refused.body.get("reason").is_none());
        assert_eq!(wire.get(&format!("{roles}/b")).await.code, 404);
    }
    // An update must not exceed the size limit either.
    let grown = json!({"metadata": {"annotations": {"a": "x".repeat(1000)}}});
    assert_eq!(
        wire.merge(&format!("{roles}/big-role"), grown.clone()).await.code,
        500
    );
    let dry = wire.merge(&format!("{roles}/big-role?dryRun=All"), grown).await;
    assert_eq!(dry.code, 200, "a dry run stores nothing");
}

#[tokio::test]
async fn oversized_headers_are_rejected() {
    let wire = TestServer::start().await;
    let mut socket = TcpStream::connect(wire.running.address()).await.unwrap();
    let endless = format!(
        "GET /api HTTP/1.1\r\nhost: x\r\nx-filler: {}\r\n\r\n",
        "y".repeat(100 * 1024)
    );
    socket.write_all(endless.as_bytes()).await.ok();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.ok();
    assert!(
        answer.starts_with(b"HTTP/1.1 431 "),
        "{:?}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test]
async fn the_body_of_a_get_is_ignored() {
    let wire = TestServer::start().await;
    let token = wire.server.add_client("reader");
    let head = format!("GET {CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n");
    // An incomplete request body, and a request body whose `content-length` exceeds the limit.
    for body in ["content-length: 10\r\n\r\n{", "content-length: 99999999\r\n\r\n{"] {
        let mut socket = TcpStream::connect(wire.running.address()).await.unwrap();
        socket
            .write_all(format!("{head}{body}").as_bytes())
            .await
            .unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:?}");
    }
}

#[tokio::test]
async fn http2_without_tls_is_supported() {
    let wire = TestServer::start().await;
    let mut socket = TcpStream::connect(wire.running.address()).await.unwrap();
    socket
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let mut frame = [0; 9];
    socket.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "the first frame is SETTINGS");
}

/// An observer that sends the reason why each watch ended to a channel.
pub(super) struct WatchEnds(pub(super) UnboundedSender<WatchEnd>);

impl Observer for WatchEnds {
    fn observe(&self, event: Event) {
        if let Event::WatchClosed { why, .. } = event {
            self.0.send(why).ok();
        }
    }
}

#[tokio::test]
async fn unread_watches_are_dropped_and_writers_continue() {
    let (sender, mut ends) = unbounded_channel();
    let options = ServerOptions {
        watch_queue: 8,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, Some(Arc::new(WatchEnds(sender)))).await;
    let mut socket = TcpStream::connect(wire.running.address()).await.unwrap();
    let token = wire.server.add_client("sleeper");
    let request =
        format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 15];
    socket.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    // From here on the client `sleeper` does not read: first the socket buffers fill up, then the watch queue.
    let local = wire.server.client("writer");
    let filler = "x".repeat(512 * 1024);
    let mut written = 0;
    while ends.try_recv().is_err() {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": filler},
            "metadata": {"name": format!("m{written}"), "namespace": "default"},
        });
        local.create(map).unwrap();
        written += 1;
        assert!(written < 500, "the watch was never dropped");
        tokio::task::yield_now().await;
        if written > 60 {
            // The server ends the stream only when the connection can send again, so the client `sleeper` reads some bytes.
            let mut some = vec![0; 64 * 1024];
            socket.read_exact(&mut some).await.unwrap();
        }
    }
    wire.server.quiet().await;
}

/// An observer that panics when the server stores an object with a certain name.
struct PanickingObserver;

impl Observer for PanickingObserver {
    fn observe(&self, event: Event) {
        if let Event::Commit { name, .. } = event {
            assert!(&*name != "panics", "a handler panics");
        }
    }
}

#[tokio::test]
async fn a_panicking_request_returns_500_and_the_server_continues() {
    let wire = TestServer::start_with(ServerOptions::default(), Some(Arc::new(PanickingObserver))).await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    let mut watch = wire
        .watch(&format!(
            "{CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3dm"
        ))
        .await;
    let answer = wire
        .post(CONFIG_MAPS, json!({"metadata": {"name": "panics"}}))
        .await;
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert_eq!(answer.code, 500, "{}", answer.text);
    assert!(
        message.starts_with("This request caused apiserver to panic"),
        "{message}"
    );
    let path = format!("{CONFIG_MAPS}/m");
    wire.merge(&path, json!({"data": {"k": "v"}})).await;
    assert_eq!(watch.next_events(2).await, ["ADDED m", "MODIFIED m"]);
    assert_eq!(wire.get(&path).await.body["data"]["k"], "v");
}

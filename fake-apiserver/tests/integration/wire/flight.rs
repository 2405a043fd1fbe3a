//! Limits on concurrent requests, and isolation from slow clients.

use super::client::{CONFIG_MAPS, TestServer, answer, client, request};
use fake_apiserver::{Limits, ServerOptions, User};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start_with_limits(requests_inflight: usize, mutating_requests_inflight: usize) -> TestServer {
    let limits = Limits {
        requests_inflight,
        mutating_requests_inflight,
        ..Limits::default()
    };
    let options = ServerOptions {
        limits,
        ..ServerOptions::default()
    };
    TestServer::start_with(options, None).await
}

/// Starts a request with the token of client `slow`; returns when the server waits for the request body.
async fn start_request(wire: &TestServer, method: &str, path: &str, length: usize) -> TcpStream {
    let token = wire.server.add_client("slow");
    let mut socket = TcpStream::connect(wire.running.address())
        .await
        .expect("the server accepts connections");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nexpect: 100-continue\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    socket
        .write_all(head.as_bytes())
        .await
        .expect("the server reads the request");
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).await.expect("the server responds");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket
}

/// Sends the body of a request from `start_request`, and returns the status line of the response.
async fn finish_request(mut socket: TcpStream, body: &str) -> String {
    socket
        .write_all(body.as_bytes())
        .await
        .expect("the server reads the body");
    let mut text = String::new();
    socket
        .read_to_string(&mut text)
        .await
        .expect("the server responds");
    text.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn aborted_request_bodies_are_reported_as_499_not_as_invalid() {
    let (wire, recorder) = super::observer::start_with_recorder().await;
    drop(start_request(&wire, "POST", super::client::CAPACITIES, 100).await);
    recorder
        .wait_for_text("slow create csistoragecapacities/ 499")
        .await;
}

#[tokio::test]
async fn requests_above_the_limit_return_429_with_retry_after() {
    let wire = start_with_limits(1, 1).await;
    let body = json!({"metadata": {"name": "slow"}}).to_string();
    let slow = start_request(&wire, "POST", CONFIG_MAPS, body.len()).await;
    let refused = wire.post(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    assert_eq!(
        (refused.code, refused.text.as_str()),
        (429, "Too many requests, please try again later.\n")
    );
    for (name, value) in [
        ("retry-after", "1"),
        ("content-type", "text/plain; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(refused.headers[name], value);
    }
    assert_eq!(
        wire.get(CONFIG_MAPS).await.code,
        200,
        "reads have a limit of their own"
    );
    assert_eq!(finish_request(slow, &body).await, "HTTP/1.1 201 Created");
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
}

#[tokio::test]
async fn watches_and_system_masters_are_exempt_from_the_limit() {
    let wire = start_with_limits(1, 1).await;
    let slow = start_request(&wire, "GET", CONFIG_MAPS, 2).await;
    assert_eq!(wire.get(CONFIG_MAPS).await.code, 429);
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    assert_eq!(watch.next_events(1).await, ["ADDED m"]);
    let master = wire.server.add_user(User::new("root").in_group("system:masters"));
    let master = client(&wire.running, Some(master));
    let seen = answer(request(&master, "GET", CONFIG_MAPS, &[], "").await).await;
    assert_eq!(seen.code, 200);
    assert_eq!(finish_request(slow, "{}").await, "HTTP/1.1 200 OK");
    assert_eq!(wire.get(CONFIG_MAPS).await.code, 200);
}

#[tokio::test]
async fn a_limit_of_zero_is_unlimited() {
    let wire = start_with_limits(0, 0).await;
    let mut begun_requests = Vec::new();
    for _ in 0..20 {
        begun_requests.push(start_request(&wire, "GET", CONFIG_MAPS, 2).await);
    }
    assert_eq!(wire.get(CONFIG_MAPS).await.code, 200);
    for socket in begun_requests {
        assert_eq!(finish_request(socket, "{}").await, "HTTP/1.1 200 OK");
    }
}

#[tokio::test]
async fn unread_watches_do_not_delay_writers_or_other_watches() {
    let wire = TestServer::start().await;
    let token = wire.server.add_client("sleeper");
    let mut sleeper = TcpStream::connect(wire.running.address()).await.unwrap();
    let head =
        format!("GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    sleeper.write_all(head.as_bytes()).await.unwrap();
    sleeper.read_exact(&mut [0; 15]).await.unwrap();
    let mut awake = wire.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    // Large enough that the writes exceed the socket buffers of the client `sleeper`, which does not read.
    let filler = "x".repeat(256 * 1024);
    for number in 0..100 {
        let name = format!("m{number}");
        wire.create(
            CONFIG_MAPS,
            json!({"metadata": {"name": name}, "data": {"k": filler}}),
        )
        .await;
        assert_eq!(awake.next_events(1).await, [format!("ADDED {name}")]);
    }
}

#[tokio::test]
async fn events_reach_only_watches_of_their_resource_and_namespace() {
    let wire = TestServer::start().await;
    let paths = [
        "/api/v1/configmaps?watch=1",
        "/api/v1/namespaces/default/configmaps?watch=1",
        "/api/v1/namespaces/kube-system/configmaps?watch=1",
        "/api/v1/configmaps?watch=1&fieldSelector=metadata.namespace%3Dkube-system",
        "/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Da",
        "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Da",
        "/api/v1/watch/namespaces/default/configmaps/a",
        "/api/v1/configmaps?watch=1&fieldSelector=metadata.name%21%3Da",
    ];
    let mut watches = Vec::new();
    for path in paths {
        // The watch starts at the current revision, so that all events come from new writes.
        let sign = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{sign}resourceVersion={}", wire.server.revision());
        watches.push(wire.watch(&path).await);
    }
    for (namespace, name) in [
        ("default", "a"),
        ("default", "b"),
        ("kube-system", "a"),
        ("kube-system", "end"),
    ] {
        let map = json!({"metadata": {"name": name, "labels": {"in": namespace}}});
        wire.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), map)
            .await;
    }
    wire.server.quiet().await;
    let expected = [
        vec!["default/a", "default/b", "kube-system/a", "kube-system/end"],
        vec!["default/a", "default/b"],
        vec!["kube-system/a", "kube-system/end"],
        vec!["kube-system/a", "kube-system/end"],
        vec!["default/a", "kube-system/a"],
        vec!["default/a"],
        vec!["default/a"],
        vec!["default/b", "kube-system/end"],
    ];
    wire.running.stop().await;
    for ((path, mut watch), expected) in paths.iter().zip(watches).zip(expected) {
        let mut seen = Vec::new();
        while let Some(event) = watch.next().await {
            let text = |field: &str| event["object"]["metadata"][field].as_str().unwrap().to_owned();
            seen.push(format!("{}/{}", text("namespace"), text("name")));
        }
        assert_eq!(seen, expected, "{path}");
    }
}

#[tokio::test]
async fn ten_thousand_watches_on_ten_connections_receive_an_event() {
    let wire = TestServer::start().await;
    let token = format!("Bearer {}", wire.server.add_client("informers"));
    let mut watches = Vec::new();
    for _ in 0..10 {
        let socket = TcpStream::connect(wire.running.address()).await.unwrap();
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
                .await
                .unwrap();
        tokio::spawn(connection);
        for _ in 0..1000 {
            let request = Request::get(format!("http://x{CONFIG_MAPS}?watch=1"))
                .header("authorization", &token)
                .body(Empty::<Bytes>::new())
                .unwrap();
            let mut sender = sender.clone();
            sender.ready().await.unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), 200);
            watches.push(response.into_body());
        }
    }
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    for mut watch in watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: serde_json::Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(event["object"]["metadata"]["name"], "m");
    }
}

#[tokio::test]
async fn long_lists_have_a_content_length() {
    let wire = TestServer::start().await;
    let filler = "x".repeat(40 * 1024);
    for number in 0..12 {
        let map = json!({"metadata": {"name": format!("m{number:02}")}, "data": {"k": filler}});
        wire.create(CONFIG_MAPS, map).await;
    }
    let list = wire.get(CONFIG_MAPS).await;
    assert_eq!(list.headers["content-length"], list.text.len().to_string());
    let items = list.body["items"].as_array().unwrap();
    let names: Vec<_> = items
        .iter()
        .map(|it| it["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, (0..12).map(|n| format!("m{n:02}")).collect::<Vec<_>>());
    assert_eq!(items[11]["data"]["k"], filler);
}

#[tokio::test]
async fn media_type_with_the_highest_quality_is_chosen() {
    let wire = TestServer::start().await;
    for (accept, media) in [
        ("application/json;q=0.1, application/yaml", "application/yaml"),
        (
            "application/json;q=0.1, application/yaml;q=0.2",
            "application/yaml",
        ),
        ("application/json, application/yaml;q=0.9", "application/json"),
        ("application/json, application/yaml", "application/json"),
        ("application/yaml, application/json", "application/yaml"),
        ("*/*, application/yaml", "application/yaml"),
        (
            "application/yaml;q=much, application/json;q=0.1",
            "application/json",
        ),
        (
            "text/html, application/yaml;q=0.3, application/json; q=0.4",
            "application/json",
        ),
    ] {
        let headers = [("accept", accept)];
        let answer = wire.send("GET", CONFIG_MAPS, &headers, String::new()).await;
        assert_eq!(answer.headers["content-type"], media, "{accept}");
    }
}

#[tokio::test]
async fn forged_continue_tokens_do_not_cross_namespaces() {
    let wire = TestServer::start().await;
    for namespace in ["default", "kube-public", "kube-system"] {
        let map = json!({"metadata": {"name": "m"}});
        wire.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), map)
            .await;
    }
    for (start, expected) in [
        ("a/a", 1),
        ("kube-public/m", 1),
        ("m", 1),
        ("m\\u0000", 0),
        ("zzz/z", 0),
    ] {
        let token = format!(r#"{{"v":"meta.k8s.io/v1","rv":-1,"start":"{start}"}}"#);
        let token = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, token);
        let page = wire
            .get(&format!(
                "/api/v1/namespaces/kube-public/configmaps?continue={token}"
            ))
            .await;
        let items = page.body["items"].as_array().unwrap();
        assert_eq!(items.len(), expected, "{start}");
        assert!(
            items
                .iter()
                .all(|it| it["metadata"]["namespace"] == "kube-public")
        );
    }
}

//! Clients that exhaust resources: too many, silent, slow or half-closed connections. Other clients must still be served.

use super::client::{CONFIG_MAPS, TestServer};
use super::limits::WatchEnds;
use fake_apiserver::{Limits, ServerOptions, WatchEnd};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const SOON: Duration = Duration::from_millis(50);

async fn start_with_limits(limits: Limits) -> TestServer {
    let options = ServerOptions {
        limits,
        ..ServerOptions::default()
    };
    TestServer::start_with(options, None).await
}

async fn connect(wire: &TestServer) -> TcpStream {
    TcpStream::connect(wire.running.address())
        .await
        .expect("the server accepts connections")
}

async fn read_until_closed(mut socket: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    socket.read_to_end(&mut all).await.ok();
    all
}

async fn assert_served(wire: &TestServer) {
    assert_eq!(wire.get("/readyz").await.text, "ok");
}

#[tokio::test]
async fn connections_above_the_limit_are_closed_until_one_is_free() {
    let wire = start_with_limits(Limits {
        connections: 3,
        ..Limits::default()
    })
    .await;
    assert_served(&wire).await;
    let (mut one, mut two) = (connect(&wire).await, connect(&wire).await);
    for socket in [&mut one, &mut two] {
        socket
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        socket.read_exact(&mut [0; 15]).await.unwrap();
    }
    assert_eq!(
        read_until_closed(connect(&wire).await).await,
        b"",
        "limit exceeded"
    );
    assert_served(&wire).await;
    drop((one, two));
    // The server observes the closed connections with some delay, so the request is repeated until it succeeds.
    loop {
        let mut socket = connect(&wire).await;
        let hello = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        if socket.write_all(hello).await.is_ok()
            && read_until_closed(socket).await.starts_with(b"HTTP/1.1 200 OK")
        {
            return;
        }
    }
}

#[tokio::test]
async fn silent_clients_and_incomplete_headers_time_out() {
    let wire = start_with_limits(Limits {
        headers: SOON,
        ..Limits::default()
    })
    .await;
    for hello in [
        &b""[..],
        b"P",
        b"GET /healthz HTTP/1.1\r\nhost",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    ] {
        let mut socket = connect(&wire).await;
        socket.write_all(hello).await.unwrap();
        let message = read_until_closed(socket).await;
        assert!(
            !message.starts_with(b"HTTP/1.1 200"),
            "{:?}",
            String::from_utf8_lossy(&message)
        );
    }
    assert_served(&wire).await;
}

#[tokio::test]
async fn incomplete_tls_handshakes_time_out() {
    let options = ServerOptions {
        limits: Limits {
            handshake: SOON,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let server = fake_apiserver::ApiServer::new(options, None);
    let running = server.start_tls().await.unwrap();
    for hello in [
        &b""[..],
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 64],
    ] {
        let mut socket = TcpStream::connect(running.address()).await.unwrap();
        socket.write_all(hello).await.unwrap();
        let message = read_until_closed(socket).await;
        assert!(
            !message.starts_with(b"HTTP/"),
            "the response is not TLS: {message:?}"
        );
    }
}

#[tokio::test]
async fn missing_bodies_return_a_timeout() {
    let wire = start_with_limits(Limits {
        request: SOON,
        ..Limits::default()
    })
    .await;
    let token = wire.server.add_client("slow");
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: 100\r\n\r\n{{"
    );
    let mut socket = connect(&wire).await;
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    socket.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 504");
    assert_served(&wire).await;
}

async fn start_with_raw_watch(limits: Limits) -> (TestServer, UnboundedReceiver<WatchEnd>, TcpStream) {
    let (sender, ends) = unbounded_channel();
    let options = ServerOptions {
        limits,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, Some(Arc::new(WatchEnds(sender)))).await;
    let token = wire.server.add_client("watcher");
    let mut socket = connect(&wire).await;
    let request =
        format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    socket
        .write_all(request.as_bytes())
        .await
        .expect("the server reads it");
    socket.read_exact(&mut [0; 15]).await.expect("a response");
    (wire, ends, socket)
}

#[tokio::test]
async fn watches_of_half_closed_connections_end() {
    let (wire, mut ends, mut socket) = start_with_raw_watch(Limits::default()).await;
    socket.shutdown().await.unwrap();
    assert_eq!(ends.recv().await, Some(WatchEnd::Client));
    assert_served(&wire).await;
}

#[tokio::test]
async fn connections_of_clients_that_stop_reading_are_closed() {
    let limits = Limits {
        stalled: SOON,
        ..Limits::default()
    };
    let (wire, mut ends, _unread) = start_with_raw_watch(limits).await;
    let local = wire.server.client("writer");
    let filler = "x".repeat(512 * 1024);
    for number in 0..40 {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": filler},
            "metadata": {"name": format!("m{number}"), "namespace": "default"},
        });
        local.create(map).unwrap();
    }
    assert_eq!(ends.recv().await, Some(WatchEnd::Client));
    assert_served(&wire).await;
}

#[tokio::test]
async fn unread_responses_release_their_slot_and_end_their_connection() {
    let limits = Limits {
        requests_inflight: 1,
        stalled: Duration::from_secs(1),
        ..Limits::default()
    };
    let wire = start_with_limits(limits).await;
    let filler = "x".repeat(900 * 1024);
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "m"}, "data": {"k": filler}}),
    )
    .await;
    let token = format!("Bearer {}", wire.server.add_client("reader"));
    // The HTTP/2 connection stays active, but its stream windows are too small for the responses.
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1);
    let socket = TokioIo::new(connect(&wire).await);
    let (mut sender, connection) = builder.handshake(socket).await.expect("HTTP/2 handshake");
    let connection = tokio::spawn(connection);
    let mut untaken = Vec::new();
    for path in [CONFIG_MAPS, &format!("{CONFIG_MAPS}/m")].repeat(2) {
        let request = Request::get(format!("http://x{path}")).header("authorization", &token);
        let request = request.body(Empty::<Bytes>::new()).expect("a valid request");
        let answer = sender.send_request(request).await.expect("a response head");
        assert_eq!(answer.status(), 200, "a free request slot");
        untaken.push(answer);
    }
    assert_eq!(wire.get(CONFIG_MAPS).await.code, 200);
    // The HTTP/2 connection may end gracefully or with an error.
    connection.await.expect("the connection task does not panic").ok();
    for answer in untaken {
        assert!(
            answer.into_body().collect().await.is_err(),
            "a response that was not read in time is incomplete"
        );
    }
    assert_served(&wire).await;
    wire.server.quiet().await;
}

#[tokio::test]
async fn lists_are_rejected_while_too_many_response_bytes_are_unread() {
    let wire = start_with_limits(Limits {
        unread_bytes: 1,
        ..Limits::default()
    })
    .await;
    let filler = "x".repeat(900 * 1024);
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "m"}, "data": {"k": filler}}),
    )
    .await;
    let token = format!("Bearer {}", wire.server.add_client("reader"));
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1);
    let socket = TokioIo::new(connect(&wire).await);
    let (mut sender, connection) = builder.handshake(socket).await.expect("HTTP/2 handshake");
    drop(tokio::spawn(connection));
    let request = Request::get(format!("http://x{CONFIG_MAPS}")).header("authorization", &token);
    let request = request.body(Empty::<Bytes>::new()).expect("a valid request");
    let unread = sender.send_request(request).await.expect("a response head");
    let refused = wire.get(CONFIG_MAPS).await;
    assert_eq!(refused.code, 429);
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/m")).await.code, 200);
    // The server observes the reset stream with some delay, so the request is repeated until it succeeds.
    drop(unread);
    let mut code = 429;
    for _ in 0..10_000 {
        code = wire.get(CONFIG_MAPS).await.code;
        if code != 429 {
            break;
        }
    }
    assert_eq!(code, 200);
}

#[tokio::test]
async fn long_responses_are_complete() {
    let wire = TestServer::start().await;
    let filler = "x".repeat(900 * 1024);
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "m"}, "data": {"k": filler}}),
    )
    .await;
    let object = wire.get(&format!("{CONFIG_MAPS}/m")).await;
    assert_eq!(object.headers["content-length"], object.text.len().to_string());
    assert_eq!(object.body["data"]["k"], filler);
}

#[tokio::test]
async fn connections_stay_usable_after_a_rejection_before_the_body() {
    let wire = TestServer::start().await;
    let token = wire.server.add_client("hasty");
    for (token, path, media, code) in [
        (token.as_str(), "/nowhere", "application/json", 404),
        (&token, "/version", "application/json", 405),
        (&token, CONFIG_MAPS, "text/html", 415),
        ("none", CONFIG_MAPS, "application/json", 401),
    ] {
        let mut socket = connect(&wire).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: {media}\r\n\
             content-length: 100000\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.expect("a connection");
        // When `assert_served` returns, the server has also read the request head above.
        assert_served(&wire).await;
        socket
            .write_all(&[b'x'; 100_000])
            .await
            .expect("the server reads the body");
        let next = b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        socket.write_all(next).await.expect("an open connection");
        let message = String::from_utf8(read_until_closed(socket).await).expect("responses are UTF-8");
        assert!(
            message.starts_with(&format!("HTTP/1.1 {code} ")),
            "{path} {media}: {message}"
        );
        assert!(message.ends_with("\r\n\r\nok"), "{path} {media}: {message}");
    }
}

//! Request timeouts: the limit of the server, and the `timeout` parameter of a request.

use super::client::{CONFIG_MAPS, TestServer, answer, client, request};
use fake_apiserver::{Effect, Match, Rule};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TEXT: &str = "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not complete within the \
    allotted timeout\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}\n";

#[tokio::test]
async fn requests_whose_timeout_has_passed_are_not_executed() {
    let wire = TestServer::start().await;
    for path in [CONFIG_MAPS, "/api", "/version", "/nowhere"] {
        let late = wire.get(&format!("{path}?timeout=1ns")).await;
        assert_eq!((late.code, late.text.as_str()), (504, TEXT), "{path}");
        assert_eq!(late.headers["content-type"], "text/plain; charset=utf-8");
    }
    let body = json!({"metadata": {"name": "m"}});
    assert_eq!(
        wire.post(&format!("{CONFIG_MAPS}?timeout=1ns"), body).await.code,
        504
    );
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/m")).await.code, 404);
    for enough in ["", "0", "-1s", "1h", "32s"] {
        assert_eq!(
            wire.get(&format!("{CONFIG_MAPS}?timeout={enough}")).await.code,
            200,
            "{enough}"
        );
    }
}

#[tokio::test]
async fn invalid_timeouts_are_rejected_before_authentication() {
    let wire = TestServer::start().await;
    let nobody = client(&wire.running, None);
    for client in [&wire.client, &nobody] {
        let path = format!("{CONFIG_MAPS}?timeout=5");
        let refused = answer(request(client, "GET", &path, &[], "").await).await;
        assert_eq!(
            (refused.code, &refused.body["message"]),
            (
                400,
                &json!("invalid timeout specified in the request URL - time: missing unit in duration \"5\"")
            )
        );
    }
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?watch=1&timeout=never")).await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    assert_eq!(
        watch.next_events(1).await,
        ["ADDED m"],
        "watches have their own timeout"
    );
}

#[tokio::test]
async fn delayed_requests_time_out() {
    let wire = TestServer::start().await;
    let milliseconds = 3_600_000;
    let held = Match {
        name: Some("held".to_owned()),
        ..Match::default()
    };
    wire.server
        .add_fault_rule(Rule::new(held, Effect::Delay { milliseconds }))
        .expect("the fault rule is valid");
    let late = wire.get(&format!("{CONFIG_MAPS}/held?timeout=20ms")).await;
    assert_eq!((late.code, late.text.as_str()), (504, TEXT));
    let future = wire
        .get(&format!("{CONFIG_MAPS}?resourceVersion=999999&timeout=20ms"))
        .await;
    assert_eq!(future.text, TEXT, "waits for a future revision");
    wire.server.quiet().await;
}

#[tokio::test]
async fn slow_request_bodies_time_out() {
    let wire = TestServer::start().await;
    let token = wire.server.add_client("slow");
    let mut socket = TcpStream::connect(wire.running.address())
        .await
        .expect("the server accepts connections");
    let head = format!(
        "POST {CONFIG_MAPS}?timeout=50ms HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-length: 1000000\r\n\r\n{{"
    );
    socket.write_all(head.as_bytes()).await.expect("a connection");
    let mut all = String::new();
    socket
        .read_to_string(&mut all)
        .await
        .expect("the server responds and closes the connection");
    assert!(all.starts_with("HTTP/1.1 504 ") && all.ends_with(TEXT), "{all}");
    wire.server.quiet().await;
}

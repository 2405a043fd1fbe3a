//! The HTTP control of the driver: its effects, its responses, and the requests that it rejects.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use csi_proto::v1::{
    CreateVolumeRequest, VolumeCapability, controller_client::ControllerClient, volume_capability,
};
use serde_json::json;

use super::{Http, Program, connect, get_capacity, pairs};

const MACHINE: &str = "\
driver: {name: disk.example.com, topologyKeys: [zone]}
sockets: [{path: $DIR/csi}]
pools: [{segment: {zone: a}, devices: {d1: {size: 100}, d2: {size: 200}}}]
";

fn start() -> (Program, Http) {
    let program = Program::start(Some(MACHINE), &["--control", "127.0.0.1:0"])
        .ok()
        .expect("the program starts");
    let control = program.control();
    (program, control)
}

fn volume(name: &str) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(csi_proto::v1::CapacityRange {
            required_bytes: 50,
            limit_bytes: 0,
        }),
        volume_capabilities: vec![VolumeCapability {
            access_type: Some(volume_capability::AccessType::Block(
                volume_capability::BlockVolume {},
            )),
            access_mode: Some(volume_capability::AccessMode { mode: 1 }),
        }],
        parameters: pairs(&[("claim", name)]),
        ..Default::default()
    }
}

#[tokio::test]
async fn pools_are_added_replaced_and_removed_at_run_time() {
    let (program, control) = start();
    let channel = connect(&program.path("csi")).await;
    let put = |body: &str| assert_eq!(control.request("PUT", "/v1/pools", body), (200, json!({})));
    put(r#"{"segment": {"zone": "b"}, "capacity": "10Gi", "maximum": "4Gi"}"#);
    assert_eq!(
        get_capacity(&channel, &[("zone", "b")]).await.unwrap(),
        (10 << 30, Some(4 << 30))
    );
    put(r#"{"segment": {"zone": "b"}, "filesystem": {"size": 100, "used": 1}}"#);
    assert_eq!(
        get_capacity(&channel, &[("zone", "b")]).await.unwrap(),
        (99, Some(99))
    );
    assert_eq!(
        control
            .request(
                "POST",
                "/v1/costs",
                r#"{"parameter": "a", "value": "b", "factor": "3/2"}"#
            )
            .0,
        200
    );
    assert_eq!(
        control
            .request("DELETE", "/v1/pools", r#"{"segment": {"zone": "b"}}"#)
            .0,
        200
    );
    assert_eq!(get_capacity(&channel, &[("zone", "b")]).await.unwrap(), (0, None));

    ControllerClient::new(channel)
        .create_volume(volume("v"))
        .await
        .unwrap();
    let device = |size: u64| json!({"size": size, "group": false, "access": "any"});
    let pool = json!([{"segment": {"zone": "a"}, "devices": {"d1": device(100), "d2": device(200)}, "totalBytes": 300, "takenBytes": 100}]);
    assert_eq!(control.get("/v1/pools"), pool);
    let volumes = control.get("/v1/volumes");
    assert_eq!(
        (&volumes[0]["name"], &volumes[0]["bytes"], &volumes[0]["device"]),
        (&json!("v"), &json!(100), &json!("d1"))
    );
    assert_eq!(control.get("/v1/driver")["csiVersion"], "1.12");
}

#[tokio::test]
async fn rules_are_added_counted_and_removed() {
    let (program, control) = start();
    let channel = connect(&program.path("csi")).await;
    let (code, id) = control.request(
        "POST",
        "/v1/rules",
        r#"{"method": "GetCapacity", "skip": 1, "code": "INTERNAL"}"#,
    );
    assert_eq!((code, &id), (201, &json!({"id": 1})));
    assert!(get_capacity(&channel, &[]).await.is_ok());
    assert_eq!(
        get_capacity(&channel, &[]).await.unwrap_err().code(),
        tonic::Code::Internal
    );
    let rules = json!([{"id": 1, "matched": 2, "taken": 1, "method": "GetCapacity", "skip": 1, "code": "INTERNAL", "message": "scripted"}]);
    assert_eq!(control.get("/v1/rules"), rules);
    assert_eq!(control.request("DELETE", "/v1/rules/1", "").0, 200);
    assert!(get_capacity(&channel, &[]).await.is_ok());
    assert_eq!(control.request("DELETE", "/v1/rules/1", "").0, 404);

    control.request(
        "POST",
        "/v1/rules",
        r#"{"method": "GetCapacity", "available": -5, "maximum": 9}"#,
    );
    assert_eq!(get_capacity(&channel, &[]).await.unwrap(), (-5, Some(9)));
    assert_eq!(control.request("DELETE", "/v1/rules", "").0, 200);
    assert_eq!(get_capacity(&channel, &[]).await.unwrap().0, 300);
}

#[tokio::test]
async fn every_call_is_listed_once_with_its_response() {
    let (program, control) = start();
    let channel = connect(&program.path("csi")).await;
    get_capacity(&channel, &[("zone", "a")]).await.unwrap();
    ControllerClient::new(channel.clone())
        .create_volume(volume("v"))
        .await
        .unwrap();
    let page = control.get("/v1/calls");
    assert_eq!(page["next"], 2);
    let first = &page["calls"][0];
    assert_eq!(
        (&first["method"], &first["segment"], &first["code"]),
        (&json!("GetCapacity"), &json!({"zone": "a"}), &json!("OK"))
    );
    assert_eq!(
        first["answer"],
        json!({"available": 300, "maximum": 200, "minimum": 100})
    );
    assert_eq!(first["pid"], std::process::id());
    assert!(
        first["endedUnixMs"]
            .as_u64()
            .is_some_and(|time| time > 1_600_000_000_000),
        "{first}"
    );
    let later = control.get("/v1/calls?from=1");
    assert_eq!(later["calls"].as_array().unwrap().len(), 1);
    assert_eq!(later["calls"][0]["volumeName"], "v");
}

#[tokio::test]
async fn extender_reserves_devices_and_cancels() {
    let (program, control) = start();
    let mut client = ControllerClient::new(connect(&program.path("csi")).await);
    let body = r#"{"name": "app", "segments": [{"zone": "a"}], "volumes": [{"holder": {"claim": "mine"}, "size": 150}]}"#;
    let reserved = json!([{"reservation": "app", "segment": {"zone": "a"}, "device": "d2", "holder": {"claim": "mine"}}]);
    assert_eq!(
        control.request("POST", "/v1/reservations", body),
        (201, reserved.clone())
    );
    assert_eq!(control.get("/v1/reservations"), reserved);
    assert_eq!(
        control.request("POST", "/v1/reservations", body).0,
        409,
        "the name is in use"
    );
    let large = |name| CreateVolumeRequest {
        capacity_range: Some(csi_proto::v1::CapacityRange {
            required_bytes: 150,
            limit_bytes: 0,
        }),
        ..volume(name)
    };
    assert!(client.create_volume(large("other")).await.is_err());
    assert_eq!(control.request("DELETE", "/v1/reservations/app", "").0, 200);
    assert_eq!(control.request("DELETE", "/v1/reservations/app", "").0, 404);
    assert!(client.create_volume(large("other")).await.is_ok());
}

#[test]
fn invalid_body_is_reported_with_the_path_of_the_field() {
    let (_program, control) = start();
    for (method, path, body, field, message) in [
        (
            "PUT",
            "/v1/pools",
            r#"{"devices": {"d": {"size": "10GB"}}}"#,
            json!("devices.d.size"),
            "10GB",
        ),
        (
            "PUT",
            "/v1/pools",
            r#"{"capacity": 1, "larges": 2}"#,
            json!("larges"),
            "unknown field",
        ),
        ("PUT", "/v1/pools", r#"{}"#, json!(null), "exactly one of"),
        (
            "POST",
            "/v1/rules",
            r#"{"method": "Prob", "hang": true}"#,
            json!(null),
            "unknown CSI method \"Prob\"",
        ),
        (
            "POST",
            "/v1/rules",
            r#"{"method": "Probe", "hang": "yes"}"#,
            json!("hang"),
            "boolean",
        ),
        (
            "POST",
            "/v1/rules",
            r#"{"method": "Probe", "delay": "2h"}"#,
            json!(null),
            "an invalid delay",
        ),
        (
            "POST",
            "/v1/rules",
            r#"{"method": "Probe", "hang": true} x"#,
            json!(null),
            "trailing",
        ),
        ("POST", "/v1/rules", "", json!(null), "EOF"),
        (
            "POST",
            "/v1/reservations",
            r#"{"name": "r", "segments": [{}], "volumes": [{"size": 1}]}"#,
            json!("volumes[0]"),
            "holder",
        ),
        (
            "DELETE",
            "/v1/pools",
            r#"{"segment": "a"}"#,
            json!("segment"),
            "map",
        ),
        ("GET", "/v1/calls?since=1", "", json!(null), "from=N"),
    ] {
        let (code, response) = control.request(method, path, body);
        assert_eq!(code, 400, "{body}: {response}");
        assert_eq!(response["error"]["path"], field, "{body}: {response}");
        assert!(
            response["error"]["message"].as_str().unwrap().contains(message),
            "{body}: {response}"
        );
    }
    let (code, response) = control.request("POST", "/v1/rules", r#"{"method": "Probe", "available": 1}"#);
    assert_eq!(
        (code, response["error"]["status"].as_u64()),
        (409, Some(409)),
        "valid JSON, but an invalid rule"
    );
}

#[test]
fn unauthorized_requests_and_unknown_paths_are_rejected() {
    let (_program, control) = start();
    for headers in [
        "",
        "Authorization: Bearer wrong\r\n",
        "Authorization: Basic dTpw\r\n",
    ] {
        assert_eq!(
            control.raw("GET", "/v1/driver", headers, b"").0,
            401,
            "{headers:?}"
        );
        assert_eq!(
            control.raw("DELETE", "/v1/rules", headers, b"").0,
            401,
            "{headers:?}"
        );
    }
    for (method, path, code) in [
        ("GET", "/", 404),
        ("GET", "/v1/", 404),
        ("GET", "/v1/secrets", 404),
        ("GET", "/v1/rules/1/more", 404),
        ("POST", "/v1/driver", 405),
        ("PATCH", "/v1/pools", 405),
        ("DELETE", "/v1/rules/x", 404),
    ] {
        assert_eq!(control.request(method, path, "").0, code, "{method} {path}");
    }
}

#[test]
fn request_bodies_and_heads_are_limited() {
    let (_program, control) = start();
    let authorization = format!("Authorization: Bearer {}\r\n", control.token);
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(control.raw("POST", "/v1/rules", &authorization, &large).0, 413);
    let wide = format!("{authorization}X-Wide: {}\r\n", "x".repeat(64 * 1024));
    assert_eq!(control.raw("GET", "/v1/driver", &wide, b"").0, 431);
    assert_eq!(control.request("GET", "/v1/driver", "").0, 200, "still serves");
}

#[tokio::test]
async fn non_loopback_address_requires_allow_remote() {
    use fake_csi::{
        DriverSpec, FakeDriver,
        control::{CallRecord, Control},
    };
    let calls = std::sync::Arc::new(CallRecord::default());
    let driver = FakeDriver::new(DriverSpec::new("x"), Some(calls.clone()));
    let anywhere = "0.0.0.0:0".parse().unwrap();
    assert!(
        Control::listen(driver.clone(), calls.clone(), anywhere, false)
            .await
            .is_err()
    );
    let first = Control::listen(driver.clone(), calls.clone(), anywhere, true)
        .await
        .unwrap();
    let second = Control::listen(driver, calls, "127.0.0.1:0".parse().unwrap(), false)
        .await
        .unwrap();
    assert_ne!(first.token(), second.token(), "tokens are random");
    let address = second.url().trim_start_matches("http://").to_owned();
    let token = second.token().to_owned();
    // The HTTP client blocks, so it needs its own thread: the server runs on the thread of the test.
    let first_line = async || {
        let (address, token) = (address.clone(), token.clone());
        tokio::task::spawn_blocking(move || first_line(&address, &token))
            .await
            .unwrap()
    };
    const OK: Option<&str> = Some("HTTP/1.1 200 OK");
    assert_eq!(first_line().await.as_deref(), OK);
    second.stop().await;
    assert_ne!(first_line().await.as_deref(), OK, "no response");
}

/// First line of the HTTP response from an address; `None` if there is no response. If another server has bound the port meanwhile, that
/// server rejects the token, so its response is not mistaken for one of the stopped control.
fn first_line(address: &str, token: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    let head = format!(
        "GET /v1/driver HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line.trim_end().to_owned())
}

//! Tests of the recording proxy: clients see the driver behind it, and the observer receives the same events as from the driver itself.

use std::{sync::Arc, time::Duration};

use fake_csi::{
    Answer, CsiClient, CsiRequest, CsiResponse, Effect, Event, Forwarder, Method, ResponseValue, Rule,
    Running, channel,
};
use tonic::Code;

use super::{GIB, Record, World, connect, pairs, pool, signed, socket, volume, with_topology, zone};
use csi_proto::v1::controller_client::ControllerClient;

/// A driver with one pool, and a recording proxy before it with its own observer.
struct ProxiedDriver {
    world: World,
    forwarder: Forwarder,
    record: Arc<Record>,
    running: Running,
}

impl ProxiedDriver {
    async fn new() -> ProxiedDriver {
        let world = World::new().await;
        world.driver.set_pool(pool("a", 10 * GIB, Some(4 * GIB)));
        let record = Arc::new(Record::default());
        let driver = socket(&world.running).to_owned();
        let forwarder = Forwarder::new(
            channel(&driver).expect("the path is UTF-8"),
            Some("n1".to_owned()),
            Some(record.clone()),
        );
        let running = forwarder
            .listen(&world.directory.path().join("before"))
            .expect("the socket can be bound");
        ProxiedDriver {
            world,
            forwarder,
            record,
            running,
        }
    }

    fn client(&self) -> CsiClient {
        CsiClient::new(
            channel(socket(&self.running)).expect("the path is UTF-8"),
            Duration::from_secs(60),
        )
    }

    async fn controller(&self) -> ControllerClient<tonic::transport::Channel> {
        ControllerClient::new(connect(socket(&self.running)).await)
    }

    fn last_event(&self) -> Event {
        self.record.0.lock().last().cloned().expect("an observed event")
    }
}

/// Removes from an event the data that differs between driver and proxy: client, endpoint and duration.
fn without_client_data(event: Event) -> Event {
    Event {
        node: None,
        peer: fake_csi::Peer::default(),
        elapsed: Duration::ZERO,
        ..event
    }
}

#[tokio::test]
async fn events_equal_those_of_the_driver_itself() {
    let proxied = ProxiedDriver::new().await;
    let mut controller = proxied.controller().await;
    let same = |what: &str| {
        assert_eq!(
            without_client_data(proxied.last_event()),
            without_client_data(proxied.world.last_event()),
            "{what}"
        );
        assert_eq!(proxied.last_event().node.as_deref(), Some("n1"), "{what}");
    };
    let mut request = with_topology(volume("v", GIB), &["a"], &["a"]);
    request.parameters = pairs(&[("kind", "striped")]);
    let made = controller.create_volume(request).await.unwrap().into_inner();
    same("creation");
    let request = CsiRequest::Capacity {
        segment: Some(zone("a")),
        parameters: pairs(&[("kind", "striped")]),
    };
    let response = proxied.client().call(request).await;
    same("capacity");
    assert_eq!(
        response.values["available"],
        ResponseValue::Number(signed(9 * GIB))
    );
    let too_large = with_topology(volume("w", 5 * GIB), &["a"], &["a"]);
    let refused = controller.create_volume(too_large).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(
        refused.message(),
        proxied.last_event().outcome.unwrap_err().message
    );
    same("refusal");
    let id = made.volume.unwrap().volume_id;
    let deleted = proxied.client().call(CsiRequest::Delete { id }).await;
    assert_eq!(deleted.code, "OK");
    same("deletion");
    proxied.forwarder.wait_until_idle().await;
}

#[tokio::test]
async fn calls_are_unavailable_until_the_driver_starts() {
    let world = World::new().await;
    let socket = world.directory.path().join("late");
    let forwarder = Forwarder::new(channel(&socket).unwrap(), None, None);
    let running = forwarder.listen(&world.directory.path().join("before")).unwrap();
    let client = CsiClient::new(
        channel(running.socket().unwrap()).expect("the path is UTF-8"),
        Duration::from_secs(60),
    );
    let CsiResponse { code, values, .. } = client.call(CsiRequest::Probe).await;
    assert_eq!((code, values.get("ready")), ("UNAVAILABLE", None));
    let _late = world.driver.listen(&socket, None).await.unwrap();
    let CsiResponse { code, values, .. } = client.call(CsiRequest::Probe).await;
    assert_eq!(
        (code, values.get("ready")),
        ("OK", Some(&ResponseValue::Number(1)))
    );
}

#[tokio::test]
async fn hanging_call_times_out_and_is_reported_as_cancelled() {
    let proxied = ProxiedDriver::new().await;
    let rule = Rule {
        method: Method::Probe,
        segment: None,
        parameters: pairs(&[]),
        skip: 0,
        times: None,
        effect: Effect::Hang,
    };
    proxied.world.driver.add_rule(rule).unwrap();
    let client = CsiClient::new(
        channel(socket(&proxied.running)).expect("the path is UTF-8"),
        Duration::from_millis(50),
    );
    let reply = client.call(CsiRequest::Probe).await;
    assert_eq!(reply.code, "DEADLINE_EXCEEDED");
    proxied.forwarder.wait_until_idle().await;
    assert_eq!(proxied.last_event().outcome.unwrap_err().code, "CANCELLED");
}

#[tokio::test]
async fn response_values_have_the_documented_names() {
    let proxied = ProxiedDriver::new().await;
    let client = proxied.client();
    let number = |reply: &CsiResponse, name: &str| reply.values.get(name).cloned();
    let info = client.call(CsiRequest::PluginInfo).await;
    assert_eq!(
        number(&info, "name"),
        Some(ResponseValue::Text("disk.example.com".to_owned()))
    );
    let plugin = client.call(CsiRequest::PluginCapabilities).await;
    assert_eq!(number(&plugin, "constraints"), Some(ResponseValue::Number(1)));
    let controller = client.call(CsiRequest::ControllerCapabilities).await;
    assert_eq!(number(&controller, "getCapacity"), Some(ResponseValue::Number(1)));
    let node = client.call(CsiRequest::NodeInfo).await;
    assert_eq!(
        (node.code, number(&node, "implemented")),
        ("UNIMPLEMENTED", Some(ResponseValue::Number(0))),
        "the endpoint has no node service"
    );
    let request = CsiRequest::Capacity {
        segment: Some(zone("a")),
        parameters: pairs(&[]),
    };
    let capacity = client.call(request).await;
    assert_eq!(
        number(&capacity, "room"),
        Some(ResponseValue::Number(signed(4 * GIB)))
    );
    let create = CsiRequest::Create {
        name: "v".to_owned(),
        bytes: signed(GIB),
        segment: Some(zone("a")),
        parameters: pairs(&[]),
    };
    let made = client.call(create).await;
    assert_eq!(number(&made, "bytes"), Some(ResponseValue::Number(signed(GIB))));
    assert!(matches!(proxied.last_event().outcome, Ok(Answer::Volume { .. })));
}

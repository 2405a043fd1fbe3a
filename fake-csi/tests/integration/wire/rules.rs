//! Fault rules as clients see them, and calls that the client cancels.

use std::{collections::BTreeMap, time::Duration};

use csi_proto::v1::{
    GetCapacityRequest, ProbeRequest, controller_client::ControllerClient, identity_client::IdentityClient,
};
use fake_csi::{Answer, CostFactor, Effect, Method, Rule, RuleError};
use tonic::{Code, Request};

use super::{World, connect, pool, signed, socket, volume, zone};

fn rule(method: Method, effect: Effect) -> Rule {
    Rule {
        method,
        segment: None,
        parameters: BTreeMap::new(),
        skip: 0,
        times: None,
        effect,
    }
}

#[tokio::test]
async fn injected_error_replaces_the_response_and_changes_nothing() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let failing = Effect::Code(Code::Unavailable, "gone".to_owned());
    world
        .driver
        .add_rule(Rule {
            times: Some(1),
            ..rule(Method::CreateVolume, failing)
        })
        .unwrap();
    let refused = world.create(volume("v", 1)).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::Unavailable, "gone"));
    assert!(world.driver.volumes().is_empty());
    let outcome = world.last_event().outcome.unwrap_err();
    assert_eq!((outcome.code, outcome.message.as_str()), ("UNAVAILABLE", "gone"));
    assert!(world.create(volume("v", 1)).await.is_ok(), "rule exhausted");
}

#[tokio::test]
async fn injected_capacity_replaces_the_real_one_in_its_segment() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let lie = Effect::Capacity {
        available: -1,
        maximum: Some(0),
        minimum: Some(7),
    };
    world
        .driver
        .add_rule(Rule {
            segment: Some(zone("b")),
            ..rule(Method::GetCapacity, lie)
        })
        .unwrap();
    let response = world.get_capacity(Some(zone("b")), &[]).await.unwrap();
    assert_eq!(
        (
            response.available_capacity,
            response.maximum_volume_size,
            response.minimum_volume_size
        ),
        (-1, Some(0), Some(7))
    );
    assert_eq!(
        world.last_event().outcome,
        Ok(Answer::Capacity {
            available: -1,
            maximum: Some(0),
            minimum: Some(7)
        })
    );
    assert_eq!(
        world
            .get_capacity(Some(zone("a")), &[])
            .await
            .unwrap()
            .available_capacity,
        100
    );
    world.driver.clear_rules();
    assert_eq!(
        world
            .get_capacity(Some(zone("b")), &[])
            .await
            .unwrap()
            .available_capacity,
        0
    );
}

#[tokio::test]
async fn delayed_call_returns_the_state_after_the_delay() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let delay = Duration::from_millis(50);
    world
        .driver
        .add_rule(rule(Method::GetCapacity, Effect::Delay(delay)))
        .unwrap();
    let (response, ()) = tokio::join!(world.get_capacity(None, &[]), async {
        world.driver.set_pool(pool("a", 60, None));
    });
    assert_eq!(response.unwrap().available_capacity, 60);
    assert!(world.last_event().elapsed >= delay);
}

#[tokio::test]
async fn hanging_call_is_in_flight_until_its_client_gives_up() {
    let world = World::new().await;
    world
        .driver
        .add_rule(rule(Method::GetCapacity, Effect::Hang))
        .unwrap();
    let mut request = Request::new(GetCapacityRequest::default());
    request.set_timeout(Duration::from_millis(20));
    let given_up = world.controller.clone().get_capacity(request).await.unwrap_err();
    assert!(
        matches!(given_up.code(), Code::Cancelled | Code::DeadlineExceeded),
        "{given_up:?}"
    );
    world.driver.wait_until_idle().await;
    assert_eq!(world.last_event().outcome.unwrap_err().code, "CANCELLED");
    assert_eq!(world.events().len(), 1);
}

#[tokio::test]
async fn hanging_call_continues_when_its_rule_is_removed() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let hang = world
        .driver
        .add_rule(Rule {
            times: Some(1),
            ..rule(Method::GetCapacity, Effect::Hang)
        })
        .unwrap();
    let mut client = world.controller.clone();
    let hanging = tokio::spawn(async move { client.get_capacity(GetCapacityRequest::default()).await });
    while world.driver.rules()[0].applied == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        world.get_capacity(None, &[]).await.unwrap().available_capacity,
        100,
        "rule exhausted"
    );
    assert!(!hanging.is_finished());
    assert!(world.driver.remove_rule(hang));
    assert_eq!(
        hanging.await.unwrap().unwrap().into_inner().available_capacity,
        100
    );
    assert!(!world.driver.remove_rule(hang), "the rule no longer exists");
}

#[tokio::test]
async fn cut_connection_fails_all_its_calls_and_changes_nothing() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let other = connect(socket(&world.running)).await;
    world
        .driver
        .add_rule(rule(Method::GetCapacity, Effect::Hang))
        .unwrap();
    world
        .driver
        .add_rule(rule(Method::CreateVolume, Effect::Disconnect))
        .unwrap();
    let mut client = world.controller.clone();
    let beside = tokio::spawn(async move { client.get_capacity(GetCapacityRequest::default()).await });
    while world.driver.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    let refused = world.create(volume("v", 1)).await.unwrap_err();
    assert_ne!(
        refused.message(),
        "a fault rule cut the connection",
        "no response was received"
    );
    assert!(beside.await.unwrap().is_err(), "concurrent calls fail too");
    assert!(world.driver.volumes().is_empty());
    let cut = world
        .events()
        .into_iter()
        .find(|event| event.method == Method::CreateVolume)
        .unwrap();
    assert!(cut.lost && cut.outcome.is_err(), "{cut:?}");

    world.driver.clear_rules();
    let response = ControllerClient::new(other)
        .get_capacity(GetCapacityRequest::default())
        .await;
    assert_eq!(
        response.unwrap().into_inner().available_capacity,
        100,
        "other connections are unaffected"
    );
    let peers = [cut.peer, world.last_event().peer];
    assert_ne!(peers[0].connection, peers[1].connection);
    assert_eq!(
        peers[0].pid,
        i32::try_from(std::process::id()).ok(),
        "the caller is this process"
    );
    assert!(
        world.create(volume("v", 1)).await.is_ok(),
        "a client can reconnect"
    );
}

#[tokio::test]
async fn lost_response_keeps_the_volume_and_the_retry_returns_it() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    world
        .driver
        .add_rule(Rule {
            times: Some(1),
            ..rule(Method::CreateVolume, Effect::LoseAnswer)
        })
        .unwrap();
    assert!(world.create(volume("v", 30)).await.is_err());
    let event = world.last_event();
    assert!(event.lost && event.outcome.is_ok(), "{event:?}");
    let volumes = world.driver.volumes();
    assert_eq!(volumes.len(), 1);
    assert_eq!(
        world.create(volume("v", 30)).await.unwrap().volume_id,
        volumes[0].id
    );
    assert_eq!(
        world.get_capacity(None, &[]).await.unwrap().available_capacity,
        70
    );
}

#[tokio::test]
async fn injected_values_replace_those_of_a_created_volume() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let lie = Effect::Volume {
        bytes: Some(-7),
        topology: Some(vec![zone("elsewhere")]),
    };
    let scripted = world.driver.add_rule(rule(Method::CreateVolume, lie)).unwrap();
    let response = world.create(volume("v", 30)).await.unwrap();
    assert_eq!(
        (response.capacity_bytes, &response.accessible_topology[0].segments),
        (-7, &zone("elsewhere"))
    );
    assert_eq!(world.driver.volumes()[0].bytes, 30, "the real size");
    world.driver.remove_rule(scripted);
    let truth = world.create(volume("v", 30)).await.unwrap();
    assert_eq!(
        (truth.capacity_bytes, &truth.accessible_topology[0].segments),
        (signed(30), &zone("a"))
    );
}

#[tokio::test]
async fn probe_can_report_unready_temporarily() {
    let world = World::new().await;
    world
        .driver
        .add_rule(Rule {
            skip: 1,
            times: Some(2),
            ..rule(Method::Probe, Effect::Ready(false))
        })
        .unwrap();
    let mut client = IdentityClient::new(connect(socket(&world.running)).await);
    let mut ready = Vec::new();
    for _ in 0..4 {
        ready.push(client.probe(ProbeRequest {}).await.unwrap().into_inner().ready);
    }
    assert_eq!(
        ready,
        [true, false, false, true].map(Some),
        "applies to calls 2 and 3"
    );
}

#[test]
fn invalid_fault_rules_are_rejected() {
    let driver = fake_csi::FakeDriver::new(super::spec(), None);
    let numbers = Effect::Capacity {
        available: 1,
        maximum: None,
        minimum: None,
    };
    let elsewhere = driver.add_rule(rule(Method::CreateVolume, numbers));
    assert_eq!(
        elsewhere,
        Err(RuleError::WrongMethod {
            effect: "available",
            method: Method::CreateVolume,
            applies_to: Method::GetCapacity
        })
    );
    let never = Rule {
        times: Some(0),
        ..rule(Method::Probe, Effect::Hang)
    };
    assert_eq!(driver.add_rule(never), Err(RuleError::NoTimes(Method::Probe)));
    let success = driver.add_rule(rule(Method::Probe, Effect::Code(Code::Ok, String::new())));
    assert_eq!(success, Err(RuleError::FailureOk(Method::Probe)));
    let free = driver.add_cost(CostFactor {
        numerator: 0,
        ..super::mirrored()
    });
    assert!(matches!(free, Err(RuleError::ZeroCost { .. })));
}

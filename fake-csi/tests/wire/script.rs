//! Scripted deviations over the wire, and what becomes of calls whose caller gives up.

use std::{collections::BTreeMap, time::Duration};

use csi_proto::v1::GetCapacityRequest;
use fake_csi::{Answer, CostFactor, Effect, Method, Rule, ScriptError};
use tonic::{Code, Request};

use crate::{World, pool, volume, zone};

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
async fn a_scripted_code_replaces_the_answer_and_changes_nothing() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let failing = Effect::Code(Code::Unavailable, "gone".to_owned());
    world
        .driver
        .script(Rule {
            times: Some(1),
            ..rule(Method::CreateVolume, failing)
        })
        .unwrap();
    let refused = world.create(volume("v", 1)).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::Unavailable, "gone"));
    assert!(world.driver.volumes().is_empty());
    let outcome = world.last_event().outcome.unwrap_err();
    assert_eq!((outcome.code, outcome.message.as_str()), ("UNAVAILABLE", "gone"));
    assert!(world.create(volume("v", 1)).await.is_ok(), "the rule is spent");
}

#[tokio::test]
async fn scripted_numbers_replace_the_measured_ones_in_their_segment() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let lie = Effect::Capacity {
        available: -1,
        maximum: Some(0),
        minimum: Some(7),
    };
    world
        .driver
        .script(Rule {
            segment: Some(zone("b")),
            ..rule(Method::GetCapacity, lie)
        })
        .unwrap();
    let told = world.room(Some(zone("b")), &[]).await.unwrap();
    assert_eq!(
        (
            told.available_capacity,
            told.maximum_volume_size,
            told.minimum_volume_size
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
        world.room(Some(zone("a")), &[]).await.unwrap().available_capacity,
        100
    );
    world.driver.clear_script();
    assert_eq!(
        world.room(Some(zone("b")), &[]).await.unwrap().available_capacity,
        0
    );
}

#[tokio::test]
async fn a_delayed_call_answers_what_holds_after_the_delay() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let delay = Duration::from_millis(50);
    world
        .driver
        .script(rule(Method::GetCapacity, Effect::Delay(delay)))
        .unwrap();
    let (told, ()) = tokio::join!(world.room(None, &[]), async {
        world.driver.set_pool(pool("a", 60, None));
    });
    assert_eq!(told.unwrap().available_capacity, 60);
    assert!(world.last_event().elapsed >= delay);
}

#[tokio::test]
async fn a_hanging_call_is_in_flight_until_its_caller_gives_up() {
    let world = World::new().await;
    world
        .driver
        .script(rule(Method::GetCapacity, Effect::Hang))
        .unwrap();
    let mut request = Request::new(GetCapacityRequest::default());
    request.set_timeout(Duration::from_millis(20));
    let given_up = world.controller.clone().get_capacity(request).await.unwrap_err();
    assert!(
        matches!(given_up.code(), Code::Cancelled | Code::DeadlineExceeded),
        "{given_up:?}"
    );
    world.driver.quiet().await;
    assert_eq!(world.last_event().outcome.unwrap_err().code, "CANCELLED");
    assert_eq!(world.events().len(), 1);
}

#[test]
fn what_cannot_happen_cannot_be_scripted() {
    let driver = fake_csi::FakeDriver::new(crate::spec(), None);
    let numbers = Effect::Capacity {
        available: 1,
        maximum: None,
        minimum: None,
    };
    let elsewhere = driver.script(rule(Method::CreateVolume, numbers));
    assert_eq!(
        elsewhere,
        Err(ScriptError::CapacityElsewhere(Method::CreateVolume))
    );
    let success = driver.script(rule(Method::Probe, Effect::Code(Code::Ok, String::new())));
    assert_eq!(success, Err(ScriptError::FailureOk(Method::Probe)));
    let free = driver.add_cost(CostFactor {
        numerator: 0,
        ..crate::mirrored()
    });
    assert!(matches!(free, Err(ScriptError::ZeroCost { .. })));
}

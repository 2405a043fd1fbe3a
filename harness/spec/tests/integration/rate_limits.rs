//! Rate limits, required refreshes and invalid settings: an example that violates each rule, and allowed corner cases.

use std::time::Duration;

use capacity_spec::always::{Actor, Event, Request, judge};
use capacity_spec::volumes::CreateVolumeResult;
use capacity_spec::world::{
    CapacityResponse, Change, Deployment, Instance, Publisher, ReportedCapacity, Scheduler, ShapePoint,
    VolumeBindingMode,
};
use capacity_spec::{Rule, Violation, World, rules, settings};

use super::build::{
    CLASS, DRIVER, GI, central, class, key_of, object, of_node, published, publisher, segment_of,
    set_response,
};
use super::volumes::{bound, claim, claim_key, creation, made_at};

/// Times within one second, in steps of ten milliseconds.
fn moments() -> impl Iterator<Item = Duration> {
    (0..100).map(|step| Duration::from_millis(10 * step))
}

/// A GetCapacity call of the publisher that returns the published values.
pub(crate) fn get_capacity(at_node: &str, when: Option<Duration>) -> Event {
    get_capacity_by(central(), at_node, when)
}

fn get_capacity_by(instance: Instance, at_node: &str, when: Option<Duration>) -> Event {
    get_capacity_returning(instance, at_node, Some(10), when)
}

/// A GetCapacity call of a publisher. `gib`: the returned capacity in GiB; `None`: an error.
fn get_capacity_returning(
    instance: Instance,
    at_node: &str,
    gib: Option<i64>,
    when: Option<Duration>,
) -> Event {
    Event::GetCapacity {
        by: Actor::Publisher(instance),
        driver: DRIVER.to_owned(),
        segment: segment_of(at_node),
        parameters: [].into(),
        response: gib.map(|gib| ReportedCapacity::available(gib * GI)),
        possible: Vec::new(),
        at: when,
    }
}

fn watched(when: Duration) -> Event {
    Event::ApiRequested(Request {
        by: Actor::Scheduler,
        client: "scheduler".into(),
        verb: "watch".to_owned(),
        resource: "nodes".to_owned(),
        namespace: None,
        is_successful: true,
        at: when,
    })
}

/// A cluster without violations whose publisher does not poll.
fn unpolled() -> World {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().polls = false;
    world
}

fn limited(per_second: u32) -> World {
    let mut world = published();
    world.publishers.get_mut(&central()).unwrap().get_capacity_qps = Some(per_second);
    world
}

/// A cluster without violations that contains a PVC with n1 as selected node.
fn claimed() -> World {
    let mut world = published();
    world.claims.insert(claim_key(), claim(Some("n1")));
    world
}

fn point() -> Vec<ShapePoint> {
    let point = ShapePoint {
        utilization: 0,
        score: 0,
    };
    vec![point]
}

fn shaped(scoring: Option<bool>, points: Vec<ShapePoint>) -> World {
    let mut world = published();
    world.scheduler = Scheduler {
        scoring,
        shape: Some(points),
        ..Scheduler::default()
    };
    world
}

pub(super) fn cases() -> Vec<(&'static Rule, Vec<Violation>)> {
    vec![
        (
            rules::WATCH_RETRY_RATE,
            judge(published(), moments().map(watched)),
        ),
        (
            rules::GET_CAPACITY_RATE,
            judge(limited(5), moments().map(|when| get_capacity("n1", Some(when)))),
        ),
        (
            rules::UNNECESSARY_GET_CAPACITY,
            judge(unpolled(), (0..4).map(|_| get_capacity("n1", None))),
        ),
        (rules::CAPACITY_NOT_REFRESHED, {
            let made = Event::CreateVolume(creation("n1", made_at("n1")));
            let history = std::iter::once(made).chain(bound()).chain([Event::Quiescent]);
            judge(claimed(), history)
        }),
        (
            rules::INVALID_SETTING_ACCEPTED,
            settings::judge(&shaped(None, point()), true),
        ),
    ]
}

fn broken(world: World, events: impl IntoIterator<Item = Event>) -> Vec<&'static str> {
    judge(world, events).iter().map(|it| it.rule.id).collect()
}

#[test]
fn clients_below_the_rate_limit_have_no_violations() {
    let slowly = |step: u64| Duration::from_millis(250 * step);
    assert_eq!(broken(published(), (0..1000).map(slowly).map(watched)), [""; 0]);
    let calls = (0..1000).map(|step| get_capacity("n1", Some(slowly(step))));
    assert_eq!(broken(limited(5), calls), [""; 0]);
    // If the driver may delay calls, their start times are unknown.
    assert_eq!(
        broken(limited(5), (0..1000).map(|_| get_capacity("n1", None))),
        [""; 0]
    );
    // The publisher has no rate limit.
    let calls = moments().map(|when| get_capacity("n1", Some(when)));
    assert_eq!(broken(published(), calls), [""; 0]);
}

#[test]
fn a_publisher_without_polling_may_call_get_capacity_after_any_event() {
    let news = || Event::Changed(Change::Class("other".to_owned(), Some(class())));
    let history = (0..100).flat_map(|_| [news(), get_capacity("n1", None)]);
    assert_eq!(broken(unpolled(), history), [""; 0]);
    // A failed call may be repeated without limit.
    let failed = (0..100).map(|_| get_capacity_returning(central(), "n1", None, None));
    assert_eq!(broken(unpolled(), failed), [""; 0]);
    // With Immediate binding, a distributed publisher calls GetCapacity before it provisions.
    let mut world = unpolled();
    world.classes.get_mut(CLASS).unwrap().binding = VolumeBindingMode::Immediate;
    let instance = of_node("n1");
    let publisher = Publisher {
        deployment: Deployment::Distributed(segment_of("n1")),
        polls: false,
        ..publisher()
    };
    world.publishers = [(instance.clone(), publisher)].into();
    let history = (0..100).map(|_| get_capacity_by(instance.clone(), "n1", None));
    assert!(!broken(world, history).contains(&rules::UNNECESSARY_GET_CAPACITY.id));
}

#[test]
fn a_volume_requires_a_refresh_of_the_affected_segments() {
    let ends = |ending, then: Vec<Event>| {
        let created = Event::CreateVolume(creation("n1", ending));
        let history = std::iter::once(created).chain(bound()).chain(then);
        broken(claimed(), history.chain([Event::Quiescent]))
    };
    let made = || made_at("n1");
    assert_eq!(ends(made(), vec![get_capacity("n1", None)]), [""; 0]);
    assert_eq!(
        ends(made(), vec![get_capacity("n2", None)]),
        ["volumes/capacity-not-refreshed"]
    );
    // A provisioner that did not receive the response does not know the volume.
    let not_received = CreateVolumeResult::Created {
        id: "v-1".to_owned(),
        segment: segment_of("n1"),
        is_received: false,
    };
    assert_eq!(ends(not_received, vec![]), [""; 0]);
    // A publisher that restarts polls all segments; a stopped publisher polls none.
    assert_eq!(
        ends(made(), vec![Event::Changed(Change::Publisher(central(), None))]),
        [""; 0]
    );
    // A StorageClass that was deleted needs no refresh.
    let gone = Event::Changed(Change::Class(CLASS.to_owned(), None));
    assert!(!ends(made(), vec![gone]).contains(&"volumes/capacity-not-refreshed"));
    // The deletion of a volume changes the capacity.
    let deleted = Event::VolumeDeleted {
        id: "v-1".to_owned(),
        by: Actor::Publisher(central()),
    };
    let mut history = vec![Event::CreateVolume(creation("n1", made()))];
    history.extend(bound());
    let unclaimed = Event::Changed(Change::Claim(claim_key(), None));
    history.extend([
        get_capacity("n1", None),
        Event::Quiescent,
        unclaimed,
        deleted,
        Event::Quiescent,
    ]);
    // The volume was accessible from every node, so all segments need a refresh.
    assert_eq!(
        broken(claimed(), history.clone()),
        ["volumes/capacity-not-refreshed"; 2]
    );
    let quiet = history.pop();
    history.extend([get_capacity("n1", None), get_capacity("n2", None)]);
    history.extend(quiet);
    assert_eq!(broken(claimed(), history), [""; 0]);
}

#[test]
fn a_publisher_without_polling_may_publish_the_last_response() {
    let mut world = unpolled();
    set_response(&mut world, "n1", CapacityResponse::available(7 * GI));
    let n1 = key_of(&world.objects, "n1");
    let history = |gib: i64, published: &str| {
        let wrote = Event::ObjectWritten {
            by: Actor::Publisher(central()),
            key: n1.clone(),
            object: Some(object("n1", published)),
        };
        [
            get_capacity_returning(central(), "n1", Some(gib), None),
            wrote,
            Event::Quiescent,
        ]
    };
    // The object may keep the old capacity, or contain a later response.
    assert_eq!(broken(world.clone(), [Event::Quiescent]), [""; 0]);
    assert_eq!(broken(world.clone(), history(8, "8Gi")), [""; 0]);
    assert_eq!(broken(world, history(10, "9Gi")), ["objects/wrong-capacity"]);
}

#[test]
fn programs_with_valid_settings_may_run() {
    assert_eq!(settings::judge(&shaped(Some(true), point()), true), []);
    assert_eq!(settings::judge(&shaped(None, point()), false), []);
    // A shape without points counts as configured.
    assert_eq!(
        settings::judge(&shaped(None, Vec::new()), true)[0].rule,
        rules::INVALID_SETTING_ACCEPTED
    );
    let mut world = published();
    assert_eq!(settings::judge(&world, true), []);
    let publisher = world.publishers.get_mut(&central()).unwrap();
    publisher.has_namespace = false;
    assert_eq!(
        settings::judge(&world, true)[0].rule,
        rules::INVALID_SETTING_ACCEPTED
    );
    let publisher = world.publishers.get_mut(&central()).unwrap();
    publisher.publishes = false;
    assert_eq!(settings::judge(&world, true), []);
}

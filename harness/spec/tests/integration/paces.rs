//! Rate limits, required refreshes and forbidden settings: an example that violates each rule, and allowed corner cases.

use std::time::Duration;

use capacity_spec::always::{Author, Event, Request, judge};
use capacity_spec::volumes::Ending;
use capacity_spec::world::{
    Answer, Binding, Change, Deployment, Figures, Instance, Publisher, Scheduler, ShapePoint,
};
use capacity_spec::{Rule, Violation, World, rules, settings};

use super::build::{
    CLASS, DRIVER, GI, answer, at, central, class, key_of, object, of_node, published, publisher,
};
use super::volumes::{bound, claim, claim_key, creation, made_at};

/// The moments of one second in steps of ten milliseconds.
fn moments() -> impl Iterator<Item = Duration> {
    (0..100).map(|step| Duration::from_millis(10 * step))
}

/// The publisher receives a response with the values that it already knows.
pub(crate) fn asked(at_node: &str, when: Option<Duration>) -> Event {
    asked_by(central(), at_node, when)
}

fn asked_by(instance: Instance, at_node: &str, when: Option<Duration>) -> Event {
    answered(instance, at_node, Some(10), when)
}

/// A GetCapacity call by a publisher. `gib` `None`: it returns an error.
fn answered(instance: Instance, at_node: &str, gib: Option<i64>, when: Option<Duration>) -> Event {
    Event::Asked {
        by: Author::Publisher(instance),
        driver: DRIVER.to_owned(),
        segment: at(at_node),
        parameters: [].into(),
        answer: gib.map(|gib| Figures::available(gib * GI)),
        possible: Vec::new(),
        at: when,
    }
}

fn watched(when: Duration) -> Event {
    Event::Requested(Request {
        by: Author::Scheduler,
        client: "scheduler".into(),
        verb: "watch".to_owned(),
        resource: "nodes".to_owned(),
        namespace: None,
        is_answered: true,
        at: when,
    })
}

/// A good world whose publisher does not poll.
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

/// A good world with a PVC on n1.
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
            judge(limited(5), moments().map(|when| asked("n1", Some(when)))),
        ),
        (
            rules::UNNECESSARY_GET_CAPACITY,
            judge(unpolled(), (0..4).map(|_| asked("n1", None))),
        ),
        (rules::CAPACITY_NOT_REFRESHED, {
            let made = Event::Created(creation("n1", made_at("n1")));
            let history = std::iter::once(made).chain(bound()).chain([Event::Quiet]);
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
    let questions = (0..1000).map(|step| asked("n1", Some(slowly(step))));
    assert_eq!(broken(limited(5), questions), [""; 0]);
    // The start times of calls are unknown if the driver delays them.
    assert_eq!(broken(limited(5), (0..1000).map(|_| asked("n1", None))), [""; 0]);
    // No rate limit.
    let questions = moments().map(|when| asked("n1", Some(when)));
    assert_eq!(broken(published(), questions), [""; 0]);
}

#[test]
fn a_publisher_without_polling_may_call_get_capacity_after_any_event() {
    let news = || Event::Changed(Change::Class("other".to_owned(), Some(class())));
    let history = (0..100).flat_map(|_| [news(), asked("n1", None)]);
    assert_eq!(broken(unpolled(), history), [""; 0]);
    // A failed call may be repeated.
    let failed = (0..100).map(|_| answered(central(), "n1", None, None));
    assert_eq!(broken(unpolled(), failed), [""; 0]);
    // With Immediate binding a distributed instance calls GetCapacity before it provisions.
    let mut world = unpolled();
    world.classes.get_mut(CLASS).unwrap().binding = Binding::Immediate;
    let instance = of_node("n1");
    let publisher = Publisher {
        deployment: Deployment::Distributed(at("n1")),
        polls: false,
        ..publisher()
    };
    world.publishers = [(instance.clone(), publisher)].into();
    let history = (0..100).map(|_| asked_by(instance.clone(), "n1", None));
    assert!(!broken(world, history).contains(&rules::UNNECESSARY_GET_CAPACITY.id));
}

#[test]
fn a_volume_requires_a_refresh_of_the_affected_segments() {
    let ends = |ending, then: Vec<Event>| {
        let created = Event::Created(creation("n1", ending));
        let history = std::iter::once(created).chain(bound()).chain(then);
        broken(claimed(), history.chain([Event::Quiet]))
    };
    let made = || made_at("n1");
    assert_eq!(ends(made(), vec![asked("n1", None)]), [""; 0]);
    assert_eq!(
        ends(made(), vec![asked("n2", None)]),
        ["volumes/capacity-not-refreshed"]
    );
    // A caller that did not receive the response does not know the volume.
    let untold = Ending::Made {
        id: "v-1".to_owned(),
        segment: at("n1"),
        is_told: false,
    };
    assert_eq!(ends(untold, vec![]), [""; 0]);
    // A restarted publisher polls everything; a stopped one polls nothing.
    assert_eq!(
        ends(made(), vec![Event::Changed(Change::Publisher(central(), None))]),
        [""; 0]
    );
    // A deleted class needs no refresh.
    let gone = Event::Changed(Change::Class(CLASS.to_owned(), None));
    assert!(!ends(made(), vec![gone]).contains(&"volumes/capacity-not-refreshed"));
    // A deleted volume frees capacity.
    let deleted = Event::Deleted {
        id: "v-1".to_owned(),
        by: Author::Publisher(central()),
    };
    let mut history = vec![Event::Created(creation("n1", made()))];
    history.extend(bound());
    let unclaimed = Event::Changed(Change::Claim(claim_key(), None));
    history.extend([asked("n1", None), Event::Quiet, unclaimed, deleted, Event::Quiet]);
    // The volume was accessible from every node.
    assert_eq!(
        broken(claimed(), history.clone()),
        ["volumes/capacity-not-refreshed"; 2]
    );
    let quiet = history.pop();
    history.extend([asked("n1", None), asked("n2", None)]);
    history.extend(quiet);
    assert_eq!(broken(claimed(), history), [""; 0]);
}

#[test]
fn a_publisher_without_polling_may_publish_the_last_response() {
    let mut world = unpolled();
    answer(&mut world, "n1", Answer::available(7 * GI));
    let n1 = key_of(&world.objects, "n1");
    let history = |gib: i64, published: &str| {
        let wrote = Event::Wrote {
            by: Author::Publisher(central()),
            key: n1.clone(),
            object: Some(object("n1", published)),
        };
        [answered(central(), "n1", Some(gib), None), wrote, Event::Quiet]
    };
    // The old capacity may remain, and a later response may be published.
    assert_eq!(broken(world.clone(), [Event::Quiet]), [""; 0]);
    assert_eq!(broken(world.clone(), history(8, "8Gi")), [""; 0]);
    assert_eq!(broken(world, history(10, "9Gi")), ["objects/wrong-capacity"]);
}

#[test]
fn programs_with_valid_settings_may_run() {
    assert_eq!(settings::judge(&shaped(Some(true), point()), true), []);
    assert_eq!(settings::judge(&shaped(None, point()), false), []);
    // An empty shape counts as a shape.
    assert_eq!(
        settings::judge(&shaped(None, Vec::new()), true)[0].rule,
        rules::INVALID_SETTING_ACCEPTED
    );
    let mut world = published();
    assert_eq!(settings::judge(&world, true), []);
    let publisher = world.publishers.get_mut(&central()).unwrap();
    publisher.is_told_its_namespace = false;
    assert_eq!(
        settings::judge(&world, true)[0].rule,
        rules::INVALID_SETTING_ACCEPTED
    );
    let publisher = world.publishers.get_mut(&central()).unwrap();
    publisher.publishes = false;
    assert_eq!(settings::judge(&world, true), []);
}

//! Generates faults: failed API requests, closed connections, ended or delayed watches, killed programs, driver errors.

use capacity_types::capacity_api::RESOURCE;
use harness::plan::{FaultSpec, LagSpec, StaleSpec};
use harness::scenario::Role;
use harness::standalone::{CsiCut, CsiMethod, CsiRuleText};

use super::super::event::Event;
use super::Draw;

/// The requests of a role, and the resources that it watches.
struct Traffic {
    role: Role,
    requests: &'static [&'static str],
    watches: &'static [&'static str],
}

const TRAFFIC: [Traffic; 3] = [
    Traffic {
        role: Role::Publisher,
        requests: &[
            "create csistoragecapacities",
            "update csistoragecapacities",
            "delete csistoragecapacities",
            "update persistentvolumeclaims",
            "create persistentvolumes",
            "get pods",
            "get replicasets",
            "get deployments",
        ],
        // Listed twice to double its weight: by this watch the publisher receives its own writes.
        watches: &[RESOURCE, RESOURCE, "storageclasses", "nodes", "csinodes", "*"],
    },
    Traffic {
        role: Role::Scheduler,
        requests: &[
            "update persistentvolumeclaims",
            "create pods/binding",
            "update|patch pods/status",
            "list csidrivers",
            "list csistoragecapacities",
            "list storageclasses",
        ],
        watches: &[
            RESOURCE,
            "csidrivers",
            "storageclasses",
            "nodes",
            "pods",
            "persistentvolumeclaims",
            "*",
        ],
    },
    Traffic {
        role: Role::Cleaner,
        requests: &["delete csistoragecapacities"],
        watches: &["csinodes", "nodes"],
    },
];

/// The traffic of one of the running programs.
fn traffic(draw: &mut Draw) -> Option<&'static Traffic> {
    let focus = draw.focus;
    let running = TRAFFIC.iter().filter(|traffic| focus.has(traffic.role));
    draw.dice.any(running)
}

fn fault(draw: &mut Draw, api: String, times: Option<u32>, effect: FaultSpec) -> FaultSpec {
    FaultSpec {
        id: Some(draw.name('f')),
        api,
        times,
        ..effect
    }
}

/// A fault with this effect.
fn with(set: impl FnOnce(&mut FaultSpec)) -> FaultSpec {
    let mut fault = FaultSpec::default();
    set(&mut fault);
    fault
}

/// The request is processed late.
pub(super) fn delay() -> FaultSpec {
    with(|fault| fault.delay = Some("50ms".to_owned()))
}

/// A write of one of the running programs.
pub(super) fn write(draw: &mut Draw) -> Option<(Role, &'static str)> {
    let traffic = traffic(draw)?;
    let reads = ["get ", "list "];
    let is_write = |api: &&&str| !reads.iter().any(|verb| api.starts_with(verb));
    let api = draw.dice.any(traffic.requests.iter().filter(is_write))?;
    Some((traffic.role, api))
}

/// A limited number of requests fails.
pub(super) fn requests_fail(draw: &mut Draw) -> Option<Event> {
    let traffic = traffic(draw)?;
    let api = *draw.dice.pick(traffic.requests);
    let effect = match draw.dice.below(8) {
        0 => with(|fault| fault.cut = Some(CsiCut::Before)),
        1..=2 => with(|fault| fault.cut = Some(CsiCut::After)),
        3 => delay(),
        // A read cannot cause a conflict.
        4 if !["get ", "list "].iter().any(|verb| api.starts_with(verb)) => {
            with(|fault| fault.status = Some(409))
        }
        _ => with(|fault| fault.status = Some(*draw.dice.pick(&[429, 500, 503, 504]))),
    };
    let times = draw.dice.between(1, 3);
    let skip = draw.dice.below(2);
    let fault = fault(draw, api.to_owned(), Some(times), effect);
    Some(Event::Fault(Box::new(FaultSpec {
        by: Some(traffic.role),
        skip,
        ..fault
    })))
}

/// Watches end or cannot resume; lists return outdated objects.
pub(super) fn watches_break(draw: &mut Draw) -> Option<Event> {
    let traffic = traffic(draw)?;
    let resource = *draw.dice.pick(traffic.watches);
    let (verb, effect) = match draw.dice.below(6) {
        0..=2 => ("watch", with(|fault| fault.end_after = Some(draw.dice.below(2)))),
        3 => ("watch", with(|fault| fault.compact = true)),
        4 => ("watch", with(|fault| fault.status = Some(410))),
        _ => ("list", with(|fault| fault.stale = Some(StaleSpec::Allowed))),
    };
    let times = draw.dice.between(1, 2);
    let fault = fault(draw, format!("{verb} {resource}"), Some(times), effect);
    Some(Event::Fault(Box::new(fault)))
}

/// Watches are delayed, or all requests fail, until a later event ends the fault.
pub(super) fn outage(draw: &mut Draw) -> Option<Event> {
    let traffic = traffic(draw)?;
    let resource = *draw.dice.pick(traffic.watches);
    let (api, effect) = match draw.dice.below(4) {
        // A leader exits when it cannot renew its Lease.
        0 if draw.world.publisher.replicas.is_none() => {
            ("* *".to_owned(), with(|fault| fault.status = Some(503)))
        }
        1 => (
            format!("watch {resource}"),
            with(|fault| fault.end_after = Some(0)),
        ),
        _ => (
            format!("watch {resource}"),
            with(|fault| fault.lag = Some(LagSpec::Open(true))),
        ),
    };
    let fault = fault(draw, api, None, effect);
    Some(Event::Fault(Box::new(fault)))
}

/// A program is killed at a request; of a distributed one, several instances.
pub(super) fn killed(draw: &mut Draw) -> Option<Event> {
    let traffic = traffic(draw)?;
    let api = *draw.dice.pick(traffic.requests);
    let when = *draw.dice.pick(&[CsiCut::Before, CsiCut::After]);
    let skip = draw.dice.below(2);
    let times = draw.dice.between(1, 3);
    let fault = fault(
        draw,
        api.to_owned(),
        Some(times),
        with(|fault| fault.cut = Some(when)),
    );
    Some(Event::Fault(Box::new(FaultSpec {
        by: Some(traffic.role),
        skip,
        kill: true,
        ..fault
    })))
}

/// The driver fails a number of calls, or returns other responses until a later event ends the fault.
pub(super) fn driver_fails(draw: &mut Draw) -> Option<Event> {
    if !draw.focus.has(Role::Publisher) {
        return None;
    }
    if draw.dice.one_in(6) {
        return Some(hanging(draw));
    }
    let method = match draw.focus.has(Role::Scheduler) && draw.dice.one_in(3) {
        true => CsiMethod::CreateVolume,
        false => CsiMethod::GetCapacity,
    };
    let asks = method == CsiMethod::GetCapacity;
    let code = *draw.dice.pick(&[
        "UNAVAILABLE",
        "INTERNAL",
        "DEADLINE_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    ]);
    let few = Some(draw.dice.between(1, 3));
    let mut rule = CsiRuleText {
        method: method.to_string(),
        ..CsiRuleText::default()
    };
    match draw.dice.below(10) {
        0..=1 => (rule.times, rule.code) = (few, Some(code.to_owned())),
        2 => (rule.times, rule.cut) = (few, Some(CsiCut::After)),
        3..=4 => (rule.times, rule.delay) = (few, Some("20ms".to_owned())),
        5 => rule.hang = true,
        6..=7 if asks => rule.code = Some(code.to_owned()),
        _ if asks => rule.available = Some(*draw.dice.pick(&[-1, -1, 0, 1_i64 << 30, 7 << 30])),
        _ => (rule.times, rule.cut) = (few, Some(CsiCut::Before)),
    }
    rule.segment = (asks && draw.dice.one_in(2)).then(|| draw.segment());
    rule.id = Some(draw.name('s'));
    Some(Event::DriverFault(Box::new(rule)))
}

/// Calls of one method hang, a number of times or until a later event, while others are served.
fn hanging(draw: &mut Draw) -> Event {
    let method = *draw.dice.pick(&[
        CsiMethod::GetCapacity,
        CsiMethod::GetCapacity,
        CsiMethod::CreateVolume,
        CsiMethod::DeleteVolume,
        CsiMethod::Probe,
        CsiMethod::NodeGetInfo,
    ]);
    let is_of_segment = method == CsiMethod::GetCapacity && !draw.dice.one_in(4);
    Event::DriverFault(Box::new(CsiRuleText {
        id: Some(draw.name('s')),
        method: method.to_string(),
        segment: is_of_segment.then(|| draw.segment()),
        skip: draw.dice.below(2),
        times: draw.dice.one_in(2).then(|| draw.dice.between(1, 2)),
        hang: true,
        ..CsiRuleText::default()
    }))
}

/// The driver behaves normally again.
pub(super) fn driver_recovers(draw: &mut Draw) -> Option<Event> {
    let id = draw.dice.any(draw.state.scripts.keys().cloned())?;
    Some(Event::RemoveDriverFault(id))
}

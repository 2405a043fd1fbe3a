//! Generates faults: failed API requests, closed connections, ended or delayed watches, killed programs, driver errors.

use capacity_types::capacity_api::RESOURCE;
use harness::plan::{FaultSpec, LagSpec, StaleSpec};
use harness::scenario::Role;
use harness::standalone::{CsiCut, CsiMethod, CsiRuleText};

use super::super::event::Event;
use super::Generator;

/// The requests that the program of a role sends, and the resources that the program watches: the targets of injected faults.
struct Traffic {
    role: Role,
    requests: &'static [&'static str],
    watches: &'static [&'static str],
}

macro_rules! traffic {
    ($($role:ident: requests [$($request:literal),+], watches [$($watch:expr),+];)+) => {
        const TRAFFIC: &[Traffic] = &[$(
            Traffic { role: Role::$role, requests: &[$($request),+], watches: &[$($watch),+] }
        ),+];
    };
}

traffic! {
    // RESOURCE is listed twice, so that its watch is selected twice as often: the publisher receives its own writes from this watch.
    Publisher: requests ["create csistoragecapacities", "update csistoragecapacities", "delete csistoragecapacities", "update persistentvolumeclaims", "create persistentvolumes", "get pods", "get replicasets", "get deployments"],
        watches [RESOURCE, RESOURCE, "storageclasses", "nodes", "csinodes", "*"];
    Scheduler: requests ["update persistentvolumeclaims", "create pods/binding", "update|patch pods/status", "list csidrivers", "list csistoragecapacities", "list storageclasses"],
        watches [RESOURCE, "csidrivers", "storageclasses", "nodes", "pods", "persistentvolumeclaims", "*"];
    Cleaner: requests ["delete csistoragecapacities"],
        watches ["csinodes", "nodes"];
}

/// The traffic of a random program of the focus.
fn traffic(generator: &mut Generator) -> Option<&'static Traffic> {
    let focus = generator.focus;
    let running = TRAFFIC.iter().filter(|traffic| focus.has(traffic.role));
    generator.rng.pick_from_iter(running)
}

fn fault(generator: &mut Generator, api: String, times: Option<u32>, effect: FaultSpec) -> FaultSpec {
    FaultSpec {
        id: Some(generator.name('f')),
        api,
        times,
        ..effect
    }
}

fn fault_with(set: impl FnOnce(&mut FaultSpec)) -> FaultSpec {
    let mut fault = FaultSpec::default();
    set(&mut fault);
    fault
}

pub(super) fn delay() -> FaultSpec {
    fault_with(|fault| fault.delay = Some("50ms".to_owned()))
}

/// A write request of a random program of the focus, with the role of the program.
pub(super) fn write_request(generator: &mut Generator) -> Option<(Role, &'static str)> {
    let traffic = traffic(generator)?;
    let reads = ["get ", "list "];
    let is_write = |api: &&&str| !reads.iter().any(|verb| api.starts_with(verb));
    let api = generator
        .rng
        .pick_from_iter(traffic.requests.iter().filter(is_write))?;
    Some((traffic.role, api))
}

/// Faults that make a limited number of requests fail.
pub(super) fn requests_fail(generator: &mut Generator) -> Option<Event> {
    let traffic = traffic(generator)?;
    let api = *generator.rng.pick(traffic.requests);
    let effect = match generator.rng.below(8) {
        0 => fault_with(|fault| fault.cut = Some(CsiCut::Before)),
        1..=2 => fault_with(|fault| fault.cut = Some(CsiCut::After)),
        3 => delay(),
        // A read cannot cause a conflict.
        4 if !["get ", "list "].iter().any(|verb| api.starts_with(verb)) => {
            fault_with(|fault| fault.status = Some(409))
        }
        _ => fault_with(|fault| fault.status = Some(*generator.rng.pick(&[429, 500, 503, 504]))),
    };
    let times = generator.rng.between(1, 3);
    let skip = generator.rng.below(2);
    let fault = fault(generator, api.to_owned(), Some(times), effect);
    Some(Event::Fault(Box::new(FaultSpec {
        by: Some(traffic.role),
        skip,
        ..fault
    })))
}

/// A fault that ends watches, prevents watches from resuming, or makes lists return outdated objects.
pub(super) fn watches_break(generator: &mut Generator) -> Option<Event> {
    let traffic = traffic(generator)?;
    let resource = *generator.rng.pick(traffic.watches);
    let (verb, effect) = match generator.rng.below(6) {
        0..=2 => (
            "watch",
            fault_with(|fault| fault.end_after = Some(generator.rng.below(2))),
        ),
        3 => ("watch", fault_with(|fault| fault.compact = true)),
        4 => ("watch", fault_with(|fault| fault.status = Some(410))),
        _ => ("list", fault_with(|fault| fault.stale = Some(StaleSpec::Allowed))),
    };
    let times = generator.rng.between(1, 2);
    let fault = fault(generator, format!("{verb} {resource}"), Some(times), effect);
    Some(Event::Fault(Box::new(fault)))
}

/// A fault that delays or ends watches, or fails all requests, until a later event ends the fault.
pub(super) fn outage(generator: &mut Generator) -> Option<Event> {
    let traffic = traffic(generator)?;
    let resource = *generator.rng.pick(traffic.watches);
    let (api, effect) = match generator.rng.below(4) {
        // In a deployment with leader election, the leader would exit because it cannot renew its Lease.
        0 if generator.cluster.publisher.replicas.is_none() => {
            ("* *".to_owned(), fault_with(|fault| fault.status = Some(503)))
        }
        1 => (
            format!("watch {resource}"),
            fault_with(|fault| fault.end_after = Some(0)),
        ),
        _ => (
            format!("watch {resource}"),
            fault_with(|fault| fault.lag = Some(LagSpec::Open(true))),
        ),
    };
    let fault = fault(generator, api, None, effect);
    Some(Event::Fault(Box::new(fault)))
}

/// A fault that kills a program at a request. With one publisher per node, several instances may be killed.
pub(super) fn kill_program(generator: &mut Generator) -> Option<Event> {
    let traffic = traffic(generator)?;
    let api = *generator.rng.pick(traffic.requests);
    let when = *generator.rng.pick(&[CsiCut::Before, CsiCut::After]);
    let skip = generator.rng.below(2);
    let times = generator.rng.between(1, 3);
    let fault = fault(
        generator,
        api.to_owned(),
        Some(times),
        fault_with(|fault| fault.cut = Some(when)),
    );
    Some(Event::Fault(Box::new(FaultSpec {
        by: Some(traffic.role),
        skip,
        kill: true,
        ..fault
    })))
}

/// A fault of the driver: calls fail, are delayed, hang or return another capacity, a number of times or until a later event.
pub(super) fn driver_fails(generator: &mut Generator) -> Option<Event> {
    if !generator.focus.has(Role::Publisher) {
        return None;
    }
    if generator.rng.one_in(6) {
        return Some(hanging_driver_calls(generator));
    }
    let method = match generator.focus.has(Role::Scheduler) && generator.rng.one_in(3) {
        true => CsiMethod::CreateVolume,
        false => CsiMethod::GetCapacity,
    };
    let is_get_capacity = method == CsiMethod::GetCapacity;
    let code = *generator.rng.pick(&[
        "UNAVAILABLE",
        "INTERNAL",
        "DEADLINE_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    ]);
    let few = Some(generator.rng.between(1, 3));
    let mut rule = CsiRuleText {
        method: method.to_string(),
        ..CsiRuleText::default()
    };
    match generator.rng.below(10) {
        0..=1 => (rule.times, rule.code) = (few, Some(code.to_owned())),
        2 => (rule.times, rule.cut) = (few, Some(CsiCut::After)),
        3..=4 => (rule.times, rule.delay) = (few, Some("20ms".to_owned())),
        5 => rule.hang = true,
        6..=7 if is_get_capacity => rule.code = Some(code.to_owned()),
        _ if is_get_capacity => {
            rule.available = Some(*generator.rng.pick(&[-1, -1, 0, 1_i64 << 30, 7 << 30]));
        }
        _ => (rule.times, rule.cut) = (few, Some(CsiCut::Before)),
    }
    if is_get_capacity && generator.rng.one_in(2) {
        rule.segment = generator.node_segment();
    }
    rule.id = Some(generator.name('s'));
    Some(Event::DriverFault(Box::new(rule)))
}

/// A fault with which calls of one method hang, a number of times or until a later event. Calls of other methods are served.
fn hanging_driver_calls(generator: &mut Generator) -> Event {
    let method = *generator.rng.pick(&[
        CsiMethod::GetCapacity,
        CsiMethod::GetCapacity,
        CsiMethod::CreateVolume,
        CsiMethod::DeleteVolume,
        CsiMethod::Probe,
        CsiMethod::NodeGetInfo,
    ]);
    let is_of_segment = method == CsiMethod::GetCapacity && !generator.rng.one_in(4);
    Event::DriverFault(Box::new(CsiRuleText {
        id: Some(generator.name('s')),
        method: method.to_string(),
        segment: is_of_segment.then(|| generator.node_segment()).flatten(),
        skip: generator.rng.below(2),
        times: generator.rng.one_in(2).then(|| generator.rng.between(1, 2)),
        hang: true,
        ..CsiRuleText::default()
    }))
}

/// An event that ends a random fault of the driver; `None` if the driver has no fault.
pub(super) fn driver_recovers(generator: &mut Generator) -> Option<Event> {
    let id = generator
        .rng
        .pick_from_iter(generator.state.driver_faults.keys().cloned())?;
    Some(Event::RemoveDriverFault(id))
}

//! The points at which a sweep injects faults: every request, watch event and CSI call of the programs under test in a run. Equal points
//! are numbered.

use std::collections::BTreeMap;
use std::fmt;

use suites::harness::journal::{Fact, Observation};
use suites::harness::scenario::Role;

/// The kind of a point of the traffic, which determines the faults that can be injected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A mutating API request.
    Write,
    /// A get or list request.
    Read,
    /// The request that starts a watch.
    Watch,
    /// A watch event.
    Delivery,
    /// A CSI call.
    Call,
}

/// A request, watch event or CSI call at which a fault can be injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The role of the program that sends the request, receives the event or calls the driver.
    pub role: Role,
    /// Whether the point is a request, a watch event or a call.
    pub kind: Kind,
    /// Verb of the API request (`watch` for a watch event), or method of the CSI call.
    pub verb: String,
    /// Resource of the request or watch event, with its subresource; empty for a CSI call.
    pub resource: String,
    /// Number of the request or call among equal ones, starting at 1. For a watch event, the number of its watch.
    pub number: u32,
    /// For a watch event, its number within the watch, starting at 1; otherwise 0.
    pub event: u32,
}

impl Point {
    /// Name of the point, as a part of a case id.
    pub fn name(&self) -> String {
        let mut words = vec![self.role.as_str().to_owned(), self.verb.to_lowercase()];
        words.extend(
            self.resource
                .split('/')
                .filter(|word| !word.is_empty())
                .map(str::to_owned),
        );
        words.push(self.number.to_string());
        words.extend((self.kind == Kind::Delivery).then(|| self.event.to_string()));
        words.join("-")
    }

    /// Name of the group of points that differ only in their numbers. A group is one row of the grid in the terminal.
    pub fn group(&self) -> String {
        match self.kind {
            Kind::Delivery => format!("{} event of {}", self.role.as_str(), self.resource),
            Kind::Call => format!("{} call of {}", self.role.as_str(), self.verb),
            _ => format!("{} {} {}", self.role.as_str(), self.verb, self.resource),
        }
    }

    /// Whether the fault was injected: enough calls of the CSI method were made or, for other points, the journal contains a fact about an
    /// injected fault.
    pub(super) fn is_reached(&self, facts: &[Fact]) -> bool {
        match self.kind {
            Kind::Call => {
                let calls = facts.iter().filter(|fact| match &fact.what {
                    Observation::Call(call) => call.method.as_str() == self.verb,
                    _ => false,
                });
                calls.count() >= self.number as usize
            }
            _ => facts
                .iter()
                .any(|fact| matches!(fact.what, Observation::Fault(_))),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.group(), self.number)?;
        match self.kind {
            Kind::Delivery => write!(f, ".{}", self.event),
            _ => Ok(()),
        }
    }
}

/// All points of a run at which faults can be injected, in the order of the journal.
pub fn points(facts: &[Fact]) -> Vec<Point> {
    let mut numbers: BTreeMap<(Role, String, String), u32> = BTreeMap::new();
    // Per client and resource: number of the newest watch, and number of events that this watch has delivered.
    let mut watches: BTreeMap<(String, String), (u32, u32)> = BTreeMap::new();
    let mut points = Vec::new();
    for fact in facts {
        let (client, kind, verb, resource) = match &fact.what {
            Observation::Request(request) if !request.resource.is_empty() => {
                let kind = match request.verb.as_str() {
                    "get" | "list" => Kind::Read,
                    "watch" => Kind::Watch,
                    _ => Kind::Write,
                };
                (&*request.client, kind, request.verb.as_str(), &*request.resource)
            }
            Observation::Delivery(delivery) => {
                (&*delivery.client, Kind::Delivery, "watch", &*delivery.resource)
            }
            Observation::Call(call) => ("publisher", Kind::Call, call.method.as_str(), ""),
            _ => continue,
        };
        let Some(role) = Role::of_client(client) else {
            continue;
        };
        let watch = (client.to_owned(), resource.to_owned());
        let (number, event) = match kind {
            Kind::Delivery => match watches.get_mut(&watch) {
                Some((number, events)) => {
                    *events += 1;
                    (*number, *events)
                }
                None => continue,
            },
            _ => {
                let like = (role, verb.to_owned(), resource.to_owned());
                let number = numbers.entry(like).or_default();
                *number += 1;
                (*number, 0)
            }
        };
        if kind == Kind::Watch {
            watches.insert(watch, (number, 0));
        }
        points.push(Point {
            role,
            kind,
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            number,
            event,
        });
    }
    points
}

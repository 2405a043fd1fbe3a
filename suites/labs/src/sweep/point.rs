//! The points of a run: every request, delivery and call of the systems under test, each by its number among its like.

use std::collections::BTreeMap;
use std::fmt;

use suites::harness::journal::{Fact, What};
use suites::harness::scenario::Role;

/// What can happen to a point depends on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A request that changes something.
    Write,
    /// A get or a list.
    Read,
    /// The beginning of a watch.
    Watch,
    /// An event of a watch.
    Delivery,
    /// A call of the driver.
    Call,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Whose it is.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// The verb of a request, `watch` for a delivery too, and the method of a call.
    pub verb: String,
    /// The resource of a request or a delivery, with a subresource; empty for a call.
    pub resource: String,
    /// The how manyth of its like, from 1 on.
    pub number: u32,
    /// Of a delivery: the how manyth event of its watch it is, from 1 on.
    pub event: u32,
}

impl Point {
    /// What it is called, as a part of the id of a case.
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

    /// The points like it, by which a grid has its rows.
    pub fn like(&self) -> String {
        match self.kind {
            Kind::Delivery => format!("{} event of {}", self.role.as_str(), self.resource),
            Kind::Call => format!("{} call of {}", self.role.as_str(), self.verb),
            _ => format!("{} {} {}", self.role.as_str(), self.verb, self.resource),
        }
    }

    /// Whether a run came to it: a fault of the API server is a fact, and calls are counted.
    pub(super) fn is_met(&self, facts: &[Fact]) -> bool {
        match self.kind {
            Kind::Call => {
                let calls = facts.iter().filter(|fact| match &fact.what {
                    What::Call(call) => call.method.as_str() == self.verb,
                    _ => false,
                });
                calls.count() >= self.number as usize
            }
            _ => facts.iter().any(|fact| matches!(fact.what, What::Fault(_))),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.like(), self.number)?;
        match self.kind {
            Kind::Delivery => write!(f, ".{}", self.event),
            _ => Ok(()),
        }
    }
}

/// All points of a run, in the order in which they were first seen.
pub fn points(facts: &[Fact]) -> Vec<Point> {
    let mut numbers: BTreeMap<(Role, String, String), u32> = BTreeMap::new();
    // The newest watch of each client and resource, and its events so far.
    let mut watches: BTreeMap<(String, String), (u32, u32)> = BTreeMap::new();
    let mut points = Vec::new();
    for fact in facts {
        let (client, kind, verb, resource) = match &fact.what {
            What::Request(request) if !request.resource.is_empty() => {
                let kind = match request.verb.as_str() {
                    "get" | "list" => Kind::Read,
                    "watch" => Kind::Watch,
                    _ => Kind::Write,
                };
                (&*request.client, kind, request.verb.as_str(), &*request.resource)
            }
            What::Delivery(delivery) => (&*delivery.client, Kind::Delivery, "watch", &*delivery.resource),
            What::Call(call) => ("publisher", Kind::Call, call.method.as_str(), ""),
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

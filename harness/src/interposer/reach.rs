//! Decides from the journal of a run without rules whether the rules would have changed anything that the case depends on. If the journal
//! does not show it, assumes so.

use fake_csi::CsiDefect;
use fake_csi::Method;
use serde_json::Value;

use super::rule::{EventKind, ObjectRule, RequestRule, WireRule};
use crate::journal::{CallFact, Change, Fact, What};
use crate::plan::{NAMESPACE, Plan};
use crate::scenario::Role;

/// Whether any of the rules applies to the role's traffic in a run of the plan without them. If not, a run with the rules is the same,
/// except for requests that nothing in the plan depends on.
pub fn are_met(rules: &[WireRule], role: Role, plan: &Plan, facts: &[Fact]) -> bool {
    let traffic = Seen { role, plan, facts };
    rules.iter().any(|rule| traffic.meets(rule))
}

/// The journal's facts about one role.
struct Seen<'a> {
    role: Role,
    plan: &'a Plan,
    facts: &'a [Fact],
}

impl Seen<'_> {
    fn meets(&self, rule: &WireRule) -> bool {
        match rule {
            WireRule::Request(rule) => self.any(|what| self.is_request(rule, what)) && self.may_change(rule),
            WireRule::Object(rule) => self.shows_one(rule),
            WireRule::Call(defect) => may_show(*defect, self.plan) && self.calls_one(*defect),
            WireRule::Metrics(_) => self.any(|what| match what {
                What::Metrics(metrics) => metrics.readings.iter().any(|it| self.is_mine(&it.client)),
                _ => false,
            }),
        }
    }

    fn any(&self, is_meant: impl Fn(&What) -> bool) -> bool {
        self.facts.iter().any(|fact| is_meant(&fact.what))
    }

    fn is_mine(&self, client: &str) -> bool {
        Role::of_client(client) == Some(self.role)
    }

    fn is_request(&self, rule: &RequestRule, what: &What) -> bool {
        match what {
            What::Request(request) => {
                self.is_mine(&request.client)
                    && request.resource == rule.resource
                    && rule.verbs.contains(&request.verb)
            }
            What::Fault(fault) => {
                fault.client.as_ref().is_some_and(|client| self.is_mine(client))
                    && fault.resource.as_ref() == Some(&rule.resource)
                    && fault.verb.is_some_and(|verb| rule.verbs.contains(&verb))
            }
            _ => false,
        }
    }

    /// Whether changing one of those requests can have an effect.
    fn may_change(&self, rule: &RequestRule) -> bool {
        if rule.only_reads_more() {
            return self.plan.depends_on_requests();
        }
        if rule.only_widens() {
            return self.plan.depends_on_requests() || self.has_elsewhere(&rule.resource);
        }
        // Failed requests cause no commit.
        !rule.only_removes()
            || self.any(|what| match what {
                What::Commit(commit) => *commit.resource == *rule.resource && rule.finds(&commit.object),
                What::Request(request) => self.is_request(rule, what) && !(200..300).contains(&request.code),
                What::Fault(_) => self.is_request(rule, what),
                _ => false,
            })
    }

    /// Whether objects exist outside the namespace of the programs.
    fn has_elsewhere(&self, resource: &str) -> bool {
        self.any(|what| match what {
            What::Commit(commit) => {
                *commit.resource == *resource && commit.namespace.as_deref() != Some(NAMESPACE)
            }
            _ => false,
        })
    }

    /// Whether an object exists that the rule changes, and a response or event contains it.
    fn shows_one(&self, rule: &ObjectRule) -> bool {
        // Another release may omit stored fields.
        let is_served_whole = self.plan.has_usual_release();
        let is_changed = |object: &Value| match is_served_whole {
            true => rule.changes(object),
            false => rule.is_about(object),
        };
        let is_there = self.any(|what| match what {
            What::Commit(commit) => *commit.resource == *rule.resource && is_changed(&commit.object),
            _ => false,
        });
        is_there && self.any(|what| self.is_shown(rule, what))
    }

    /// Pending calls are not in the journal.
    fn calls_one(&self, defect: CsiDefect) -> bool {
        self.plan.has_late_answers() || self.any(|what| is_call(defect, what))
    }

    fn is_shown(&self, rule: &ObjectRule, what: &What) -> bool {
        match what {
            What::Request(request) => {
                rule.listed && self.is_mine(&request.client) && request.resource == rule.resource
            }
            What::Delivery(delivery) => {
                self.is_mine(&delivery.client)
                    && *delivery.resource == *rule.resource
                    && rule.events.contains(&event(delivery.change))
            }
            _ => false,
        }
    }
}

fn event(change: Change) -> EventKind {
    match change {
        Change::Added => EventKind::Added,
        Change::Modified => EventKind::Modified,
        Change::Deleted => EventKind::Deleted,
    }
}

/// Whether the defect is observable with the driver of the plan.
fn may_show(defect: CsiDefect, plan: &Plan) -> bool {
    match defect {
        CsiDefect::CapacityAssumed => !plan.driver.get_capacity,
        CsiDefect::CapacityWithClonesOnly => plan.driver.get_capacity && !plan.driver.clone_volume,
        CsiDefect::ConnectionNotRestored => plan.may_cut_connections(),
        // If no call is delayed, each ends before the next starts.
        CsiDefect::CapacityInTurn => plan.has_late_answers() || plan.may_cut_connections(),
        _ => true,
    }
}

/// Whether the defect changes this call.
fn is_call(defect: CsiDefect, what: &What) -> bool {
    let What::Call(call) = what else {
        return false;
    };
    let is = |method| call.method == method;
    match defect {
        CsiDefect::CapacityRepeated(_)
        | CsiDefect::CapacityRemembered
        | CsiDefect::CapacityInTurn
        | CsiDefect::CapacityAfterVolume => is(Method::GetCapacity),
        CsiDefect::CapacityRoundedUp(unit) => call.available.is_some_and(|bytes| bytes % unit != 0),
        CsiDefect::MaximumOverlooked => call.maximum.is_some(),
        CsiDefect::ErrorAsZero => is(Method::GetCapacity) && !call.is_answered(),
        CsiDefect::NegativeAsZero => call.available.is_some_and(|available| available < 0),
        CsiDefect::NothingAs(_) => is(Method::GetCapacity) && tells_nothing(call),
        CsiDefect::CapacityAssumed | CsiDefect::CapacityWithClonesOnly => {
            is(Method::ControllerGetCapabilities)
        }
        CsiDefect::PlaceForgotten | CsiDefect::SourcesForgotten | CsiDefect::VolumesRenamed => {
            is(Method::CreateVolume)
        }
        CsiDefect::VolumesRoundedUp(unit) => call.required_bytes.is_some_and(|bytes| bytes % unit != 0),
        CsiDefect::VolumesRolledBack => is(Method::CreateVolume) && !call.is_answered(),
        CsiDefect::VolumesLeft => is(Method::DeleteVolume),
        CsiDefect::ConnectionNotRestored => true,
    }
}

fn tells_nothing(call: &CallFact) -> bool {
    !call.is_answered() || call.available == Some(0)
}

//! Decides, from the journal of a run without rules, whether the rules would have changed anything on which the case depends. If the
//! journal does not contain enough information, the result is true.

use fake_csi::CsiDefect;
use fake_csi::Method;
use serde_json::Value;

use super::rule::{EventKind, ObjectRule, RequestRule, WireRule};
use crate::journal::{CallFact, Change, Fact, Observation};
use crate::plan::{NAMESPACE, Plan};
use crate::scenario::Role;

/// Whether any of the rules would change the role's traffic in a run of the plan. `facts`: the journal of a run without the rules. If the
/// result is false, a run with the rules has the same verdict.
pub fn rules_apply(rules: &[WireRule], role: Role, plan: &Plan, facts: &[Fact]) -> bool {
    let traffic = RoleFacts { role, plan, facts };
    rules.iter().any(|rule| traffic.rule_applies(rule))
}

struct RoleFacts<'a> {
    role: Role,
    plan: &'a Plan,
    facts: &'a [Fact],
}

impl RoleFacts<'_> {
    fn rule_applies(&self, rule: &WireRule) -> bool {
        match rule {
            WireRule::Request(rule) => {
                self.any_fact(|what| self.is_request(rule, what)) && self.may_have_effect(rule)
            }
            WireRule::Object(rule) => self.changes_an_object(rule),
            WireRule::Call(csi_defect) => {
                is_observable(*csi_defect, self.plan) && self.changes_a_call(*csi_defect)
            }
            WireRule::Metrics(_) => self.any_fact(|what| match what {
                Observation::Metrics(metrics) => {
                    metrics.readings.iter().any(|it| self.is_of_role(&it.client))
                }
                _ => false,
            }),
        }
    }

    fn any_fact(&self, is_match: impl Fn(&Observation) -> bool) -> bool {
        self.facts.iter().any(|fact| is_match(&fact.what))
    }

    fn is_of_role(&self, client: &str) -> bool {
        Role::of_client(client) == Some(self.role)
    }

    fn is_request(&self, rule: &RequestRule, what: &Observation) -> bool {
        match what {
            Observation::Request(request) => {
                self.is_of_role(&request.client)
                    && request.resource == rule.resource
                    && rule.verbs.contains(&request.verb)
            }
            Observation::Fault(fault) => {
                fault
                    .client
                    .as_ref()
                    .is_some_and(|client| self.is_of_role(client))
                    && fault.resource.as_ref() == Some(&rule.resource)
                    && fault.verb.is_some_and(|verb| rule.verbs.contains(&verb))
            }
            _ => false,
        }
    }

    fn may_have_effect(&self, rule: &RequestRule) -> bool {
        if rule.only_adds_reads() {
            return self.plan.depends_on_requests();
        }
        if rule.only_reads_all_namespaces() {
            return self.plan.depends_on_requests() || self.has_in_other_namespaces(&rule.resource);
        }
        // The journal contains no body of a failed request, so the rule may have changed the body.
        !rule.only_removes()
            || self.any_fact(|what| match what {
                Observation::Commit(commit) => {
                    *commit.resource == *rule.resource && rule.removes_from(&commit.object)
                }
                Observation::Request(request) => {
                    self.is_request(rule, what) && !(200..300).contains(&request.code)
                }
                Observation::Fault(_) => self.is_request(rule, what),
                _ => false,
            })
    }

    /// Whether objects of the resource exist outside the namespace of the programs.
    fn has_in_other_namespaces(&self, resource: &str) -> bool {
        self.any_fact(|what| match what {
            Observation::Commit(commit) => {
                *commit.resource == *resource && commit.namespace.as_deref() != Some(NAMESPACE)
            }
            _ => false,
        })
    }

    /// Whether the rule changes an existing API object and the program receives the object in a response or watch event.
    fn changes_an_object(&self, rule: &ObjectRule) -> bool {
        // With another release or other feature gates, the server may omit stored fields, so every object that the rule matches counts.
        let is_served_completely = self.plan.has_default_release();
        let is_changed = |object: &Value| match is_served_completely {
            true => rule.changes_object(object),
            false => rule.matches_object(object),
        };
        let exists = self.any_fact(|what| match what {
            Observation::Commit(commit) => *commit.resource == *rule.resource && is_changed(&commit.object),
            _ => false,
        });
        exists && self.any_fact(|what| self.is_received(rule, what))
    }

    /// Whether the defect changes a CSI call. Always true if calls may be delayed, because the journal contains only completed calls.
    fn changes_a_call(&self, csi_defect: CsiDefect) -> bool {
        self.plan.delays_responses() || self.any_fact(|what| changes_call(csi_defect, what))
    }

    /// Whether the fact is a request or watch event in which the role's program receives objects that the rule may change.
    fn is_received(&self, rule: &ObjectRule, what: &Observation) -> bool {
        match what {
            Observation::Request(request) => {
                rule.listed && self.is_of_role(&request.client) && request.resource == rule.resource
            }
            Observation::Delivery(delivery) => {
                self.is_of_role(&delivery.client)
                    && *delivery.resource == *rule.resource
                    && rule.events.contains(&event_kind(delivery.change))
            }
            _ => false,
        }
    }
}

fn event_kind(change: Change) -> EventKind {
    match change {
        Change::Added => EventKind::Added,
        Change::Modified => EventKind::Modified,
        Change::Deleted => EventKind::Deleted,
    }
}

fn is_observable(csi_defect: CsiDefect, plan: &Plan) -> bool {
    match csi_defect {
        CsiDefect::CapacityAssumed => !plan.driver.get_capacity,
        CsiDefect::CapacityWithClonesOnly => plan.driver.get_capacity && !plan.driver.clone_volume,
        CsiDefect::ConnectionNotRestored => plan.may_cut_connections(),
        // The defect serializes calls. Only delayed calls overlap, so without delays the defect changes nothing.
        CsiDefect::CapacityInTurn => plan.delays_responses() || plan.may_cut_connections(),
        _ => true,
    }
}

fn changes_call(csi_defect: CsiDefect, what: &Observation) -> bool {
    let Observation::Call(call) = what else {
        return false;
    };
    let is = |method| call.method == method;
    match csi_defect {
        CsiDefect::CapacityRepeated(_)
        | CsiDefect::CapacityRemembered
        | CsiDefect::CapacityInTurn
        | CsiDefect::CapacityAfterVolume => is(Method::GetCapacity),
        CsiDefect::CapacityRoundedUp(unit) => call.available.is_some_and(|bytes| bytes % unit != 0),
        CsiDefect::MaximumOverlooked => call.maximum.is_some(),
        CsiDefect::ErrorAsZero => is(Method::GetCapacity) && !call.has_received_response(),
        CsiDefect::NegativeAsZero => call.available.is_some_and(|available| available < 0),
        CsiDefect::NothingAs(_) => is(Method::GetCapacity) && reports_no_capacity(call),
        CsiDefect::CapacityAssumed | CsiDefect::CapacityWithClonesOnly => {
            is(Method::ControllerGetCapabilities)
        }
        CsiDefect::PlaceForgotten | CsiDefect::SourcesForgotten | CsiDefect::VolumesRenamed => {
            is(Method::CreateVolume)
        }
        CsiDefect::VolumesRoundedUp(unit) => call.required_bytes.is_some_and(|bytes| bytes % unit != 0),
        CsiDefect::VolumesRolledBack => is(Method::CreateVolume) && !call.has_received_response(),
        CsiDefect::VolumesLeft => is(Method::DeleteVolume),
        CsiDefect::ConnectionNotRestored => true,
    }
}

fn reports_no_capacity(call: &CallFact) -> bool {
    !call.has_received_response() || call.available == Some(0)
}

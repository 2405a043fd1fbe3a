//! What the verdict of a case depends on, such as individual requests or the content of objects. Used to skip runs whose result would be
//! the same.
//!
//! Does not know any injected defect.

use std::time::Duration;

use fake_apiserver::Release;
use fake_csi::Effect;

use super::features::cuts_connection;
use super::{Action, Plan};
use crate::expectation::{Expect, Pattern, Predicate};

impl Plan {
    /// Whether a fault rule delays CSI calls. The journal contains a call only after the call has ended.
    pub(crate) fn delays_responses(&self) -> bool {
        self.driver_fault_rules()
            .any(|rule| rule.effect.delays_response())
    }

    /// The longest delay by a fault rule of a CSI call that succeeds after the delay.
    pub(crate) fn longest_delay(&self) -> Duration {
        let delays = self
            .driver_fault_rules()
            .filter_map(|script| match script.effect {
                Effect::Delay(delay) => Some(delay),
                _ => None,
            });
        delays.max().unwrap_or_default()
    }

    /// Whether the verdict depends on individual requests: through RBAC, faults, or expectations about requests, metrics and logs.
    pub(crate) fn depends_on_requests(&self) -> bool {
        !self.grants.is_empty()
            || self
                .actions()
                .any(|action| matches!(action, Action::Fault { .. }))
            || expectations(self).any(|expect| {
                matches!(expect.predicate, Predicate::Metrics(_))
                    || expect
                        .predicate
                        .kind()
                        .patterns()
                        .into_iter()
                        .any(Pattern::depends_on_requests)
            })
    }

    /// Whether the verdict depends on objects of the resource even if no program reads these objects.
    pub(crate) fn depends_on(&self, resource: &str) -> bool {
        self.actions()
            .any(|action| action.resource().as_deref() == Some(resource))
            || expectations(self).any(|expect| expect.predicate.kind().depends_on(resource))
    }

    /// Whether the API server has its default release and feature gates in all steps, so that the case does not test releases.
    pub fn has_default_release(&self) -> bool {
        self.release == Release::default()
            && self.gates.is_empty()
            && !self.actions().any(|action| matches!(action, Action::Release(..)))
    }

    /// Whether a fault rule may cut a connection to the driver while both the driver and its client run.
    pub(crate) fn may_cut_connections(&self) -> bool {
        self.actions().any(|action| {
            cuts_connection(action) || matches!(action, Action::DriverUp(..) | Action::DriverDown(_))
        })
    }
}

fn expectations(plan: &Plan) -> impl Iterator<Item = &Expect> {
    plan.steps.iter().flat_map(|step| &step.expect)
}

//! On what the course and the verdict of a case depend: which runs of it would be the same is told by that.
//!
//! Knows no defect.

use std::time::Duration;

use fake_apiserver::Release;
use fake_csi::Effect;

use super::features::cuts_connection;
use super::{Action, Plan};
use crate::expectation::{Expect, Pattern, Predicate};

impl Plan {
    /// Whether the driver lets a call wait: the journal has a call only when it ends.
    pub(crate) fn has_late_answers(&self) -> bool {
        self.scripts().any(|rule| rule.effect.is_late())
    }

    /// How long the driver lets a call wait that it answers.
    pub(crate) fn longest_delay(&self) -> Duration {
        let delays = self.scripts().filter_map(|script| match script.effect {
            Effect::Delay(delay) => Some(delay),
            _ => None,
        });
        delays.max().unwrap_or_default()
    }

    /// Whether it matters which requests there are: to permissions, faults, or expectations of requests, metrics and logs.
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

    /// Whether it matters how an object of a resource looks that nobody reads.
    pub(crate) fn depends_on(&self, resource: &str) -> bool {
        self.actions()
            .any(|action| action.resource().as_deref() == Some(resource))
            || expectations(self).any(|expect| expect.predicate.kind().depends_on(resource))
    }

    /// Whether the API server has the usual release and gates from the beginning to the end: then it is not what the case is about.
    pub fn has_usual_release(&self) -> bool {
        self.release == Release::default()
            && self.gates.is_empty()
            && !self.actions().any(|action| matches!(action, Action::Release(..)))
    }

    /// Whether a connection to the driver may end before both of its ends do.
    pub(crate) fn may_cut_connections(&self) -> bool {
        self.actions().any(|action| {
            cuts_connection(action) || matches!(action, Action::DriverUp(..) | Action::DriverDown(_))
        })
    }
}

/// What all steps expect.
fn expectations(plan: &Plan) -> impl Iterator<Item = &Expect> {
    plan.steps.iter().flat_map(|step| &step.expect)
}

//! A scenario whose names are resolved: Kubernetes objects, pools and expectations, ready to run.
//!
//! Resolving reads a [`Scenario`](crate::scenario::Scenario) and returns a [`Plan`], or an error with a file position. The plan contains
//! everything that runs, verdicts and reports need. Runs nothing.

mod action;
mod actions;
mod api;
mod backend;
mod callers;
mod case;
mod cluster_names;
mod default_maximum;
mod defined_names;
mod dependence;
mod dry_run;
mod edit;
mod features;
mod grants;
mod group_resource;
mod later_names;
mod metrics;
mod modelled;
pub(crate) mod objects;
mod pod_fields;
mod resolve;
mod scope;
mod settings;
mod steps;
mod vocabulary;

use std::ops::{Deref, DerefMut};

pub use crate::scenario::{Bound, duration};
pub use action::{Action, CsiCall, CsiCallKind, Labelled, Target};
pub use actions::{
    ActionSpec, CapacityAction, ChanceSpec, ClaimSpec, ClassAction, CsiCallSpec, CsiDriverAction,
    DeleteAction, FaultSpec, LabelOrder, LagSpec, MergeSpec, NodeAction, PodSpec, RegisterSpec, ReleaseSpec,
    ReserveSpec, ReservedClaimSpec, StaleSpec, VolumeMode,
};
pub(crate) use api::api;
pub(crate) use case::without_sidecar_parameters;
pub use case::{Case, DriverPlan, Grants, NAMESPACE, WORKLOADS};
pub use edit::{Edit, edit};
pub use features::{Feature, feature, features};
pub(crate) use grants::group_of;
pub use group_resource::GroupResource;
pub use resolve::{resolve, resolve_cluster};
pub(crate) use settings::poll_interval;

use crate::expectation::Expect;

/// Everything that a run and its verdict need: a case and its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The parts of a case that apply to all steps.
    pub case: Case,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// Makes the fields of the case accessible as fields of the plan.
impl Deref for Plan {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut Case {
        &mut self.case
    }
}

impl Plan {
    /// Inserts actions before all other actions of the case. `note`: the text of the inserted actions in the timeline.
    pub fn prepend_actions(&mut self, actions: impl IntoIterator<Item = Action>, note: &str) {
        if let Some(step) = self.steps.first_mut() {
            let actions = actions.into_iter().map(|action| (action, note.to_owned()));
            step.actions.splice(0..0, actions);
        }
    }

    pub(crate) fn expected_log_texts(&self) -> Vec<String> {
        let expectations = self.steps.iter().flat_map(|step| &step.expect);
        let patterns = expectations.flat_map(|expect| expect.predicate.kind().patterns());
        patterns.filter_map(|pattern| pattern.log.clone()).collect()
    }

    /// All actions of the case, in order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        let actions = self.steps.iter().flat_map(|step| &step.actions);
        actions.map(|(action, _)| action)
    }

    /// Driver fault rules of all steps, in order.
    pub(crate) fn driver_fault_rules(&self) -> impl Iterator<Item = &fake_csi::Rule> {
        self.actions().filter_map(|action| match action {
            Action::DriverFault { rule, .. } => Some(rule),
            _ => None,
        })
    }

    /// Maximum number of requests and calls, in total, that fault rules with limited `times` can affect.
    pub(crate) fn fault_matches_max(&self) -> u32 {
        let times = self.actions().filter_map(|action| match action {
            Action::Fault { rule, .. } => rule.times,
            Action::DriverFault { rule, .. } => rule.times,
            _ => None,
        });
        times.fold(0, u32::saturating_add)
    }
}

/// One step of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Id of the step, unique within the case.
    pub id: String,
    /// First line of the step in the case file.
    pub line: u64,
    /// Actions of the harness in this step, each with its timeline text.
    pub actions: Vec<(Action, String)>,
    /// Expectations of this step.
    pub expect: Vec<Expect>,
}

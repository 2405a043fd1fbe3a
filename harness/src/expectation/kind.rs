//! The interface of an expectation kind, and the case data and facts that it uses.
//!
//! Each kind implements [`Expectation`] in a file of its own and has one line in the registry of the parent module. Does not know any
//! particular kind.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::chain::{Chain, Window};
use super::pattern::Pattern;
use super::rows::{DiffRow, RowState};
use crate::cluster_state::ClusterState;
use crate::journal::{Fact, Observation};
use crate::plan::{Case, GroupResource};
use crate::scenario::{Bound, Role};

/// A kind of expectation. A state kind compares the cluster state and returns rows; a fact kind observes the facts of the step.
pub(crate) trait Expectation: Debug {
    /// Checks that the case defines every name that the expectation uses, and resolves the names. Errors are messages; the caller adds the
    /// file position.
    fn resolve(&mut self, names: &dyn Names, always: bool) -> Result<(), String>;

    /// Whether the key `always` is allowed: the state can be compared at every moment.
    fn may_be_always(&self) -> bool {
        true
    }

    /// How long the condition must stay true if the case does not set `stays`. `polls`: whether the publisher polls GetCapacity.
    fn default_hold(&self, _polls: bool) -> Option<Bound> {
        None
    }

    /// Whether the expectation is negative: something must not happen. A negative expectation can hold only after the programs have
    /// processed the changes of the step.
    fn is_negative(&self, has_hold: bool) -> bool;

    /// The fact patterns of this expectation.
    fn patterns(&self) -> Vec<&Pattern> {
        Vec::new()
    }

    /// Whether objects of this resource can change the result of the expectation.
    fn depends_on(&self, resource: &str) -> bool {
        let mut resources = self.patterns().into_iter().filter_map(Pattern::resource);
        resources.any(|of| [resource, "*"].contains(&of))
    }

    /// Pods with a negative expectation, which the scheduler must attempt to schedule again in the step. None: all pods may be affected.
    fn negative_pods(&self, _cluster: &ClusterState) -> Option<Vec<String>> {
        None
    }

    /// For kinds that compare the cluster state: one row for each compared object or value.
    fn rows(&self, _case: &Case, _cluster: &ClusterState) -> Vec<DiffRow> {
        Vec::new()
    }

    /// For kinds that compare the cluster state: whether all rows match.
    fn holds(&self, case: &Case, cluster: &ClusterState) -> bool {
        all_rows_match(&self.rows(case, cluster))
    }

    /// For kinds that compare the cluster state: whether a fact can change a row.
    fn is_affected_by(&self, what: &Observation) -> bool {
        affects_state(what)
    }

    /// For kinds that compare the cluster state: whether the rows are final as soon as the actions of the step are done.
    fn is_decided_by_actions(&self) -> bool {
        false
    }

    /// For kinds that observe facts: processes the next fact of the step.
    fn observe(&self, _seen: &mut ObservationState, _view: FactView<'_>, _fact: &Fact) -> Observed {
        Observed::Nothing
    }

    /// For kinds that observe facts: whether the expectation holds without further facts. None for kinds that compare the cluster state.
    fn is_satisfied(&self, _seen: &ObservationState) -> Option<bool> {
        None
    }

    /// The reason to report if the condition does not become true before the timeout.
    fn timeout_reason(&self) -> Reason {
        Reason::Timeout
    }

    /// The causal chain for a row of expected and actual values, up to the first event that no fact proves.
    fn row_chain(&self, _window: &Window<'_>, _row: &DiffRow) -> Chain {
        Chain::default()
    }

    /// For kinds that observe facts: the causal chain up to the first unproven event. `decided_by`: the fact that caused the failure.
    fn chain(&self, _window: &Window<'_>, _seen: &ObservationState, _decided_by: u64) -> Chain {
        Chain::default()
    }

    /// The causal chain of a failure: for the first row that differs, or for the observed facts.
    fn failure_chain(
        &self,
        window: &Window<'_>,
        rows: &[DiffRow],
        seen: &ObservationState,
        decided_by: u64,
    ) -> Chain {
        match rows.iter().find(|row| row.state != RowState::Same) {
            Some(row) => self.row_chain(window, row),
            None => self.chain(window, seen, decided_by),
        }
    }

    /// The failure of the expectation in one line; None for the default line. `timeout` formats how long the judge waited, and why.
    fn summary(
        &self,
        _seen: &ObservationState,
        _reason: Reason,
        _timeout: &dyn Fn() -> String,
    ) -> Option<String> {
        None
    }
}

pub(crate) fn all_rows_match(rows: &[DiffRow]) -> bool {
    rows.iter().all(|row| row.state == RowState::Same)
}

/// Whether a fact can change the compared state: a commit, a driver response, a discovery result, or the end of the step's actions.
pub(crate) fn affects_state(what: &Observation) -> bool {
    matches!(
        what,
        Observation::Commit(_)
            | Observation::StepActed(_)
            | Observation::Answer(_)
            | Observation::Discovery(_)
    )
}

/// Why an expectation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The condition did not become true before the timeout.
    Timeout,
    /// A forbidden fact occurred.
    Violated,
    /// The `after` fact, which starts the window of a `never` expectation, did not occur.
    NoEvidence,
    /// The driver's response differs from the expected one, and the case does not repeat the call.
    OtherResponse,
    /// A program exited with a message that does not contain the expected text.
    OtherMessage,
}

/// The facts of the step that a fact expectation has observed so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservationState {
    /// Number of facts that match the pattern.
    pub(crate) count: u64,
    /// Maximum number of matching facts that is allowed so far.
    pub(crate) limit: Option<u64>,
    /// Roles whose programs have exited as expected.
    pub(crate) ended: BTreeSet<Role>,
}

/// The effect of a fact on an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// The expectation ignores the fact.
    Nothing,
    /// The fact matches a pattern of the expectation.
    Counted,
    /// The expectation can no longer hold.
    Failed(Reason),
}

/// A fact's context, which is needed to match the fact against a pattern.
#[derive(Clone, Copy)]
pub(crate) struct FactView<'a> {
    pub(crate) case: &'a Case,
    /// Whether the fact is the write or watch event of a duplicate object, which no expectation counts.
    pub(crate) is_uncounted: bool,
    /// Poll intervals since the step began.
    pub(crate) refreshes: f64,
}

impl FactView<'_> {
    pub(crate) fn matches(&self, pattern: &Pattern, fact: &Fact) -> bool {
        !self.is_uncounted && pattern.matches(self.case, fact)
    }
}

/// The names that the case has defined up to a step. Errors list the defined names and how to fix the case.
pub(crate) trait Names {
    /// Checks that the workload namespace has a pod with this name.
    fn check_pod(&self, name: &str) -> Result<(), String>;
    /// Checks that the workload namespace has a PVC with this name.
    fn check_claim(&self, name: &str) -> Result<(), String>;
    /// Checks that a StorageClass with this name exists in the step.
    fn check_class(&self, name: &str) -> Result<(), String>;
    /// Checks that a node with this name exists in the step.
    fn check_node(&self, name: &str) -> Result<(), String>;
    /// The canonical text of a topology segment; an error if no node ever has the segment.
    fn resolve_segment(&self, text: &str) -> Result<String, String>;
    /// Checks a plural resource name, with or without subresource, or `*`.
    fn check_resource(&self, text: &str) -> Result<(), String>;
    /// Checks that an earlier call has given a driver response this name.
    fn check_response(&self, name: &str) -> Result<(), String>;
    /// Checks that the case runs a program of the role.
    fn check_runs(&self, role: Role) -> Result<(), String>;
    /// Checks that the API server serves CSIStorageCapacity in the step.
    fn check_can_have_capacities(&self) -> Result<(), String>;
    /// Whether the step creates the pod.
    fn creates_pod(&self, name: &str) -> bool;
    /// Whether the step has a `discover` action for the resource.
    fn discovers(&self, resource: &GroupResource) -> bool;
    /// Checks the method, parameters, faults, objects and nodes of a pattern, and completes the pattern's segments and parameters.
    fn resolve_pattern(&self, pattern: &mut Pattern) -> Result<(), String>;
}

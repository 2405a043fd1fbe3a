//! The interface of an expectation kind, and the data about the case and the facts that it receives.
//!
//! Each kind implements [`Expectation`] in a file of its own and has one line in the registry of the parent module. Does not know any kind.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::chain::{Chain, Window};
use super::pattern::Pattern;
use super::rows::{DiffRow, RowState};
use crate::cluster_state::ClusterState;
use crate::journal::{Fact, What};
use crate::plan::{Case, GroupResource};
use crate::scenario::{Bound, Role};

/// An expectation kind. A kind checks either the cluster state (it returns rows) or the facts of the step (it observes them).
pub(crate) trait Expectation: Debug {
    /// Checks that the case defines every name, and replaces names by what they refer to. Errors are messages; the caller adds the file
    /// position.
    fn resolve(&mut self, names: &dyn Names, always: bool) -> Result<(), String>;

    /// Whether `always` is allowed: the state can be compared at every moment.
    fn may_be_always(&self) -> bool {
        true
    }

    /// How long the condition must stay true if the case sets no `stays`. `polls`: whether the publisher polls GetCapacity.
    fn default_hold(&self, _polls: bool) -> Option<Bound> {
        None
    }

    /// Whether the expectation is negative: something must not happen (any more). It can hold only once the systems have processed the
    /// step's changes.
    fn is_negative(&self, has_hold: bool) -> bool;

    /// The fact patterns of this expectation.
    fn patterns(&self) -> Vec<&Pattern> {
        Vec::new()
    }

    /// Whether the result of the expectation depends on objects of this resource.
    fn depends_on(&self, resource: &str) -> bool {
        let mut resources = self.patterns().into_iter().filter_map(Pattern::resource);
        resources.any(|of| [resource, "*"].contains(&of))
    }

    /// Pods with a negative expectation: the scheduler must decide about them again in the step. None if any pod may be affected.
    fn pods(&self, _cluster: &ClusterState) -> Option<Vec<String>> {
        None
    }

    /// State kinds: one row for each object or value compared.
    fn rows(&self, _case: &Case, _cluster: &ClusterState) -> Vec<DiffRow> {
        Vec::new()
    }

    /// State kinds: whether all rows match.
    fn holds(&self, case: &Case, cluster: &ClusterState) -> bool {
        holds(&self.rows(case, cluster))
    }

    /// State kinds: whether a fact can change a row.
    fn is_affected_by(&self, what: &What) -> bool {
        affects_state(what)
    }

    /// State kinds: whether the rows are final once the step's actions are done.
    fn is_decided_by_actions(&self) -> bool {
        false
    }

    /// Fact kinds: processes the next fact of the step.
    fn observe(&self, _seen: &mut Seen, _view: FactView<'_>, _fact: &Fact) -> Observed {
        Observed::Nothing
    }

    /// Fact kinds: whether no further fact is needed. None for state kinds.
    fn is_satisfied(&self, _seen: &Seen) -> Option<bool> {
        None
    }

    /// The failure reason on timeout.
    fn timeout_reason(&self) -> Reason {
        Reason::Timeout
    }

    /// The causal chain for a row, up to the first link without evidence.
    fn row_chain(&self, _window: &Window<'_>, _row: &DiffRow) -> Chain {
        Chain::default()
    }

    /// Fact kinds: the causal chain up to the first link without evidence. `decided_by`: the fact that caused the failure.
    fn chain(&self, _window: &Window<'_>, _seen: &Seen, _decided_by: u64) -> Chain {
        Chain::default()
    }

    /// The causal chain of a failure: for the first row that differs, or for the observed facts.
    fn failure_chain(&self, window: &Window<'_>, rows: &[DiffRow], seen: &Seen, decided_by: u64) -> Chain {
        match rows.iter().find(|row| row.state != RowState::Same) {
            Some(row) => self.row_chain(window, row),
            None => self.chain(window, seen, decided_by),
        }
    }

    /// The failure in one line. `timeout` formats the timeout and what was awaited. None for the default line.
    fn summary(&self, _seen: &Seen, _reason: Reason, _timeout: &dyn Fn() -> String) -> Option<String> {
        None
    }
}

/// Whether all rows match.
pub(crate) fn holds(rows: &[DiffRow]) -> bool {
    rows.iter().all(|row| row.state == RowState::Same)
}

/// Whether a fact can change cluster state: a committed object, a driver response, discovery, or the end of the step's actions.
pub(crate) fn affects_state(what: &What) -> bool {
    matches!(
        what,
        What::Commit(_) | What::StepActed(_) | What::Answer(_) | What::Discovery(_)
    )
}

/// Why an expectation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The condition did not become true before the timeout.
    Timeout,
    /// A forbidden fact occurred.
    Violated,
    /// The fact that starts the window of a negative expectation did not occur.
    NoEvidence,
    /// The driver returned a different response and is not called again.
    OtherResponse,
    /// A program exited with a different message.
    OtherMessage,
}

/// Facts that a fact expectation has observed in the step so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Number of matching facts.
    pub(crate) count: u64,
    /// Maximum allowed number at this moment.
    pub(crate) limit: Option<u64>,
    /// Roles whose programs exited as expected.
    pub(crate) ended: BTreeSet<Role>,
}

/// Effect of a fact on an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// The fact does not concern the expectation.
    Nothing,
    /// The fact matches.
    Counted,
    /// The expectation can no longer hold.
    Failed(Reason),
}

/// The data for comparing a fact with a pattern.
#[derive(Clone, Copy)]
pub(crate) struct FactView<'a> {
    pub(crate) case: &'a Case,
    /// Whether the fact is a redundant write that no expectation counts.
    pub(crate) is_uncounted: bool,
    /// Poll intervals since the step began.
    pub(crate) refreshes: f64,
}

impl FactView<'_> {
    pub(crate) fn matches(&self, pattern: &Pattern, fact: &Fact) -> bool {
        !self.is_uncounted && pattern.matches(self.case, fact)
    }
}

/// Names that the case has defined up to a step. Errors list the defined names and the fix.
pub(crate) trait Names {
    /// Checks for a pod in the workload namespace.
    fn pod(&self, name: &str) -> Result<(), String>;
    /// Checks for a PVC in the workload namespace.
    fn claim(&self, name: &str) -> Result<(), String>;
    /// Checks for a StorageClass that exists at that step.
    fn class(&self, name: &str) -> Result<(), String>;
    /// Checks for a node that exists at that step.
    fn node(&self, name: &str) -> Result<(), String>;
    /// The canonical text of a topology segment that a node has at some time.
    fn segment(&self, text: &str) -> Result<String, String>;
    /// Checks for a plural resource name, with or without subresource, or `*`.
    fn resource(&self, text: &str) -> Result<(), String>;
    /// Checks for a named driver response.
    fn response(&self, name: &str) -> Result<(), String>;
    /// Checks that a program of the role runs.
    fn runs(&self, role: Role) -> Result<(), String>;
    /// Checks that the API server serves CSIStorageCapacity by that step.
    fn can_have_capacities(&self) -> Result<(), String>;
    /// Whether this step creates the pod.
    fn creates_pod(&self, name: &str) -> bool;
    /// Whether this step has a `discover` action for the resource.
    fn discovers(&self, resource: &GroupResource) -> bool;
    /// Checks the method, parameters, faults, objects and nodes of a pattern, and completes its segments and parameters.
    fn pattern(&self, pattern: &mut Pattern) -> Result<(), String>;
}

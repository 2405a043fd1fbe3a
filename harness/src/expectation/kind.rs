//! What the harness needs to know of one kind of expectation, and what it tells that kind about the case and the facts.
//!
//! Each kind implements [`Expectation`] in a file of its own and has one line in the registry, the parent module. Does not know any kind.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::chain::{Chain, Window};
use super::pattern::Pattern;
use super::rows::{DiffRow, RowState};
use crate::cluster_state::ClusterState;
use crate::journal::{Fact, What};
use crate::plan::{Case, GroupResource};
use crate::scenario::{Bound, Role};

/// One kind of expectation. A kind is either about the state of the cluster (it has rows) or about the facts of the step (it observes them).
pub(crate) trait Expectation: Debug {
    /// Checks that the case defines every name, and replaces names of the case by what they stand for. Errors are texts; the caller adds
    /// the place.
    fn resolve(&mut self, names: &dyn Names, always: bool) -> Result<(), String>;

    /// Whether `always` makes sense: the state can be compared at every moment.
    fn may_be_always(&self) -> bool {
        true
    }

    /// How long it has to stay true where the case does not say; `polls`: whether the publisher refreshes by itself.
    fn default_hold(&self, _polls: bool) -> Option<Bound> {
        None
    }

    /// Whether it says that something does not happen, or no longer. Silence counts for it only once the systems have seen what the step
    /// changed.
    fn is_negative(&self, has_hold: bool) -> bool;

    /// The patterns of facts that it names.
    fn patterns(&self) -> Vec<&Pattern> {
        Vec::new()
    }

    /// Whether its verdict depends on how objects of that resource look.
    fn depends_on(&self, resource: &str) -> bool {
        let mut resources = self.patterns().into_iter().filter_map(Pattern::resource);
        resources.any(|of| [resource, "*"].contains(&of))
    }

    /// The pods about which it says something negative, so that the scheduler has to decide about them again in the step; none: it may be
    /// about any pod.
    fn pods(&self, _cluster: &ClusterState) -> Option<Vec<String>> {
        None
    }

    /// State: a row for each thing that it is about.
    fn rows(&self, _case: &Case, _cluster: &ClusterState) -> Vec<DiffRow> {
        Vec::new()
    }

    /// State: whether all rows are as wanted.
    fn holds(&self, case: &Case, cluster: &ClusterState) -> bool {
        holds(&self.rows(case, cluster))
    }

    /// State: whether a fact may change a row.
    fn is_moved_by(&self, what: &What) -> bool {
        moves_state(what)
    }

    /// State: whether it can no longer change once the step has acted.
    fn is_decided_by_actions(&self) -> bool {
        false
    }

    /// Facts: observes the next fact of the step.
    fn observe(&self, _seen: &mut Seen, _view: FactView<'_>, _fact: &Fact) -> Observed {
        Observed::Nothing
    }

    /// Facts: whether nothing more has to be seen; none: the kind is about state.
    fn is_satisfied(&self, _seen: &Seen) -> Option<bool> {
        None
    }

    /// Why it failed where its time is over.
    fn missed(&self) -> Reason {
        Reason::Late
    }

    /// What had to happen for a row to be as wanted, up to the first thing that did not.
    fn row_chain(&self, _window: &Window<'_>, _row: &DiffRow) -> Chain {
        Chain::default()
    }

    /// Facts: what had to happen, up to the first thing that did not. `decided_by`: the fact that made it fail.
    fn chain(&self, _window: &Window<'_>, _seen: &Seen, _decided_by: u64) -> Chain {
        Chain::default()
    }

    /// What had to happen and did not: for the first row that is not as wanted, or for what was seen.
    fn failure_chain(&self, window: &Window<'_>, rows: &[DiffRow], seen: &Seen, decided_by: u64) -> Chain {
        match rows.iter().find(|row| row.state != RowState::Same) {
            Some(row) => self.row_chain(window, row),
            None => self.chain(window, seen, decided_by),
        }
    }

    /// The failure in one line; `late`: that its time is over, with what was waited for. None: the usual line.
    fn summary(&self, _seen: &Seen, _reason: Reason, _late: &dyn Fn() -> String) -> Option<String> {
        None
    }
}

/// Whether all rows are as wanted.
pub(crate) fn holds(rows: &[DiffRow]) -> bool {
    rows.iter().all(|row| row.state == RowState::Same)
}

/// Whether a fact changes objects, answers or what is served, or ends the actions of a step.
pub(crate) fn moves_state(what: &What) -> bool {
    matches!(
        what,
        What::Commit(_) | What::StepActed(_) | What::Answer(_) | What::Discovery(_)
    )
}

/// Why an expectation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It did not become true in time.
    Late,
    /// A fact that must not be seen was seen.
    Violated,
    /// The fact that starts the window of a negative expectation was not seen.
    NoEvidence,
    /// The driver has answered something else, and is not called again.
    OtherAnswer,
    /// A role has ended with other words.
    OtherWords,
}

/// What an expectation about facts has seen in the step so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// Number of facts that counted.
    pub(crate) count: u64,
    /// How many there may be by now.
    pub(crate) limit: Option<u64>,
    /// The roles that have ended as they must.
    pub(crate) ended: BTreeSet<Role>,
}

/// What a fact means to an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// Nothing.
    Nothing,
    /// It counts.
    Counted,
    /// The expectation can no longer be shown.
    Failed(Reason),
}

/// What is needed to compare a fact with a pattern.
#[derive(Clone, Copy)]
pub(crate) struct FactView<'a> {
    pub(crate) case: &'a Case,
    /// Whether the fact is a write that no expectation counts.
    pub(crate) is_surplus: bool,
    /// Poll intervals since the step began.
    pub(crate) refreshes: f64,
}

impl FactView<'_> {
    pub(crate) fn matches(&self, pattern: &Pattern, fact: &Fact) -> bool {
        !self.is_surplus && pattern.matches(self.case, fact)
    }
}

/// The names that the case has defined by a step. Errors name what is defined, and the remedy.
pub(crate) trait Names {
    /// A pod in the namespace of workloads.
    fn pod(&self, name: &str) -> Result<(), String>;
    /// A claim in the namespace of workloads.
    fn claim(&self, name: &str) -> Result<(), String>;
    /// A storage class that exists by then.
    fn class(&self, name: &str) -> Result<(), String>;
    /// A node that exists by then.
    fn node(&self, name: &str) -> Result<(), String>;
    /// The usual text of a segment that some node has at some time.
    fn segment(&self, text: &str) -> Result<String, String>;
    /// Plural name of a resource, with or without a subresource, or `*`.
    fn resource(&self, text: &str) -> Result<(), String>;
    /// An answer of the driver.
    fn answer(&self, name: &str) -> Result<(), String>;
    /// The role runs.
    fn runs(&self, role: Role) -> Result<(), String>;
    /// The API server has served CSIStorageCapacity by then.
    fn can_have_capacities(&self) -> Result<(), String>;
    /// Whether the step itself creates the pod.
    fn creates_pod(&self, name: &str) -> bool;
    /// Whether the step has a `discover` of the resource.
    fn discovers(&self, resource: &GroupResource) -> bool;
    /// Checks the method, parameters, faults, objects and nodes of a pattern, and completes its segments and parameters.
    fn pattern(&self, pattern: &mut Pattern) -> Result<(), String>;
}

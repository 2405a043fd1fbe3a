//! The `never` expectation: a fact that must not occur, optionally only after another fact.

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, FactView, Names, ObservationState, Observed, Reason};
use super::pattern::Pattern;
use crate::journal::Fact;

/// The forbidden fact. The forbidden window starts with the fact `after`, or with the step if `after` is unset.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Never(pub Pattern);

impl Never {
    pub(super) const EXAMPLE: &str = "never: {write: delete csistoragecapacities}";
    pub(super) const HOLDS: &str = "no fact in the step matches the pattern; with `after`, no fact after the first fact that matches `after`";

    fn after(&self) -> Option<&Pattern> {
        self.0.after.as_deref()
    }

    /// Whether the forbidden window has started: the fact `after` is unset or has occurred.
    fn is_open(&self, seen: &ObservationState) -> bool {
        self.0.after.is_none() || seen.count > 0
    }
}

impl Expectation for Never {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        let mut after = self.0.after.take();
        if let Some(after) = &mut after {
            names.resolve_pattern(after)?;
        }
        names.resolve_pattern(&mut self.0)?;
        self.0.after = after;
        Ok(())
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        true
    }

    fn patterns(&self) -> Vec<&Pattern> {
        self.after().into_iter().chain([&self.0]).collect()
    }

    fn observe(&self, seen: &mut ObservationState, view: FactView<'_>, fact: &Fact) -> Observed {
        if self.is_open(seen) {
            return match view.matches(&self.0, fact) {
                true => Observed::Failed(Reason::Violated),
                false => Observed::Nothing,
            };
        }
        match self.after().is_some_and(|after| view.matches(after, fact)) {
            true => {
                seen.count += 1;
                Observed::Counted
            }
            false => Observed::Nothing,
        }
    }

    fn is_satisfied(&self, seen: &ObservationState) -> Option<bool> {
        Some(self.is_open(seen))
    }

    fn timeout_reason(&self) -> Reason {
        Reason::NoEvidence
    }

    fn chain(&self, window: &Window<'_>, _: &ObservationState, decided_by: u64) -> Chain {
        let rule = format!("no {}", self.0.format());
        let Some(after) = self.after() else {
            return window.violation_chain(&rule, decided_by);
        };
        let mut chain = Chain::default();
        let begun = window.step().find(|fact| after.matches(window.case, fact));
        let otherwise = format!("never seen{}", after.nearest_fact(window));
        if chain.add_link(after.format(), begun, otherwise) {
            chain
                .links
                .extend(window.violation_chain(&rule, decided_by).links);
        }
        chain
    }

    fn summary(&self, _: &ObservationState, reason: Reason, _: &dyn Fn() -> String) -> Option<String> {
        match (reason, self.after()) {
            (Reason::NoEvidence, Some(after)) => Some(format!(
                "no evidence: {} did not occur, so the forbidden window never started",
                after.format()
            )),
            (Reason::Violated, _) => Some(format!("occurred, although it must not: {}", self.0.format())),
            _ => None,
        }
    }
}

//! The `order` expectation: facts that must occur in this order in the step.

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, FactView, Names, ObservationState, Observed, Reason};
use super::pattern::Pattern;
use crate::journal::Fact;

/// Patterns of the facts, in the order in which the facts must occur.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Order(pub Vec<Pattern>);

impl Order {
    pub(super) const EXAMPLE: &str = "order: […, …]";
    pub(super) const HOLDS: &str = "facts that match these patterns occur in this order in the step";
}

impl Expectation for Order {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        self.0
            .iter_mut()
            .try_for_each(|pattern| names.resolve_pattern(pattern))
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        false
    }

    fn patterns(&self) -> Vec<&Pattern> {
        self.0.iter().collect()
    }

    fn observe(&self, seen: &mut ObservationState, view: FactView<'_>, fact: &Fact) -> Observed {
        let next = usize::try_from(seen.count).ok().and_then(|at| self.0.get(at));
        if !next.is_some_and(|next| view.matches(next, fact)) {
            return Observed::Nothing;
        }
        seen.count += 1;
        Observed::Counted
    }

    fn is_satisfied(&self, seen: &ObservationState) -> Option<bool> {
        Some(seen.count >= self.0.len() as u64)
    }

    fn chain(&self, window: &Window<'_>, _: &ObservationState, _: u64) -> Chain {
        let mut chain = Chain::default();
        let mut facts = window.step();
        for pattern in &self.0 {
            let evidence = facts.find(|fact| pattern.matches(window.case, fact));
            if !chain.add_link(pattern.format(), evidence, "never, after the facts before it") {
                break;
            }
        }
        chain
    }

    fn summary(&self, seen: &ObservationState, _: Reason, timeout: &dyn Fn() -> String) -> Option<String> {
        Some(format!(
            "{}: {} of {} events were seen in this order",
            timeout(),
            seen.count,
            self.0.len()
        ))
    }
}

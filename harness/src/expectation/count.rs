//! The `count` expectation: how often a fact occurs in the step.

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, FactView, Names, ObservationState, Observed, Reason};
use super::pattern::Pattern;
use crate::journal::Fact;

/// How often matching facts must occur in the step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Count {
    /// The pattern of the facts to count.
    pub of: Pattern,
    /// Minimum number of occurrences.
    #[serde(default)]
    pub min: u64,
    /// Maximum number of occurrences. Unset: no maximum.
    pub max: Option<u64>,
    /// Number added to `max` for each poll interval (`refresh`) since the step began, because a busy host makes steps longer.
    pub per_refresh: Option<f64>,
}

impl Count {
    pub(super) const EXAMPLE: &str = "count: {of: …, min: 1, max: 3}";
    pub(super) const HOLDS: &str =
        "the step contains at least `min` and at most `max` occurrences of the pattern";

    /// Maximum number of occurrences after this number of poll intervals.
    fn limit(&self, refreshes: f64) -> Option<u64> {
        // The cast drops the fraction. No step has so many poll intervals that the product exceeds a u64.
        self.max
            .map(|max| max + (self.per_refresh.unwrap_or_default() * refreshes) as u64)
    }
}

impl Expectation for Count {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        if self.min == 0 && self.max.is_none() {
            return Err("`count` needs `min` or `max`; without them it can't fail".to_owned());
        }
        if let Some(max) = self.max.filter(|max| *max < self.min) {
            let min = self.min;
            return Err(format!(
                "`min` {min} is above `max` {max}, so the expectation could not hold; swap or correct them"
            ));
        }
        if let Some(rate) = self.per_refresh {
            if self.max.is_none() {
                return Err("`perRefresh` adds to `max`; set `max` too".to_owned());
            }
            if !(0.0..=1000.0).contains(&rate) {
                return Err(format!("`perRefresh` is a number from 0 to 1000, not {rate}"));
            }
        }
        names.resolve_pattern(&mut self.of)
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        self.max.is_some()
    }

    fn patterns(&self) -> Vec<&Pattern> {
        vec![&self.of]
    }

    fn observe(&self, seen: &mut ObservationState, view: FactView<'_>, fact: &Fact) -> Observed {
        if !view.matches(&self.of, fact) {
            return Observed::Nothing;
        }
        seen.count += 1;
        seen.limit = self.limit(view.refreshes);
        match seen.limit.is_some_and(|limit| seen.count > limit) {
            true => Observed::Failed(Reason::Violated),
            false => Observed::Counted,
        }
    }

    fn is_satisfied(&self, seen: &ObservationState) -> Option<bool> {
        Some(seen.count >= self.min)
    }

    fn chain(&self, window: &Window<'_>, seen: &ObservationState, decided_by: u64) -> Chain {
        let of = self.of.format();
        if let Some(limit) = seen.limit.filter(|limit| seen.count > *limit) {
            return window.violation_chain(&format!("at most {limit} × {of}"), decided_by);
        }
        let mut chain = Chain::default();
        let note = format!("{}{}", format_seen(seen.count), self.of.nearest_fact(window));
        chain.add_missing_link(format!("{} × {of}", self.min), note);
        chain
    }

    fn summary(
        &self,
        seen: &ObservationState,
        reason: Reason,
        timeout: &dyn Fn() -> String,
    ) -> Option<String> {
        let of = self.of.format();
        let times = format_seen(seen.count);
        Some(match reason {
            Reason::Violated => {
                let limit = seen.limit.unwrap_or_default();
                format!("{of} was {times}; at most {limit} allowed")
            }
            _ => format!("{}: {of} was {times}", timeout()),
        })
    }
}

fn format_seen(number: u64) -> String {
    match number {
        0 => "never seen".to_owned(),
        1 => "seen once".to_owned(),
        number => format!("seen {number} times"),
    }
}

//! The `ends` expectation: roles whose program must exit by itself in the step, for example because it rejects its configuration.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, FactView, Names, ObservationState, Observed, Reason};
use crate::journal::{Fact, Observation, ProcessEvent};
use crate::scenario::Role;

/// Text that the exit reason or the last log lines must contain, by role.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Ends(pub BTreeMap<Role, String>);

impl Ends {
    pub(super) const EXAMPLE: &str = "ends: {publisher: TEXT}";
    pub(super) const HOLDS: &str = "the role's program exits in the step, for example because it rejects its settings, and its last log lines contain the \
        text. In a step without this expectation, an exit is a failure";
}

impl Expectation for Ends {
    fn resolve(&mut self, _: &dyn Names, _: bool) -> Result<(), String> {
        Ok(())
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        false
    }

    fn observe(&self, seen: &mut ObservationState, _: FactView<'_>, fact: &Fact) -> Observed {
        let Observation::Process(process) = &fact.what else {
            return Observed::Nothing;
        };
        let (ProcessEvent::Exited(exit), Some(text)) = (&process.event, self.0.get(&process.role)) else {
            return Observed::Nothing;
        };
        if !exit.to_string().contains(text) {
            return Observed::Failed(Reason::OtherMessage);
        }
        seen.ended.insert(process.role);
        Observed::Counted
    }

    fn is_satisfied(&self, seen: &ObservationState) -> Option<bool> {
        Some(seen.ended.len() == self.0.len())
    }

    fn chain(&self, window: &Window<'_>, _: &ObservationState, decided_by: u64) -> Chain {
        let mut chain = Chain::default();
        let has_ended = |fact: &&Fact, role: Role| {
            matches!(&fact.what, Observation::Process(process)
                if process.role == role && matches!(process.event, ProcessEvent::Exited(_)))
        };
        for (role, text) in &self.0 {
            let ended = window.step().find(|fact| has_ended(fact, *role));
            let role = role.as_str();
            if !chain.add_link(format!("the {role} exits"), ended, "it is still running") {
                break;
            }
            if let Some(fact) = ended.filter(|fact| fact.seq == decided_by) {
                let note = crate::fact_display::format_fact(fact);
                chain.add_missing_link(format!("the {role} exits with “{text}”"), note);
            }
        }
        chain
    }

    fn summary(&self, _: &ObservationState, reason: Reason, _: &dyn Fn() -> String) -> Option<String> {
        (reason == Reason::OtherMessage).then(|| "it exited with a different message".to_owned())
    }
}

//! Rate limiters and counters for programs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::event::Event;
use crate::world::{Instance, Parameters};

/// A rate limit: burst, and then a number per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) burst: u32,
    pub(super) per_second: u32,
}

/// The state of a rate limit, as time: each use costs the interval between uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    left: Duration,
    at: Duration,
}

impl Pace {
    /// Whether the limit admits another use at this time.
    pub(super) fn admits(self, credit: &mut Option<Credit>, at: Duration) -> bool {
        let cost = Duration::from_secs(1) / self.per_second.max(1);
        let full = cost * self.burst;
        let credit = credit.get_or_insert(Credit { left: full, at });
        let earned = at.saturating_sub(credit.at);
        credit.left = full.min(credit.left + earned);
        credit.at = at;
        let after = credit.left.checked_sub(cost);
        credit.left = after.unwrap_or_default();
        after.is_some()
    }
}

/// Usage counters.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces {
    /// By client, resource and namespace.
    pub(super) watches: BTreeMap<(Arc<str>, String, Option<String>), Option<Credit>>,
    /// GetCapacity calls.
    pub(super) questions: BTreeMap<Instance, Option<Credit>>,
    /// Number of calls of a publisher with equal arguments since the last relevant event.
    pub(super) in_vain: BTreeMap<Instance, BTreeMap<(Parameters, Segment), u32>>,
}

impl Paces {
    /// Records an event: most events are a reason to call GetCapacity.
    pub(super) fn happened(&mut self, event: &Event) {
        let is_nothing = match event {
            Event::Asked { answer, .. } => answer.is_some(),
            Event::Requested(request) => request.is_answered,
            Event::Delivered { .. } | Event::Led(_) | Event::Quiet => true,
            _ => false,
        };
        if !is_nothing {
            self.in_vain.clear();
        }
    }

    /// A publisher starts or stops.
    pub(super) fn restarted(&mut self, instance: &Instance) {
        self.questions.remove(instance);
    }
}

//! How often programs have asked, as far as that is limited.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::event::Event;
use crate::world::{Instance, Parameters};

/// So many at once, and then so many in each second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) burst: u32,
    pub(super) per_second: u32,
}

/// What is left of a pace, in time: each use takes the time after which there is another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    left: Duration,
    at: Duration,
}

impl Pace {
    /// Whether there may be another use at that time.
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

/// How often what was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces {
    /// By client, resource and namespace.
    pub(super) watches: BTreeMap<(Arc<str>, String, Option<String>), Option<Credit>>,
    /// Of the driver.
    pub(super) questions: BTreeMap<Instance, Option<Credit>>,
    /// How often a publisher has asked for a figure since anything has happened.
    pub(super) in_vain: BTreeMap<Instance, BTreeMap<(Parameters, Segment), u32>>,
}

impl Paces {
    /// Takes in that something happens: after most of it a publisher may ask.
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

    /// A publisher starts or ends.
    pub(super) fn restarted(&mut self, instance: &Instance) {
        self.questions.remove(instance);
    }
}

//! Rate limits for actions of programs, and the counters that the limits need.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;

use super::event::Event;
use crate::world::{Instance, Parameters};

/// A rate limit: a burst, and a number of actions per second after that.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateLimit {
    pub(super) burst: u32,
    pub(super) per_second: u32,
}

/// The state of a rate limit (token bucket), measured in time: each action costs the interval between two actions.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    left: Duration,
    at: Duration,
}

impl RateLimit {
    pub(super) fn admits(self, tokens: &mut Option<TokenBucket>, at: Duration) -> bool {
        let cost = Duration::from_secs(1) / self.per_second.max(1);
        let full = cost * self.burst;
        let tokens = tokens.get_or_insert(TokenBucket { left: full, at });
        let earned = at.saturating_sub(tokens.at);
        tokens.left = full.min(tokens.left + earned);
        tokens.at = at;
        let after = tokens.left.checked_sub(cost);
        tokens.left = after.unwrap_or_default();
        after.is_some()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct RateCounters {
    /// State of the limit for starting watches, by client, resource and namespace.
    pub(super) watches: BTreeMap<(Arc<str>, String, Option<String>), Option<TokenBucket>>,
    /// State of the limit for GetCapacity calls, by publisher.
    pub(super) get_capacity_calls: BTreeMap<Instance, Option<TokenBucket>>,
    /// By publisher: number of GetCapacity calls with equal arguments since the last event that is a reason for a call.
    pub(super) repeated_calls: BTreeMap<Instance, BTreeMap<(Parameters, Segment), u32>>,
}

impl RateCounters {
    /// Resets the counters of repeated calls for an event that is a reason to call GetCapacity, as most events are.
    pub(super) fn record_event(&mut self, event: &Event) {
        let is_no_reason = match event {
            Event::GetCapacity { response, .. } => response.is_some(),
            Event::ApiRequested(request) => request.is_successful,
            Event::ObjectDelivered { .. } | Event::LeaseHeld(_) | Event::Quiescent => true,
            _ => false,
        };
        if !is_no_reason {
            self.repeated_calls.clear();
        }
    }

    /// Resets the rate limit of GetCapacity calls of a publisher that starts or stops.
    pub(super) fn publisher_restarted(&mut self, instance: &Instance) {
        self.get_capacity_calls.remove(instance);
    }
}

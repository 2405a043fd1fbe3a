//! Rules for the rate of actions: restarted watches, GetCapacity calls with a rate limit, and GetCapacity calls without a reason.

use std::time::Duration;

use capacity_types::Segment;

use super::monitor::Monitor;
use super::rate_limit::RateLimit;
use super::request::Request;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation, map_text};
use crate::world::{Instance, Parameters, StorageClass, VolumeBindingMode};

/// Rate limit for restarting one watch. The burst covers a list with a first watch, a second watch after the first has ended, and both
/// again after failures. Clients that back off as client-go does are far below the rate.
const WATCH_LIMIT: RateLimit = RateLimit {
    burst: 20,
    per_second: 10,
};

/// Number of GetCapacity calls per class that a publisher without polling may make without a new event: it may receive one change
/// twice, and one call may be in flight.
const REPEATED_CALLS_MAX: u32 = 3;

type RuleAndDetail = (&'static Rule, String);

impl Monitor {
    /// Checks how often a client starts the same watch.
    pub(super) fn check_watch_rate(&mut self, request: &Request) -> Option<Violation> {
        if request.verb != "watch" {
            return None;
        }
        let Request {
            client,
            resource,
            namespace,
            at,
            ..
        } = request;
        let key = (client.clone(), resource.clone(), namespace.clone());
        let tokens = self.rates.watches.entry(key).or_default();
        (!WATCH_LIMIT.admits(tokens, *at)).then(|| Violation {
            rule: rules::WATCH_RETRY_RATE,
            subject: Subject::Request(resource.clone()),
            detail: format!(
                "{client} restarts one watch more than {} times per second",
                WATCH_LIMIT.per_second
            ),
        })
    }

    /// Checks whether a publisher's GetCapacity call exceeds its rate limit or has no reason. `at`: time of the call, `None` if unknown.
    pub(super) fn check_get_capacity_rate(
        &mut self,
        instance: &Instance,
        arguments: (&Segment, &Parameters),
        at: Option<Duration>,
    ) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        let (limit, polls) = (publisher.get_capacity_qps, publisher.polls);
        if polls && limit.is_none() {
            return None;
        }
        let (segment, parameters) = arguments;
        let classes = self.world.classes.values();
        let classes_of_call = classes.filter(|class| class.driver_parameters() == *parameters);
        let classes_of_call: Vec<&StorageClass> = classes_of_call.collect();
        // A distributed publisher also calls GetCapacity before it provisions a PVC with Immediate binding, even if it does not publish for
        // the class.
        let may_provision = |class: &&StorageClass| class.binding == VolumeBindingMode::Immediate;
        if instance.node.is_some() && classes_of_call.iter().any(may_provision) {
            return None;
        }
        let calls_max = REPEATED_CALLS_MAX * u32::try_from(classes_of_call.len().max(1)).unwrap_or(u32::MAX);
        let exceeded = limit
            .zip(at)
            .and_then(|(limit, at)| self.exceeds_limit(instance, limit, at));
        let violated = exceeded.or_else(|| {
            (!polls)
                .then(|| self.repeated_calls(instance, arguments, calls_max))
                .flatten()
        });
        violated.map(|(rule, detail)| Violation {
            rule,
            subject: Subject::Call {
                driver: instance.driver.clone(),
                segment: segment.clone(),
            },
            detail,
        })
    }

    /// The violation if a GetCapacity call exceeds the rate limit; `None` otherwise.
    fn exceeds_limit(&mut self, instance: &Instance, limit: u32, at: Duration) -> Option<RuleAndDetail> {
        // The burst is larger by one, because a delayed GetCapacity call may arrive together with the next one.
        let rate_limit = RateLimit {
            burst: limit + 1,
            per_second: limit,
        };
        let tokens = self.rates.get_capacity_calls.entry(instance.clone()).or_default();
        let detail = || format!("the publisher exceeds its limit of {limit} GetCapacity calls per second");
        (!rate_limit.admits(tokens, at)).then(|| (rules::GET_CAPACITY_RATE, detail()))
    }

    /// The violation if a GetCapacity call repeats earlier calls without an event in between as a reason; `None` otherwise.
    fn repeated_calls(
        &mut self,
        instance: &Instance,
        (segment, parameters): (&Segment, &Parameters),
        calls_max: u32,
    ) -> Option<RuleAndDetail> {
        let calls = self.rates.repeated_calls.entry(instance.clone()).or_default();
        let calls = calls.entry((parameters.clone(), segment.clone())).or_default();
        *calls += 1;
        let detail = || {
            format!(
                "{calls} equal GetCapacity calls since the last event; parameters: {}",
                map_text(parameters)
            )
        };
        (*calls > calls_max).then(|| (rules::UNNECESSARY_GET_CAPACITY, detail()))
    }
}

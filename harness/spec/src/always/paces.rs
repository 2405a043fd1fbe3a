//! Rate limits of programs: restarted watches, GetCapacity calls with a limit, and calls without a reason.

use std::time::Duration;

use capacity_types::Segment;

use super::monitor::Monitor;
use super::pace::Pace;
use super::request::Request;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{Binding, Instance, Parameters, StorageClass};

/// Rate limit for starting the same watch. A list with a first watch, a second one after it ended, and the same again after failures need a
/// burst. Clients that back off as client-go does are far below the rate.
const WATCHES: Pace = Pace {
    burst: 20,
    per_second: 10,
};

/// Number of GetCapacity calls per class that a publisher without polling may make without an event: it may receive the same change twice,
/// and one call may be in flight.
const IN_VAIN: u32 = 3;

/// A violated rule, and the detail.
type Broken = (&'static Rule, String);

impl Monitor {
    /// Checks the rate of starting watches.
    pub(super) fn hurried_watch(&mut self, request: &Request) -> Option<Violation> {
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
        let credit = self.paces.watches.entry(key).or_default();
        (!WATCHES.admits(credit, *at)).then(|| Violation {
            rule: rules::WATCH_RETRY_RATE,
            subject: Subject::Request(resource.clone()),
            detail: format!(
                "{client} begins to watch them more than {} times in a second",
                WATCHES.per_second
            ),
        })
    }

    /// Checks a publisher's GetCapacity call against its rate limit, and for a reason. `at`: `None` if the time is unknown.
    pub(super) fn hurried_question(
        &mut self,
        instance: &Instance,
        question: (&Segment, &Parameters),
        at: Option<Duration>,
    ) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        let (limit, polls) = (publisher.get_capacity_qps, publisher.polls);
        if polls && limit.is_none() {
            return None;
        }
        let (segment, parameters) = question;
        let classes = self.world.classes.values();
        let meant = classes.filter(|class| class.driver_parameters() == *parameters);
        let meant: Vec<&StorageClass> = meant.collect();
        // A distributed instance also calls GetCapacity before provisioning with Immediate binding, independent of publishing.
        let may_be_for_a_volume = |class: &&StorageClass| class.binding == Binding::Immediate;
        if instance.node.is_some() && meant.iter().any(may_be_for_a_volume) {
            return None;
        }
        let often = IN_VAIN * u32::try_from(meant.len().max(1)).unwrap_or(u32::MAX);
        let beyond = limit
            .zip(at)
            .and_then(|(limit, at)| self.beyond_limit(instance, limit, at));
        let broken = beyond.or_else(|| {
            (!polls)
                .then(|| self.in_vain(instance, question, often))
                .flatten()
        });
        broken.map(|(rule, detail)| Violation {
            rule,
            subject: Subject::Call {
                driver: instance.driver.clone(),
                segment: segment.clone(),
            },
            detail,
        })
    }

    /// A call that exceeds the rate limit.
    fn beyond_limit(&mut self, instance: &Instance, limit: u32, at: Duration) -> Option<Broken> {
        // A delayed call may arrive together with the next one.
        let pace = Pace {
            burst: limit + 1,
            per_second: limit,
        };
        let credit = self.paces.questions.entry(instance.clone()).or_default();
        let detail = || format!("the limit is {limit} calls per second");
        (!pace.admits(credit, at)).then(|| (rules::GET_CAPACITY_RATE, detail()))
    }

    /// A call that repeats earlier ones although nothing has happened since.
    fn in_vain(
        &mut self,
        instance: &Instance,
        (segment, parameters): (&Segment, &Parameters),
        often: u32,
    ) -> Option<Broken> {
        let asked = self.paces.in_vain.entry(instance.clone()).or_default();
        let asked = asked.entry((parameters.clone(), segment.clone())).or_default();
        *asked += 1;
        let detail = || format!("{asked} calls with {parameters:?} since the last event");
        (*asked > often).then(|| (rules::UNNECESSARY_GET_CAPACITY, detail()))
    }
}

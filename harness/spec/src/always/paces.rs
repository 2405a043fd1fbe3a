//! How often programs may ask: watches that end at once, calls of the driver with a limit, and figures that nothing has changed.

use std::time::Duration;

use capacity_types::Segment;

use super::monitor::Monitor;
use super::pace::Pace;
use super::request::Request;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{Binding, Instance, Parameters, StorageClass};

/// How often a client may begin the same watch. A list and a first watch, a second one after it has ended, and all of that again after
/// failures take a few at once; who waits longer each time, as client-go does, is far below the rate.
const WATCHES: Pace = Pace {
    burst: 20,
    per_second: 10,
};

/// How often a publisher that does not poll may ask for the figure of a class while nothing happens: it may be told of the same change twice, and ask
/// once more for what was on its way.
const IN_VAIN: u32 = 3;

impl Monitor {
    /// Whether a watch begins too soon after others.
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
            rule: rules::HURRIED_WATCH,
            subject: Subject::Request(resource.clone()),
            detail: format!(
                "{client} begins to watch them more than {} times in a second",
                WATCHES.per_second
            ),
        })
    }

    /// Whether a publisher asks more often than it is told to, or without a reason. `at`: none where it is not known when it asked.
    pub(super) fn hurried_question(
        &mut self,
        instance: &Instance,
        (segment, parameters): (&Segment, &Parameters),
        at: Option<Duration>,
    ) -> Option<Violation> {
        let publisher = self.world.publishers.get(instance)?;
        // On its node a publisher asks before it makes a volume that waits for no pod: that is no question of what it publishes.
        let classes = self.world.classes.values();
        let meant = classes.filter(|class| class.driver_parameters() == *parameters);
        let meant: Vec<&StorageClass> = meant.collect();
        let may_be_for_a_volume = |class: &&StorageClass| class.binding == Binding::Immediate;
        if instance.node.is_some() && meant.iter().any(may_be_for_a_volume) {
            return None;
        }
        let often = IN_VAIN * u32::try_from(meant.len().max(1)).unwrap_or(u32::MAX);
        let violation = |rule, detail: String| Violation {
            rule,
            subject: Subject::Call {
                driver: instance.driver.clone(),
                segment: segment.clone(),
            },
            detail,
        };
        if let (Some(limit), Some(at)) = (publisher.asks_per_second, at) {
            // What waits for its turn on the way may arrive together with the next one.
            let pace = Pace {
                burst: limit + 1,
                per_second: limit,
            };
            let credit = self.paces.questions.entry(instance.clone()).or_default();
            if !pace.admits(credit, at) {
                let detail = format!("the limit is {limit} in a second");
                return Some(violation(rules::HURRIED_QUESTION, detail));
            }
        }
        if publisher.polls {
            return None;
        }
        let asked = self.paces.in_vain.entry(instance.clone()).or_default();
        let asked = asked.entry((parameters.clone(), segment.clone())).or_default();
        *asked += 1;
        (*asked > often).then(|| {
            let detail = format!("{asked} times with {parameters:?} since anything has happened");
            violation(rules::NEEDLESS_QUESTION, detail)
        })
    }
}

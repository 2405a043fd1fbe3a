//! What programs tell of themselves, and what they were seen to do: for the rules about metrics.
//!
//! Knows no metric by its name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_spec::metrics::{Reading, Sample, Speaker};
use capacity_spec::world::Instance;
use fake_csi::{Effect, Method, Rule};

use crate::journal::{CallFact, MetricsFact};
use crate::scenario::Role;

/// Calls that may have begun before the driver was told to answer late, besides those that are late.
const UNDER_WAY: u64 = 20;

/// What was told last, and what was done.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What was read last, if nothing has happened since that may be counted.
    readings: Vec<(Arc<str>, Vec<Sample>)>,
    /// Answers to each publisher since it began to run.
    answered: BTreeMap<Instance, u64>,
    /// Pods with claims that schedulers have bound since they began to run.
    placed: BTreeMap<Arc<str>, u64>,
    /// Late answers that the driver was told to give, since a program began to run; none: it is told something else, too.
    late: Option<Late>,
    is_told_more: bool,
    /// Whether a program may have been told that it has failed where it has not, since everything was last quiet.
    is_doubtful: bool,
}

/// Answers that come late.
#[derive(Debug, Clone, Copy)]
struct Late {
    by: Duration,
    times: u32,
    /// Answers so far.
    answered: u64,
}

impl Told {
    /// Something has happened that may be counted: what was read is true no longer. Whether anything was.
    pub(super) fn is_outdated(&mut self) -> bool {
        !std::mem::take(&mut self.readings).is_empty()
    }

    /// The metrics were read.
    pub(super) fn read(&mut self, metrics: &MetricsFact) {
        let read = metrics.readings.iter().map(|reading| {
            let samples = reading.samples.iter().map(|sample| Sample {
                name: sample.series.name.clone(),
                labels: sample.series.labels.clone(),
                value: sample.value,
            });
            (reading.client.clone(), samples.collect())
        });
        self.readings = read.collect();
    }

    /// A program begins to run, or ends.
    pub(super) fn began(&mut self, client: &Arc<str>, instance: &Instance) {
        self.answered.remove(instance);
        self.placed.remove(client);
        self.late = None;
    }

    /// The driver is told what to do.
    pub(super) fn scripted(&mut self, script: &Rule) {
        if script.method != Method::GetCapacity {
            return;
        }
        self.late = match (&script.effect, script.times, &script.segment) {
            (Effect::Delay(by), Some(times), None) if !self.is_told_more => Some(Late {
                by: *by,
                times,
                answered: 0,
            }),
            _ => None,
        };
        self.is_told_more = true;
    }

    /// The driver has answered a publisher.
    pub(super) fn answered(&mut self, call: &CallFact, instance: &Instance) {
        if call.method != Method::GetCapacity || !call.is_answered() {
            return;
        }
        *self.answered.entry(instance.clone()).or_default() += 1;
        if let Some(late) = &mut self.late {
            late.answered += 1;
        }
    }

    /// Requests fail, perhaps after they were carried out.
    pub(super) fn disturbed(&mut self) {
        self.is_doubtful = true;
    }

    /// Everything is quiet.
    pub(super) fn settle(&mut self) {
        self.is_doubtful = false;
    }

    /// A scheduler has bound a pod with claims.
    pub(super) fn placed(&mut self, client: &Arc<str>) {
        if self.is_doubtful {
            return;
        }
        *self.placed.entry(client.clone()).or_default() += 1;
    }

    /// What was read, beside what was done. `instance`: the publisher that a client is, if it is known.
    pub(super) fn told(&self, instance: impl Fn(&str) -> Option<Instance>) -> impl Iterator<Item = Reading> {
        let publishers = self.readings.iter().map(|(client, _)| Role::of_client(client));
        let is_alone = publishers.filter(|role| *role == Some(Role::Publisher)).count() == 1;
        self.readings.iter().filter_map(move |(client, samples)| {
            let of = match Role::of_client(client) {
                Some(Role::Publisher) => {
                    let instance = instance(client)?;
                    let answered = self.answered.get(&instance).copied().unwrap_or_default();
                    let waited = if is_alone { self.waited() } else { 0.0 };
                    Speaker::Publisher {
                        instance,
                        answered,
                        waited,
                    }
                }
                Some(Role::Scheduler) => Speaker::Scheduler {
                    placed: self.placed.get(client).copied().unwrap_or_default(),
                },
                Some(_) => return None,
                None => Speaker::Server,
            };
            Some(Reading {
                client: client.to_string(),
                of,
                samples: samples.clone(),
            })
        })
    }

    /// Seconds that a publisher must have waited, if it is the only one.
    fn waited(&self) -> f64 {
        let late = self
            .late
            .filter(|late| late.answered >= u64::from(late.times) + UNDER_WAY);
        late.map_or(0.0, |late| late.by.as_secs_f64() * f64::from(late.times) * 0.9)
    }
}

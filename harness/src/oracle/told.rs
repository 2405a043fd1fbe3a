//! Metrics reported by programs, and the observed activity that they must match.
//!
//! Does not know any metric name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_spec::metrics::{Reading, Sample, Speaker};
use capacity_spec::world::Instance;
use fake_csi::{Effect, Method, Rule};

use crate::journal::{CallFact, MetricsFact};
use crate::scenario::Role;

/// Calls that may have started before a delay was injected, in addition to the delayed ones.
const UNDER_WAY: u64 = 20;

/// The last reported metrics, and the observed activity.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Metrics by client; empty if anything that they count has happened since they were read.
    readings: Vec<(Arc<str>, Vec<Sample>)>,
    /// Responses to each publisher since its start.
    answered: BTreeMap<Instance, u64>,
    /// Pods with PVCs bound by each scheduler since its start.
    placed: BTreeMap<Arc<str>, u64>,
    /// The injected delay since the last start of a program. None if there is no delay or another fault as well.
    late: Option<Late>,
    is_told_more: bool,
    /// Whether a program may have received an error for a successful request since everything was last quiet.
    is_doubtful: bool,
}

/// Delayed responses.
#[derive(Debug, Clone, Copy)]
struct Late {
    by: Duration,
    times: u32,
    /// Responses so far.
    answered: u64,
}

impl Told {
    /// Discards the metrics, as something that they count has happened. Returns whether there were any.
    pub(super) fn is_outdated(&mut self) -> bool {
        !std::mem::take(&mut self.readings).is_empty()
    }

    /// Stores metrics that were read.
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

    /// Processes the start or end of a program.
    pub(super) fn began(&mut self, client: &Arc<str>, instance: &Instance) {
        self.answered.remove(instance);
        self.placed.remove(client);
        self.late = None;
    }

    /// Processes a fault rule of the driver.
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

    /// Processes a response of the driver to a publisher.
    pub(super) fn answered(&mut self, call: &CallFact, instance: &Instance) {
        if call.method != Method::GetCapacity || !call.is_answered() {
            return;
        }
        *self.answered.entry(instance.clone()).or_default() += 1;
        if let Some(late) = &mut self.late {
            late.answered += 1;
        }
    }

    /// Processes a failed request, which may have been carried out.
    pub(super) fn disturbed(&mut self) {
        self.is_doubtful = true;
    }

    /// Forgets failed requests once everything is quiet.
    pub(super) fn settle(&mut self) {
        self.is_doubtful = false;
    }

    /// Processes the binding of a pod with PVCs.
    pub(super) fn placed(&mut self, client: &Arc<str>) {
        if self.is_doubtful {
            return;
        }
        *self.placed.entry(client.clone()).or_default() += 1;
    }

    /// Metrics together with the observed activity. `instance`: the publisher instance of a client, if known.
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

    /// Minimum seconds that the only publisher must have waited for responses.
    fn waited(&self) -> f64 {
        let late = self
            .late
            .filter(|late| late.answered >= u64::from(late.times) + UNDER_WAY);
        late.map_or(0.0, |late| late.by.as_secs_f64() * f64::from(late.times) * 0.9)
    }
}

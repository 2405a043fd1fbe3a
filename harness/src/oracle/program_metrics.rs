//! Metrics of programs, together with the observed activity that the metrics must match.
//!
//! Does not know the names of metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capacity_spec::metrics::{Program, Sample, Scrape};
use capacity_spec::world::Instance;
use fake_csi::{Effect, Method, Rule};

use crate::journal::{CallFact, MetricsFact};
use crate::scenario::Role;

/// Maximum number of calls that may be in flight when a delay is injected, and end during the delay.
const IN_FLIGHT: u64 = 20;

/// The last scraped metrics of programs, and the activity that the metrics must match.
#[derive(Debug, Default)]
pub(super) struct ProgramMetrics {
    /// Samples by client. Empty if the journal contains facts after the scrape that may change the metrics.
    readings: Vec<(Arc<str>, Vec<Sample>)>,
    /// Number of driver responses to each publisher since its start.
    responses: BTreeMap<Instance, u64>,
    /// Number of pods with PVCs that each scheduler has bound to nodes since its start.
    bound: BTreeMap<Arc<str>, u64>,
    /// The response delay injected since the last start of a program. None without a delay, or if GetCapacity had another fault before.
    delay: Option<Delay>,
    /// Whether the case has injected a fault into GetCapacity.
    has_earlier_fault: bool,
    /// Whether a program may have received an error for a request that succeeded, since the cluster was last quiet.
    has_failed_requests: bool,
}

/// An injected delay of GetCapacity responses.
#[derive(Debug, Clone, Copy)]
struct Delay {
    by: Duration,
    times: u32,
    /// Number of responses since the delay was injected.
    responses: u64,
}

impl ProgramMetrics {
    /// Discards the stored metrics when a fact occurs that may change them. Returns whether metrics were stored.
    pub(super) fn discard(&mut self) -> bool {
        !std::mem::take(&mut self.readings).is_empty()
    }

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

    /// Processes the start or end of a program, which resets its counters.
    pub(super) fn program_changed(&mut self, client: &Arc<str>, instance: &Instance) {
        self.responses.remove(instance);
        self.bound.remove(client);
        self.delay = None;
    }

    pub(super) fn fault_added(&mut self, rule: &Rule) {
        if rule.method != Method::GetCapacity {
            return;
        }
        self.delay = match (&rule.effect, rule.times, &rule.segment) {
            (Effect::Delay(by), Some(times), None) if !self.has_earlier_fault => Some(Delay {
                by: *by,
                times,
                responses: 0,
            }),
            _ => None,
        };
        self.has_earlier_fault = true;
    }

    /// Counts a driver response to a GetCapacity call of a publisher.
    pub(super) fn driver_responded(&mut self, call: &CallFact, instance: &Instance) {
        if call.method != Method::GetCapacity || !call.has_received_response() {
            return;
        }
        *self.responses.entry(instance.clone()).or_default() += 1;
        if let Some(delay) = &mut self.delay {
            delay.responses += 1;
        }
    }

    /// Records that an API request failed. The server may nevertheless have executed the request.
    pub(super) fn request_failed(&mut self) {
        self.has_failed_requests = true;
    }

    /// Forgets failed requests. Called when the cluster is quiet, because failed requests no longer matter then.
    pub(super) fn settle(&mut self) {
        self.has_failed_requests = false;
    }

    /// Counts the binding of a pod with PVCs by a scheduler.
    pub(super) fn pod_bound(&mut self, client: &Arc<str>) {
        if self.has_failed_requests {
            return;
        }
        *self.bound.entry(client.clone()).or_default() += 1;
    }

    /// The metrics of each program, with the observed activity. `instance` returns the publisher instance of a client, if it is known.
    pub(super) fn readings_with_activity(
        &self,
        instance: impl Fn(&str) -> Option<Instance>,
    ) -> impl Iterator<Item = Scrape> {
        let publishers = self.readings.iter().map(|(client, _)| Role::of_client(client));
        let is_alone = publishers.filter(|role| *role == Some(Role::Publisher)).count() == 1;
        self.readings.iter().filter_map(move |(client, samples)| {
            let source = match Role::of_client(client) {
                Some(Role::Publisher) => {
                    let instance = instance(client)?;
                    let responses = self.responses.get(&instance).copied().unwrap_or_default();
                    let min_wait = if is_alone { self.min_wait() } else { 0.0 };
                    Program::Publisher {
                        instance,
                        successful_calls: responses,
                        min_seconds: min_wait,
                    }
                }
                Some(Role::Scheduler) => Program::Scheduler {
                    bound_pods: self.bound.get(client).copied().unwrap_or_default(),
                },
                Some(_) => return None,
                None => Program::ApiServer,
            };
            Some(Scrape {
                client: client.to_string(),
                program: source,
                samples: samples.clone(),
            })
        })
    }

    /// Minimum time in seconds that the only publisher must have waited for delayed responses.
    fn min_wait(&self) -> f64 {
        let delay = self
            .delay
            .filter(|delay| delay.responses >= u64::from(delay.times) + IN_FLIGHT);
        delay.map_or(0.0, |delay| delay.by.as_secs_f64() * f64::from(delay.times) * 0.9)
    }
}

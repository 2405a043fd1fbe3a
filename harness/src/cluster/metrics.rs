//! Scrapes the metrics of the programs and of the API server over HTTP, as Prometheus does.
//!
//! Records the metrics that a case refers to as one fact. Checks no values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Cluster;
use crate::client_name::HARNESS;
use crate::journal::{MetricsFact, Observation, ScrapedMetrics};
use crate::plan::Plan;
use crate::scenario::{MetricsSource, Role};
use crate::start_error::StartError;
use capacity_types::exposition::samples_of;

const SCRAPE_TIMEOUT: Duration = Duration::from_secs(5);

/// The metrics that a case reads, and the addresses at which programs serve metrics.
pub(super) struct Metrics {
    sources: BTreeSet<MetricsSource>,
    names: BTreeSet<String>,
    /// Metrics address by client name.
    addresses: BTreeMap<Arc<str>, String>,
    /// Bearer token of [`Cluster::token`]; unset until the API server's metrics are first scraped.
    token: OnceLock<String>,
}

impl Metrics {
    /// The metrics that the expectations of a plan refer to.
    pub(super) fn of(plan: &Plan) -> Self {
        Metrics {
            sources: plan.metrics_sources(),
            names: plan.metric_names().into_iter().map(str::to_owned).collect(),
            addresses: BTreeMap::new(),
            token: OnceLock::new(),
        }
    }
}

impl Cluster {
    /// Chooses an address on which a program must serve its metrics; `None` if the case reads no metrics of the role.
    pub(super) fn metrics_address(&mut self, role: Role, client: &str) -> Result<Option<String>, StartError> {
        if !self
            .metrics
            .sources
            .iter()
            .any(|source| source.role() == Some(role))
        {
            return Ok(None);
        }
        let address = self.network.free_address().map_err(|source| StartError::Io {
            what: "find a free port",
            source,
        })?;
        self.metrics.addresses.insert(client.into(), address.clone());
        Ok(Some(address))
    }

    /// Bearer token with which the harness scrapes the API server.
    pub(super) fn token(&self) -> &str {
        self.metrics.token.get_or_init(|| self.api.add_client(HARNESS))
    }

    /// Scrapes all running programs whose metrics the case refers to, and records the samples.
    pub(crate) async fn read_metrics(&self) {
        let mut readings = Vec::new();
        for source in &self.metrics.sources {
            let Some(role) = source.role() else {
                let url = format!("{}/metrics", self.api.url());
                readings.push(
                    self.scrape(source.as_str().into(), &url, Some(self.token()))
                        .await,
                );
                continue;
            };
            for client in self.fleet.running(role) {
                let address = self.metrics.addresses.get(client);
                let url = address.and_then(|address| self.fleet.metrics_url(role, address));
                readings.push(match url {
                    Some(url) => self.scrape(client.clone(), &url, None).await,
                    None => failed_reading(
                        client.clone(),
                        "the program has no metrics URL; add `metrics` to its role in the manifest",
                    ),
                });
            }
        }
        self.journal
            .append(Observation::Metrics(MetricsFact { readings }));
    }

    async fn scrape(&self, client: Arc<str>, url: &str, token: Option<&str>) -> ScrapedMetrics {
        let response = tokio::time::timeout(SCRAPE_TIMEOUT, self.network.get(url, token)).await;
        let text = match response {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return failed_reading(client, &format!("{url}: {error}")),
            Err(_) => {
                return failed_reading(client, &format!("{url}: no response within {SCRAPE_TIMEOUT:?}"));
            }
        };
        let (mut samples, series_count) = samples_of(&text, |name| self.metrics.names.contains(name));
        // Programs list series in arbitrary order; sorting makes the journals of equal runs equal.
        samples.sort_by(|one, other| one.series.cmp(&other.series));
        ScrapedMetrics {
            client,
            samples,
            series_count,
            error: None,
        }
    }
}

fn failed_reading(client: Arc<str>, error: &str) -> ScrapedMetrics {
    ScrapedMetrics {
        client,
        samples: Vec::new(),
        series_count: 0,
        error: Some(error.to_owned()),
    }
}

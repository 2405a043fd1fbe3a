//! Reconciles the objects of one key with the driver: calls GetCapacity, compares the values, and decides what to write. Does not
//! provision.

use std::{collections::BTreeMap, sync::Arc};

use capacity_types::Segment;
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use parking_lot::Mutex;
use prometheus_client::metrics::{family::Family, gauge::Gauge};
use tokio::time::Instant;

use super::{
    api_version::CapacityClient,
    desired::{CapacityBytes, Key, KeyTopology, ManagedBy},
    ledger::{KeyState, Ledger},
};
use crate::{
    OnCapacityError, Options, Profile,
    csi::{Driver, DriverError},
    metrics::{ExtraLabels, Metrics, ObjectMetrics},
    queue::Queue,
    rate_limiter::RateLimiter,
    status::brief,
};

/// Publishes the objects of one driver.
pub(crate) struct Publisher {
    pub(super) options: Options,
    pub(super) by: ManagedBy,
    pub(super) owner: Option<OwnerReference>,
    driver: Arc<Driver>,
    pub(super) capacities: Arc<CapacityClient>,
    /// Rate limit of GetCapacity calls.
    calls: RateLimiter,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) queue: Queue<Key>,
}

/// Why the objects of a key (class and segment) could not be reconciled. The queue retries the key.
#[derive(Debug, thiserror::Error)]
pub(super) enum SyncError {
    #[error("GetCapacity failed: {0}; retrying with backoff")]
    Driver(#[from] DriverError),
    #[error("GetCapacity returned {field} = {bytes}; negative values are not published; fix the driver")]
    Negative { field: &'static str, bytes: i64 },
    #[error("cannot {verb}: {}; retrying with backoff", brief(.source))]
    Api { verb: &'static str, source: kube::Error },
    #[error("several objects exist for the class and topology; a retry deletes the duplicates")]
    Duplicates,
}

impl Publisher {
    pub(crate) fn new(
        options: Options,
        by: ManagedBy,
        owner: Option<OwnerReference>,
        driver: Arc<Driver>,
        capacities: Arc<CapacityClient>,
        metrics: &Arc<Metrics>,
    ) -> Arc<Publisher> {
        let queue = Queue::new(options.backoff(), metrics.queue("csistoragecapacity"));
        let calls = RateLimiter::new(options.get_capacity_qps(), options.get_capacity_burst);
        let ledger = Ledger::new(options.dialect.selector);
        let publisher = Arc::new(Publisher {
            options,
            by,
            owner,
            driver,
            capacities,
            calls,
            ledger: Mutex::new(ledger),
            queue,
        });
        let (measured, object_metrics) = (Arc::downgrade(&publisher), metrics.objects.clone());
        metrics.before_scrape(move || {
            if let Some(publisher) = measured.upgrade() {
                publisher.update_metrics(&object_metrics);
            }
        });
        publisher
    }

    fn update_metrics(&self, object_metrics: &ObjectMetrics) {
        self.queue.update_metrics();
        let labels = self.labels();
        let (counts, ages) = {
            let ledger = self.ledger.lock();
            (ledger.counts(), ledger.ages(Instant::now()))
        };
        let set = |family: &Family<ExtraLabels, Gauge>, count: usize| {
            family
                .get_or_create(&labels)
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&object_metrics.goal, counts.goal);
        set(&object_metrics.current, counts.current);
        set(&object_metrics.obsolete, counts.obsolete);
        object_metrics.age.clear();
        for (key, age) in ages {
            let mut labels = labels.clone();
            labels.push(("storage_class", key.class.to_string()));
            labels.push(("topology", key.topology.to_string()));
            object_metrics.age.get_or_create(&labels).set(age.as_secs_f64());
        }
    }

    /// The metric labels `driver_name` and (distributed mode) `node` of KEP-1472, "monitoring requirements"; none with profile `upstream`.
    fn labels(&self) -> ExtraLabels {
        if self.options.profile == Profile::Upstream {
            return ExtraLabels::new();
        }
        let node = self.options.own_node().map(|node| ("node", node.to_owned()));
        [("driver_name", self.by.driver.clone())]
            .into_iter()
            .chain(node)
            .collect()
    }

    /// Reconciles each key as the queue returns it; does not return. Call it after the initial lists, because a key counts as not desired
    /// until its class and segment have been listed.
    pub(crate) async fn run_workers(&self) {
        let threads = self.options.capacity_threads;
        self.queue
            .ready()
            .for_each_concurrent(threads, |key| async move { self.process_key(&key).await })
            .await;
    }

    /// The client with which the watch of the published objects is started.
    pub(crate) fn capacities(&self) -> Arc<CapacityClient> {
        Arc::clone(&self.capacities)
    }

    /// The label selector for the watch. `None` if the publisher recognizes objects by owner.
    pub(crate) fn selector(&self) -> Option<String> {
        self.by.selector()
    }

    async fn process_key(&self, key: &Key) {
        match self.sync(key).await {
            Ok(()) => self.queue.done(key),
            Err(error) => {
                tracing::warn!(class = %key.class, topology = %key.topology, %error, "capacity not published");
                self.queue.retry_after_backoff(key);
            }
        }
    }

    async fn sync(&self, key: &Key) -> Result<(), SyncError> {
        let state = self.key_state(key);
        let (Some(_), KeyTopology::Segment(segment)) = (state.desired, &key.topology) else {
            return self.delete_all(&state.objects).await;
        };
        if let Some((_, duplicates)) = state.objects.split_first() {
            self.delete_all(duplicates).await?;
        }
        self.calls.acquire().await;
        // The key may have waited for the rate limiter, so it may no longer be desired.
        let Some(parameters) = self.key_state(key).desired else {
            return Ok(());
        };
        let values = match self.get_capacity(segment, &parameters).await {
            Ok(values) => values,
            Err(error) => {
                self.handle_capacity_error(key).await?;
                return Err(error);
            }
        };
        let refreshed_at = Instant::now();
        // GetCapacity may have taken long, so the key may no longer be desired.
        let KeyState {
            desired: Some(_),
            objects,
            unverified,
        } = self.key_state(key)
        else {
            return Ok(());
        };
        let published = match objects.first() {
            Some(object) if unverified => self.verify(object).await,
            Some(object) if !self.is_published(values) => self.delete(object).await,
            Some(object) => self.update(object, values).await,
            None if self.is_published(values) => self.create(key, segment, values).await,
            None => Ok(()),
        };
        if published.is_ok() {
            self.ledger.lock().record_refresh(key, refreshed_at);
        }
        published
    }

    /// Applies `--on-capacity-error` to the objects of a key after GetCapacity failed.
    async fn handle_capacity_error(&self, key: &Key) -> Result<(), SyncError> {
        match self.options.on_capacity_error {
            OnCapacityError::Keep => Ok(()),
            OnCapacityError::Withdraw => self.delete_all(&self.key_state(key).objects).await,
        }
    }

    fn key_state(&self, key: &Key) -> KeyState {
        self.ledger.lock().key_state(key)
    }

    /// Whether an object is published for these capacity values. Zero depends on `--publish-zero`, because for KEP-1472 a missing
    /// object is equivalent to zero capacity.
    fn is_published(&self, values: CapacityBytes) -> bool {
        values.capacity > 0 || self.options.publishes_zero()
    }

    async fn get_capacity(
        &self,
        segment: &Segment,
        parameters: &BTreeMap<String, String>,
    ) -> Result<CapacityBytes, SyncError> {
        let response = self.driver.get_capacity(segment, parameters.clone()).await?;
        let bytes = |field, bytes| u64::try_from(bytes).map_err(|_| SyncError::Negative { field, bytes });
        let maximum = match response.maximum_volume_size {
            Some(maximum) if self.capacities.stores_maximum_volume_size().await => Some(maximum),
            _ => None,
        };
        Ok(CapacityBytes {
            capacity: bytes("available_capacity", response.available_capacity)?,
            maximum_volume_size: maximum
                .map(|maximum| bytes("maximum_volume_size", maximum))
                .transpose()?,
        })
    }
}

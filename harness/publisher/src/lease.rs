//! Leader election by Lease (coordination.k8s.io/v1), as in client-go: the leader works and renews the Lease. Another candidate acquires
//! the Lease if it was not renewed for the lease duration, measured by the candidate's own clock since it last observed a change. Does not
//! know what the leader does.

use std::{convert::Infallible, sync::Arc, time::Duration};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::{
    Options,
    http::Health,
    metrics::Metrics,
    options::LeaderElectionOptions,
    rng::SharedRng,
    status::{brief, is_not_found},
};

const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Jitter factor of the retry period between attempts to acquire the Lease (client-go: `JitterFactor`).
const JITTER: f64 = 1.2;

/// This instance lost the Lease, so another instance may be the leader.
#[derive(Debug, thiserror::Error)]
#[error(
    "the Lease {name} has another holder or was not renewed within {deadline:?}; this publisher is no longer the leader and stops"
)]
pub struct LostLease {
    name: String,
    deadline: Duration,
}

/// One candidate of the leader election (client-go: `LeaderElector`).
pub(crate) struct LeaderElector {
    api: Api<Lease>,
    name: String,
    identity: String,
    clock: fn() -> Timestamp,
    rng: SharedRng,
    options: LeaderElectionOptions,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    observed: Mutex<Option<ObservedLease>>,
}

struct ObservedLease {
    spec: LeaseSpec,
    at: Instant,
}

impl LeaderElector {
    /// Creates a candidate for the Lease with this name. Characters that are invalid in object names are replaced with dashes.
    pub(crate) fn new(
        options: &Options,
        client: &Client,
        name: &str,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
    ) -> LeaderElector {
        let election = options.election.clone();
        let namespace = election.namespace.as_deref().filter(|name| !name.is_empty());
        let namespace = namespace.unwrap_or_else(|| client.default_namespace()).to_owned();
        health.enable_election_check();
        metrics.set_leader(false);
        LeaderElector {
            api: Api::namespaced(client.clone(), &namespace),
            name: name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
            // The random suffix is needed because two processes may have the same pod or node name for a moment or by misconfiguration.
            identity: format!("{}_{:016x}", options.instance_name(), options.rng.next_u64()),
            clock: options.clock,
            rng: options.rng.clone(),
            options: election,
            metrics,
            health,
            observed: Mutex::default(),
        }
    }

    pub(crate) async fn acquire(&self) {
        tracing::info!(
            lease = self.name,
            identity = self.identity,
            "waiting for the Lease"
        );
        while !self.attempt_acquire_or_renew().await {
            // A waiting candidate counts as ready: it can start working as soon as it leads.
            self.health.set_ready();
            let period = self.options.retry_period;
            sleep(period.mul_f64(1.0 + JITTER * self.rng.fraction())).await;
        }
        self.metrics.set_leader(true);
        tracing::info!(lease = self.name, "this instance leads");
    }

    /// Renews the Lease until all renewals have failed for the renew deadline, or another instance holds the Lease.
    pub(crate) async fn renew(&self) -> LostLease {
        let mut deadline = Instant::now() + self.options.renew_deadline;
        loop {
            match timeout_at(deadline, self.attempt_acquire_or_renew()).await {
                Ok(true) => {
                    deadline = Instant::now() + self.options.renew_deadline;
                    sleep(self.options.retry_period).await;
                }
                Ok(false) if Instant::now() < deadline && self.is_leader() => {
                    sleep(self.options.retry_period.min(deadline - Instant::now())).await;
                }
                Ok(false) | Err(_) => break,
            }
        }
        self.metrics.set_leader(false);
        LostLease {
            name: self.name.clone(),
            deadline: self.options.renew_deadline,
        }
    }

    /// Releases the Lease at exit, so that other candidates need not wait until it expires.
    pub(crate) async fn release(&self) {
        if !self.is_leader() {
            return;
        }
        let Ok(Ok(mut lease)) = timeout(RELEASE_TIMEOUT, self.api.get(&self.name)).await else {
            return;
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            return;
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        let parameters = PostParams::default();
        let released = self.api.replace(&self.name, &parameters, &lease);
        if let Ok(Err(error)) = timeout(RELEASE_TIMEOUT, released).await {
            tracing::warn!(
                lease = self.name,
                error = brief(&error),
                "the Lease could not be released"
            );
        }
    }

    fn is_leader(&self) -> bool {
        let observed = self.observed.lock();
        observed
            .as_ref()
            .is_some_and(|observed| observed.spec.holder_identity.as_deref() == Some(&self.identity))
    }

    /// Makes one attempt to acquire or renew the Lease, and logs errors. Returns whether this instance holds the Lease.
    async fn attempt_acquire_or_renew(&self) -> bool {
        match self.try_acquire_or_renew().await {
            Ok(is_holder) => is_holder,
            Err(error) => {
                tracing::warn!(
                    lease = self.name,
                    error = brief(&error),
                    "the Lease could not be acquired or renewed"
                );
                false
            }
        }
    }

    async fn try_acquire_or_renew(&self) -> kube::Result<bool> {
        // Counted from before the request, so that this expiry is never later than the one that other candidates compute.
        let until = Instant::now() + self.options.lease_duration;
        let found = match self.api.get(&self.name).await {
            Ok(found) => Some(found),
            Err(error) if is_not_found(&error) => None,
            Err(error) => return Err(error),
        };
        let written = match found {
            None => {
                let lease = self.lease(None);
                self.api.create(&PostParams::default(), &lease).await?
            }
            Some(found) => {
                let old = found.spec.clone().unwrap_or_default();
                if !self.may_acquire(&old, Instant::now()) {
                    return Ok(false);
                }
                let mut lease = found;
                lease.spec = self.lease(Some(&old)).spec;
                self.api
                    .replace(&self.name, &PostParams::default(), &lease)
                    .await?
            }
        };
        self.observe(&written.spec.unwrap_or_default(), Instant::now());
        self.health.set_lease(Some(until));
        Ok(true)
    }

    /// Whether the Lease has no holder, is held by this instance, or has expired by this process's clock.
    fn may_acquire(&self, spec: &LeaseSpec, now: Instant) -> bool {
        let changed_at = self.observe(spec, now);
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.unwrap_or(0);
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        holder.is_empty() || holder == self.identity || now >= changed_at + duration
    }

    /// Records the observed Lease. Returns the time at which its current state was first observed.
    fn observe(&self, spec: &LeaseSpec, now: Instant) -> Instant {
        let mut observed = self.observed.lock();
        match &*observed {
            Some(known) if known.spec == *spec => known.at,
            _ => {
                *observed = Some(ObservedLease {
                    spec: spec.clone(),
                    at: now,
                });
                now
            }
        }
    }

    /// Builds the Lease with this instance as the holder. `leaseTransitions` continues from the old Lease.
    fn lease(&self, old: Option<&LeaseSpec>) -> Lease {
        let now = MicroTime((self.clock)());
        let is_own = old.is_some_and(|old| old.holder_identity.as_deref() == Some(&self.identity));
        let acquired = old.and_then(|old| old.acquire_time.clone()).filter(|_| is_own);
        let transitions = old.and_then(|old| old.lease_transitions).unwrap_or(0);
        let seconds = self
            .options
            .lease_duration
            .as_secs()
            .try_into()
            .unwrap_or(i32::MAX);
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(self.options.labels.0.clone()).filter(|labels| !labels.is_empty()),
                ..Default::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: Some(seconds),
                acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
                renew_time: Some(now),
                lease_transitions: Some(transitions + i32::from(old.is_some() && !is_own)),
                ..Default::default()
            }),
        }
    }
}

/// Runs `work` while this instance holds the Lease, or unconditionally if leader election is disabled.
pub(crate) async fn while_leading<E: From<LostLease>>(
    election: Option<&LeaderElector>,
    work: impl Future<Output = Result<Infallible, E>>,
) -> Result<Infallible, E> {
    let Some(election) = election else {
        return work.await;
    };
    election.acquire().await;
    tokio::select! {
        biased;
        lost = election.renew() => Err(lost.into()),
        worked = work => worked,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::test_server::TestServer;

    const GET: &str = "GET /apis/coordination.k8s.io/v1/namespaces/default/leases/disk-example-com";
    const PUT: &str = "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/disk-example-com";

    fn election(server: &TestServer) -> LeaderElector {
        let mut options = Options::default();
        options.election.labels.0 = [("app".to_owned(), "publisher".to_owned())].into();
        let (metrics, health) = (Metrics::new(), Arc::default());
        LeaderElector::new(&options, &server.client(), "disk.example.com", metrics, health)
    }

    fn lease_held_by(holder: &str, transitions: i32) -> Value {
        json!({"metadata": {"name": "disk-example-com"}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": transitions,
            "acquireTime": "2024-01-01T00:00:00.000000Z", "renewTime": "2024-01-01T00:00:00.000000Z",
        }})
    }

    fn lease_remaining(election: &LeaderElector) -> Option<Duration> {
        election.health.lease().map(|until| until - Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_lease_is_created() {
        let server = TestServer::default();
        let election = election(&server);
        server.respond_with_error(404, "NotFound");
        server.echo();
        assert!(election.attempt_acquire_or_renew().await && election.is_leader());
        let received = server.received();
        let lease = &received[1].1;
        assert_eq!(lease["metadata"]["name"], "disk-example-com");
        assert_eq!(lease["metadata"]["labels"], json!({"app": "publisher"}));
        let spec = &lease["spec"];
        assert_eq!(spec["holderIdentity"], election.identity);
        assert_eq!(
            (&spec["leaseDurationSeconds"], &spec["leaseTransitions"]),
            (&json!(15), &json!(0))
        );
        assert_eq!(spec["acquireTime"], spec["renewTime"]);
        assert_eq!(lease_remaining(&election), Some(Duration::from_secs(15)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_without_configured_labels_has_no_labels_field() {
        let server = TestServer::default();
        let mut election = election(&server);
        election.options.labels.0.clear();
        assert_eq!(election.lease(None).metadata.labels, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_lease_of_another_holder_is_acquired_after_it_expired() {
        let server = TestServer::default();
        let election = election(&server);
        server.respond_with(lease_held_by("another", 3));
        assert!(
            !election.attempt_acquire_or_renew().await,
            "the duration counts from the first observation, not from renewTime"
        );
        tokio::time::advance(Duration::from_secs(14)).await;
        server.respond_with(lease_held_by("another", 3));
        assert!(!election.attempt_acquire_or_renew().await && lease_remaining(&election).is_none());
        assert_eq!(server.requests(), [GET, GET]);
        tokio::time::advance(Duration::from_secs(1)).await;
        server.respond_with(lease_held_by("another", 3));
        server.echo();
        assert!(election.attempt_acquire_or_renew().await);
        let received = server.received();
        assert_eq!((received[0].0.as_str(), received[1].0.as_str()), (GET, PUT));
        let spec = &received[1].1["spec"];
        assert_eq!(
            (&spec["holderIdentity"], &spec["leaseTransitions"]),
            (&json!(election.identity), &json!(4))
        );
        assert_ne!(spec["acquireTime"], "2024-01-01T00:00:00.000000Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_lease_restarts_its_duration_and_a_released_one_is_free() {
        let server = TestServer::default();
        let election = election(&server);
        for transitions in [1, 2] {
            server.respond_with(lease_held_by("another", transitions));
            assert!(!election.attempt_acquire_or_renew().await);
            tokio::time::advance(Duration::from_secs(10)).await;
        }
        server.respond_with(lease_held_by("another", 2));
        assert!(!election.attempt_acquire_or_renew().await);
        server.respond_with(lease_held_by("", 2));
        server.echo();
        assert!(election.attempt_acquire_or_renew().await);
    }

    #[tokio::test(start_paused = true)]
    async fn renewing_the_own_lease_preserves_acquire_time() {
        let server = TestServer::default();
        let election = election(&server);
        server.respond_with(lease_held_by(&election.identity, 3));
        server.echo();
        assert!(election.attempt_acquire_or_renew().await);
        let spec = &server.received()[1].1["spec"];
        assert_eq!(
            (&spec["leaseTransitions"], &spec["acquireTime"]),
            (&json!(3), &json!("2024-01-01T00:00:00.000000Z"))
        );
        assert_ne!(spec["renewTime"], "2024-01-01T00:00:00.000000Z");
    }

    /// How long the leader holds the Lease if the test server returns the prepared responses.
    async fn leadership_duration(election: &LeaderElector) -> Duration {
        let began = Instant::now();
        election.renew().await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_cannot_renew_stops_exactly_at_the_renew_deadline() {
        let server = TestServer::default();
        let election = election(&server);
        for _ in 0..2 {
            server.respond_with(lease_held_by(&election.identity, 0));
            server.echo();
        }
        assert!(election.attempt_acquire_or_renew().await);
        (0..3).for_each(|_| server.respond_with_error(500, "InternalError"));
        // The first renewal succeeds. The renew deadline is ten seconds later, with an attempt every five seconds.
        assert_eq!(leadership_duration(&election).await, Duration::from_secs(10));
        let attempts = server.requests().len() - 4;
        assert!(
            (1..=2).contains(&attempts),
            "{attempts} attempts in ten seconds; the last may have been after the deadline"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_observes_another_holder_stops_immediately() {
        let server = TestServer::default();
        let election = election(&server);
        server.respond_with(lease_held_by("another", 1));
        assert_eq!(leadership_duration(&election).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_own_lease_is_released() {
        let server = TestServer::default();
        let election = election(&server);
        election.release().await;
        assert_eq!(
            server.requests(),
            Vec::<String>::new(),
            "the lease was never held"
        );
        server.respond_with(lease_held_by(&election.identity, 0));
        server.echo();
        assert!(election.attempt_acquire_or_renew().await);
        server.received();
        server.respond_with(lease_held_by("another", 1));
        election.release().await;
        assert_eq!(server.requests(), [GET], "another instance holds it now");
        server.respond_with(lease_held_by(&election.identity, 0));
        server.echo();
        election.release().await;
        let spec = &server.received()[1].1["spec"];
        assert_eq!(
            (&spec["holderIdentity"], &spec["leaseDurationSeconds"]),
            (&json!(""), &json!(1))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_candidate_is_ready_and_leads_after_acquiring_the_lease() {
        let server = TestServer::default();
        let election = election(&server);
        server.respond_with(lease_held_by("another", 1));
        server.respond_with(lease_held_by("", 1));
        server.echo();
        let began = Instant::now();
        election.acquire().await;
        let waited = began.elapsed().as_secs_f64();
        assert!(
            (5.0..=11.0).contains(&waited),
            "{waited} s is not the jittered retry period"
        );
        let text = election.metrics.text();
        assert!(
            text.contains("leader_election_master_status{name=\"\"} 1"),
            "{text}"
        );
    }
}

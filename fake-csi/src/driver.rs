//! The public handle of the driver: pools, fault rules, volumes, sockets. The gRPC services of all endpoints share its state.

use std::{path::Path, sync::Arc};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;

use crate::{
    CostFactor, DriverSpec, NodeIdentity, Observer, Pool, Reservation, ReserveError, ReservedDevice, Rule,
    RuleError, RuleId, RuleState, Running, Segment, VolumeInfo, connection::RefusalReporter, endpoint,
    state::Shared,
};

/// A fake CSI driver. Clones are handles to the same driver.
#[derive(Clone)]
pub struct FakeDriver(pub(crate) Arc<Shared>);

impl FakeDriver {
    /// Creates a driver without pools and sockets.
    pub fn new(spec: DriverSpec, observer: Option<Arc<dyn Observer>>) -> FakeDriver {
        FakeDriver(Arc::new(Shared::new(spec, observer)))
    }

    /// Adds a pool, or replaces the pool with equal segment and parameters. Volumes keep their allocations.
    pub fn set_pool(&self, pool: Pool) {
        self.0.state.lock().backend.set_pool(pool);
    }

    /// Removes all pools whose segment equals `segment`. Volumes of removed pools remain.
    pub fn remove_pool(&self, segment: &Segment) {
        self.0.state.lock().backend.remove_pool(segment);
    }

    /// Adds a cost factor for classes with a certain parameter. The factor applies to volumes that are created after this call.
    ///
    /// Fails if numerator or denominator is 0.
    pub fn add_cost(&self, factor: CostFactor) -> Result<(), RuleError> {
        if factor.numerator == 0 || factor.denominator == 0 {
            return Err(RuleError::ZeroCost {
                parameter: factor.parameter,
                value: factor.value,
            });
        }
        self.0.state.lock().backend.add_cost(factor);
        Ok(())
    }

    /// All pools, each with its total raw bytes and the raw bytes allocated by volumes.
    pub fn pools(&self) -> Vec<(Pool, u64, u64)> {
        let state = self.0.state.lock();
        let with_sums = |pool: &Pool| {
            let (total, allocated) = state.backend.raw_sums(pool);
            (pool.clone(), total, allocated)
        };
        state.backend.pools().map(with_sums).collect()
    }

    /// Reserves devices for future volumes, as a scheduler extender does: no other volume can use a reserved device. [`DriverSpec`] decides
    /// whether GetCapacity counts reserved devices. The reservation for a volume ends when the volume is created; cancelling the
    /// reservation ends it for all volumes.
    ///
    /// Fails if an active reservation has the name, if a volume has no holder, or if no segment has a free device for each volume.
    pub fn reserve(&self, reservation: &Reservation) -> Result<Vec<ReservedDevice>, ReserveError> {
        self.0.state.lock().backend.reserve(reservation)
    }

    /// Frees all devices that the reservation still holds; returns whether there were any.
    pub fn cancel_reservation(&self, name: &str) -> bool {
        self.0.state.lock().backend.cancel_reservation(name)
    }

    /// All reserved devices, or only those of the given reservation.
    pub fn reserved(&self, reservation: Option<&str>) -> Vec<ReservedDevice> {
        self.0
            .state
            .lock()
            .backend
            .reserved_devices(reservation)
            .collect()
    }

    /// Appends a fault rule, which applies to calls that arrive after this call.
    ///
    /// Fails if the effect does not apply to the method, or if there are too many rules.
    pub fn add_rule(&self, rule: Rule) -> Result<RuleId, RuleError> {
        self.0.state.lock().rules.push(rule)
    }

    /// Removes a fault rule; returns whether it existed. Calls that hang because of the rule then continue.
    pub fn remove_rule(&self, rule: RuleId) -> bool {
        self.0.state.lock().rules.remove(rule)
    }

    /// Removes all fault rules. Calls that hang because of a rule then continue.
    pub fn clear_rules(&self) {
        self.0.state.lock().rules.clear();
    }

    /// All fault rules in order, with their counters. Exhausted rules are listed until they are removed or a new rule needs the space.
    pub fn rules(&self) -> Vec<RuleState> {
        self.0.state.lock().rules.states().cloned().collect()
    }

    /// The driver's static configuration.
    pub fn spec(&self) -> &DriverSpec {
        &self.0.spec
    }

    /// Serves on a new socket until the returned value is stopped or dropped. Replaces a stale socket file.
    ///
    /// With a `node`, the endpoint has the node service, and `NodeGetInfo` returns `node`; without, it has no node service. Every
    /// endpoint serves all pools. Must be called within a tokio runtime. Fails if the socket cannot be bound, for example if the path has
    /// more than 107 bytes.
    pub async fn listen(&self, socket: &Path, node: Option<NodeIdentity>) -> std::io::Result<Running> {
        let stopped = CancellationToken::new();
        let reporter = self.refusal_reporter(node.as_ref());
        let services = endpoint::services(Arc::clone(&self.0), node, &stopped);
        endpoint::listen(socket, services, reporter, stopped)
    }

    /// Serves like [`FakeDriver::listen`], but on streams that the caller has accepted, for clients in the same process.
    pub fn serve<S>(
        &self,
        streams: impl Stream<Item = S> + Send + 'static,
        node: Option<NodeIdentity>,
    ) -> Running
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stopped = CancellationToken::new();
        let reporter = self.refusal_reporter(node.as_ref());
        let services = endpoint::services(Arc::clone(&self.0), node, &stopped);
        endpoint::serve(streams, services, reporter, stopped)
    }

    fn refusal_reporter(&self, node: Option<&NodeIdentity>) -> RefusalReporter {
        RefusalReporter {
            node: node.map(|node| node.node_id.clone()),
            observer: self.0.observer.clone(),
        }
    }

    /// All volumes of the driver, sorted by id.
    pub fn volumes(&self) -> Vec<VolumeInfo> {
        self.0.state.lock().volumes.all().cloned().collect()
    }

    /// Number of CSI calls in flight at all endpoints.
    pub fn in_flight(&self) -> usize {
        *self.0.in_flight.borrow()
    }

    /// Resolves when no CSI call is in flight. A hanging call is in flight until its client cancels the call.
    pub async fn wait_until_idle(&self) {
        let mut in_flight = self.0.in_flight.subscribe();
        // `self` owns the sender, so the channel cannot be closed.
        let _ = in_flight.wait_for(|calls| *calls == 0).await;
    }
}

//! The driver as its owner holds it: pools, script, volumes, sockets. Knows no wire: the services of an endpoint answer from its state.

use std::{path::Path, sync::Arc};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;

use crate::{
    CostFactor, DriverSpec, Held, NodeIdentity, Observer, Pool, Reservation, ReserveError, Rule, RuleId,
    RuleState, Running, ScriptError, Segment, VolumeInfo, connection::Refusals, endpoint, state::Shared,
};

/// A fake CSI driver. Clones are handles to the same driver.
#[derive(Clone)]
pub struct FakeDriver(pub(crate) Arc<Shared>);

impl FakeDriver {
    /// A driver without pools, listening nowhere yet.
    pub fn new(spec: DriverSpec, observer: Option<Arc<dyn Observer>>) -> FakeDriver {
        FakeDriver(Arc::new(Shared::new(spec, observer)))
    }

    /// Adds a pool, or replaces the one of the same segment and parameters. Volumes stay and go on taking their part.
    pub fn set_pool(&self, pool: Pool) {
        self.0.state.lock().backend.set_pool(pool);
    }

    /// Removes the pools of exactly this segment, if there are any. Their volumes stay.
    pub fn remove_pool(&self, segment: &Segment) {
        self.0.state.lock().backend.remove_pool(segment);
    }

    /// Makes volumes with a class parameter cost more or less than their size. It holds for volumes created from now on.
    ///
    /// Fails if a side of the ratio is 0.
    pub fn add_cost(&self, factor: CostFactor) -> Result<(), ScriptError> {
        if factor.numerator == 0 || factor.denominator == 0 {
            return Err(ScriptError::ZeroCost {
                parameter: factor.parameter,
                value: factor.value,
            });
        }
        self.0.state.lock().backend.add_cost(factor);
        Ok(())
    }

    /// All pools, each with its raw bytes in all and those that volumes take of it.
    pub fn pools(&self) -> Vec<(Pool, u64, u64)> {
        let state = self.0.state.lock();
        let with_sums = |pool: &Pool| {
            let (total, taken) = state.backend.raw_sums(pool);
            (pool.clone(), total, taken)
        };
        state.backend.pools().map(with_sums).collect()
    }

    /// Holds devices for volumes to come, as an extender of the scheduler does: other volumes cannot have them. Whether
    /// GetCapacity still counts them is a choice of the [`DriverSpec`]. A hold ends when its volume is created, and all end when the reservation is cancelled.
    ///
    /// Fails if the name is in use, if a volume has no holder, or if no segment has a free device for each volume.
    pub fn reserve(&self, reservation: &Reservation) -> Result<Vec<Held>, ReserveError> {
        self.0.state.lock().backend.reserve(reservation)
    }

    /// Frees everything that a reservation still holds; whether there was anything.
    pub fn cancel_reservation(&self, name: &str) -> bool {
        self.0.state.lock().backend.cancel_reservation(name)
    }

    /// Everything that reservations hold now; with a name, what that reservation holds.
    pub fn reserved(&self, reservation: Option<&str>) -> Vec<Held> {
        self.0.state.lock().backend.held(reservation).collect()
    }

    /// Adds a rule after those already there. It holds for calls that arrive from now on.
    ///
    /// Fails if the effect cannot happen to the method, or if there are too many rules.
    pub fn script(&self, rule: Rule) -> Result<RuleId, ScriptError> {
        self.0.state.lock().script.push(rule)
    }

    /// Takes a rule away; whether it was there. Calls that hang because of it go on.
    pub fn unscript(&self, rule: RuleId) -> bool {
        self.0.state.lock().script.remove(rule)
    }

    /// Takes all rules away. Calls that hang go on.
    pub fn clear_script(&self) {
        self.0.state.lock().script.clear();
    }

    /// All rules in their order, with what they have met. Spent ones are there until they are taken away, or others need their place.
    pub fn rules(&self) -> Vec<RuleState> {
        self.0.state.lock().script.states().cloned().collect()
    }

    /// What the driver says about itself.
    pub fn spec(&self) -> &DriverSpec {
        &self.0.spec
    }

    /// Serves on a new socket until the result is stopped or dropped. A dead socket in the way is replaced.
    ///
    /// With a `node`, `NodeGetInfo` answers it; without, the endpoint has no node service. Every endpoint sees all pools.
    /// Must be called within a tokio runtime. Fails if the socket cannot be bound, for example if the path has more than 107 bytes.
    pub async fn listen(&self, socket: &Path, node: Option<NodeIdentity>) -> std::io::Result<Running> {
        let stopped = CancellationToken::new();
        let refusals = self.refusals(node.as_ref());
        let services = endpoint::services(Arc::clone(&self.0), node, &stopped);
        endpoint::listen(socket, services, refusals, stopped)
    }

    /// Serves like [`FakeDriver::listen`], on streams that something else has accepted: for callers in the driver's own process.
    pub fn serve<S>(
        &self,
        streams: impl Stream<Item = S> + Send + 'static,
        node: Option<NodeIdentity>,
    ) -> Running
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stopped = CancellationToken::new();
        let refusals = self.refusals(node.as_ref());
        let services = endpoint::services(Arc::clone(&self.0), node, &stopped);
        endpoint::serve(streams, services, refusals, stopped)
    }

    fn refusals(&self, node: Option<&NodeIdentity>) -> Refusals {
        Refusals {
            node: node.map(|node| node.node_id.clone()),
            observer: self.0.observer.clone(),
        }
    }

    /// All volumes, by id.
    pub fn volumes(&self) -> Vec<VolumeInfo> {
        self.0.state.lock().volumes.all().cloned().collect()
    }

    /// How many calls are in flight at all endpoints now.
    pub fn in_flight(&self) -> usize {
        *self.0.in_flight.borrow()
    }

    /// Resolves when no call is in flight. A hanging call is in flight until its caller gives up.
    pub async fn quiet(&self) {
        let mut in_flight = self.0.in_flight.subscribe();
        // The sender is in `self`, so the channel cannot close meanwhile.
        let _ = in_flight.wait_for(|calls| *calls == 0).await;
    }
}

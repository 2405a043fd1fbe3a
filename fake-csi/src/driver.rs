//! The driver as its owner holds it: pools, script, volumes, sockets. Knows no wire: the services of an endpoint answer from its state.

use std::{path::Path, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    CostFactor, Held, NodeIdentity, Observer, Pool, Reservation, ReserveError, Rule, RuleId, RuleState,
    Running, ScriptError, Segment, SpecVersion, VolumeInfo, backend::Backend, endpoint, published::Published,
    rule::Script, volumes::Volumes,
};

/// What the driver tells about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Name of the plugin, the provisioner of its storage classes.
    pub name: String,
    /// Topology keys of its nodes. Empty: the driver knows no topology, and does not advertise `VOLUME_ACCESSIBILITY_CONSTRAINTS`.
    pub topology_keys: Vec<String>,
    /// Whether the controller advertises `GET_CAPACITY`; if not, the call answers `UNIMPLEMENTED`.
    pub advertise_get_capacity: bool,
    /// Whether the controller advertises `EXPAND_VOLUME`; if not, or before CSI 1.1, the call answers `UNIMPLEMENTED`.
    pub advertise_expand_volume: bool,
    /// Whether the controller advertises `CLONE_VOLUME`; if not, or before CSI 1.1, a request for a copy answers `INVALID_ARGUMENT`.
    pub advertise_clone_volume: bool,
    /// Names of the mutable parameters that it knows; any other, and before CSI 1.9 each, answers `INVALID_ARGUMENT`. With some, the
    /// controller advertises `MODIFY_VOLUME`.
    pub mutable_parameters: Vec<String>,
    /// Whether GetCapacity still counts what is reserved: without, an extender that reserves for a pod may take the node away from it; with,
    /// others are told room that they do not get.
    pub tells_reserved: bool,
    /// Whether requests that the specification does not allow are answered as if they were complete, where that can be: an incomplete
    /// volume capability is none. The observer hears of them either way.
    pub lenient: bool,
    /// The release of the specification that the driver was made for: it knows nothing that came later.
    pub version: SpecVersion,
}

impl DriverSpec {
    /// A driver without topology that can do everything but copies and mutable parameters.
    pub fn new(name: impl Into<String>) -> DriverSpec {
        DriverSpec {
            name: name.into(),
            topology_keys: Vec::new(),
            advertise_get_capacity: true,
            advertise_expand_volume: true,
            advertise_clone_volume: false,
            mutable_parameters: Vec::new(),
            tells_reserved: true,
            lenient: false,
            version: SpecVersion::NEWEST,
        }
    }

    pub(crate) fn has_expansion(&self) -> bool {
        self.advertise_expand_volume && self.version.has_expansion()
    }

    pub(crate) fn has_clones(&self) -> bool {
        self.advertise_clone_volume && self.version.has_clones()
    }

    pub(crate) fn has_mutable_parameters(&self) -> bool {
        !self.mutable_parameters.is_empty() && self.version.has_mutable_parameters()
    }

    /// Whether the access mode of that number was there already.
    pub(crate) fn knows(&self, mode: i32) -> bool {
        use csi_proto::v1::volume_capability::access_mode::Mode;
        match Mode::try_from(mode) {
            Ok(Mode::SingleNodeSingleWriter | Mode::SingleNodeMultiWriter) => {
                self.version.has_single_node_modes()
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

/// A fake CSI driver. Clones are handles to the same driver.
#[derive(Clone)]
pub struct FakeDriver(Arc<Shared>);

/// What all handles and endpoints of a driver share.
pub(crate) struct Shared {
    pub(crate) spec: DriverSpec,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) books: Mutex<Books>,
    /// Calls in flight at all endpoints.
    pub(crate) in_flight: watch::Sender<usize>,
}

/// Everything that calls read and change, behind one lock: an answer and its event are one step.
#[derive(Default)]
pub(crate) struct Books {
    pub(crate) backend: Backend,
    pub(crate) volumes: Volumes,
    pub(crate) script: Script,
    pub(crate) published: Published,
}

impl FakeDriver {
    /// A driver without pools, listening nowhere yet.
    pub fn new(spec: DriverSpec, observer: Option<Arc<dyn Observer>>) -> FakeDriver {
        FakeDriver(Arc::new(Shared {
            spec,
            observer,
            books: Mutex::default(),
            in_flight: watch::Sender::new(0),
        }))
    }

    /// Adds a pool, or replaces the one of the same segment and parameters. Volumes stay and go on taking their part.
    pub fn set_pool(&self, pool: Pool) {
        self.0.books.lock().backend.set_pool(pool);
    }

    /// Removes the pools of exactly this segment, if there are any. Their volumes stay.
    pub fn remove_pool(&self, segment: &Segment) {
        self.0.books.lock().backend.remove_pool(segment);
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
        self.0.books.lock().backend.add_cost(factor);
        Ok(())
    }

    /// All pools, each with its raw bytes in all and those that volumes take of it.
    pub fn pools(&self) -> Vec<(Pool, u64, u64)> {
        let books = self.0.books.lock();
        let with_sums = |pool: &Pool| {
            let (total, taken) = books.backend.raw_sums(pool);
            (pool.clone(), total, taken)
        };
        books.backend.pools().map(with_sums).collect()
    }

    /// Holds devices for volumes to come, as an extender of the scheduler does: other volumes cannot have them. Whether
    /// GetCapacity still counts them is a choice of the [`DriverSpec`]. A hold ends when its volume is created, and all end when the reservation is cancelled.
    ///
    /// Fails if the name is in use, if a volume has no holder, or if no segment has a free device for each volume.
    pub fn reserve(&self, reservation: &Reservation) -> Result<Vec<Held>, ReserveError> {
        self.0.books.lock().backend.reserve(reservation)
    }

    /// Frees everything that a reservation still holds; whether there was anything.
    pub fn cancel_reservation(&self, name: &str) -> bool {
        self.0.books.lock().backend.cancel_reservation(name)
    }

    /// Everything that reservations hold now.
    pub fn reserved(&self) -> Vec<Held> {
        self.0.books.lock().backend.held().collect()
    }

    /// Adds a rule after those already there. It holds for calls that arrive from now on.
    ///
    /// Fails if the effect cannot happen to the method, or if there are too many rules.
    pub fn script(&self, rule: Rule) -> Result<RuleId, ScriptError> {
        self.0.books.lock().script.push(rule)
    }

    /// Takes a rule away; whether it was there. Calls that hang because of it go on.
    pub fn unscript(&self, rule: RuleId) -> bool {
        self.0.books.lock().script.remove(rule)
    }

    /// Takes all rules away. Calls that hang go on.
    pub fn clear_script(&self) {
        self.0.books.lock().script.clear();
    }

    /// All rules in their order, with what they have met. Spent ones are there until they are taken away, or others need their place.
    pub fn rules(&self) -> Vec<RuleState> {
        self.0.books.lock().script.states().cloned().collect()
    }

    /// What the driver tells about itself.
    pub fn spec(&self) -> &DriverSpec {
        &self.0.spec
    }

    /// Serves on a new socket until the result is stopped or dropped. A dead socket in the way is replaced.
    ///
    /// With a `node`, `NodeGetInfo` answers it; without, the endpoint has no node service. Every endpoint sees all pools.
    /// Must be called within a tokio runtime. Fails if the socket cannot be bound, for example if the path has more than 107 bytes.
    pub async fn listen(&self, socket: &Path, node: Option<NodeIdentity>) -> std::io::Result<Running> {
        endpoint::listen(Arc::clone(&self.0), socket, node)
    }

    /// All volumes, by id.
    pub fn volumes(&self) -> Vec<VolumeInfo> {
        self.0.books.lock().volumes.all().cloned().collect()
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

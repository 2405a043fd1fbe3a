//! The driver as its owner holds it: pools, script, volumes, sockets. Knows no wire: the services of an endpoint answer from its state.

use std::{path::Path, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    CostFactor, Effect, Method, NodeIdentity, Observer, Pool, Rule, Running, Segment, VolumeInfo,
    backend::Backend, endpoint, rule::Script, volumes::Volumes,
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
}

/// A driver cannot be told this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// [`Effect::Capacity`] for another call than GetCapacity.
    #[error("a capacity cannot answer {0}; use that effect with GetCapacity only")]
    CapacityElsewhere(Method),
    /// [`Effect::Code`] with the code for success.
    #[error("OK is no failure of {0}; leave the rule out, or name an error code")]
    FailureOk(Method),
    /// A cost factor of nothing, or divided by nothing.
    #[error("the cost of {parameter}={value} has a zero; give two positive integers")]
    ZeroCost {
        /// Name of the class parameter.
        parameter: String,
        /// Value of the class parameter.
        value: String,
    },
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

    /// Adds a pool, or replaces the one of the same segment. Volumes stay and go on taking their part.
    pub fn set_pool(&self, pool: Pool) {
        self.0.books.lock().backend.set_pool(pool);
    }

    /// Removes the pool of exactly this segment, if there is one. Its volumes stay.
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

    /// Adds a rule after those already there. It holds for calls that arrive from now on.
    ///
    /// Fails if the effect cannot happen to the method.
    pub fn script(&self, rule: Rule) -> Result<(), ScriptError> {
        match &rule.effect {
            Effect::Capacity { .. } if rule.method != Method::GetCapacity => {
                Err(ScriptError::CapacityElsewhere(rule.method))
            }
            Effect::Code(tonic::Code::Ok, _) => Err(ScriptError::FailureOk(rule.method)),
            _ => {
                self.0.books.lock().script.push(rule);
                Ok(())
            }
        }
    }

    /// Takes all rules away. Calls that already hang go on hanging.
    pub fn clear_script(&self) {
        self.0.books.lock().script.clear();
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

//! What all handles and endpoints of one driver share. Knows neither sockets nor messages.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{DriverSpec, Observer, backend::Backend, published::Published, script::Script, volumes::Volumes};

/// What all handles and endpoints of a driver share.
pub(crate) struct Shared {
    pub(crate) spec: DriverSpec,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) state: Mutex<DriverState>,
    /// Calls in flight at all endpoints.
    pub(crate) in_flight: watch::Sender<usize>,
}

/// Everything that calls read and change, behind one lock: an answer and its event are one step.
#[derive(Default)]
pub(crate) struct DriverState {
    pub(crate) backend: Backend,
    pub(crate) volumes: Volumes,
    pub(crate) script: Script,
    pub(crate) published: Published,
    /// Calls of GetCapacity that were answered with the truth, or nearly.
    pub(crate) measured: u64,
}

impl Shared {
    /// A driver without pools, volumes or rules.
    pub(crate) fn new(spec: DriverSpec, observer: Option<Arc<dyn Observer>>) -> Self {
        Shared {
            state: Mutex::new(DriverState {
                published: Published::new(spec.makes_targets),
                ..DriverState::default()
            }),
            spec,
            observer,
            in_flight: watch::Sender::new(0),
        }
    }
}

//! Data that all handles and endpoints of one driver share.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    DriverSpec, Observer, backend::Backend, published::PublishedVolumes, rules::Rules, volumes::Volumes,
};

pub(crate) struct Shared {
    pub(crate) spec: DriverSpec,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) state: Mutex<DriverState>,
    /// Number of CSI calls in flight at all endpoints.
    pub(crate) in_flight: watch::Sender<usize>,
}

/// All data that CSI calls read and change, behind one lock, so that a response and its event are consistent.
#[derive(Default)]
pub(crate) struct DriverState {
    pub(crate) backend: Backend,
    pub(crate) volumes: Volumes,
    pub(crate) rules: Rules,
    pub(crate) published: PublishedVolumes,
    /// Number of GetCapacity calls whose values came from the pools, for [`DriverSpec::capacity_variation`].
    pub(crate) get_capacity_calls: u64,
}

impl Shared {
    /// The state of a driver without pools, volumes or fault rules.
    pub(crate) fn new(spec: DriverSpec, observer: Option<Arc<dyn Observer>>) -> Self {
        Shared {
            state: Mutex::new(DriverState {
                published: PublishedVolumes::new(spec.creates_target_paths),
                ..DriverState::default()
            }),
            spec,
            observer,
            in_flight: watch::Sender::new(0),
        }
    }
}

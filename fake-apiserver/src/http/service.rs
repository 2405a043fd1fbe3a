//! The state shared by all listeners of a server.
//!
//! Owns only the construction of this state. Does not know sockets.

use super::inflight::InFlight;
use crate::access::usage::UsageLog;
use crate::config::options::ServerOptions;
use crate::http::metrics::Metrics;
use crate::observe::Observer;
use crate::store::{Extension, Store};
use std::sync::Arc;

/// The shared state of a server.
pub(crate) struct Service {
    pub(crate) store: Arc<Store>,
    pub(crate) metrics: Metrics,
    /// Records which permissions clients used.
    pub(crate) usage: UsageLog,
    pub(crate) in_flight: InFlight,
}

impl Service {
    /// Creates the shared state with an empty store.
    pub(crate) fn new(
        options: ServerOptions,
        observer: Option<Arc<dyn Observer>>,
        extensions: Vec<Extension>,
    ) -> Self {
        Self {
            in_flight: InFlight::new(options.limits),
            metrics: Metrics::new((options.clock)()),
            store: Arc::new(Store::new(options, observer, extensions)),
            usage: UsageLog::default(),
        }
    }
}

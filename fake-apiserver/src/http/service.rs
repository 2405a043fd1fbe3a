//! What all listeners of a server share.
//!
//! Owns nothing but the parts and their beginning. Does not know sockets.

use super::inflight::InFlight;
use crate::access::usage::UsageLog;
use crate::config::options::ServerOptions;
use crate::http::metrics::Metrics;
use crate::observe::Observer;
use crate::plugin::AdmissionPlugin;
use crate::store::Store;
use std::sync::Arc;

/// A server without its listeners.
pub(crate) struct Service {
    pub(crate) store: Arc<Store>,
    pub(crate) metrics: Metrics,
    /// Who has used which permission.
    pub(crate) usage: UsageLog,
    pub(crate) in_flight: InFlight,
}

impl Service {
    /// A server with an empty store.
    pub(crate) fn new(
        options: ServerOptions,
        observer: Option<Arc<dyn Observer>>,
        plugins: Vec<Arc<dyn AdmissionPlugin>>,
    ) -> Self {
        Self {
            in_flight: InFlight::new(options.limits),
            metrics: Metrics::new((options.clock)()),
            store: Arc::new(Store::new(options, observer, plugins)),
            usage: UsageLog::default(),
        }
    }
}

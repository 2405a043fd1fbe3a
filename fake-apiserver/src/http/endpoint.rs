//! What all requests of one listener share.

use super::service::Service;
use crate::access::auth::User;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One listener of a server.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    /// The user of requests without a token; anonymous where there is none.
    pub(super) tokenless: Option<Arc<User>>,
    /// Ends watches and connections.
    pub(super) stop: CancellationToken,
}

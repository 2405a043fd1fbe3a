//! What all requests of one listener share.

use super::service::Service;
use crate::access::auth::User;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One listener of a server.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    /// Who sends requests without a token; nobody in particular by default.
    pub(super) tokenless: Option<Arc<User>>,
    /// Ends watches and connections.
    pub(super) stop: CancellationToken,
}

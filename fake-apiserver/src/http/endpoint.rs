//! What all requests of one listener, or of one connection, share.

use super::service::Service;
use crate::access::auth::User;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One listener of a server, or a connection to it.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    /// The user of requests without a token; anonymous where there is none.
    pub(super) tokenless: Option<Arc<User>>,
    /// The client has come with a certificate; the user that it stands for, if it is a good one.
    pub(super) certified: Option<Option<Arc<User>>>,
    /// Ends watches and connections.
    pub(super) stop: CancellationToken,
}

//! The context shared by all requests of one listener or connection.

use super::service::Service;
use crate::access::auth::User;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The context of a listener, or of one connection to it.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) service: Arc<Service>,
    /// The user of requests without a token. `None`: the anonymous user.
    pub(super) default_user: Option<Arc<User>>,
    /// `Some` if the client presented a certificate: the user, or `None` if the certificate is invalid or has no common name.
    pub(super) certificate_user: Option<Option<Arc<User>>>,
    /// Cancelled when the server stops, to end watches and connections.
    pub(super) stop: CancellationToken,
}

//! The destination of an outbound request.

/// The destination of an outbound request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    /// `https://host[:port]`, as in error messages.
    pub(crate) origin: String,
    pub(crate) path: String,
    /// The host name that the certificate must contain.
    pub(crate) name: String,
    /// `host:port` to connect to, or the error why it is unknown.
    pub(crate) address: Result<String, String>,
    /// Whether non-loopback addresses may be dialled.
    pub(crate) is_remote_allowed: bool,
    /// Trusted certificate authorities (`caBundle`), in PEM.
    pub(crate) authorities: Vec<u8>,
}

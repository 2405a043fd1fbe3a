//! Where an outbound request is sent, and which certificate is accepted there.

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    /// `https://host[:port]`, as in error messages.
    pub(crate) origin: String,
    pub(crate) path: String,
    /// The host name that the server certificate must contain.
    pub(crate) name: String,
    /// `host:port` to connect to, or the error if the address could not be resolved.
    pub(crate) address: Result<String, String>,
    /// Whether addresses other than loopback may be dialled.
    pub(crate) is_remote_allowed: bool,
    /// Trusted certificate authorities (`caBundle`), in PEM.
    pub(crate) authorities: Vec<u8>,
}

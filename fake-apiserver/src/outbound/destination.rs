//! Where a request goes.

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    /// `https://host[:port]`, as texts name it.
    pub(crate) origin: String,
    pub(crate) path: String,
    /// The name that the certificate has to have.
    pub(crate) name: String,
    /// Host and port to connect to. Why there are none, otherwise.
    pub(crate) address: Result<String, String>,
    /// Addresses other than loopback are dialled too.
    pub(crate) is_remote_allowed: bool,
    /// Certificates of the authorities that are trusted, in PEM.
    pub(crate) authorities: Vec<u8>,
}

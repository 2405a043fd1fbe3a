//! The authority that signs certificates where requests for them are approved.

/// An authority with its key, both in PEM.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The certificate of the authority.
    pub certificate_pem: String,
    /// Its key, as PKCS #8.
    pub key_pem: String,
}

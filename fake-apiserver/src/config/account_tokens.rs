//! Options for signing and verifying service account tokens.

use crate::machinery::jws::{PublicKey, SigningKey};

/// Issuers, audiences and keys of service account tokens.
#[derive(Clone, Debug)]
pub struct AccountTokens {
    /// Accepted issuers. The first is the `iss` claim of new tokens (`--service-account-issuer`).
    pub issuers: Vec<String>,
    /// Accepted audiences, which are also the default audiences of new tokens (`--api-audiences`). Empty: the issuers.
    pub audiences: Vec<String>,
    /// Key that signs tokens. Unset: a P-256 key that is generated at start.
    pub signing_key: Option<SigningKey>,
    /// Public keys that verify tokens. Empty: the public key of the signing key.
    pub keys: Vec<PublicKey>,
}

impl Default for AccountTokens {
    fn default() -> Self {
        Self {
            issuers: vec!["https://kubernetes.default.svc".to_owned()],
            audiences: Vec::new(),
            signing_key: None,
            keys: Vec::new(),
        }
    }
}

impl AccountTokens {
    /// Accepted audiences, which are also the default audiences of new tokens.
    pub(crate) fn audiences(&self) -> &[String] {
        match self.audiences.is_empty() {
            true => &self.issuers,
            false => &self.audiences,
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        self.issuers.first().map_or("", String::as_str)
    }
}

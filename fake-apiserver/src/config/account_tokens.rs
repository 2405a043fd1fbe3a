//! Options for signing and verifying service account tokens.

use crate::machinery::jws::{PublicKey, SigningKey};

/// Issuers, audiences and keys of service account tokens.
#[derive(Clone, Debug)]
pub struct AccountTokens {
    /// Accepted issuers. The first is the `iss` claim of new tokens (`--service-account-issuer`).
    pub issuers: Vec<String>,
    /// Accepted audiences, which are also the default audiences of new tokens (`--api-audiences`). If empty, `issuers` are the audiences.
    pub audiences: Vec<String>,
    /// Key that signs service account tokens. If unset, the server generates a P-256 key at start.
    pub signing_key: Option<SigningKey>,
    /// Public keys that verify service account tokens. If empty, the public key of `signing_key` verifies them.
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

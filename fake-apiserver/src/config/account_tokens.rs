//! How tokens of service accounts are signed, and by what they are known.

use crate::machinery::jws::{PublicKey, SigningKey};

/// Whom tokens of service accounts are from, and the keys that show it.
#[derive(Clone, Debug)]
pub struct AccountTokens {
    /// Whom tokens say that they are from (`iss`): the first. Tokens from the others are good, too.
    pub issuers: Vec<String>,
    /// Whom tokens are for that do not say it, and whom tokens have to be for to be good here; empty: the issuers.
    pub audiences: Vec<String>,
    /// What tokens are signed with; unset: a new key on P-256.
    pub signing_key: Option<SigningKey>,
    /// What tokens are known by; empty: the other half of the key that signs.
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
    /// Whom tokens are for where nobody says it.
    pub(crate) fn audiences(&self) -> &[String] {
        match self.audiences.is_empty() {
            true => &self.issuers,
            false => &self.audiences,
        }
    }

    /// Whom tokens are from.
    pub(crate) fn issuer(&self) -> &str {
        self.issuers.first().map_or("", String::as_str)
    }
}

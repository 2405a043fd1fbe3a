//! Authentication by bearer tokens: tokens in a table, and signed tokens of service accounts.

use super::account::{Claim, Signatures};
use super::token_file::{self, TokenFileError};
use super::user::{ANONYMOUS, Authenticated, Lookup, UNAUTHENTICATED, User};
use crate::config::account_tokens::AccountTokens;
use crate::machinery::status::Status;
use parking_lot::RwLock;
use rand::RngExt;
use std::collections::HashMap;
use std::sync::Arc;

/// Authenticates requests: the token table and the keys for service account tokens.
pub(crate) struct Authenticator {
    tokens: RwLock<HashMap<String, Arc<User>>>,
    accounts: Signatures,
    anonymous: Arc<User>,
}

impl Authenticator {
    pub(crate) fn new(accounts: &AccountTokens) -> Self {
        Self {
            tokens: RwLock::default(),
            accounts: Signatures::new(accounts.clone()),
            anonymous: Arc::new(User::new(ANONYMOUS).in_group(UNAUTHENTICATED)),
        }
    }

    /// Creates a random token for a user and adds it to the token table.
    pub(crate) fn create_token(&self, user: User) -> String {
        let token = format!("{:032x}", rand::rng().random::<u128>());
        self.tokens.write().insert(token.clone(), user.authenticated());
        token
    }

    /// Adds the tokens of a token file to the token table; returns their number.
    pub(crate) fn add_file(&self, text: &str) -> Result<usize, TokenFileError> {
        let found = token_file::parse(text)?;
        let count = found.len();
        let entries = found
            .into_iter()
            .map(|(token, user)| (token, user.authenticated()));
        self.tokens.write().extend(entries);
        Ok(count)
    }

    pub(crate) fn anonymous(&self) -> &Arc<User> {
        &self.anonymous
    }

    /// The user of the bearer token in an `Authorization` header, or a 401. `None` if the header contains no bearer token.
    pub(crate) fn authenticate_header(
        &self,
        header: &str,
        lookup: &Lookup<'_>,
    ) -> Option<Result<Arc<User>, Status>> {
        let (scheme, token) = header.trim().split_once(' ')?;
        let token = token.split(' ').next().unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
            return None;
        }
        let found = self.authenticate_token(token, self.accounts.options().audiences(), lookup);
        Some(found.map(|found| found.user).ok_or_else(Status::unauthorized))
    }

    /// The user of a bearer token, if the token is valid for at least one of the audiences.
    pub(crate) fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
        lookup: &Lookup<'_>,
    ) -> Option<Authenticated> {
        let known = self.tokens.read().get(token).cloned();
        if let Some(user) = known {
            // Tokens of the token table are valid for the audiences of this server.
            let own = self.accounts.options().audiences();
            let matching = audiences.iter().filter(|wanted| own.contains(wanted));
            let audiences: Vec<String> = matching.cloned().collect();
            return (!audiences.is_empty()).then_some(Authenticated { user, audiences });
        }
        self.accounts.verify(token, audiences, lookup)
    }

    pub(crate) fn issue(&self, claim: &Claim) -> String {
        self.accounts.issue(claim)
    }
}

//! Who sends a request: users, and the tokens that stand for them.
//!
//! Owns the tables of tokens and the bearer scheme. Does not know what a user may do: `rbac` decides that.

mod account;
mod token_file;

pub use token_file::TokenFileError;

use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::object::Object;
use account::AccountTokens;
use parking_lot::RwLock;
use rand::RngExt;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(crate) use account::{API_AUDIENCE, BINDABLE, Bound, Claim, groups as account_groups};

/// The group of everyone who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone who is not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group whose members may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The name of whoever sends no token.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// A user, as authentication finds it and authorization judges it (`UserInfo` of authentication.k8s.io/v1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name; events and role bindings use it.
    pub name: Arc<str>,
    /// Tells users of the same name apart over time; may be empty.
    pub uid: String,
    /// The groups, without `system:authenticated`, which every user with a token is in.
    pub groups: Vec<String>,
    /// What else is known, for example the pod that a service account token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Reads an object of the store; handed in because some callers hold the store's lock already.
pub(crate) type Lookup<'a> = dyn Fn(&'static Kind, &str) -> Option<Arc<Object>> + 'a;

/// The tokens of a server.
pub(crate) struct Authenticator {
    tokens: RwLock<HashMap<String, Arc<User>>>,
    accounts: AccountTokens,
    anonymous: Arc<User>,
}

/// A token that was found good.
pub(crate) struct Authenticated {
    pub(crate) user: Arc<User>,
    /// Whom the token is for.
    pub(crate) audiences: Vec<String>,
}

impl User {
    /// A user without groups.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            uid: String::new(),
            groups: Vec::new(),
            extra: BTreeMap::new(),
        }
    }

    /// The same user in one more group.
    #[must_use]
    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.push(group.to_owned());
        self
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The user as everyone with a good credential is: also in `system:authenticated`.
    pub(crate) fn authenticated(self) -> Arc<Self> {
        let known = self.is_in(AUTHENTICATED) || self.is_in(UNAUTHENTICATED);
        Arc::new(if known { self } else { self.in_group(AUTHENTICATED) })
    }

    /// A user who may do everything: whoever runs in the server's own process.
    pub(crate) fn trusted(name: &str) -> Arc<Self> {
        Self::new(name).in_group(MASTERS).authenticated()
    }
}

impl Authenticator {
    pub(crate) fn new() -> Self {
        Self {
            tokens: RwLock::default(),
            accounts: AccountTokens::new(),
            anonymous: Arc::new(User::new(ANONYMOUS).in_group(UNAUTHENTICATED)),
        }
    }

    /// Makes a random token for a user.
    pub(crate) fn add(&self, user: User) -> String {
        let token = format!("{:032x}", rand::rng().random::<u128>());
        self.tokens.write().insert(token.clone(), user.authenticated());
        token
    }

    /// Takes the tokens of a token file.
    pub(crate) fn add_file(&self, text: &str) -> Result<usize, TokenFileError> {
        let found = token_file::parse(text)?;
        let count = found.len();
        let entries = found
            .into_iter()
            .map(|(token, user)| (token, user.authenticated()));
        self.tokens.write().extend(entries);
        Ok(count)
    }

    /// Who sends requests without a token.
    pub(crate) fn anonymous(&self) -> &Arc<User> {
        &self.anonymous
    }

    /// The user that an `Authorization` header stands for; `None` where it holds no bearer token at all.
    pub(crate) fn header(&self, header: &str, lookup: &Lookup<'_>) -> Option<Result<Arc<User>, Status>> {
        let (scheme, token) = header.trim().split_once(' ')?;
        let token = token.split(' ').next().unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
            return None;
        }
        let found = self.token(token, &[API_AUDIENCE.to_owned()], lookup);
        Some(found.map(|found| found.user).ok_or_else(Status::unauthorized))
    }

    /// The user that a token stands for, if it is good for one of the audiences.
    pub(crate) fn token(
        &self,
        token: &str,
        audiences: &[String],
        lookup: &Lookup<'_>,
    ) -> Option<Authenticated> {
        let known = self.tokens.read().get(token).cloned();
        if let Some(user) = known {
            // Tokens of the table know no audience: they are for this server.
            return audiences
                .iter()
                .any(|wanted| wanted == API_AUDIENCE)
                .then(|| Authenticated {
                    user,
                    audiences: vec![API_AUDIENCE.to_owned()],
                });
        }
        self.accounts.verify(token, audiences, lookup)
    }

    /// Signs a token for a service account.
    pub(crate) fn issue(&self, claim: &Claim) -> String {
        self.accounts.issue(claim)
    }
}

//! Users, as authentication finds them and authorization judges them.

use crate::kinds::Kind;
use crate::object::Object;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The group of everyone who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone who is not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group whose members may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The user of requests without a token.
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
pub(crate) type Lookup<'a> = dyn Fn(&Kind, &str) -> Option<Arc<Object>> + 'a;

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

    /// The user as `UserInfo` of authentication.k8s.io/v1.
    pub(crate) fn info(&self) -> Value {
        let mut info = Map::new();
        info.insert("username".to_owned(), (*self.name).into());
        if !self.uid.is_empty() {
            info.insert("uid".to_owned(), self.uid.as_str().into());
        }
        if !self.groups.is_empty() {
            info.insert("groups".to_owned(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            info.insert("extra".to_owned(), json!(self.extra));
        }
        info.into()
    }

    /// A user who may do everything, for programs in the server's own process.
    pub(crate) fn trusted(name: &str) -> Arc<Self> {
        Self::new(name).in_group(MASTERS).authenticated()
    }
}

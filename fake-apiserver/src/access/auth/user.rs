//! Users: authentication determines the user of a request, and authorization the user's permissions.

use crate::kinds::Kind;
use crate::object::Object;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const AUTHENTICATED: &str = "system:authenticated";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const MASTERS: &str = "system:masters";
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// An authenticated user (`UserInfo` of authentication.k8s.io/v1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User name, as in role bindings and events.
    pub name: Arc<str>,
    /// Distinguishes users that have the same name at different times. Can be empty.
    pub uid: String,
    /// Groups, without `system:authenticated`: the server adds that group to all users with a token.
    pub groups: Vec<String>,
    /// Further attributes, for example the pod to which a service account token is bound.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Reads an object from the store by kind and key. A parameter, because some callers already hold the store lock.
pub(crate) type Lookup<'a> = dyn Fn(&Kind, &str) -> Option<Arc<Object>> + 'a;

/// The user that a valid token identifies.
pub(crate) struct Authenticated {
    pub(crate) user: Arc<User>,
    /// The requested audiences for which the token is valid.
    pub(crate) audiences: Vec<String>,
}

impl User {
    /// A user without uid, groups and extra attributes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            uid: String::new(),
            groups: Vec::new(),
            extra: BTreeMap::new(),
        }
    }

    /// Adds a group; duplicates are not removed.
    #[must_use]
    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.push(group.to_owned());
        self
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Adds the user to `system:authenticated`, unless the user is in that group or in `system:unauthenticated`.
    pub(crate) fn authenticated(self) -> Arc<Self> {
        let known = self.is_in(AUTHENTICATED) || self.is_in(UNAUTHENTICATED);
        Arc::new(if known { self } else { self.in_group(AUTHENTICATED) })
    }

    /// The user in the form of `UserInfo` of authentication.k8s.io/v1.
    pub fn info(&self) -> Value {
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

    /// A user with all permissions, for clients in the server's own process.
    pub(crate) fn trusted(name: &str) -> Arc<Self> {
        Self::new(name).in_group(MASTERS).authenticated()
    }
}

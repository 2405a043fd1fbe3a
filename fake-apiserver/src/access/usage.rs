//! A log of the permissions that clients used, and minimal roles derived from this log.
//!
//! Owns the log, which contains each permission once and is limited in size. Does not authorize: callers pass the decisions.

use crate::access::auth::account_of;
use crate::access::rbac::{Attributes, PolicyRule, ResourceOrPath, default_rules};
use crate::kinds::RBAC_GROUP as GROUP;
use crate::request::combined;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Maximum number of different permissions in the log. Needed because each request can have a new path.
const ENTRIES_MAX: usize = 16_384;

/// A permission required by a client, with counts of allowed and denied requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// User name, as in role bindings.
    pub user: Arc<str>,
    /// Verb of the authorization attributes; for non-resource paths, the HTTP method in lower case.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// The resource with its subresource, for example `pods/status`; empty for a non-resource path.
    pub resource: String,
    /// The namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// The non-resource path; empty for a resource.
    pub path: String,
    /// Number of allowed requests that required this permission.
    pub allowed: u64,
    /// Number of requests that were denied because the user lacks this permission.
    pub denied: u64,
}

/// The permission log of a server. Entries are indexed by a hash of their attributes, so that recording a permission again copies nothing.
#[derive(Default)]
pub(crate) struct UsageLog {
    hasher: RandomState,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_hash: HashMap<u64, Vec<Usage>>,
    count: usize,
}

impl UsageLog {
    /// Records an authorization decision. A full log only counts requests with a permission that the log already contains.
    pub(crate) fn record(&self, user: &Arc<str>, attributes: Attributes<'_>, allowed: bool) {
        let (target, verb) = (attributes.target, attributes.verb);
        let hash = match target {
            ResourceOrPath::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => self
                .hasher
                .hash_one((user, verb, group, resource, subresource, namespace)),
            ResourceOrPath::Path(path) => self.hasher.hash_one((user, verb, path)),
        };
        let mut entries = self.entries.lock();
        let room = entries.count < ENTRIES_MAX;
        let bucket = entries.by_hash.entry(hash).or_default();
        let is_new = match bucket.iter_mut().find(|usage| usage.matches(user, attributes)) {
            Some(usage) => {
                usage.count(allowed);
                false
            }
            None if room => {
                let mut usage = Usage::new(user, attributes);
                usage.count(allowed);
                bucket.push(usage);
                true
            }
            None => false,
        };
        if bucket.is_empty() {
            entries.by_hash.remove(&hash);
        }
        entries.count += usize::from(is_new);
    }

    /// All entries of the usage log in a fixed order.
    pub(crate) fn list(&self) -> Vec<Usage> {
        let mut all: Vec<Usage> = self.entries.lock().by_hash.values().flatten().cloned().collect();
        all.sort_by(|one, other| one.key().cmp(&other.key()));
        all
    }
}

impl Usage {
    fn new(user: &Arc<str>, attributes: Attributes<'_>) -> Self {
        let mut usage = Self {
            user: user.clone(),
            verb: attributes.verb.to_owned(),
            group: String::new(),
            resource: String::new(),
            namespace: String::new(),
            path: String::new(),
            allowed: 0,
            denied: 0,
        };
        match attributes.target {
            ResourceOrPath::Path(path) => path.clone_into(&mut usage.path),
            ResourceOrPath::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                group.clone_into(&mut usage.group);
                usage.resource = combined(resource, subresource);
                namespace.clone_into(&mut usage.namespace);
            }
        }
        usage
    }

    fn count(&mut self, allowed: bool) {
        let counter = if allowed {
            &mut self.allowed
        } else {
            &mut self.denied
        };
        *counter += 1;
    }

    fn matches(&self, user: &str, attributes: Attributes<'_>) -> bool {
        *self.user == *user
            && self.verb == attributes.verb
            && match attributes.target {
                ResourceOrPath::Path(path) => self.resource.is_empty() && self.path == path,
                ResourceOrPath::Resource {
                    group,
                    resource,
                    subresource,
                    namespace,
                    ..
                } => {
                    let (own, sub) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
                    self.group == group
                        && own == resource
                        && sub == subresource
                        && self.namespace == namespace
                }
            }
    }

    fn key(&self) -> [&str; 6] {
        [
            &self.user,
            &self.namespace,
            &self.group,
            &self.resource,
            &self.path,
            &self.verb,
        ]
    }
}

/// The minimal roles, with their bindings, that allow all logged requests of a user that were allowed: a ClusterRole for cluster-wide
/// requests, and a Role in each namespace. All roles and bindings are named `name`. Omits the default permissions of all authenticated
/// users (discovery, self reviews).
///
/// The rules have no `resourceNames`: the objects that a client reads differ between runs.
pub fn minimal_roles(usage: &[Usage], user: &str, name: &str) -> Vec<Value> {
    let known = default_rules();
    let mut by_namespace: BTreeMap<&str, Vec<&Usage>> = BTreeMap::new();
    for entry in usage
        .iter()
        .filter(|entry| *entry.user == *user && entry.allowed > 0)
    {
        let rule = entry.rule();
        if !known.iter().any(|own| own.covers(&rule)) {
            by_namespace.entry(&entry.namespace).or_default().push(entry);
        }
    }
    let of_cluster = by_namespace
        .remove("")
        .map(|entries| rules(&entries))
        .unwrap_or_default();
    let mut objects = Vec::new();
    if !of_cluster.is_empty() {
        objects.extend(role(name, "", &of_cluster, user));
    }
    for (namespace, mut entries) in by_namespace {
        entries.retain(|entry| !of_cluster.iter().any(|own| own.covers(&entry.rule())));
        if !entries.is_empty() {
            objects.extend(role(name, namespace, &rules(&entries), user));
        }
    }
    objects
}

impl Usage {
    fn rule(&self) -> PolicyRule {
        let one = |text: &str| vec![text.to_owned()];
        if self.resource.is_empty() {
            return PolicyRule {
                verbs: one(&self.verb),
                paths: one(&self.path),
                ..PolicyRule::default()
            };
        }
        PolicyRule {
            verbs: one(&self.verb),
            groups: one(&self.group),
            resources: one(&self.resource),
            ..PolicyRule::default()
        }
    }
}

/// Merges permissions into few rules: resources of a group that are used with the same verbs share a rule.
fn rules(entries: &[&Usage]) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for entry in entries {
        verbs
            .entry((&entry.group, &entry.resource, &entry.path))
            .or_default()
            .insert(&entry.verb);
    }
    let mut merged: BTreeMap<(&str, BTreeSet<&str>, bool), Vec<&str>> = BTreeMap::new();
    for ((group, resource, path), verbs) in verbs {
        let is_path = resource.is_empty();
        merged
            .entry((group, verbs, is_path))
            .or_default()
            .push(if is_path { path } else { resource });
    }
    let own = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
    let rule = |((group, verbs, is_path), named): ((&str, BTreeSet<&str>, bool), Vec<&str>)| {
        let verbs = own(verbs.into_iter().collect());
        if is_path {
            return PolicyRule {
                verbs,
                paths: own(named),
                ..PolicyRule::default()
            };
        }
        PolicyRule {
            verbs,
            groups: vec![group.to_owned()],
            resources: own(named),
            ..PolicyRule::default()
        }
    };
    merged.into_iter().map(rule).collect()
}

/// A role and its binding. With an empty namespace: a ClusterRole and a ClusterRoleBinding.
fn role(name: &str, namespace: &str, rules: &[PolicyRule], user: &str) -> [Value; 2] {
    let prefix = if namespace.is_empty() { "Cluster" } else { "" };
    let mut metadata = json!({"name": name});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    let head =
        |kind: String| json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata});
    let (mut role, mut binding) = (
        head(format!("{prefix}Role")),
        head(format!("{prefix}RoleBinding")),
    );
    role["rules"] = rules.iter().map(PolicyRule::to_value).collect();
    binding["roleRef"] = json!({"apiGroup": GROUP, "kind": format!("{prefix}Role"), "name": name});
    binding["subjects"] = json!([subject(user)]);
    [role, binding]
}

fn subject(user: &str) -> Value {
    match account_of(user) {
        Some((namespace, name)) => json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}),
        None => json!({"apiGroup": GROUP, "kind": "User", "name": user}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(log: &UsageLog, path: &str, allowed: bool) {
        let attributes = Attributes {
            verb: "get",
            target: ResourceOrPath::Path(path),
        };
        log.record(&"u".into(), attributes, allowed);
    }

    #[test]
    fn a_full_log_counts_known_permissions_and_adds_none() {
        let log = UsageLog::default();
        for number in 0..ENTRIES_MAX + 10 {
            record(&log, &format!("/{number}"), true);
        }
        record(&log, "/0", false);
        let all = log.list();
        assert_eq!(all.len(), ENTRIES_MAX);
        assert_eq!(
            log.entries.lock().by_hash.len(),
            ENTRIES_MAX,
            "rejected permissions leave no empty buckets"
        );
        let first = all
            .iter()
            .find(|usage| usage.path == "/0")
            .map(|usage| (usage.allowed, usage.denied));
        assert_eq!(first, Some((1, 1)));
    }
}

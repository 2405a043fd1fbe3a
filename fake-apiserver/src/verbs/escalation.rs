//! Privilege escalation check: users can grant only permissions that they have themselves.
//!
//! Owns the check and its messages. The check applies only with RBAC authorization; members of `system:masters` and users with the verbs
//! `escalate` or `bind` are exempt.

use super::call::Target;
use crate::access::auth::{MASTERS, User};
use crate::access::rbac::{Attributes, PolicyRule, ResourceOrPath};
use crate::config::options::Authorization;
use crate::kinds::{CLUSTER_ROLE, Grants, Kind, RBAC_GROUP as GROUP, ROLE};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::store::Txn;
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum number of permissions that one role may grant. Each permission is checked separately, and a rule grants one for each combination
/// of the verbs, groups, resources and names in its lists.
const PARTS_MAX: usize = 20_000;

/// Rejects a role or binding that grants permissions which the user does not have.
pub(super) fn check(txn: &Txn<'_>, target: &Target, old: Option<&Value>, new: &Value) -> Result<(), Status> {
    let kind = &target.kind;
    // The server's own writes have no user and are not checked.
    let Some(user) = txn.user.clone() else {
        return Ok(());
    };
    let is_exempt = txn.options().authorization != Authorization::Rbac || user.is_in(MASTERS);
    let Some(grants) = kind.grants.filter(|_| !is_exempt) else {
        return Ok(());
    };
    if old.is_some_and(|old| without_gc_fields(old) == without_gc_fields(new)) {
        return Ok(());
    }
    let writer = Grantor {
        txn,
        user: &user,
        kind,
    };
    match grants {
        Grants::Rules => writer.check_role(target, old, new),
        Grants::Role => writer.check_binding(new),
    }
}

/// The object without the fields that the garbage collector changes (`IsOnlyMutatingGCFields`). All other fields are compared: a label can
/// aggregate a role into another role.
fn without_gc_fields(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["ownerReferences", "finalizers", "managedFields"] {
        metadata::set(&mut object, field, None);
    }
    object
}

/// Requires permission to `create` for a request with another verb that creates an object or connects to a pod.
pub(super) fn require_create_permission(txn: &Txn<'_>, target: &Target) -> Result<(), Status> {
    let Some(user) = &txn.user else { return Ok(()) };
    let path = target.path();
    let attributes = Attributes {
        verb: "create",
        target: ResourceOrPath::Resource {
            group: target.kind.group,
            resource: target.kind.plural,
            subresource: path.subresource.as_deref().unwrap_or_default(),
            namespace: target.namespace.as_deref().unwrap_or_default(),
            name: target.name(),
        },
    };
    txn.authorize(user, attributes).require(&attributes, user)
}

/// The user who writes a role or binding.
struct Grantor<'a, 'b> {
    txn: &'a Txn<'b>,
    user: &'a User,
    kind: &'a Kind,
}

impl Grantor<'_, '_> {
    fn check_role(&self, target: &Target, old: Option<&Value>, role: &Value) -> Result<(), Status> {
        let (namespace, name) = (metadata::text(role, "namespace"), metadata::text(role, "name"));
        // The URL of a create contains no name, so rules with `resourceNames` do not grant `escalate` for creates.
        if self.is_authorized("escalate", self.kind.plural, namespace, target.name()) {
            return Ok(());
        }
        self.check_granted(namespace, name, &PolicyRule::all_of(role))?;
        let aggregates = [Some(role), old]
            .into_iter()
            .flatten()
            .any(|role| role.get("aggregationRule").is_some());
        if aggregates
            && self
                .check_granted(namespace, name, &PolicyRule::allow_all())
                .is_err()
        {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(Status::forbidden(self.kind.group_resource(), name, why));
        }
        Ok(())
    }

    fn check_binding(&self, binding: &Value) -> Result<(), Status> {
        let (namespace, name) = (
            metadata::text(binding, "namespace"),
            metadata::text(binding, "name"),
        );
        let role = binding["roleRef"]["name"].as_str().unwrap_or_default();
        let role_kind = if binding["roleRef"]["kind"] == "Role" {
            &ROLE
        } else {
            &CLUSTER_ROLE
        };
        if self.is_authorized("bind", role_kind.plural, namespace, role) {
            return Ok(());
        }
        let Some(found) = self.txn.get(role_kind, &role_kind.key(Some(namespace), role)) else {
            return Err(Status::not_found(self.kind.group_resource(), role));
        };
        self.check_granted(namespace, name, &PolicyRule::all_of(found.value()))
    }

    fn is_authorized(&self, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let target = ResourceOrPath::Resource {
            group: GROUP,
            resource,
            subresource: "",
            namespace,
            name,
        };
        self.txn.authorize(self.user, Attributes { verb, target }).allowed
    }

    fn check_granted(&self, namespace: &str, name: &str, wanted: &[PolicyRule]) -> Result<(), Status> {
        let count = wanted
            .iter()
            .map(PolicyRule::permission_count)
            .fold(0, usize::saturating_add);
        if count > PARTS_MAX {
            let why = format!(
                "rules grant {count} permissions, more than {PARTS_MAX}; split them over several roles"
            );
            return Err(Status::failure(413, "RequestEntityTooLarge", why));
        }
        let (own, failure) = self.txn.rules_for(self.user, namespace);
        let mut missing = Missing::new();
        for part in wanted.iter().flat_map(PolicyRule::single_permissions) {
            if !own.iter().any(|rule| rule.covers(&part)) {
                let verbs = missing.entry((part.groups, part.resources, part.names, part.paths));
                verbs.or_default().extend(part.verbs);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let User {
            name: user, groups, ..
        } = self.user;
        let groups: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
        let missing = missing
            .into_iter()
            .map(|((groups, resources, names, paths), verbs)| PolicyRule {
                verbs,
                groups,
                resources,
                names,
                paths,
            });
        let mut lines: Vec<String> = missing.map(|rule| rule.compact()).collect();
        lines.sort();
        let mut why = format!(
            "user {user:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            groups.join(" "),
            lines.join("\n")
        );
        if let Some(failure) = failure {
            why.push_str(&format!("; resolution errors: {failure}"));
        }
        Err(Status::forbidden(self.kind.group_resource(), name, &why))
    }
}

/// Verbs that the user lacks, grouped by API groups, resources, names and paths.
type Missing = BTreeMap<(Vec<String>, Vec<String>, Vec<String>, Vec<String>), Vec<String>>;

impl PolicyRule {
    /// Number of single permissions in the rule: each combination of one verb with one resource or path.
    fn permission_count(&self) -> usize {
        let names = self.names.len().max(1);
        let things = [self.groups.len(), self.resources.len(), names];
        let things = things.into_iter().fold(1, usize::saturating_mul);
        self.verbs
            .len()
            .saturating_mul(things.saturating_add(self.paths.len()))
    }

    /// Splits the rule into single permissions: each combination of one verb with one resource or path.
    fn single_permissions(&self) -> impl Iterator<Item = Self> {
        let one = |text: &String| vec![text.clone()];
        let mut parts = Vec::new();
        for verb in &self.verbs {
            for path in &self.paths {
                parts.push(Self {
                    verbs: one(verb),
                    paths: one(path),
                    ..Self::default()
                });
            }
            for group in &self.groups {
                for resource in &self.resources {
                    let whole = Self {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    let named = self.names.iter().map(|name| Self {
                        names: one(name),
                        ..whole.clone()
                    });
                    if self.names.is_empty() {
                        parts.push(whole.clone());
                    }
                    parts.extend(named);
                }
            }
        }
        parts.into_iter()
    }

    /// The rule in the one-line format of error messages.
    fn compact(&self) -> String {
        let lists = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.paths),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let filled = lists.iter().filter(|(_, list)| !list.is_empty());
        let shown: Vec<String> = filled
            .map(|(name, list)| {
                let quoted: Vec<String> = list.iter().map(|text| format!("{text:?}")).collect();
                format!("{name}:[{}]", quoted.join(" "))
            })
            .collect();
        format!("{{{}}}", shown.join(", "))
    }
}

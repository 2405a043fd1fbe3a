//! Authorization by Roles, ClusterRoles and their bindings (rbac.authorization.k8s.io).
//!
//! Owns the decision. Does not know requests, only their `Attributes`. Roles and bindings are compiled into a `Policy` after a change, not
//! for each request.

mod authorizer;
mod defaults;
mod rule;

pub(crate) use authorizer::Authorizer;
pub(crate) use defaults::{
    DefaultObject, bindings as default_bindings, default_rules, roles as default_roles,
};
pub(crate) use rule::PolicyRule;

use crate::access::auth::{User, account_user};
use crate::kinds::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, Kind, RBAC_GROUP as GROUP, ROLE, ROLE_BINDING};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::{Object, Objects};
use crate::request::combined;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The attributes of a request for authorization, except the user.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// A lower-case verb of RBAC rules, such as `get`; for a non-resource path, the HTTP method.
    pub verb: &'a str,
    /// The API resource or non-resource path that the request accesses.
    pub target: ResourceOrPath<'a>,
}

/// What a request accesses: an API resource, or a non-resource path such as `/healthz`.
#[derive(Clone, Copy, Debug)]
pub enum ResourceOrPath<'a> {
    /// An API resource. An empty field means that the request has no such attribute.
    Resource {
        /// API group of the resource; empty for the core group.
        group: &'a str,
        /// Plural resource name, such as `pods`.
        resource: &'a str,
        /// Subresource, such as `status`; empty for the main resource.
        subresource: &'a str,
        /// Namespace; empty for cluster-wide requests.
        namespace: &'a str,
        /// Object name; empty for requests for a collection.
        name: &'a str,
    },
    /// A path that is no API resource, such as `/healthz`.
    Path(&'a str),
}

/// Whether a request is allowed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the user may perform the request.
    pub allowed: bool,
    /// An explanation for the user, such as the binding that allows the request. Can be empty.
    pub reason: String,
}

impl Decision {
    pub(crate) fn require(&self, attributes: &Attributes<'_>, user: &User) -> Result<(), Status> {
        if self.allowed {
            return Ok(());
        }
        Err(attributes.forbidden(user, &self.reason))
    }
}

/// All roles and bindings in compiled form.
#[derive(Default)]
pub(crate) struct Policy {
    cluster: Vec<Binding>,
    namespaced: HashMap<String, Vec<Binding>>,
}

struct Binding {
    /// The role binding as quoted in `Decision::reason`.
    title: String,
    subjects: Vec<Subject>,
    /// The rules of the bound role, or the error that the role does not exist.
    rules: Result<Arc<[PolicyRule]>, String>,
}

struct Subject {
    kind: SubjectKind,
    name: String,
    /// The user, group or service account as quoted in `Decision::reason`.
    title: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SubjectKind {
    User,
    Group,
}

/// The roles and bindings from which a policy is compiled.
pub(crate) struct Sources {
    pub(crate) cluster_roles: Objects,
    pub(crate) cluster_role_bindings: Objects,
    pub(crate) roles: Objects,
    pub(crate) role_bindings: Objects,
}

pub(crate) fn is_role_or_binding(kind: &Kind) -> bool {
    kind.grants.is_some()
}

impl Sources {
    /// Reads all roles and bindings. `read` lists the objects of one kind.
    pub(crate) fn read(read: impl Fn(&Kind) -> Objects) -> Self {
        Self {
            cluster_roles: read(&CLUSTER_ROLE),
            cluster_role_bindings: read(&CLUSTER_ROLE_BINDING),
            roles: read(&ROLE),
            role_bindings: read(&ROLE_BINDING),
        }
    }
}

impl Policy {
    pub(crate) fn compile(sources: &Sources) -> Self {
        let cluster = rules_by_key(&sources.cluster_roles);
        let namespaced = rules_by_key(&sources.roles);
        let of_cluster = |name: &str| {
            cluster
                .get(name)
                .cloned()
                .ok_or_else(|| missing("clusterrole", name))
        };
        let of_namespace = |namespace: &str, name: &str| {
            let found = namespaced.get(format!("{namespace}/{name}").as_str()).cloned();
            found.ok_or_else(|| missing("role", name))
        };
        let mut policy = Self::default();
        for object in sources.cluster_role_bindings.values() {
            let name = object.value()["roleRef"]["name"].as_str().unwrap_or_default();
            policy.cluster.push(Binding::new(object, "", of_cluster(name)));
        }
        for object in sources.role_bindings.values() {
            let namespace = metadata::text(object.value(), "namespace");
            let role = &object.value()["roleRef"];
            let name = role["name"].as_str().unwrap_or_default();
            let found = if role["kind"] == "ClusterRole" {
                of_cluster(name)
            } else {
                of_namespace(namespace, name)
            };
            let binding = Binding::new(object, namespace, found);
            policy
                .namespaced
                .entry(namespace.to_owned())
                .or_default()
                .push(binding);
        }
        policy
    }

    /// Authorizes a request like kube-apiserver's RBAC authorizer: the first matching rule allows it.
    pub(crate) fn decide(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        let mut failures: Vec<&str> = Vec::new();
        for (binding, subject) in self.bindings(user, attributes.namespace()) {
            match &binding.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    let reason = format!("RBAC: allowed by {} to {}", binding.title, subject.title);
                    return Decision {
                        allowed: true,
                        reason,
                    };
                }
                Ok(_) => {}
                Err(why) if failures.contains(&why.as_str()) => {}
                Err(why) => failures.push(why),
            }
        }
        Decision {
            allowed: false,
            reason: failure_text(&failures).map_or_else(String::new, |text| format!("RBAC: {text}")),
        }
    }

    /// All RBAC rules that apply to a user in a namespace, and errors for missing roles.
    pub(crate) fn rules_for<'a>(
        &'a self,
        user: &'a User,
        namespace: &str,
    ) -> (Vec<&'a PolicyRule>, Option<String>) {
        let (mut found, mut failures) = (Vec::new(), Vec::new());
        for (binding, _) in self.bindings(user, namespace) {
            match &binding.rules {
                Ok(rules) => found.extend(rules.iter()),
                Err(why) => failures.push(why.as_str()),
            }
        }
        (found, failure_text(&failures))
    }

    /// The role bindings that apply to a user in a namespace, ClusterRoleBindings first.
    fn bindings<'a>(
        &'a self,
        user: &'a User,
        namespace: &str,
    ) -> impl Iterator<Item = (&'a Binding, &'a Subject)> {
        let local = self.namespaced.get(namespace).map_or(&[][..], Vec::as_slice);
        let all = self.cluster.iter().chain(local);
        all.filter_map(|binding| {
            Some((
                binding,
                binding
                    .subjects
                    .iter()
                    .find(|subject| subject.matches_user(user))?,
            ))
        })
    }
}

/// The rules of each role by the key of the role. All bindings of a role share the rules.
fn rules_by_key(roles: &Objects) -> HashMap<&str, Arc<[PolicyRule]>> {
    roles
        .iter()
        .map(|(key, role)| (&**key, PolicyRule::all_of(role.value()).into()))
        .collect()
}

fn missing(kind: &str, name: &str) -> String {
    format!("{kind}.{GROUP} {name:?} not found")
}

fn failure_text(failures: &[&str]) -> Option<String> {
    match failures {
        [] => None,
        [one] => Some((*one).to_owned()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

impl Binding {
    fn new(object: &Object, namespace: &str, rules: Result<Arc<[PolicyRule]>, String>) -> Self {
        let (value, role) = (object.value(), &object.value()["roleRef"]);
        let text = |field: &str| role[field].as_str().unwrap_or_default();
        let (kind, mut name) = (
            value["kind"].as_str().unwrap_or_default(),
            metadata::text(value, "name").to_owned(),
        );
        if !namespace.is_empty() {
            name = format!("{name}/{namespace}");
        }
        let subjects = value["subjects"].as_array().into_iter().flatten();
        Self {
            title: format!("{kind} {name:?} of {} {:?}", text("kind"), text("name")),
            subjects: subjects
                .filter_map(|subject| Subject::read(subject, namespace))
                .collect(),
            rules,
        }
    }
}

impl Subject {
    fn read(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        let (kind, name) = (text("kind"), text("name"));
        let plain = |kind_of| Self {
            kind: kind_of,
            name: name.to_owned(),
            title: format!("{kind} {name:?}"),
        };
        match kind {
            "User" => Some(plain(SubjectKind::User)),
            "Group" => Some(plain(SubjectKind::Group)),
            "ServiceAccount" => {
                let namespace = Some(text("namespace"))
                    .filter(|own| !own.is_empty())
                    .unwrap_or(binding_namespace);
                (!namespace.is_empty()).then(|| Self {
                    kind: SubjectKind::User,
                    name: account_user(namespace, name),
                    title: format!("{kind} {:?}", format!("{name}/{namespace}")),
                })
            }
            _ => None,
        }
    }

    fn matches_user(&self, user: &User) -> bool {
        match self.kind {
            SubjectKind::User => *user.name == *self.name,
            SubjectKind::Group => user.is_in(&self.name),
        }
    }
}

impl Attributes<'_> {
    fn namespace(&self) -> &str {
        match self.target {
            ResourceOrPath::Resource { namespace, .. } => namespace,
            ResourceOrPath::Path(_) => "",
        }
    }

    /// The Forbidden error, with the message of kube-apiserver.
    fn forbidden(&self, user: &User, reason: &str) -> Status {
        let suffix = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        match self.target {
            ResourceOrPath::Path(path) => Status::forbidden_path(&format!(
                "User {:?} cannot {} path {path:?}{suffix}",
                user.name, self.verb
            )),
            ResourceOrPath::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
            } => {
                let scope = match namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let combined = combined(resource, subresource);
                let why = format!(
                    "User {:?} cannot {} resource {combined:?} in API group {group:?} {scope}{suffix}",
                    user.name, self.verb
                );
                Status::forbidden(
                    crate::machinery::status::GroupResource {
                        group,
                        kind: resource,
                    },
                    name,
                    &why,
                )
            }
        }
    }
}

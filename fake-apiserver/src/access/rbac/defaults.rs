//! Default roles and bindings of a cluster, from `defaults.json`: those of Kubernetes 1.36 with default feature gates.
//!
//! The file omits objects that follow from names: the roles `admin`, `edit` and `view`, which aggregate the rules of
//! `system:aggregate-to-…`, and the bindings of each controller's role to the service account of the same name.

use crate::kinds::RBAC_GROUP as GROUP;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    serde_json::from_str(include_str!("defaults.json")).expect("a test reads defaults.json")
});

const CONTROLLER: &str = "system:controller:";
const AGGREGATE: &str = "system:aggregate-to-";
/// The aggregated ClusterRoles, each with the ClusterRole that in turn aggregates its rules.
const AGGREGATED: [(&str, Option<&str>); 3] =
    [("admin", None), ("edit", Some("admin")), ("view", Some("edit"))];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Defaults {
    cluster_roles: BTreeMap<String, Vec<Rule>>,
    /// Subjects of each ClusterRoleBinding, by the name of the ClusterRole.
    cluster_role_bindings: BTreeMap<String, Vec<Subject>>,
    /// The rules of each default Role, by namespace and role name.
    roles: BTreeMap<String, BTreeMap<String, Vec<Rule>>>,
    role_bindings: BTreeMap<String, BTreeMap<String, Binding>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    verbs: Vec<String>,
    groups: Option<Vec<String>>,
    resources: Option<Vec<String>>,
    names: Option<Vec<String>>,
    paths: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Binding {
    role: String,
    subjects: Vec<Subject>,
}

/// A subject as `User/NAME`, `Group/NAME` or `ServiceAccount/NAMESPACE/NAME`.
#[derive(Deserialize, PartialEq)]
struct Subject(String);

/// A default role or binding.
pub(crate) struct DefaultObject {
    /// `None` for ClusterRoles and ClusterRoleBindings.
    pub(crate) namespace: Option<&'static str>,
    pub(crate) name: &'static str,
    /// The role into which this role's rules are aggregated (label `aggregate-to-…`).
    pub(crate) member_of: Option<&'static str>,
    /// The default role or binding without metadata.
    pub(crate) content: Value,
}

/// The rules that the default bindings grant to all authenticated users.
pub(crate) fn default_rules() -> Vec<super::PolicyRule> {
    let everybody = Subject("Group/system:authenticated".to_owned());
    let binding_content = DEFAULTS.cluster_role_bindings.iter();
    let binding_content = binding_content.filter(|(_, subjects)| subjects.contains(&everybody));
    binding_content
        .flat_map(|(name, _)| &DEFAULTS.cluster_roles[name])
        .map(|rule| super::PolicyRule::read(&rule.to_value()))
        .collect()
}

pub(crate) fn roles() -> impl Iterator<Item = DefaultObject> {
    let plain = DEFAULTS.cluster_roles.iter().map(|(name, rules)| DefaultObject {
        namespace: None,
        name,
        member_of: name.strip_prefix(AGGREGATE),
        content: rules_of(rules),
    });
    let aggregated = AGGREGATED.into_iter().map(|(name, member_of)| {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
        let selectors = json!([{"matchLabels": {label: "true"}}]);
        DefaultObject {
            namespace: None,
            name,
            member_of,
            content: json!({"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": null}),
        }
    });
    let of_namespaces = flatten(&DEFAULTS.roles).map(|(namespace, name, rules)| DefaultObject {
        namespace: Some(namespace),
        name,
        member_of: None,
        content: rules_of(rules),
    });
    plain.chain(aggregated).chain(of_namespaces)
}

pub(crate) fn bindings() -> impl Iterator<Item = DefaultObject> {
    let binding = |namespace, name, content| DefaultObject {
        namespace,
        name,
        member_of: None,
        content,
    };
    let of_cluster = DEFAULTS.cluster_role_bindings.iter();
    let of_cluster = of_cluster.map(move |(name, subjects)| {
        let subjects = subjects.iter().map(Subject::to_value).collect();
        binding(None, name, binding_content("ClusterRole", name, subjects))
    });
    let of_controllers = DEFAULTS.cluster_roles.keys().filter_map(move |name| {
        let account = name.strip_prefix(CONTROLLER)?;
        let account = json!({"kind": "ServiceAccount", "namespace": "kube-system", "name": account});
        Some(binding(
            None,
            name,
            binding_content("ClusterRole", name, json!([account])),
        ))
    });
    let of_namespaces = flatten(&DEFAULTS.role_bindings).map(move |(namespace, name, binding_of)| {
        let subjects = binding_of.subjects.iter().map(Subject::to_value).collect();
        binding(
            Some(namespace),
            name,
            binding_content("Role", &binding_of.role, subjects),
        )
    });
    of_cluster.chain(of_controllers).chain(of_namespaces)
}

/// Flattens a map by namespace and name: returns namespace, name and value of each entry.
fn flatten<T>(
    spaces: &'static BTreeMap<String, BTreeMap<String, T>>,
) -> impl Iterator<Item = (&'static str, &'static str, &'static T)> {
    let named = |(namespace, named): (&'static String, &'static BTreeMap<String, T>)| {
        named
            .iter()
            .map(|(name, it)| (namespace.as_str(), name.as_str(), it))
    };
    spaces.iter().flat_map(named)
}

fn rules_of(rules: &[Rule]) -> Value {
    json!({"rules": rules.iter().map(Rule::to_value).collect::<Value>()})
}

fn binding_content(kind: &str, role: &str, subjects: Value) -> Value {
    let mut content = json!({"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}});
    if subjects.as_array().is_some_and(|subjects| !subjects.is_empty()) {
        content["subjects"] = subjects;
    }
    content
}

impl Rule {
    fn to_value(&self) -> Value {
        let fields = [
            ("apiGroups", &self.groups),
            ("nonResourceURLs", &self.paths),
            ("resourceNames", &self.names),
            ("resources", &self.resources),
        ];
        let mut rule = json!({"verbs": self.verbs});
        for (field, words) in fields {
            if let Some(words) = words {
                rule[field] = json!(words);
            }
        }
        rule
    }
}

impl Subject {
    fn to_value(&self) -> Value {
        let (kind, name) = self.0.split_once('/').unwrap_or(("User", &self.0));
        match (kind, name.split_once('/')) {
            ("ServiceAccount", Some((namespace, name))) => {
                json!({"kind": kind, "namespace": namespace, "name": name})
            }
            _ => json!({"apiGroup": GROUP, "kind": kind, "name": name}),
        }
    }
}

//! The roles and bindings that a cluster is born with, as far as they concern what is served here.
//!
//! Owns one table of roles and one of bindings. `admin`, `edit` and `view` are aggregated, as in the real server.

use crate::kinds::RBAC_GROUP as GROUP;
use serde_json::{Value, json};

type Words = &'static [&'static str];

const READ: Words = &["get", "list", "watch"];
const WRITE: Words = &["create", "delete", "deletecollection", "patch", "update"];
const ALL: Words = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const CREATE: Words = &["create"];
const GET: Words = &["get"];
const STORAGE: Words = &["storage.k8s.io"];
const CORE: Words = &[""];

/// One rule: verbs, and what they are for.
enum DefaultRule {
    /// Verbs, groups, resources.
    On(Words, Words, Words),
    /// Verbs, groups, resources, names.
    Named(Words, Words, Words, Words),
    /// Verbs and paths.
    Paths(Words, Words),
}
use DefaultRule::{Named, On, Paths};

/// Name, the role that takes its rules over (as `aggregate-to-…`), rules.
const ROLES: &[(&str, Option<&str>, &[DefaultRule])] = &[
    (
        "cluster-admin",
        None,
        &[On(&["*"], &["*"], &["*"]), Paths(&["*"], &["*"])],
    ),
    (
        "system:aggregate-to-admin",
        Some("admin"),
        &[
            On(CREATE, &["authorization.k8s.io"], &["localsubjectaccessreviews"]),
            On(ALL, &["rbac.authorization.k8s.io"], &["rolebindings", "roles"]),
        ],
    ),
    (
        "system:aggregate-to-edit",
        Some("edit"),
        &[
            On(
                WRITE,
                CORE,
                &[
                    "pods",
                    "configmaps",
                    "events",
                    "persistentvolumeclaims",
                    "replicationcontrollers",
                ],
            ),
            On(WRITE, CORE, &["secrets", "serviceaccounts", "services"]),
            On(READ, CORE, &["secrets"]),
            On(&["impersonate"], CORE, &["serviceaccounts"]),
            On(CREATE, CORE, &["pods/eviction", "serviceaccounts/token"]),
            On(
                WRITE,
                &["apps"],
                &["daemonsets", "deployments", "deployments/scale"],
            ),
            On(
                WRITE,
                &["apps"],
                &[
                    "replicasets",
                    "replicasets/scale",
                    "statefulsets",
                    "statefulsets/scale",
                ],
            ),
            On(WRITE, &["policy"], &["poddisruptionbudgets"]),
            On(ALL, &["coordination.k8s.io"], &["leases"]),
        ],
    ),
    (
        "system:aggregate-to-view",
        Some("view"),
        &[
            On(
                READ,
                CORE,
                &[
                    "configmaps",
                    "persistentvolumeclaims",
                    "persistentvolumeclaims/status",
                    "pods",
                ],
            ),
            On(
                READ,
                CORE,
                &[
                    "pods/status",
                    "replicationcontrollers",
                    "replicationcontrollers/status",
                ],
            ),
            On(
                READ,
                CORE,
                &[
                    "serviceaccounts",
                    "services",
                    "services/status",
                    "bindings",
                    "events",
                ],
            ),
            On(READ, CORE, &["namespaces", "namespaces/status"]),
            On(
                READ,
                &["apps"],
                &[
                    "daemonsets",
                    "daemonsets/status",
                    "deployments",
                    "deployments/status",
                ],
            ),
            On(
                READ,
                &["apps"],
                &[
                    "deployments/scale",
                    "replicasets",
                    "replicasets/scale",
                    "replicasets/status",
                ],
            ),
            On(
                READ,
                &["apps"],
                &["statefulsets", "statefulsets/scale", "statefulsets/status"],
            ),
            On(
                READ,
                &["policy"],
                &["poddisruptionbudgets", "poddisruptionbudgets/status"],
            ),
        ],
    ),
    (
        "system:auth-delegator",
        None,
        &[
            On(CREATE, &["authentication.k8s.io"], &["tokenreviews"]),
            On(CREATE, &["authorization.k8s.io"], &["subjectaccessreviews"]),
        ],
    ),
    (
        "system:basic-user",
        None,
        &[
            On(
                CREATE,
                &["authorization.k8s.io"],
                &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            ),
            On(CREATE, &["authentication.k8s.io"], &["selfsubjectreviews"]),
        ],
    ),
    (
        "system:discovery",
        None,
        &[Paths(
            GET,
            &[
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ],
        )],
    ),
    ("system:kube-scheduler", None, SCHEDULER),
    (
        "system:monitoring",
        None,
        &[Paths(
            GET,
            &[
                "/healthz",
                "/healthz/*",
                "/livez",
                "/livez/*",
                "/metrics",
                "/readyz",
                "/readyz/*",
            ],
        )],
    ),
    (
        "system:public-info-viewer",
        None,
        &[Paths(
            GET,
            &["/healthz", "/livez", "/readyz", "/version", "/version/"],
        )],
    ),
    (
        "system:volume-scheduler",
        None,
        &[
            On(
                &["get", "list", "patch", "update", "watch"],
                CORE,
                &["persistentvolumes", "persistentvolumeclaims"],
            ),
            On(READ, STORAGE, &["storageclasses"]),
        ],
    ),
];

const SCHEDULER: &[DefaultRule] = &[
    On(
        &["create", "patch", "update"],
        &["", "events.k8s.io"],
        &["events"],
    ),
    On(
        &["create", "list", "watch"],
        &["coordination.k8s.io"],
        &["leases"],
    ),
    Named(
        &["get", "update"],
        &["coordination.k8s.io"],
        &["leases"],
        &["kube-scheduler"],
    ),
    On(ALL, &["coordination.k8s.io"], &["leasecandidates"]),
    On(
        READ,
        CORE,
        &["nodes", "namespaces", "replicationcontrollers", "services"],
    ),
    On(&["delete", "get", "list", "watch"], CORE, &["pods"]),
    On(CREATE, CORE, &["bindings", "pods/binding"]),
    On(&["patch", "update"], CORE, &["pods/status"]),
    On(READ, &["apps", "extensions"], &["replicasets"]),
    On(READ, &["apps"], &["statefulsets"]),
    On(READ, &["policy"], &["poddisruptionbudgets"]),
    On(READ, CORE, &["persistentvolumeclaims", "persistentvolumes"]),
    On(CREATE, &["authentication.k8s.io"], &["tokenreviews"]),
    On(CREATE, &["authorization.k8s.io"], &["subjectaccessreviews"]),
    On(
        READ,
        STORAGE,
        &[
            "csidrivers",
            "csinodes",
            "csistoragecapacities",
            "volumeattachments",
        ],
    ),
    On(
        READ,
        &["resource.k8s.io"],
        &["deviceclasses", "resourceclaims", "resourceslices"],
    ),
    On(
        &["patch", "update"],
        &["resource.k8s.io"],
        &["resourceclaims/status"],
    ),
];

/// The aggregated roles, and the one that each is part of.
const AGGREGATED: [(&str, Option<&str>); 3] =
    [("admin", None), ("edit", Some("admin")), ("view", Some("edit"))];

const EVERYBODY: Words = &["system:authenticated", "system:unauthenticated"];

/// Bindings of a role of the same name: kind of subject and subjects.
const BINDINGS: &[(&str, &str, Words)] = &[
    ("cluster-admin", "Group", &["system:masters"]),
    ("system:basic-user", "Group", &["system:authenticated"]),
    ("system:discovery", "Group", &["system:authenticated"]),
    ("system:kube-scheduler", "User", &["system:kube-scheduler"]),
    ("system:monitoring", "Group", &["system:monitoring"]),
    ("system:public-info-viewer", "Group", EVERYBODY),
    ("system:volume-scheduler", "User", &["system:kube-scheduler"]),
];

/// The rules that every authenticated user has by default.
pub(crate) fn default_rules() -> Vec<super::PolicyRule> {
    let bound = BINDINGS
        .iter()
        .filter(|(_, _, subjects)| subjects.contains(&"system:authenticated"));
    let names: Vec<&str> = bound.map(|(name, ..)| *name).collect();
    let roles = ROLES.iter().filter(|(name, ..)| names.contains(name));
    roles
        .flat_map(|(_, _, rules)| rules.iter().map(|rule| super::PolicyRule::read(&rule.to_value())))
        .collect()
}

/// A role of the cluster as it is at first: its name, the role that takes its rules over (as `aggregate-to-…`), and its
/// content.
pub(crate) fn roles() -> impl Iterator<Item = (&'static str, Option<&'static str>, Value)> {
    let plain = ROLES.iter().map(|(name, member_of, rules)| {
        let rules: Vec<Value> = rules.iter().map(DefaultRule::to_value).collect();
        (*name, *member_of, json!({"rules": rules}))
    });
    let aggregated = AGGREGATED.into_iter().map(|(name, member_of)| {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
        let selectors = json!([{"matchLabels": {label: "true"}}]);
        let content = json!({"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": null});
        (name, member_of, content)
    });
    plain.chain(aggregated)
}

/// A binding of the cluster as it is at first: its name, and its content.
pub(crate) fn bindings() -> impl Iterator<Item = (&'static str, Value)> {
    BINDINGS.iter().map(|(name, kind, subjects)| {
        let subject = |name: &&str| json!({"apiGroup": GROUP, "kind": kind, "name": name});
        let content = json!({
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": subjects.iter().map(subject).collect::<Value>(),
        });
        (*name, content)
    })
}

impl DefaultRule {
    fn to_value(&self) -> Value {
        match self {
            On(verbs, groups, resources) => {
                json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
            }
            Named(verbs, groups, resources, names) => {
                json!({"apiGroups": groups, "resourceNames": names, "resources": resources, "verbs": verbs})
            }
            Paths(verbs, paths) => json!({"nonResourceURLs": paths, "verbs": verbs}),
        }
    }
}

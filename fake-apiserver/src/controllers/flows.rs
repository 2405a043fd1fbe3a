//! Flow control as far as it can be read: the schemas and levels that a cluster starts with, and whether the level of a schema
//! is there.

use super::itself::{SERVER, write};
use crate::kinds::{FLOW_SCHEMA, PRIORITY_LEVEL_CONFIGURATION, mandatory_levels, mandatory_schemas};
use crate::machinery::json::{list, string};
use crate::store::Txn;
use serde_json::{Value, json};

type Words = &'static [&'static str];

type Level = (&'static str, i64, i64, i64, i64);

/// Besides those that have to be there: name, shares, percentage that is lent, queues and how many of them a flow may use.
const LEVELS: &[Level] = &[
    ("global-default", 20, 50, 128, 6),
    ("leader-election", 10, 0, 16, 4),
    ("node-high", 40, 25, 64, 6),
    ("system", 30, 33, 64, 6),
    ("workload-high", 40, 50, 128, 6),
    ("workload-low", 100, 90, 128, 6),
];

/// Whom a schema is about.
enum Who {
    Groups(Words),
    Users(Words),
    /// Users, and all service accounts of a namespace.
    AndAccounts(Words, &'static str),
}
use Who::{AndAccounts, Groups, Users};

/// What a schema is about.
enum What {
    Everything,
    /// Getting these paths.
    Paths(Words),
    /// Verbs, groups, resources, and whether that is about the whole cluster too.
    Resources(&'static [(Words, Words, Words, bool)]),
}
use What::{Everything, Paths, Resources};

/// Besides those that have to be there: name, level, precedence, what tells its flows apart, and about what it is.
type Schema = (&'static str, &'static str, i64, &'static str, Who, What);

const EVERYONE: Words = &["system:unauthenticated", "system:authenticated"];
const BY_USER: &str = "ByUser";
const BY_NAMESPACE: &str = "ByNamespace";
const ALL: Words = &["*"];
const LEASES: Words = &["coordination.k8s.io"];

const SCHEMAS: &[Schema] = &[
    (
        "global-default",
        "global-default",
        9900,
        BY_USER,
        Groups(EVERYONE),
        Everything,
    ),
    (
        "kube-controller-manager",
        "workload-high",
        800,
        BY_NAMESPACE,
        Users(&["system:kube-controller-manager"]),
        Everything,
    ),
    (
        "kube-scheduler",
        "workload-high",
        800,
        BY_NAMESPACE,
        Users(&["system:kube-scheduler"]),
        Everything,
    ),
    (
        "kube-system-service-accounts",
        "workload-high",
        900,
        BY_NAMESPACE,
        AndAccounts(&[], "kube-system"),
        Everything,
    ),
    (
        "probes",
        "exempt",
        2,
        "",
        Groups(EVERYONE),
        Paths(&["/healthz", "/readyz", "/livez"]),
    ),
    (
        "service-accounts",
        "workload-low",
        9000,
        BY_USER,
        Groups(&["system:serviceaccounts"]),
        Everything,
    ),
    (
        "system-leader-election",
        "leader-election",
        100,
        BY_USER,
        AndAccounts(
            &["system:kube-controller-manager", "system:kube-scheduler"],
            "kube-system",
        ),
        Resources(&[(&["get", "create", "update"], LEASES, &["leases"], false)]),
    ),
    (
        "system-node-high",
        "node-high",
        400,
        BY_USER,
        Groups(&["system:nodes"]),
        Resources(&[
            (ALL, &[""], &["nodes", "nodes/status"], true),
            (ALL, LEASES, &["leases"], false),
        ]),
    ),
    (
        "system-nodes",
        "system",
        500,
        BY_USER,
        Groups(&["system:nodes"]),
        Everything,
    ),
];

/// Writes what a cluster starts with.
pub(super) fn create(txn: &mut Txn<'_>) {
    for (name, spec) in mandatory_levels() {
        write_level(txn, name, &spec);
    }
    for (name, shares, lent, queues, hand) in LEVELS {
        let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": 50});
        let limited = json!({
            "nominalConcurrencyShares": shares, "lendablePercent": lent,
            "limitResponse": {"type": "Queue", "queuing": queuing},
        });
        write_level(txn, name, &json!({"type": "Limited", "limited": limited}));
    }
    for (name, spec) in mandatory_schemas() {
        write_schema(txn, name, &spec);
    }
    for schema in SCHEMAS {
        write_schema(txn, schema.0, &spec(schema));
    }
}

/// The server keeps these as they are.
fn kept(spec: &Value) -> Value {
    let annotations = json!({"apf.kubernetes.io/autoupdate-spec": "true"});
    json!({"metadata": {"annotations": annotations, "generation": 1}, "spec": spec, "status": {}})
}

fn write_level(txn: &mut Txn<'_>, name: &str, spec: &Value) {
    write(txn, &PRIORITY_LEVEL_CONFIGURATION, ("", name), SERVER, kept(spec));
}

fn write_schema(txn: &mut Txn<'_>, name: &str, spec: &Value) {
    let level = string(&spec["priorityLevelConfiguration"], "name");
    let mut schema = kept(spec);
    schema["status"] = json!({"conditions": [dangling(level, true, &txn.now)]});
    write(txn, &FLOW_SCHEMA, ("", name), SERVER, schema);
}

fn spec((_, level, precedence, method, who, what): &Schema) -> Value {
    let mut rule = what.rules();
    rule["subjects"] = who.subjects();
    let mut spec = json!({
        "priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence, "rules": [rule],
    });
    if !method.is_empty() {
        spec["distinguisherMethod"] = json!({"type": method});
    }
    spec
}

impl Who {
    fn subjects(&self) -> Value {
        let group = |name: &&str| json!({"kind": "Group", "group": {"name": name}});
        let user = |name: &&str| json!({"kind": "User", "user": {"name": name}});
        match self {
            Groups(names) => names.iter().map(group).collect(),
            Users(names) => names.iter().map(user).collect(),
            AndAccounts(names, namespace) => {
                let accounts = json!({
                    "kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": namespace},
                });
                names.iter().map(user).chain([accounts]).collect()
            }
        }
    }
}

impl What {
    fn rules(&self) -> Value {
        let resources = |verbs: Words, groups: Words, resources: Words, whole: bool| {
            let mut rule = json!({
                "verbs": verbs, "apiGroups": groups, "resources": resources, "namespaces": ["*"],
            });
            if whole {
                rule["clusterScope"] = true.into();
            }
            rule
        };
        match self {
            Everything => json!({
                "resourceRules": [resources(ALL, ALL, ALL, true)],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            Paths(paths) => json!({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": paths}]}),
            Resources(rules) => {
                let rules = rules.iter();
                let rules: Value = rules.map(|(v, g, r, whole)| resources(v, g, r, *whole)).collect();
                json!({ "resourceRules": rules })
            }
        }
    }
}

/// The condition that says whether the level of a schema is missing.
fn dangling(level: &str, is_there: bool, now: &str) -> Value {
    let (status, reason, end) = match is_there {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let text = "This FlowSchema references the PriorityLevelConfiguration object named";
    json!({
        "type": "Dangling", "status": status, "reason": reason, "lastTransitionTime": now,
        "message": format!("{text} {level:?} {end}"),
    })
}

/// After schemas or levels have changed: says of each schema whether its level is there.
pub(super) fn settle(txn: &mut Txn<'_>) {
    let schemas = txn.snapshot(&FLOW_SCHEMA).objects;
    for (key, schema) in &schemas {
        let level = string(&schema.value()["spec"]["priorityLevelConfiguration"], "name");
        let is_there = txn.get(&PRIORITY_LEVEL_CONFIGURATION, level).is_some();
        let now = dangling(level, is_there, &txn.now);
        let conditions = list(&schema.value()["status"]["conditions"]);
        let known = conditions
            .iter()
            .find(|condition| condition["type"] == now["type"]);
        if known.is_some_and(|known| known["status"] == now["status"]) {
            continue;
        }
        let mut changed = schema.value().clone();
        let mut all: Vec<Value> = conditions.to_vec();
        all.retain(|condition| condition["type"] != now["type"]);
        all.push(now);
        changed["status"] = json!({"conditions": all});
        txn.put(&FLOW_SCHEMA, key, changed);
    }
}

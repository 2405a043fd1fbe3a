//! Roles and bindings of rbac.authorization.k8s.io.
//!
//! Validation and messages follow kube-apiserver 1.36. Does not know how requests are authorized: `access::rbac` does.

use super::{Grants, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, selectors};
use crate::kinds::columns;
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, Column, NAME, text, wide};
use crate::machinery::error_list::ErrorList;
use crate::machinery::names::{self, Messages};
use crate::machinery::{json, metadata};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Properties common to Role, ClusterRole, RoleBinding and ClusterRoleBinding.
const OF_GROUP: ResourceDefinition = ResourceDefinition {
    group: GROUP,
    name_rule: validate_path_segment,
    create_on_update: true,
    ..PLAIN
};

pub(super) static ROLE: ResourceDefinition = ResourceDefinition {
    kind: "Role",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "roles",
    grants: Some(Grants::Rules),
    hooks: Hooks {
        default: default_rules,
        validate: |role, errors| rules(role, true, errors),
        ..NO_HOOKS
    },
    columns: columns::NAME_AND_CREATION,
    ..OF_GROUP
};

pub(super) static CLUSTER_ROLE: ResourceDefinition = ResourceDefinition {
    kind: "ClusterRole",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "clusterroles",
    namespaced: false,
    grants: Some(Grants::Rules),
    hooks: Hooks {
        default: default_rules,
        validate: cluster_role_validate,
        ..NO_HOOKS
    },
    columns: columns::NAME_AND_CREATION,
    ..OF_GROUP
};

pub(super) static ROLE_BINDING: ResourceDefinition = ResourceDefinition {
    kind: "RoleBinding",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "rolebindings",
    grants: Some(Grants::Role),
    hooks: Hooks {
        validate: |binding, errors| binding_validate(binding, &["Role", "ClusterRole"], true, errors),
        ..BINDING_HOOKS
    },
    columns: BINDING_COLUMNS,
    ..OF_GROUP
};

pub(super) static CLUSTER_ROLE_BINDING: ResourceDefinition = ResourceDefinition {
    kind: "ClusterRoleBinding",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "clusterrolebindings",
    namespaced: false,
    grants: Some(Grants::Role),
    hooks: Hooks {
        validate: |binding, errors| binding_validate(binding, &["ClusterRole"], false, errors),
        ..BINDING_HOOKS
    },
    columns: BINDING_COLUMNS,
    ..OF_GROUP
};

const BINDING_HOOKS: Hooks = Hooks {
    default: default_binding,
    validate_update: |new, old, errors| {
        if new["roleRef"] != old["roleRef"] {
            errors.invalid(
                "roleRef",
                internal_role_ref(&new["roleRef"]),
                "cannot change roleRef",
            );
        }
    },
    ..NO_HOOKS
};

/// Validates the name of a role or binding, which must be a valid segment of a URL path.
fn validate_path_segment(name: &str) -> Messages {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let found = ["/", "%"].into_iter().filter(|part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

/// Sets unset `rules` and `verbs` to null, because they are always serialized.
fn default_rules(object: &mut Value) {
    json::default_member(object, "rules", Value::Null);
    for rule in json::entries(object, "/rules") {
        json::default_member(rule, "verbs", Value::Null);
    }
}

fn default_binding(object: &mut Value) {
    let role = json::member(object, "roleRef");
    for (name, value) in [("apiGroup", GROUP), ("kind", ""), ("name", "")] {
        role.entry(name).or_insert_with(|| value.into());
    }
    if role["apiGroup"] == "" {
        role.insert("apiGroup".to_owned(), GROUP.into());
    }
    for subject in json::entries(object, "/subjects") {
        for name in ["kind", "name"] {
            json::default_member(subject, name, "");
        }
        if subject["kind"] == "User" || subject["kind"] == "Group" {
            json::default_member(subject, "apiGroup", GROUP);
        }
    }
}

fn rules(role: &Value, namespaced: bool, errors: &mut ErrorList) {
    for (i, rule) in json::list(&role["rules"]).iter().enumerate() {
        policy_rule(rule, namespaced, &format!("rules[{i}]"), errors);
    }
}

/// Validates a policy rule (`ValidatePolicyRule`).
fn policy_rule(rule: &Value, namespaced: bool, at: &str, errors: &mut ErrorList) {
    let is_empty = |field: &str| json::texts(&rule[field]).is_empty();
    if is_empty("verbs") {
        errors.required(format!("{at}.verbs"), "verbs must contain at least one value");
    }
    if !is_empty("nonResourceURLs") {
        let (field, paths) = (format!("{at}.nonResourceURLs"), &rule["nonResourceURLs"]);
        if namespaced {
            let text = "namespaced rules cannot apply to non-resource URLs";
            errors.invalid(field.as_str(), paths.clone(), text);
        }
        if !["apiGroups", "resources", "resourceNames"]
            .into_iter()
            .all(is_empty)
        {
            let text = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(field, paths.clone(), text);
        }
        return;
    }
    for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
        if is_empty(field) {
            errors.required(
                format!("{at}.{field}"),
                &format!("resource rules must supply at least one {what}"),
            );
        }
    }
}

fn cluster_role_validate(role: &Value, errors: &mut ErrorList) {
    rules(role, false, errors);
    let Some(aggregation) = role.get("aggregationRule") else {
        return;
    };
    let at = "aggregationRule.clusterRoleSelectors";
    let selectors = json::list(&aggregation["clusterRoleSelectors"]);
    if selectors.is_empty() {
        errors.required(
            at,
            "at least one clusterRoleSelector required if aggregationRule is non-nil",
        );
    }
    for (i, own) in selectors.iter().enumerate() {
        let (field, before) = (format!("{at}[{i}]"), errors.len());
        selectors::labels(own, &field, errors);
        if errors.len() > before {
            errors.invalid(field, Value::Null, "invalid label selector.");
        }
    }
}

/// Validates a binding (`ValidateRoleBinding`, `ValidateClusterRoleBinding`).
fn binding_validate(binding: &Value, kinds: &[&str], namespaced: bool, errors: &mut ErrorList) {
    let role = &binding["roleRef"];
    let text = |field: &str| role[field].as_str().unwrap_or_default();
    errors.one_of("roleRef.apiGroup", text("apiGroup"), &[GROUP]);
    errors.one_of("roleRef.kind", text("kind"), kinds);
    if text("name").is_empty() {
        errors.required("roleRef.name", "");
    }
    errors.invalid_all("roleRef.name", text("name"), validate_path_segment(text("name")));
    for (i, subject) in json::list(&binding["subjects"]).iter().enumerate() {
        subject_validate(subject, namespaced, &format!("subjects[{i}]"), errors);
    }
}

fn subject_validate(subject: &Value, namespaced: bool, at: &str, errors: &mut ErrorList) {
    let text = |field: &str| subject[field].as_str().unwrap_or_default();
    let (name, group) = (text("name"), text("apiGroup"));
    let (name_field, group_field) = (format!("{at}.name"), format!("{at}.apiGroup"));
    if name.is_empty() {
        errors.required(name_field.as_str(), "");
    }
    match text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.invalid_all(&name_field, name, names::subdomain(name));
            }
            errors.one_of(&group_field, group, &[""]);
            if !namespaced && text("namespace").is_empty() {
                errors.required(format!("{at}.namespace"), "");
            }
        }
        "User" | "Group" => errors.one_of(&group_field, group, &[GROUP]),
        other => errors.not_supported(format!("{at}.kind"), other, &["ServiceAccount", "User", "Group"]),
    }
}

/// The `roleRef` of a binding with the field names of kube-apiserver's internal Go type, for error messages.
fn internal_role_ref(role: &Value) -> Value {
    json!({"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]})
}

static BINDING_COLUMNS: &[Column] = &[
    NAME,
    text("Role", Of(role_of)),
    AGE,
    wide("Users", Of(|o| subjects(o, "User"))),
    wide("Groups", Of(|o| subjects(o, "Group"))),
    wide("ServiceAccounts", Of(|o| subjects(o, "ServiceAccount"))),
];

fn role_of(binding: &Value) -> Value {
    let role = &binding["roleRef"];
    format!("{}/{}", json::string(role, "kind"), json::string(role, "name")).into()
}

/// The subjects of a binding that have the kind `kind`, joined by commas. Service accounts include their namespace.
fn subjects(binding: &Value, kind: &str) -> Value {
    let all = json::list(&binding["subjects"]).iter();
    let named = all.filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = json::string(subject, "name");
        if kind != "ServiceAccount" {
            return name.to_owned();
        }
        let own = json::string(subject, "namespace");
        let namespace = if own.is_empty() {
            metadata::text(binding, "namespace")
        } else {
            own
        };
        format!("{namespace}/{name}")
    });
    named.collect::<Vec<_>>().join(", ").into()
}

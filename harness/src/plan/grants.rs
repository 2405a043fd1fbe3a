//! RBAC objects for the permissions that a case grants: a ClusterRole, and a Role per namespace, bound to the user group of all instances
//! of a program role.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Grants, NAMESPACE, Plan, WORKLOADS};
use crate::scenario::{GrantSpec, Role};

const GROUP: &str = "rbac.authorization.k8s.io";

/// User group of all instances of a program role, which is also the name of their RBAC objects.
pub(crate) fn group_of(role: Role) -> &'static str {
    role.as_str()
}

/// Checks that no RBAC rule is for the driver, that rules use only the two namespaces of a case, and that each rule grants something.
pub(super) fn check(grants: &Grants) -> Result<(), String> {
    for (role, rules) in grants {
        let role_name = role.as_str();
        if *role == Role::Driver {
            return Err("the driver sends no request to the API server; remove its `grants`".to_owned());
        }
        for rule in rules {
            let is_known = |namespace: &String| [NAMESPACE, WORKLOADS].contains(&namespace.as_str());
            if let Some(other) = rule.namespace.as_ref().filter(|it| !is_known(it)) {
                return Err(format!(
                    "`grants` of the {role_name} are for namespace `{other}`; namespaces of a case: {NAMESPACE}, {WORKLOADS}"
                ));
            }
            if rule.api_groups.is_empty() || rule.resources.is_empty() || rule.verbs.is_empty() {
                return Err(format!(
                    "an RBAC rule of the {role_name} grants nothing; add `apiGroups`, `resources` and `verbs` to the rule"
                ));
            }
        }
    }
    Ok(())
}

/// The ClusterRoles, Roles and bindings that grant these permissions to the program roles.
pub(super) fn objects(grants: &Grants) -> Vec<Value> {
    grants
        .iter()
        .flat_map(|(role, rules)| {
            let mut by_namespace: BTreeMap<Option<&str>, Vec<&GrantSpec>> = BTreeMap::new();
            // The ClusterRole exists even if it has no rules, so that an action of the case can edit it.
            by_namespace.insert(None, Vec::new());
            for rule in rules {
                let namespace = rule.namespace.as_deref();
                by_namespace.entry(namespace).or_default().push(rule);
            }
            let of_role = by_namespace.into_iter();
            of_role.flat_map(|(namespace, rules)| role_and_binding(group_of(*role), namespace, &rules))
        })
        .collect()
}

/// A Role or ClusterRole with these rules, and the RoleBinding or ClusterRoleBinding for its user group.
fn role_and_binding(name: &str, namespace: Option<&str>, rules: &[&GrantSpec]) -> [Value; 2] {
    let kind = if namespace.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    let object = |kind: String| {
        let mut metadata = json!({"name": name});
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.into();
        }
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata})
    };
    let mut role = object(kind.to_owned());
    role["rules"] = json!(rules);
    let mut binding = object(format!("{kind}Binding"));
    binding["roleRef"] = json!({"apiGroup": GROUP, "kind": kind, "name": name});
    binding["subjects"] = json!([{"apiGroup": GROUP, "kind": "Group", "name": name}]);
    [role, binding]
}

impl Plan {
    /// A copy of the plan in which each role in `grants` has exactly these permissions.
    #[must_use]
    pub fn with_grants(&self, grants: &Grants) -> Plan {
        let mut plan = self.clone();
        plan.objects.extend(objects(grants));
        plan.grants.clone_from(grants);
        plan
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::plan::resolve;
    use crate::scenario::parse;

    fn resolve_with_grants(grants: &Value) -> Result<super::Plan, String> {
        let step = json!({"id": "s", "expect": [{"never": {"write": "delete nodes"}, "why": "w"}]});
        let text = json!({"id": "publisher/b", "title": "t", "cluster": {"grants": grants}, "steps": [step]});
        let cases = parse("f.yaml", &text.to_string());
        cases
            .and_then(|cases| resolve(&cases[0]))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_grouped_into_roles_by_namespace() {
        let rule = |namespace: Option<&str>| json!({"namespace": namespace, "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let plan = resolve_with_grants(&json!({"publisher": [rule(None), rule(Some("csi"))]}))
            .expect("valid grants");
        let objects = plan.objects.iter();
        let kinds: Vec<String> = objects
            .filter(|object| object["metadata"]["name"] == "publisher")
            .map(|object| format!("{} {}", object["kind"], object["metadata"]["namespace"]))
            .collect();
        let wanted = [
            "\"ClusterRole\" null",
            "\"ClusterRoleBinding\" null",
            "\"Role\" \"csi\"",
            "\"RoleBinding\" \"csi\"",
        ];
        assert_eq!(kinds, wanted);
    }

    #[test]
    fn rules_that_grant_nothing_are_rejected() {
        let rule =
            json!({"namespace": "elsewhere", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        for (grants, words) in [
            (json!({"driver": []}), "sends no request"),
            (
                json!({"publisher": [rule]}),
                "namespace `elsewhere`; namespaces of a case: csi, default",
            ),
            (
                json!({"publisher": [{"apiGroups": [""], "resources": [], "verbs": ["get"]}]}),
                "grants nothing",
            ),
            (json!({"publisher": [{"resources": ["pods"]}]}), "apiGroups"),
        ] {
            let error = resolve_with_grants(&grants).expect_err("invalid grants");
            assert!(error.starts_with("f.yaml") && error.contains(words), "{error}");
        }
    }
}

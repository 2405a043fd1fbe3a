//! Computes the minimal RBAC rules of programs from the API requests of a run. Changes no permissions.

use std::collections::BTreeMap;

use fake_apiserver::{Usage, minimal_roles};
use serde_json::Value;

use crate::journal::{Fact, Observation, RequestFact};
use crate::plan::{Grants, NAMESPACE};
use crate::scenario::{GrantSpec, Role};

/// RBAC rules that allow all requests of these roles. Rules for requests outside the namespace of the programs apply to the whole cluster,
/// because users choose the namespaces of pods and PVCs.
///
/// Omits permissions that every client has by default, such as discovery.
pub fn minimal_rules(facts: &[Fact], roles: &[Role]) -> Grants {
    let used: Vec<Usage> = facts.iter().filter_map(permission_of).collect();
    let of_role = |role: &Role| {
        let objects = minimal_roles(&used, role.as_str(), role.as_str());
        (*role, objects.iter().flat_map(rules).collect())
    };
    roles.iter().map(of_role).collect()
}

/// The RBAC permission that a request needs; `None` if the request's client has no role, or if the request has no resource.
fn permission_of(fact: &Fact) -> Option<Usage> {
    let Observation::Request(request) = &fact.what else {
        return None;
    };
    let role = Role::of_client(&request.client)?;
    let version = request.version.as_deref()?;
    let namespace = request.namespace.clone().filter(|it| it == NAMESPACE);
    Some(Usage {
        user: role.as_str().into(),
        verb: request.verb.as_str().to_owned(),
        group: version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        resource: request.resource.clone(),
        namespace: namespace.unwrap_or_default(),
        path: String::new(),
        allowed: 1,
        denied: 0,
    })
}

/// The `rules` of a ClusterRole or Role object; empty for a binding.
fn rules(object: &Value) -> Vec<GrantSpec> {
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    let rules = object["rules"].as_array().into_iter().flatten();
    let read = |rule: &Value| serde_json::from_value::<GrantSpec>(rule.clone()).ok();
    rules
        .filter_map(read)
        .map(|rule| GrantSpec {
            namespace: namespace.clone(),
            ..rule
        })
        .collect()
}

/// Requests of these roles that failed with 403 (Forbidden), without duplicates.
pub fn denied_requests(facts: &[Fact], roles: &[Role]) -> Vec<String> {
    let is_denied = |request: &&RequestFact| {
        request.code == 403
            && !request.injected
            && Role::of_client(&request.client).is_some_and(|role| roles.contains(&role))
    };
    let requests = facts.iter().filter_map(|fact| match &fact.what {
        Observation::Request(request) => Some(request),
        _ => None,
    });
    let denied = requests.filter(is_denied).map(|request| {
        let RequestFact {
            client,
            verb,
            resource,
            ..
        } = request;
        let key = format!("{client} {verb} {resource}");
        let message = request.message.as_deref().unwrap_or_default();
        (key.clone(), format!("{key}: {message}"))
    });
    BTreeMap::from_iter(denied).into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(client: &str, verb: &str, resource: &str, namespace: Option<&str>, code: u16) -> Fact {
        let version = if resource == "nodes" {
            "v1"
        } else {
            "storage.k8s.io/v1"
        };
        let fact = json!({"seq": 0, "at_us": 0, "what": {"fact": "request", "client": client, "verb": verb,
            "resource": resource, "version": version, "namespace": namespace, "name": null, "code": code,
            "message": "no", "revision": null}});
        serde_json::from_value(fact).expect("valid fact")
    }

    #[test]
    fn requests_become_cluster_wide_or_namespaced_rules() {
        let facts = [
            request("publisher@n1", "list", "nodes", None, 200),
            request("publisher@n2", "watch", "nodes", None, 200),
            request("publisher@n1", "create", "csistoragecapacities", Some("csi"), 201),
            request("publisher@n1", "get", "volumeattachments", Some("default"), 403),
            request("scheduler", "list", "csidrivers", None, 200),
            request("harness", "delete", "nodes", None, 200),
        ];
        let grants = minimal_rules(&facts, &[Role::Publisher]);
        let actual = serde_json::to_value(&grants[&Role::Publisher]).expect("rules serialize to JSON");
        assert_eq!(
            actual,
            json!([
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
                {"apiGroups": ["storage.k8s.io"], "resources": ["volumeattachments"], "verbs": ["get"]},
                {"apiGroups": ["storage.k8s.io"], "resources": ["csistoragecapacities"], "verbs": ["create"]},
            ])
        );
        let namespaces = grants[&Role::Publisher].iter().map(|rule| rule.namespace.clone());
        assert_eq!(Vec::from_iter(namespaces), [None, None, Some("csi".to_owned())]);
        assert_eq!(grants.len(), 1);
        assert_eq!(
            denied_requests(&facts, &[Role::Publisher]),
            ["publisher@n1 get volumeattachments: no"]
        );
        assert!(denied_requests(&facts, &[Role::Scheduler]).is_empty());
    }
}

//! The permissions that the requests of a client used, and RBAC roles generated from these permissions.

use super::access::{send_as, start_with_rbac};
use super::client::{CAPACITIES, CONFIG_MAPS, TestServer, capacity};
use fake_apiserver::minimal_roles;
use serde_json::{Value, json};

const NODES: &str = "/api/v1/nodes";

/// Requests of a client whose used permissions are recorded.
const RUN: [(&str, &str); 6] = [
    ("GET", "/apis/storage.k8s.io/v1"),
    ("GET", NODES),
    ("GET", "/apis/storage.k8s.io/v1/csistoragecapacities"),
    ("GET", CAPACITIES),
    ("POST", CAPACITIES),
    (
        "DELETE",
        "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities/c",
    ),
];

async fn run(wire: &TestServer, token: &str) -> Vec<u16> {
    let mut codes = Vec::new();
    for (method, path) in RUN {
        let body = if method == "POST" {
            capacity("c", "1Gi")
        } else {
            Value::Null
        };
        codes.push(send_as(wire, Some(token), method, path, body).await.code);
    }
    codes
}

#[tokio::test]
async fn roles_generated_from_a_run_allow_it_and_nothing_else() {
    let free = TestServer::start().await;
    let codes = run(&free, &free.server.add_client("publisher")).await;
    let usage = free.server.usage();
    let listed = usage.iter().find(|entry| entry.resource == "nodes").unwrap();
    assert_eq!(
        (&*listed.user, listed.verb.as_str(), listed.allowed, listed.denied),
        ("publisher", "list", 1, 0)
    );
    let objects = minimal_roles(&usage, "publisher", "publisher");
    let kinds: Vec<&str> = objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    );
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let of_cluster = json!([
        rule("", "nodes", &["list"]),
        rule("storage.k8s.io", "csistoragecapacities", &["list"])
    ]);
    assert_eq!(objects[0]["rules"], of_cluster);
    let of_namespace = json!([rule(
        "storage.k8s.io",
        "csistoragecapacities",
        &["create", "delete"]
    )]);
    assert_eq!(
        objects[2]["rules"], of_namespace,
        "the role does not repeat rules of the cluster role"
    );

    let guarded = start_with_rbac().await;
    let token = guarded.server.add_client("publisher");
    assert_eq!(run(&guarded, &token).await, [200, 403, 403, 403, 403, 403]);
    assert!(
        guarded
            .server
            .usage()
            .iter()
            .any(|entry| entry.resource == "nodes" && entry.denied == 1)
    );
    for object in objects {
        let local = guarded.server.client("admin");
        local.create(object).unwrap();
    }
    assert_eq!(run(&guarded, &token).await, codes);
    assert_eq!(
        send_as(&guarded, Some(&token), "GET", CONFIG_MAPS, Value::Null)
            .await
            .code,
        403
    );
}

//! Tests of authorization by RBAC roles and bindings.

use super::access::{SELF_ACCESS_REVIEWS, send_as, start_with_rbac};
use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestServer, capacity, pod};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const ROLE_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const CLUSTER_ROLE_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

fn binding(name: &str, role_kind: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"kind": "User", "name": user}],
    })
}

fn role(name: &str, rules: Value) -> Value {
    let mut role = json!({"metadata": {"name": name}});
    role["rules"] = rules;
    role
}

async fn status_code_as(wire: &TestServer, token: &str, method: &str, path: &str) -> u16 {
    send_as(wire, Some(token), method, path, Value::Null).await.code
}

/// Whether a SelfSubjectAccessReview with this token allows the action in `attributes`.
async fn is_allowed(wire: &TestServer, token: &str, attributes: Value) -> bool {
    let answer = send_as(
        wire,
        Some(token),
        "POST",
        SELF_ACCESS_REVIEWS,
        json!({"spec": {"resourceAttributes": attributes}}),
    )
    .await;
    answer.body["status"]["allowed"]
        .as_bool()
        .expect("the server returns the review")
}

#[tokio::test]
async fn permissions_last_as_long_as_their_binding() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    assert_eq!(status_code_as(&wire, &bob, "GET", PODS).await, 403);
    wire.create(
        ROLES,
        role(
            "r",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]),
        ),
    )
    .await;
    assert_eq!(
        status_code_as(&wire, &bob, "GET", PODS).await,
        403,
        "a role without binding grants nothing"
    );
    wire.create(ROLE_BINDINGS, binding("b", "Role", "r", "bob")).await;
    assert_eq!(status_code_as(&wire, &bob, "GET", PODS).await, 200);
    assert_eq!(
        status_code_as(&wire, &bob, "GET", "/api/v1/pods").await,
        403,
        "the role applies to one namespace"
    );
    assert_eq!(
        status_code_as(&wire, &bob, "GET", &format!("{PODS}?watch=true")).await,
        403,
        "watch is a verb of its own"
    );
    assert_eq!(status_code_as(&wire, &bob, "GET", CONFIG_MAPS).await, 403);
    wire.delete(&format!("{ROLE_BINDINGS}/b")).await;
    assert_eq!(status_code_as(&wire, &bob, "GET", PODS).await, 403);
}

#[tokio::test]
async fn rules_distinguish_names_subresources_and_paths() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]);
    wire.create(CLUSTER_ROLES, role("r", rules)).await;
    wire.create(CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "r", "bob"))
        .await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    wire.create(PODS, pod("p")).await;
    for (path, expected) in [
        (format!("{CONFIG_MAPS}/a"), 200),
        (format!("{CONFIG_MAPS}/b"), 403),
        (CONFIG_MAPS.to_owned(), 403),
        (format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3Da"), 200),
        (format!("{PODS}/p/status"), 200),
        (format!("{PODS}/p"), 403),
        ("/metrics".to_owned(), 200),
        ("/healthz/ping".to_owned(), 403),
        ("/nowhere".to_owned(), 403),
    ] {
        assert_eq!(
            status_code_as(&wire, &bob, "GET", &path).await,
            expected,
            "{path}"
        );
    }
}

#[tokio::test]
async fn roles_in_a_namespace_apply_to_the_namespace_object() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    wire.create(ROLE_BINDINGS, binding("b", "ClusterRole", "view", "bob"))
        .await;
    assert_eq!(
        status_code_as(&wire, &bob, "GET", "/api/v1/namespaces/default").await,
        200
    );
    let other = send_as(
        &wire,
        Some(&bob),
        "GET",
        "/api/v1/namespaces/kube-system",
        Value::Null,
    )
    .await;
    let why = "namespaces \"kube-system\" is forbidden: User \"bob\" cannot get resource \"namespaces\" in API group \"\" \
               in the namespace \"kube-system\"";
    assert_eq!((other.code, &other.body["message"]), (403, &json!(why)));
}

#[tokio::test]
async fn view_is_included_in_edit_and_edit_in_admin() {
    let wire = start_with_rbac().await;
    let attributes = |verb: &str, group: &str, resource: &str| json!({"namespace": "default", "verb": verb, "group": group, "resource": resource});
    let rbac = "rbac.authorization.k8s.io";
    for (name, expected) in [
        ("view", [true, false, false]),
        ("edit", [true, true, false]),
        ("admin", [true, true, true]),
    ] {
        let token = wire.server.add_client(name);
        wire.create(ROLE_BINDINGS, binding(name, "ClusterRole", name, name))
            .await;
        let requested = [
            attributes("get", "", "pods"),
            attributes("create", "", "pods"),
            attributes("create", rbac, "roles"),
        ];
        for (requested, expected) in requested.into_iter().zip(expected) {
            assert_eq!(
                is_allowed(&wire, &token, requested.clone()).await,
                expected,
                "{name}: {requested}"
            );
        }
    }
}

#[tokio::test]
async fn aggregated_cluster_roles_follow_the_selected_roles() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    wire.create(ROLE_BINDINGS, binding("b", "ClusterRole", "view", "bob"))
        .await;
    assert_eq!(status_code_as(&wire, &bob, "GET", CAPACITIES).await, 403);
    let rules =
        json!([{"apiGroups": ["storage.k8s.io"], "resources": ["csistoragecapacities"], "verbs": ["list"]}]);
    let mut more = role("capacities", rules.clone());
    more["metadata"]["labels"] = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    wire.create(CLUSTER_ROLES, more).await;
    assert_eq!(status_code_as(&wire, &bob, "GET", CAPACITIES).await, 200);
    let shown = wire.get(&format!("{CLUSTER_ROLES}/admin")).await.body;
    assert!(
        shown["rules"].as_array().unwrap().contains(&rules[0]),
        "aggregation is transitive"
    );
    wire.delete(&format!("{CLUSTER_ROLES}/capacities")).await;
    assert_eq!(status_code_as(&wire, &bob, "GET", CAPACITIES).await, 403);
}

#[tokio::test]
async fn the_scheduler_may_read_but_not_write_capacities() {
    let wire = start_with_rbac().await;
    let scheduler = wire.server.add_client("system:kube-scheduler");
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    assert_eq!(
        status_code_as(&wire, &scheduler, "GET", &format!("{CAPACITIES}/c")).await,
        200
    );
    let refused = send_as(&wire, Some(&scheduler), "POST", CAPACITIES, capacity("d", "1Gi")).await;
    assert_eq!(refused.code, 403);
    let bind =
        json!({"namespace": "default", "verb": "create", "resource": "pods", "subresource": "binding"});
    assert!(is_allowed(&wire, &scheduler, bind).await);
}

#[tokio::test]
async fn denials_name_missing_roles_and_grants_name_the_binding() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    wire.create(ROLE_BINDINGS, binding("gone", "ClusterRole", "missing", "bob"))
        .await;
    let refused = send_as(&wire, Some(&bob), "GET", PODS, Value::Null).await.body;
    let tail = ": RBAC: clusterrole.rbac.authorization.k8s.io \"missing\" not found";
    assert!(refused["message"].as_str().unwrap().ends_with(tail), "{refused}");
    wire.create(ROLE_BINDINGS, binding("seen", "ClusterRole", "view", "bob"))
        .await;
    let requested =
        json!({"spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}});
    let status = send_as(&wire, Some(&bob), "POST", SELF_ACCESS_REVIEWS, requested)
        .await
        .body["status"]
        .clone();
    let reason = "RBAC: allowed by RoleBinding \"seen/default\" of ClusterRole \"view\" to User \"bob\"";
    assert_eq!(status, json!({"allowed": true, "reason": reason}));
}

#[tokio::test]
async fn service_accounts_can_be_subjects() {
    let wire = start_with_rbac().await;
    let subject = json!({"kind": "ServiceAccount", "name": "default", "namespace": "kube-system"});
    let mut bound = binding("b", "ClusterRole", "view", "");
    bound["subjects"] = json!([subject]);
    wire.create(ROLE_BINDINGS, bound).await;
    for (namespace, expected) in [("kube-system", 200), ("default", 403)] {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default/token");
        let token = wire.create(&path, json!({})).await["status"]["token"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(
            status_code_as(&wire, &token, "GET", PODS).await,
            expected,
            "{namespace}"
        );
    }
}

#[tokio::test]
async fn users_cannot_grant_permissions_they_lack() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    wire.create(ROLE_BINDINGS, binding("b", "ClusterRole", "admin", "bob"))
        .await;
    let own = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "create"]}]);
    let granted = send_as(&wire, Some(&bob), "POST", ROLES, role("own", own)).await;
    assert_eq!(granted.code, 201, "{}", granted.text);
    let more =
        json!([{"apiGroups": ["storage.k8s.io", ""], "resources": ["csidrivers"], "verbs": ["get", "list"]}]);
    let refused = send_as(&wire, Some(&bob), "POST", ROLES, role("more", more.clone())).await;
    let why = "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is \
               attempting to grant RBAC permissions not currently held:\n\
               {APIGroups:[\"\"], Resources:[\"csidrivers\"], Verbs:[\"get\" \"list\"]}\n\
               {APIGroups:[\"storage.k8s.io\"], Resources:[\"csidrivers\"], Verbs:[\"get\" \"list\"]}";
    assert_eq!((refused.code, &refused.body["message"]), (403, &json!(why)));
    let bound = send_as(
        &wire,
        Some(&bob),
        "POST",
        ROLE_BINDINGS,
        binding("c", "ClusterRole", "cluster-admin", "bob"),
    )
    .await;
    assert_eq!(bound.code, 403, "{}", bound.text);
    let patch = json!({"rules": more});
    let wider = merge_as(&wire, &bob, &format!("{ROLES}/own"), patch).await;
    assert_eq!(wider, 403, "widening an existing role is escalation too");
    assert_eq!(
        wire.post(ROLES, role("more", more)).await.code,
        201,
        "system:masters may grant anything"
    );
}

#[tokio::test]
async fn changing_a_role_or_binding_requires_the_permissions_it_grants() {
    let wire = start_with_rbac().await;
    let ann = wire.server.add_client("ann");
    let group = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": [group], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["create", "patch"]},
        {"apiGroups": [group], "resources": ["clusterroles"], "resourceNames": ["own"], "verbs": ["escalate"]},
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]},
    ]);
    let secrets = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    let mut sum = role("sum", json!([]));
    sum["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    for made in [role("writer", rules), role("other", secrets.clone()), sum] {
        wire.create(CLUSTER_ROLES, made).await;
    }
    for (name, bound, user) in [("mine", "writer", "ann"), ("theirs", "other", "bob")] {
        let binding = binding(name, "ClusterRole", bound, user);
        wire.create(CLUSTER_ROLE_BINDINGS, binding).await;
    }
    let own = role("own", secrets.clone());
    let made = send_as(&wire, Some(&ann), "POST", CLUSTER_ROLES, own).await;
    assert_eq!(made.code, 403, "a POST has no name: {}", made.text);
    wire.create(CLUSTER_ROLES, role("own", json!([]))).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let finalizer = json!({"metadata": {"finalizers": ["example.com/f"]}});
    for (path, patch, expected) in [
        (format!("{CLUSTER_ROLES}/own"), json!({"rules": secrets}), 200),
        (format!("{CLUSTER_ROLES}/other"), label.clone(), 403),
        (format!("{CLUSTER_ROLES}/other"), finalizer, 200),
        (
            format!("{CLUSTER_ROLES}/sum"),
            json!({"aggregationRule": null}),
            403,
        ),
        (format!("{CLUSTER_ROLE_BINDINGS}/theirs"), label.clone(), 403),
        (format!("{CLUSTER_ROLE_BINDINGS}/mine"), label, 200),
    ] {
        assert_eq!(
            merge_as(&wire, &ann, &path, patch.clone()).await,
            expected,
            "{path} {patch}"
        );
    }
    let exec = "/api/v1/namespaces/default/pods/p/exec?command=ls";
    assert_eq!(
        status_code_as(&wire, &ann, "GET", exec).await,
        403,
        "requires create"
    );
}

#[tokio::test]
async fn rules_with_too_many_combinations_are_rejected() {
    let wire = start_with_rbac().await;
    let ann = wire.server.add_client("ann");
    let everything =
        json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create"]}]);
    wire.create(CLUSTER_ROLES, role("roles", everything)).await;
    wire.create(CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "roles", "ann"))
        .await;
    let many = |of: &str| -> Vec<String> { (0..2000).map(|n| format!("{of}{n}")).collect() };
    let rules = json!([{"apiGroups": many("g"), "resources": many("r"), "resourceNames": many("n"), "verbs": many("v")}]);
    let refused = send_as(&wire, Some(&ann), "POST", CLUSTER_ROLES, role("all", rules)).await;
    assert_eq!(refused.code, 413, "{}", refused.text);
    assert_eq!(
        status_code_as(&wire, &ann, "GET", CLUSTER_ROLES).await,
        403,
        "the server still responds"
    );
}

async fn merge_as(wire: &TestServer, token: &str, path: &str, patch: Value) -> u16 {
    let client = super::client::client(&wire.running, Some(token.to_owned()));
    let headers = [("content-type", "application/merge-patch+json")];
    super::client::request(&client, "PATCH", path, &headers, patch.to_string())
        .await
        .status()
        .as_u16()
}

#[tokio::test]
async fn roles_and_bindings_are_validated() {
    let wire = start_with_rbac().await;
    let of_role = |rule: Value| role("r", json!([rule]));
    let of_subject = |subject: Value| {
        let mut object = binding("b", "ClusterRole", "view", "x");
        object["subjects"] = json!([subject]);
        object
    };
    let other_kind = binding("b", "Thing", "view", "x");
    let cases = [
        (
            ROLES,
            of_role(json!({"apiGroups": [""], "resources": ["pods"]})),
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            ROLES,
            of_role(json!({"verbs": ["get"], "resources": ["pods"]})),
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        ),
        (
            ROLES,
            of_role(json!({"verbs": ["get"], "nonResourceURLs": ["/x"]})),
            "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
        ),
        (
            ROLE_BINDINGS,
            other_kind,
            "roleRef.kind: Unsupported value: \"Thing\": supported values: \"Role\", \"ClusterRole\"",
        ),
        (
            ROLE_BINDINGS,
            of_subject(json!({"kind": "Robot", "name": "x"})),
            "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
        ),
        (
            CLUSTER_ROLE_BINDINGS,
            of_subject(json!({"kind": "ServiceAccount", "name": "x"})),
            "subjects[0].namespace: Required value",
        ),
    ];
    for (path, object, why) in cases {
        let answer = wire.post(path, object).await;
        assert_eq!(answer.code, 422, "{}", answer.text);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.ends_with(&format!(" is invalid: {why}")), "{message}");
    }
    wire.create(ROLE_BINDINGS, binding("b", "ClusterRole", "view", "x"))
        .await;
    let changed = wire
        .put(
            &format!("{ROLE_BINDINGS}/b"),
            binding("b", "ClusterRole", "edit", "x"),
        )
        .await;
    assert!(
        changed.body["message"]
            .as_str()
            .unwrap()
            .ends_with(": cannot change roleRef"),
        "{}",
        changed.text
    );
}

/// The first requests of kube-controller-manager: the authentication configuration, its Lease, and tokens for its controllers. Each
/// controller uses a service account with its own role.
#[tokio::test]
async fn the_controller_manager_can_start_with_the_bootstrap_roles() {
    let wire = start_with_rbac().await;
    let user = "system:kube-controller-manager";
    let manager = wire.server.add_client(user);
    let own = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    assert_eq!(status_code_as(&wire, &manager, "GET", own).await, 200);
    let other = "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt";
    let scheduler = wire.server.add_client("system:kube-scheduler");
    assert_eq!(status_code_as(&wire, &scheduler, "GET", own).await, 200);
    assert_eq!(status_code_as(&wire, &scheduler, "GET", other).await, 403);
    let in_system = |verb: &str, group: &str, resource: &str, name: &str| {
        let name = if name.is_empty() { Value::Null } else { name.into() };
        json!({"namespace": "kube-system", "verb": verb, "group": group, "resource": resource, "name": name})
    };
    let lease = |verb| in_system(verb, "coordination.k8s.io", "leases", "kube-controller-manager");
    for verb in ["get", "create", "update"] {
        assert!(is_allowed(&wire, &manager, lease(verb)).await, "{verb}");
    }
    let mut token = in_system("create", "", "serviceaccounts", "");
    token["subresource"] = "token".into();
    assert!(is_allowed(&wire, &manager, token).await);
    assert!(!is_allowed(&wire, &manager, in_system("delete", "", "pods", "")).await);

    let account = |name: &str| format!("system:serviceaccount:kube-system:{name}");
    let binder = wire.server.add_client(&account("persistent-volume-binder"));
    let bind = json!({"verb": "update", "resource": "persistentvolumes"});
    assert!(is_allowed(&wire, &binder, bind.clone()).await);
    let stranger = wire.server.add_client(&account("ttl-controller"));
    assert!(!is_allowed(&wire, &stranger, bind).await);
}

#[tokio::test]
async fn bootstrap_bindings_refer_to_existing_roles() {
    let wire = start_with_rbac().await;
    let names = |list: &Value| -> BTreeSet<String> {
        let place = |object: &Value| {
            format!(
                "{}/{}",
                object["metadata"]["namespace"], object["metadata"]["name"]
            )
        };
        list["items"].as_array().unwrap().iter().map(place).collect()
    };
    for (roles, bindings, role_kind) in [
        (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, "ClusterRole"),
        (
            "/apis/rbac.authorization.k8s.io/v1/roles",
            "/apis/rbac.authorization.k8s.io/v1/rolebindings",
            "Role",
        ),
    ] {
        let roles = names(&wire.get(roles).await.body);
        let bindings = wire.get(bindings).await.body;
        for binding in bindings["items"].as_array().unwrap() {
            let role = &binding["roleRef"];
            assert_eq!(role["kind"], role_kind);
            let place = format!("{}/{}", binding["metadata"]["namespace"], role["name"]);
            assert!(roles.contains(&place), "{binding}");
        }
    }
}

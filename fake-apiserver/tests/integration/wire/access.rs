//! Authentication: tokens, service accounts, impersonation, and token and access reviews.

use super::client::{PODS, TestResponse, TestServer, answer, client, pod, request};
use fake_apiserver::{Admission, Authorization, ServerOptions, User};
use serde_json::{Value, json};

const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
pub(crate) const SELF_ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Starts a server with RBAC; the default client of the returned value is in `system:masters`.
pub(crate) async fn start_with_rbac() -> TestServer {
    start_with_rbac_and_plugins(Admission::default()).await
}

pub(crate) async fn start_with_rbac_and_plugins(admission: Admission) -> TestServer {
    let options = ServerOptions {
        authorization: Authorization::Rbac,
        default_service_accounts: true,
        admission,
        ..ServerOptions::default()
    };
    let mut wire = TestServer::start_with(options, None).await;
    let token = wire
        .server
        .add_user(User::new("admin").in_group("system:masters"));
    wire.client = client(&wire.running, Some(token));
    wire
}

/// Sends a request with the bearer token `token`, or without a token.
pub(crate) async fn send_as(
    wire: &TestServer,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Value,
) -> TestResponse {
    send_as_with(wire, token, method, path, body, &[]).await
}

async fn send_as_with(
    wire: &TestServer,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Value,
    headers: &[(&str, &str)],
) -> TestResponse {
    let client = client(&wire.running, token.map(str::to_owned));
    let text = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    answer(request(&client, method, path, headers, text).await).await
}

async fn whoami(wire: &TestServer, token: &str) -> Value {
    let answer = send_as(wire, Some(token), "POST", WHOAMI, json!({})).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    answer.body["status"]["userInfo"].clone()
}

async fn request_token(wire: &TestServer, account: &str, spec: Value) -> TestResponse {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    wire.post(&format!("{ACCOUNTS}/{account}/token"), body).await
}

fn issued_token(answer: &TestResponse) -> String {
    answer.body["status"]["token"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn token_files_define_users_with_groups() {
    let wire = start_with_rbac().await;
    let count = wire
        .server
        .add_token_file("t1,alice,42,\"dev,ops\"\nt2,bob,7\n")
        .unwrap();
    assert_eq!(count, 2);
    let alice = whoami(&wire, "t1").await;
    let groups = json!(["dev", "ops", "system:authenticated"]);
    assert_eq!(alice, json!({"username": "alice", "uid": "42", "groups": groups}));
    assert_eq!(
        whoami(&wire, "t2").await["groups"],
        json!(["system:authenticated"])
    );
    let refused = wire.server.add_token_file("t3,carol,1\nt4").unwrap_err();
    assert_eq!(refused.line, 2);
    let answer = send_as(&wire, Some("t3"), "POST", WHOAMI, json!({})).await;
    assert_eq!(answer.code, 401, "no token of an invalid file is accepted");
}

#[tokio::test]
async fn invalid_tokens_are_unauthorized_and_requests_without_token_are_anonymous() {
    let wire = start_with_rbac().await;
    let wrong = send_as(&wire, Some("wrong"), "GET", PODS, Value::Null).await;
    assert_eq!(
        (wrong.code, &wrong.body["message"]),
        (401, &json!("Unauthorized"))
    );
    for headers in [
        &[][..],
        &[("authorization", "Basic YTpi")],
        &[("authorization", "Bearer ")],
    ] {
        let answer = send_as_with(&wire, None, "GET", PODS, Value::Null, headers).await;
        let why = "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" in the \
                   namespace \"default\"";
        assert_eq!(
            (answer.code, &answer.body["message"]),
            (403, &json!(why)),
            "{headers:?}"
        );
    }
    let path = send_as(&wire, None, "GET", "/apis", Value::Null).await;
    let why = "forbidden: User \"system:anonymous\" cannot get path \"/apis\"";
    assert_eq!((path.code, &path.body["message"]), (403, &json!(why)));
    assert_eq!(path.body["details"], json!({}));
    assert_eq!(
        send_as(&wire, None, "GET", "/version", Value::Null).await.code,
        200
    );
}

#[tokio::test]
async fn service_account_tokens_are_valid_until_the_account_is_deleted() {
    let wire = start_with_rbac().await;
    wire.create(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    let issued = request_token(&wire, "robot", json!({})).await;
    assert_eq!(issued.code, 201, "{}", issued.text);
    assert_eq!(issued.body["spec"]["expirationSeconds"], 3600);
    assert_eq!(
        issued.body["spec"]["audiences"],
        json!(["https://kubernetes.default.svc"])
    );
    let token = issued_token(&issued);
    let robot = whoami(&wire, &token).await;
    assert_eq!(robot["username"], "system:serviceaccount:default:robot");
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated"
    ]);
    assert_eq!(robot["groups"], groups);
    let other = if &token[40..41] == "A" { "B" } else { "A" };
    let tampered = format!("{}{other}{}", &token[..40], &token[41..]);
    assert_eq!(
        send_as(&wire, Some(&tampered), "POST", WHOAMI, json!({}))
            .await
            .code,
        401
    );
    wire.delete(&format!("{ACCOUNTS}/robot")).await;
    assert_eq!(
        send_as(&wire, Some(&token), "POST", WHOAMI, json!({})).await.code,
        401
    );
    wire.create(ACCOUNTS, json!({"metadata": {"name": "robot"}}))
        .await;
    let again = send_as(&wire, Some(&token), "POST", WHOAMI, json!({})).await;
    assert_eq!(again.code, 401, "a recreated account has another UID");
}

#[tokio::test]
async fn tokens_bound_to_a_pod_are_invalid_after_its_deletion() {
    let wire = start_with_rbac().await;
    let pod = wire.create(PODS, pod("p")).await;
    let reference = json!({"kind": "Pod", "apiVersion": "v1", "name": "p"});
    let issued = request_token(&wire, "default", json!({"boundObjectRef": reference})).await;
    let token_text = issued_token(&issued);
    let extra = &whoami(&wire, &token_text).await["extra"];
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]));
    assert_eq!(
        extra["authentication.kubernetes.io/pod-uid"],
        json!([pod["metadata"]["uid"]])
    );
    wire.delete(&format!("{PODS}/p")).await;
    assert_eq!(
        send_as(&wire, Some(&token_text), "POST", WHOAMI, json!({}))
            .await
            .code,
        401
    );
    let missing = request_token(&wire, "default", json!({"boundObjectRef": reference})).await;
    assert_eq!(
        (missing.code, &missing.body["message"]),
        (404, &json!("pods \"p\" not found"))
    );
}

#[tokio::test]
async fn token_requests_are_validated() {
    let wire = start_with_rbac().await;
    let short = request_token(&wire, "default", json!({"expirationSeconds": 599})).await;
    let why = "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not \
               specify a duration less than 10 minutes";
    assert_eq!((short.code, &short.body["message"]), (422, &json!(why)));
    assert_eq!(request_token(&wire, "nobody", json!({})).await.code, 404);
    let mut other = pod("other");
    other["spec"]["serviceAccountName"] = json!("other");
    wire.create(PODS, other).await;
    let of_other = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "other"}});
    assert_eq!(request_token(&wire, "default", of_other).await.code, 400);
    let unbindable = json!({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "m"}});
    assert_eq!(request_token(&wire, "default", unbindable).await.code, 400);
}

#[tokio::test]
async fn token_reviews_return_user_and_audiences() {
    let wire = start_with_rbac().await;
    let review = |token: &str, audiences: Value| json!({"spec": {"token": token, "audiences": audiences}});
    let issued = issued_token(&request_token(&wire, "default", json!({"audiences": ["vault"]})).await);
    let here = send_as(&wire, Some(&issued), "GET", "/api", Value::Null).await;
    assert_eq!(here.code, 401, "the audience of the token is not this server");
    let found = wire
        .post(TOKEN_REVIEWS, review(&issued, json!(["vault", "other"])))
        .await;
    assert_eq!(found.code, 201, "{}", found.text);
    let status = &found.body["status"];
    assert_eq!(
        (&status["authenticated"], &status["audiences"]),
        (&json!(true), &json!(["vault"]))
    );
    assert_eq!(
        status["user"]["username"],
        "system:serviceaccount:default:default"
    );
    for (token, audiences) in [(issued.as_str(), Value::Null), ("wrong", Value::Null)] {
        let status = wire.post(TOKEN_REVIEWS, review(token, audiences)).await.body["status"].clone();
        assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    }
    let empty = wire.post(TOKEN_REVIEWS, json!({"spec": {}})).await;
    let why = "token is required for TokenReview in authentication";
    assert_eq!((empty.code, &empty.body["message"]), (400, &json!(why)));
}

#[tokio::test]
async fn access_reviews_check_the_own_user_and_other_users() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    let spec = json!({"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}});
    let mine = wire.post(SELF_ACCESS_REVIEWS, json!({"spec": spec})).await;
    assert_eq!((mine.code, &mine.body["status"]["allowed"]), (201, &json!(true)));
    let his = send_as(
        &wire,
        Some(&bob),
        "POST",
        SELF_ACCESS_REVIEWS,
        json!({"spec": spec}),
    )
    .await;
    assert_eq!(his.body["status"], json!({"allowed": false}));
    let mut other = spec.clone();
    (other["user"], other["groups"]) = (json!("x"), json!(["system:masters"]));
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    assert_eq!(
        wire.post(path, json!({"spec": other})).await.body["status"]["allowed"],
        true
    );
    let refused = send_as(&wire, Some(&bob), "POST", path, json!({"spec": other})).await;
    assert_eq!(refused.code, 403, "reviewing other users requires a permission");
    let local = "/apis/authorization.k8s.io/v1/namespaces/kube-system/localsubjectaccessreviews";
    let wrong = wire.post(local, json!({"spec": other})).await;
    assert_eq!(
        wrong.body["details"]["causes"][0]["field"],
        "spec.resourceAttributes.namespace"
    );
    let nothing = wire.post(SELF_ACCESS_REVIEWS, json!({"spec": {}})).await;
    let why = ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: \
               exactly one of nonResourceAttributes or resourceAttributes must be specified";
    assert_eq!((nothing.code, &nothing.body["message"]), (422, &json!(why)));
    assert_eq!(
        wire.get(SELF_ACCESS_REVIEWS).await.code,
        405,
        "reviews are not stored"
    );
}

#[tokio::test]
async fn self_subject_rules_reviews_list_the_rules_of_a_user() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let status = send_as(
        &wire,
        Some(&bob),
        "POST",
        path,
        json!({"spec": {"namespace": "default"}}),
    )
    .await
    .body["status"]
        .clone();
    assert_eq!(status["incomplete"], false);
    let resources: Vec<&Value> = status["resourceRules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["resources"])
        .collect();
    assert_eq!(
        resources,
        [
            &json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
            &json!(["selfsubjectreviews"])
        ]
    );
    assert!(status["nonResourceRules"].to_string().contains("/apis/*"));
    assert_eq!(
        send_as(&wire, Some(&bob), "POST", path, json!({"spec": {}}))
            .await
            .code,
        400
    );
}

#[tokio::test]
async fn impersonation_requires_permission_and_changes_the_user() {
    let wire = start_with_rbac().await;
    let bob = wire.server.add_client("bob");
    let as_alice = [("impersonate-user", "alice"), ("impersonate-group", "dev")];
    let refused = send_as_with(&wire, Some(&bob), "POST", WHOAMI, json!({}), &as_alice).await;
    let why = "users \"alice\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the \
               cluster scope";
    assert_eq!((refused.code, &refused.body["message"]), (403, &json!(why)));
    let alice = wire.send("POST", WHOAMI, &as_alice, "{}".to_owned()).await;
    let info = json!({"username": "alice", "groups": ["dev", "system:authenticated"]});
    assert_eq!(alice.body["status"]["userInfo"], info);
    let pods = wire.send("GET", PODS, &as_alice, String::new()).await;
    assert_eq!(pods.code, 403, "the request is authorized as alice");
    let robot = [("impersonate-user", "system:serviceaccount:default:robot")];
    let robot = wire.send("POST", WHOAMI, &robot, "{}".to_owned()).await.body;
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated"
    ]);
    assert_eq!(robot["status"]["userInfo"]["groups"], groups);
    let invalid = [("impersonate-user", "system:serviceaccount:default:a:b")];
    let invalid = wire.send("POST", WHOAMI, &invalid, "{}".to_owned()).await.body;
    assert_eq!(
        invalid["status"]["userInfo"]["groups"],
        json!(["system:authenticated"])
    );
    for (headers, code) in [
        (&[("impersonate-group", "dev")][..], 400),
        (&[("impersonate-user", ""), ("impersonate-uid", "7")], 400),
        (&[("impersonate-user", ""), ("impersonate-other", "x")], 201),
    ] {
        let answer = send_as_with(&wire, Some(&bob), "POST", WHOAMI, json!({}), headers).await;
        assert_eq!(answer.code, code, "{headers:?}: {}", answer.text);
    }
}

//! Who may decide and answer requests for certificates, and what nobody may ask for.

use super::access::{ask, guarded, guarded_with};
use super::client::Wire;
use super::kinds::SIGNED_REQUEST;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fake_apiserver::{Admission, User};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const CLIENTS: &str = "kubernetes.io/kube-apiserver-client";

fn request(name: &str, signer: &str, pem: &str) -> Value {
    let spec = json!({"request": pem, "signerName": signer, "usages": ["client auth"]});
    json!({"metadata": {"name": name}, "spec": spec})
}

/// A user who may change requests for certificates, and do so much with signers.
async fn user(wire: &Wire, name: &str, verb: &str, signers: &[&str]) -> String {
    let all = [
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
    ];
    let rules = json!([
        {"apiGroups": ["certificates.k8s.io"], "resources": all, "verbs": ["update"]},
        {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": signers, "verbs": [verb]},
    ]);
    wire.create(
        &format!("{RBAC}/clusterroles"),
        json!({"metadata": {"name": name}, "rules": rules}),
    )
    .await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]);
    let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
    wire.create(&format!("{RBAC}/clusterrolebindings"), binding).await;
    wire.server.add_user(User::new(name))
}

fn forbidden(name: &str, why: &str) -> (u16, Value) {
    let text = format!("certificatesigningrequests.certificates.k8s.io {name:?} is forbidden: {why}");
    (403, text.into())
}

#[tokio::test]
async fn who_decides_has_the_verb_approve_for_the_signer() {
    let wire = guarded().await;
    let made = wire
        .create(REQUESTS, request("r", "example.com/s", SIGNED_REQUEST))
        .await;
    let mut approved = made.clone();
    approved["status"] = json!({"conditions": [{"type": "Approved", "status": "True", "reason": "r"}]});
    for (name, verb, signers, code) in [
        ("stranger", "approve", ["example.com/other"], 403),
        ("signs-only", "sign", ["example.com/s"], 403),
        ("by-name", "approve", ["example.com/s"], 200),
        ("by-domain", "approve", ["example.com/*"], 200),
    ] {
        let token = user(&wire, name, verb, &signers).await;
        let path = format!("{REQUESTS}/r/approval?dryRun=All");
        let answer = ask(&wire, Some(&token), "PUT", &path, approved.clone()).await;
        assert_eq!(answer.code, code, "{name}: {}", answer.text);
        if code == 403 {
            let why = "user not permitted to approve requests with signerName \"example.com/s\"";
            assert_eq!((answer.code, answer.body["message"].clone()), forbidden("r", why));
        }
    }
}

#[tokio::test]
async fn who_answers_has_the_verb_sign_for_the_signer() {
    let wire = guarded().await;
    let made = wire
        .create(REQUESTS, request("r", "example.com/s", SIGNED_REQUEST))
        .await;
    let mut failed = made.clone();
    failed["status"] = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "r"}]});
    let path = format!("{REQUESTS}/r/status");
    let other = user(&wire, "approves-only", "approve", &["example.com/s"]).await;
    let refused = ask(&wire, Some(&other), "PUT", &path, failed.clone()).await;
    let why = "user not permitted to sign requests with signerName \"example.com/s\"";
    assert_eq!(
        (refused.code, refused.body["message"].clone()),
        forbidden("r", why)
    );
    let same = ask(&wire, Some(&other), "PUT", &path, made).await;
    assert_eq!(same.code, 200, "nothing is said to be signed: {}", same.text);
    let signer = user(&wire, "signs", "sign", &["example.com/*"]).await;
    let answered = ask(&wire, Some(&signer), "PUT", &path, failed).await;
    assert_eq!(answered.code, 200, "{}", answered.text);
}

/// A request of somebody who is in that group, as `request` has it.
fn in_group(group: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.distinguished_name.push(DnType::OrganizationName, group);
    let key = KeyPair::generate().expect("a key is made");
    let made = params.serialize_request(&key).expect("a request is made");
    STANDARD.encode(made.pem().expect("it is written"))
}

#[tokio::test]
async fn nobody_asks_to_be_a_master_of_the_cluster() {
    let wire = Wire::start().await;
    let masters = in_group("system:masters");
    let refused = wire.post(REQUESTS, request("r", CLIENTS, &masters)).await;
    let why = format!("use of {CLIENTS} signer with system:masters group is not allowed");
    assert_eq!(
        (refused.code, refused.body["message"].clone()),
        forbidden("r", &why)
    );
    wire.create(REQUESTS, request("other", "example.com/s", &masters))
        .await;
    wire.create(REQUESTS, request("users", CLIENTS, &in_group("users")))
        .await;
}

#[tokio::test]
async fn each_of_the_three_can_be_switched_off() {
    let mut admission = Admission::default();
    for name in [
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
    ] {
        admission.disable(name).expect("it is a plugin");
    }
    let wire = guarded_with(admission).await;
    let mut made = wire
        .create(REQUESTS, request("r", CLIENTS, &in_group("system:masters")))
        .await;
    let token = user(&wire, "neither", "watch", &["none"]).await;
    for (part, decision) in [("approval", "Denied"), ("status", "Failed")] {
        let mut conditions = made["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions.push(json!({"type": decision, "status": "True", "reason": "r"}));
        made["status"]["conditions"] = conditions.into();
        let answer = ask(&wire, Some(&token), "PUT", &format!("{REQUESTS}/r/{part}"), made).await;
        assert_eq!(answer.code, 200, "{part}: {}", answer.text);
        made = answer.body;
    }
}

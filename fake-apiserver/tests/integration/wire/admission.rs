//! Tests of admission plugins that read other objects.

use super::client::{PODS, TestServer, pod};
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

#[tokio::test]
async fn pods_require_their_service_account_unless_kubelet_less() {
    let options = ServerOptions {
        kubelet_less: false,
        ..Default::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let refused = wire.post(PODS, pod("p")).await;
    let text = "pods \"p\" is forbidden: error looking up service account default/default: serviceaccount \
        \"default\" not found";
    assert_eq!((refused.code, &refused.body["message"]), (403, &json!(text)));
    wire.create(ACCOUNTS, json!({"metadata": {"name": "default"}}))
        .await;
    wire.create(PODS, pod("p")).await;
}

async fn create_class(wire: &TestServer, name: &str, default: bool) {
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": default.to_string()});
    let class =
        json!({"metadata": {"name": name, "annotations": annotations}, "provisioner": "p.example.com"});
    wire.create(CLASSES, class).await;
}

async fn class_of_new_claim(wire: &TestServer, name: &str, class: Option<&str>) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    if let Some(class) = class {
        spec["storageClassName"] = class.into();
    }
    let claim = wire
        .create(CLAIMS, json!({"metadata": {"name": name}, "spec": spec}))
        .await;
    claim["spec"]["storageClassName"].clone()
}

#[tokio::test]
async fn claims_without_class_get_the_default_storage_class() {
    let wire = TestServer::start().await;
    create_class(&wire, "slow", false).await;
    assert_eq!(class_of_new_claim(&wire, "before", None).await, Value::Null);
    create_class(&wire, "fast", true).await;
    assert_eq!(class_of_new_claim(&wire, "after", None).await, "fast");
    assert_eq!(class_of_new_claim(&wire, "named", Some("slow")).await, "slow");
    assert_eq!(
        class_of_new_claim(&wire, "none", Some("")).await,
        "",
        "an empty class name disables the default"
    );
}

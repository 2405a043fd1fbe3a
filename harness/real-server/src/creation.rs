//! Changes that the controllers of a real cluster make immediately after the creation of an object. A bare API server has no such
//! controllers.

use std::sync::Arc;

use harness::api_server::StatusError;
use harness::client_name::HARNESS;
use hyper::Method;
use serde_json::{Value, json};

use crate::case::Case;
use crate::client::call;

/// Creates the service account of a new namespace, and restores the requested taints of a new node. `requested`: the object in the request
/// body.
pub(crate) async fn finish_create(
    case: &Arc<Case>,
    requested: &Value,
    created: Value,
) -> Result<Value, StatusError> {
    let name = created["metadata"]["name"].as_str().unwrap_or_default();
    match created["kind"].as_str() {
        Some("Namespace") => create_default_service_account(case, name).await.map(|()| created),
        // The server adds the taint `not-ready` to a new node. Restores the requested taints, as a node controller would do later.
        Some("Node") if created["spec"]["taints"] != requested["spec"]["taints"] => {
            let taints = json!({"spec": {"taints": requested["spec"]["taints"]}});
            let path = format!("/api/v1/nodes/{name}");
            call(case, HARNESS, Method::PATCH, &path, Some(taints)).await
        }
        _ => Ok(created),
    }
}

/// Creates the service account `default`, which pods of the namespace use. Pods do not mount a token of the account.
async fn create_default_service_account(case: &Arc<Case>, namespace: &str) -> Result<(), StatusError> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
        "metadata": {"name": "default", "namespace": namespace},
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    match call(case, HARNESS, Method::POST, &path, Some(account)).await {
        Err(refused) if refused.code != 409 => Err(refused),
        _ => Ok(()),
    }
}

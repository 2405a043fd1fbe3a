//! What controllers do at once to an object that was just made, in every cluster but the one in memory.

use std::sync::Arc;

use harness::api_server::Refused;
use harness::client_name::HARNESS;
use hyper::Method;
use serde_json::{Value, json};

use crate::case::Case;
use crate::client::call;

/// Does to an object that was just made what controllers do at once in every cluster. `wanted`: as the request has it.
pub(crate) async fn finish_create(case: &Arc<Case>, wanted: &Value, made: Value) -> Result<Value, Refused> {
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    match made["kind"].as_str() {
        Some("Namespace") => give_account(case, name).await.map(|()| made),
        // The server keeps pods away from a node until a controller has seen that it is ready.
        Some("Node") if made["spec"]["taints"] != wanted["spec"]["taints"] => {
            let taints = json!({"spec": {"taints": wanted["spec"]["taints"]}});
            let path = format!("/api/v1/nodes/{name}");
            call(case, HARNESS, Method::PATCH, &path, Some(taints)).await
        }
        _ => Ok(made),
    }
}

/// The account that pods of a namespace run as, without a token in them.
async fn give_account(case: &Arc<Case>, namespace: &str) -> Result<(), Refused> {
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

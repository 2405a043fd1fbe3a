//! Serves a cluster with a validating webhook for ConfigMaps until killed:
//! `cargo run -p fake-apiserver-webhooks --example register -- https://127.0.0.1:8443/validate ca.crt`.
//!
//! `ca.crt` contains the PEM certificate of the authority that signed the webhook's certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fake_apiserver::{ApiServer, ServerOptions};
use serde_json::json;
use std::future::pending;
use std::io::Write;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(ca)) = (arguments.next(), arguments.next()) else {
        return Err("usage: register URL CA_FILE".into());
    };
    let extensions = vec![fake_apiserver_webhooks::extension()];
    let server = ApiServer::with_extensions(ServerOptions::default(), None, extensions);
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "example"},
        "webhooks": [{
            "name": "config-maps.example.com",
            "clientConfig": {"url": url, "caBundle": STANDARD.encode(std::fs::read(ca)?)},
            "rules": [{
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    server
        .client("example")
        .create(configuration)
        .map_err(|status| status.message)?;
    let token = server.add_client("example");
    let running = server.start().await?;
    writeln!(
        std::io::stdout(),
        "{}/api/v1/namespaces/default/configmaps\ntoken: {token}",
        running.url()
    )?;
    pending().await
}

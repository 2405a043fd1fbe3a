//! Serves a cluster with a custom resource until killed: `cargo run -p fake-apiserver-apiextensions --example define`.

use fake_apiserver::{ApiServer, ServerOptions};
use serde_json::json;
use std::future::pending;
use std::io::Write;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let extensions = vec![fake_apiserver_apiextensions::extension()];
    let server = ApiServer::with_extensions(ServerOptions::default(), None, extensions);
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.disk.example.com"},
        "spec": {
            "group": "disk.example.com",
            "scope": "Cluster",
            "names": {"plural": "pools", "kind": "Pool"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    server
        .client("example")
        .create(definition)
        .map_err(|status| status.message)?;
    let token = server.add_client("example");
    let running = server.start().await?;
    writeln!(
        std::io::stdout(),
        "{}/apis/disk.example.com/v1/pools\ntoken: {token}",
        running.url()
    )?;
    pending().await
}

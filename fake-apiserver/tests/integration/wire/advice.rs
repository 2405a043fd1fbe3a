//! Deprecation warnings, and tables of subresources.

use super::client::TestServer;
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

#[tokio::test]
async fn endpoints_return_a_deprecation_warning() {
    let reported = async |release: &str, path: &str| {
        let options = ServerOptions {
            release: release.parse().expect("the release is valid"),
            ..ServerOptions::default()
        };
        let wire = TestServer::start_with(options, None).await;
        let answer = wire.get(path).await;
        let warning = answer.headers.get("warning");
        warning.map(|warning| warning.to_str().unwrap().to_owned())
    };
    let advice = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    for path in [
        "/api/v1/endpoints",
        "/api/v1/namespaces/default/endpoints/none",
        "/api/v1/endpoints?watch=true&timeoutSeconds=1",
    ] {
        assert_eq!(reported("1.36", path).await.as_deref(), Some(advice), "{path}");
        assert_eq!(reported("1.32", path).await, None, "{path}");
    }
    assert_eq!(reported("1.36", "/api/v1/services").await, None);
}

#[tokio::test]
async fn scale_has_its_own_table_columns() {
    let wire = TestServer::start().await;
    let template = json!({
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    wire.create(deployments, json!({"metadata": {"name": "d"}, "spec": spec}))
        .await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let path = format!("{deployments}/d/scale");
    let table = wire.send("GET", &path, &accept, String::new()).await.body;
    let columns: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(columns, ["Name", "Desired", "Available", "Age"]);
    assert_eq!(
        table["rows"][0]["cells"].as_array().unwrap()[..3],
        [json!("d"), json!(2), json!(0)]
    );
}

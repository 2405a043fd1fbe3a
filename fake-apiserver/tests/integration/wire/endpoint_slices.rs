//! Endpoint slices: defaults and generation.

use super::client::TestServer;
use serde_json::json;

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

#[tokio::test]
async fn endpoint_slices_have_an_immutable_address_type_and_a_generation() {
    let wire = TestServer::start().await;
    let body = json!({
        "metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"port": 80}],
    });
    let made = wire.create(SLICES, body).await;
    assert_eq!(
        made["ports"],
        json!([{"name": "", "port": 80, "protocol": "TCP"}])
    );
    assert_eq!(made["metadata"]["generation"], 1);
    let path = format!("{SLICES}/a");
    let refused = wire.merge(&path, json!({"addressType": "FQDN"})).await;
    assert_eq!(
        refused.body["details"]["causes"][0]["message"],
        "Invalid value: \"FQDN\": field is immutable"
    );
    for (change, generation) in [
        (json!({"metadata": {"annotations": {"a": "b"}}}), 1),
        (json!({"metadata": {"labels": {"a": "b"}}}), 2),
        (json!({"ports": [{"port": 81}]}), 3),
    ] {
        let changed = wire.merge(&path, change.clone()).await.body;
        assert_eq!(changed["metadata"]["generation"], generation, "{change}");
    }
}

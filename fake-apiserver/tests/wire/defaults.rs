//! What the server fills in inside of objects.

use crate::client::{PODS, Wire};
use serde_json::json;

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

#[tokio::test]
async fn containers_and_volumes_get_their_defaults() {
    let wire = Wire::start().await;
    let container = json!({
        "name": "c", "image": "example.com/app:1",
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
        "startupProbe": {"grpc": {"port": 9000}},
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
        "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    });
    let volumes = json!([
        {"name": "empty"},
        {"name": "map", "configMap": {"name": "m"}},
        {"name": "path", "hostPath": {"path": "/var"}},
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ]);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container], "volumes": volumes}});
    let spec = wire.create(PODS, pod).await["spec"].take();
    let container = &spec["containers"][0];
    assert_eq!(container["ports"][0]["protocol"], "TCP");
    let probe = json!({
        "httpGet": {"path": "/", "port": "http", "scheme": "HTTP"},
        "failureThreshold": 3, "periodSeconds": 5, "successThreshold": 1, "timeoutSeconds": 1,
    });
    assert_eq!(container["livenessProbe"], probe);
    assert_eq!(
        container["startupProbe"]["grpc"],
        json!({"port": 9000, "service": ""})
    );
    assert_eq!(container["lifecycle"]["preStop"]["httpGet"]["path"], "/");
    assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    let volumes = json!([
        {"name": "empty", "emptyDir": {}},
        {"name": "map", "configMap": {"name": "m", "defaultMode": 420}},
        {"name": "path", "hostPath": {"path": "/var", "type": ""}},
        {"name": "token", "projected": {
            "defaultMode": 420,
            "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
        }},
    ]);
    assert_eq!(spec["volumes"], volumes);
}

#[tokio::test]
async fn the_sources_of_a_claim_are_kept_equal() {
    let wire = Wire::start().await;
    let source = json!({"kind": "PersistentVolumeClaim", "name": "from"});
    let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "from"});
    let elsewhere = json!({"kind": "PersistentVolumeClaim", "name": "from", "namespace": "other"});
    let populator = json!({"apiGroup": "example.com", "kind": "Image", "name": "from"});
    for (name, set, old, new) in [
        ("old", json!({"dataSource": source}), true, true),
        ("new", json!({"dataSourceRef": snapshot}), true, true),
        // To name another namespace is an alpha feature.
        ("elsewhere", json!({"dataSourceRef": elsewhere}), false, false),
        // The old field never took other kinds, and drops them.
        ("populator", json!({"dataSource": populator}), false, false),
    ] {
        let mut claim = json!({"metadata": {"name": name}, "spec": set});
        claim["spec"]["accessModes"] = json!(["ReadWriteOnce"]);
        claim["spec"]["resources"] = json!({"requests": {"storage": "1Gi"}});
        let spec = wire.create(CLAIMS, claim).await["spec"].take();
        for (field, there) in [("dataSource", old), ("dataSourceRef", new)] {
            assert_eq!(spec[field]["name"] == "from", there, "{field} of {name}");
            assert_eq!(spec[field].get("apiGroup").is_some(), there, "{field} of {name}");
        }
    }
}

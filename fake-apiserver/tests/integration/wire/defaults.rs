//! Tests of defaults in nested fields of pods, PVCs, Jobs, Services, Nodes and devices.

use super::client::{PODS, TestServer};
use serde_json::{Value, json};

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

#[tokio::test]
async fn containers_and_volumes_are_defaulted() {
    let wire = TestServer::start().await;
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
async fn data_source_and_data_source_ref_are_synchronized() {
    let wire = TestServer::start().await;
    let source = json!({"kind": "PersistentVolumeClaim", "name": "from"});
    let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "from"});
    let elsewhere = json!({"kind": "PersistentVolumeClaim", "name": "from", "namespace": "other"});
    let populator = json!({"apiGroup": "example.com", "kind": "Image", "name": "from"});
    for (name, set, old, new) in [
        ("old", json!({"dataSource": source}), true, true),
        ("new", json!({"dataSourceRef": snapshot}), true, true),
        // A data source in another namespace requires an alpha feature gate, so the reference is dropped.
        ("elsewhere", json!({"dataSourceRef": elsewhere}), false, false),
        // `dataSource` never allowed kinds other than PVC and VolumeSnapshot, so a data source of kind `Image` is dropped.
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

#[tokio::test]
async fn jobs_get_a_unique_selector_and_pod_labels() {
    let wire = TestServer::start().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = |spec: Value| json!({"metadata": {"name": "j"}, "spec": spec});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let made = wire.create(jobs, job(json!({"template": template}))).await;
    let uid = &made["metadata"]["uid"];
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid, "job-name": "j",
    });
    let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    assert_eq!(made["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(made["metadata"]["labels"], labels);
    assert_eq!(
        (&made["spec"]["selector"], &made["spec"]["manualSelector"]),
        (&selector, &json!(false))
    );
    wire.delete(&format!("{jobs}/j")).await;
    let mut own = template;
    own["metadata"] = json!({"labels": {"a": "b"}});
    let selector = json!({"matchLabels": {"a": "b"}});
    let spec = json!({"manualSelector": true, "selector": selector, "template": own});
    let made = wire.create(jobs, job(spec)).await;
    assert_eq!(made["spec"]["selector"], selector);
    assert_eq!(made["spec"]["template"]["metadata"]["labels"], json!({"a": "b"}));
}

#[tokio::test]
async fn services_are_defaulted() {
    let wire = TestServer::start().await;
    let services = "/api/v1/namespaces/default/services?dryRun=All";
    let spec = |spec: Value| {
        let wire = &wire;
        async move {
            let service = json!({"metadata": {"name": "s"}, "spec": spec});
            wire.create(services, service).await["spec"].clone()
        }
    };
    assert_eq!(
        spec(json!({"ports": [{"port": 80}]})).await,
        json!({
            "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}], "type": "ClusterIP",
            "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        })
    );
    assert_eq!(
        spec(json!({"clusterIP": "None", "ports": [{"port": 80, "targetPort": "x"}]})).await,
        json!({
            "ports": [{"protocol": "TCP", "port": 80, "targetPort": "x"}], "type": "ClusterIP",
            "clusterIP": "None", "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
        })
    );
    assert_eq!(
        spec(json!({"type": "LoadBalancer", "sessionAffinity": "ClientIP", "ports": [{"port": 80}]})).await,
        json!({
            "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}], "type": "LoadBalancer",
            "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10_800}},
            "internalTrafficPolicy": "Cluster",
            "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
        })
    );
    assert_eq!(
        spec(json!({"type": "ExternalName", "externalName": "x.example.com"})).await,
        json!({"type": "ExternalName", "externalName": "x.example.com", "sessionAffinity": "None"})
    );
}

#[tokio::test]
async fn pod_cidr_of_a_node_is_copied_to_pod_cidrs() {
    let wire = TestServer::start().await;
    let node = json!({"metadata": {"name": "n"}, "spec": {"podCIDR": "10.9.0.0/24"}});
    let made = wire.create("/api/v1/nodes", node).await;
    assert_eq!(made["spec"]["podCIDRs"], json!(["10.9.0.0/24"]));
}

#[tokio::test]
async fn device_requests_default_to_one_exact_device() {
    let wire = TestServer::start().await;
    let requests = json!([
        {"name": "one", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k"}]}},
        {"name": "all", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
        {"name": "either", "firstAvailable": [{"name": "a", "deviceClassName": "gpu", "count": 2}]},
    ]);
    let full = json!([
        {"name": "one", "exactly": {
            "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
            "tolerations": [{"key": "k", "operator": "Equal"}],
        }},
        {"name": "all", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
        {"name": "either", "firstAvailable": [
            {"name": "a", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
        ]},
    ]);
    let spec = json!({"devices": {"requests": requests}});
    let of = |resource: &str| format!("/apis/resource.k8s.io/v1/namespaces/default/{resource}");
    let claim = json!({"metadata": {"name": "c"}, "spec": spec});
    let claim = wire.create(&of("resourceclaims"), claim).await;
    assert_eq!(claim["spec"]["devices"]["requests"], full);
    let template = json!({"metadata": {"name": "t"}, "spec": {"spec": spec}});
    let template = wire.create(&of("resourceclaimtemplates"), template).await;
    assert_eq!(template["spec"]["spec"]["devices"]["requests"], full);
}

#[tokio::test]
async fn device_taints_get_a_time_added() {
    let wire = TestServer::start().await;
    let taint = json!({"key": "k", "effect": "NoSchedule"});
    let slice = json!({"metadata": {"name": "s"}, "spec": {
        "driver": "driver.example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d", "taints": [taint]}],
    }});
    let slice = wire
        .create("/apis/resource.k8s.io/v1/resourceslices", slice)
        .await;
    let made = &slice["metadata"]["creationTimestamp"];
    assert_eq!(&slice["spec"]["devices"][0]["taints"][0]["timeAdded"], made);
}

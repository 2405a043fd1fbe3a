//! Tests of the admission plugins LimitRanger, ResourceQuota, RuntimeClass and DefaultIngressClass, and of enabling plugins.

use super::client::{CONFIG_MAPS, PODS, TestServer, pod};
use fake_apiserver::{Admission, PluginError, ServerOptions};
use serde_json::{Value, json};

const RANGES: &str = "/api/v1/namespaces/default/limitranges";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const SERVICES: &str = "/api/v1/namespaces/default/services";

const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";

async fn start(options: ServerOptions) -> TestServer {
    TestServer::start_with(options, None).await
}

async fn define_foos(wire: &TestServer) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "foos.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    wire.create(definitions, definition).await;
}

fn foo(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}})
}

fn pod_with_resources(name: &str, resources: Value) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["resources"] = resources;
    pod
}

fn claim(name: &str, storage: &str) -> Value {
    let resources = json!({"requests": {"storage": storage}});
    json!({"metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "gold", "resources": resources,
    }})
}

async fn denial_message(wire: &TestServer, path: &str, body: Value) -> String {
    let answer = wire.post(path, body).await;
    assert_eq!(answer.code, 403, "{}", answer.text);
    answer.body["message"].as_str().unwrap_or_default().to_owned()
}

async fn create_quota(wire: &TestServer, spec: Value) {
    wire.create(QUOTAS, json!({"metadata": {"name": "q"}, "spec": spec}))
        .await;
}

async fn used(wire: &TestServer) -> Value {
    wire.get(&format!("{QUOTAS}/q")).await.body["status"]["used"].clone()
}

#[tokio::test]
async fn limit_ranges_set_defaults_and_bounds_of_containers() {
    let wire = start(ServerOptions::default()).await;
    let limit = json!({
        "type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"},
        "min": {"cpu": "50m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "8"},
    });
    let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [limit]}});
    wire.create(RANGES, range).await;
    let made = wire.create(PODS, pod("plain")).await;
    assert_eq!(
        made["spec"]["containers"][0]["resources"],
        json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}})
    );
    assert_eq!(
        made["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    );
    let message = denial_message(
        &wire,
        PODS,
        pod_with_resources("p", json!({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})),
    )
    .await;
    let text = "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2";
    assert_eq!(message, text);
    let message = denial_message(
        &wire,
        PODS,
        pod_with_resources(
            "p",
            json!({"limits": {"cpu": "100m"}, "requests": {"cpu": "10m"}}),
        ),
    )
    .await;
    let text = "pods \"p\" is forbidden: [minimum cpu usage per Container is 50m, but request is 10m, cpu max limit to \
        request ratio per Container is 8, but provided ratio is 10.000000]";
    assert_eq!(message, text);
}

#[tokio::test]
async fn limit_ranges_bound_claims_and_whole_pods() {
    let wire = start(ServerOptions::default()).await;
    let limits = json!([
        {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}, {"type": "Pod", "max": {"memory": "1Gi"}},
    ]);
    wire.create(
        RANGES,
        json!({"metadata": {"name": "r"}, "spec": {"limits": limits}}),
    )
    .await;
    let message = denial_message(&wire, CLAIMS, claim("c", "3Gi")).await;
    let text = "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but \
        request is 3Gi";
    assert_eq!(message, text);
    let message = denial_message(
        &wire,
        PODS,
        pod_with_resources("p", json!({"limits": {"memory": "2Gi"}})),
    )
    .await;
    assert!(
        message.ends_with("maximum memory usage per Pod is 1Gi, but limit is 2Gi"),
        "{message}"
    );
}

#[tokio::test]
async fn quotas_count_existing_objects_and_reject_objects_above_the_limit() {
    let wire = start(ServerOptions::default()).await;
    wire.create(
        PODS,
        pod_with_resources("before", json!({"requests": {"cpu": "250m"}})),
    )
    .await;
    create_quota(
        &wire,
        json!({"hard": {"pods": "2", "cpu": "1", "count/deployments.apps": "0", "example.com/nonsense": "1"}}),
    )
    .await;
    let zero = json!({"count/deployments.apps": "0", "cpu": "250m", "pods": "1"});
    assert_eq!(used(&wire).await, zero);
    let message = denial_message(&wire, PODS, pod("silent")).await;
    assert_eq!(
        message,
        "pods \"silent\" is forbidden: failed quota: q: must specify cpu for: c"
    );
    let message = denial_message(
        &wire,
        PODS,
        pod_with_resources("big", json!({"requests": {"cpu": "800m"}})),
    )
    .await;
    let text =
        "pods \"big\" is forbidden: exceeded quota: q, requested: cpu=800m, used: cpu=250m, limited: cpu=1";
    assert_eq!(message, text);
    wire.create(
        PODS,
        pod_with_resources("second", json!({"requests": {"cpu": "500m"}})),
    )
    .await;
    let message = denial_message(
        &wire,
        PODS,
        pod_with_resources("third", json!({"requests": {"cpu": "1m"}})),
    )
    .await;
    let text =
        "pods \"third\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2";
    assert_eq!(message, text);
    let ended = json!({"status": {"phase": "Succeeded"}});
    wire.merge(&format!("{PODS}/second/status"), ended).await;
    assert_eq!(used(&wire).await, zero, "terminated pods use nothing");
    wire.delete(&format!("{PODS}/before")).await;
    assert_eq!(used(&wire).await["pods"], "0");
    wire.merge(
        &format!("{QUOTAS}/q"),
        json!({"spec": {"hard": {"configmaps": "1", "cpu": null}}}),
    )
    .await;
    assert_eq!(
        used(&wire).await,
        json!({"configmaps": "0", "count/deployments.apps": "0", "pods": "0"})
    );
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    assert_eq!(
        wire.post(&dry, json!({"metadata": {"name": "b"}})).await.code,
        403
    );
    assert_eq!(used(&wire).await["configmaps"], "1");
}

#[tokio::test]
async fn quotas_count_claims_by_class_and_services_by_type() {
    let wire = start(ServerOptions::default()).await;
    let class = "gold.storageclass.storage.k8s.io";
    create_quota(
        &wire,
        json!({"hard": {
            "requests.storage": "5Gi", format!("{class}/requests.storage"): "3Gi", "services.nodeports": "1",
            "services.loadbalancers": "0",
        }}),
    )
    .await;
    wire.create(CLAIMS, claim("a", "2Gi")).await;
    let message = denial_message(&wire, CLAIMS, claim("b", "2Gi")).await;
    let text = format!(
        "exceeded quota: q, requested: {class}/requests.storage=2Gi, used: {class}/requests.storage=2Gi, \
        limited: {class}/requests.storage=3Gi"
    );
    assert!(message.ends_with(&text), "{message}");
    let service = |name: &str, of: &str| json!({"metadata": {"name": name}, "spec": {"type": of, "ports": [{"port": 1}]}});
    wire.create(SERVICES, service("a", "NodePort")).await;
    wire.create(SERVICES, service("b", "ClusterIP")).await;
    let grown = wire
        .merge(&format!("{SERVICES}/b"), json!({"spec": {"type": "NodePort"}}))
        .await;
    assert_eq!(grown.code, 403, "{}", grown.text);
    wire.merge(&format!("{SERVICES}/a"), json!({"spec": {"type": "ClusterIP"}}))
        .await;
    assert_eq!(used(&wire).await["services.nodeports"], "0");
    denial_message(&wire, SERVICES, service("c", "LoadBalancer")).await;
}

#[tokio::test]
async fn quotas_apply_to_objects_in_their_scopes() {
    let wire = start(ServerOptions::default()).await;
    let class = json!({"metadata": {"name": "high"}, "value": 10});
    wire.create("/apis/scheduling.k8s.io/v1/priorityclasses", class)
        .await;
    let scope = json!({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]});
    create_quota(
        &wire,
        json!({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [scope]}}),
    )
    .await;
    let high = |name: &str| {
        let mut pod = pod(name);
        pod["spec"]["priorityClassName"] = "high".into();
        pod
    };
    wire.create(PODS, pod("low")).await;
    wire.create(PODS, high("a")).await;
    assert_eq!(used(&wire).await["pods"], "1");
    denial_message(&wire, PODS, high("b")).await;
    wire.delete(&format!("{PODS}/a")).await;
    wire.create(PODS, high("b")).await;
    let terminating = json!({"hard": {"pods": "0"}, "scopes": ["Terminating"]});
    wire.create(QUOTAS, json!({"metadata": {"name": "t"}, "spec": terminating}))
        .await;
    let mut short = pod("short");
    short["spec"]["activeDeadlineSeconds"] = 5.into();
    denial_message(&wire, PODS, short).await;
    let late = wire
        .merge(
            &format!("{PODS}/low"),
            json!({"spec": {"activeDeadlineSeconds": 5}}),
        )
        .await;
    assert_eq!(late.code, 403, "{}", late.text);
}

#[tokio::test]
async fn pods_get_overhead_and_scheduling_of_their_runtime_class() {
    let wire = start(ServerOptions::default()).await;
    let class = json!({
        "metadata": {"name": "vm"}, "handler": "vm", "overhead": {"podFixed": {"cpu": "10m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
    });
    wire.create("/apis/node.k8s.io/v1/runtimeclasses", class).await;
    let mut wanted = pod("p");
    wanted["spec"]["runtimeClassName"] = "vm".into();
    let made = wire.create(PODS, wanted.clone()).await;
    assert_eq!(
        (&made["spec"]["overhead"], &made["spec"]["nodeSelector"]),
        (&json!({"cpu": "10m"}), &json!({"vm": "yes"}))
    );
    assert_eq!(made["spec"]["tolerations"][0]["key"], "vm");
    wanted["spec"]["nodeSelector"] = json!({"vm": "no"});
    let message = denial_message(&wire, PODS, wanted).await;
    let text = "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; \
        pod.spec.nodeSelector[vm] = no";
    assert_eq!(message, text);
}

#[tokio::test]
async fn ingresses_get_the_default_ingress_class() {
    let wire = start(ServerOptions::default()).await;
    let networking = "/apis/networking.k8s.io/v1";
    for name in ["b", "a"] {
        let annotations = json!({"ingressclass.kubernetes.io/is-default-class": "true"});
        let class =
            json!({"metadata": {"name": name, "annotations": annotations}, "spec": {"controller": "x.io/y"}});
        wire.create(&format!("{networking}/ingressclasses"), class).await;
    }
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    let ingress = json!({"metadata": {"name": "i"}, "spec": {"defaultBackend": backend}});
    let made = wire
        .create(&format!("{networking}/namespaces/default/ingresses"), ingress)
        .await;
    let class = made["spec"]["ingressClassName"].as_str().expect("a class");
    assert!(["a", "b"].contains(&class), "{class}");
}

#[tokio::test]
async fn plugins_are_enabled_and_disabled_by_name() {
    let mut admission = Admission::kubernetes_defaults();
    for name in [
        "ResourceQuota",
        "Priority",
        "ServiceAccount",
        "DefaultTolerationSeconds",
        "PodSecurity",
    ] {
        admission.disable(name).expect("kube-apiserver has this plugin");
    }
    admission.enable("AlwaysPullImages").expect("a known plugin");
    let unknown = admission.enable("Nonsense");
    assert_eq!(unknown, Err(PluginError::Unknown("Nonsense".to_owned())));
    let missing = admission.enable("EventRateLimit");
    assert_eq!(missing, Err(PluginError::Missing("EventRateLimit".to_owned())));
    let options = ServerOptions {
        admission,
        ..ServerOptions::default()
    };
    let wire = start(options).await;
    create_quota(&wire, json!({"hard": {"pods": "0"}})).await;
    let made = wire.create(PODS, pod("p")).await;
    let spec = &made["spec"];
    for field in ["priority", "serviceAccountName", "tolerations"] {
        assert_eq!(spec.get(field), None, "{field}");
    }
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
}

#[tokio::test]
async fn quotas_count_custom_resources_and_devices() {
    let wire = start(ServerOptions::default()).await;
    define_foos(&wire).await;
    let devices = "gpu.deviceclass.resource.k8s.io/devices";
    create_quota(
        &wire,
        json!({"hard": {"count/foos.example.com": "1", devices: "2"}}),
    )
    .await;
    assert_eq!(
        used(&wire).await,
        json!({"count/foos.example.com": "0", devices: "0"})
    );
    wire.create(FOOS, foo("a")).await;
    let message = denial_message(&wire, FOOS, foo("b")).await;
    assert!(
        message.starts_with("foos.example.com \"b\" is forbidden: exceeded quota: q"),
        "{message}"
    );
    let claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    let claim = |name: &str, count: Option<u8>| {
        let exactly = json!({"deviceClassName": "gpu", "count": count});
        let devices = json!({"requests": [{"name": "r", "exactly": exactly}]});
        json!({"metadata": {"name": name}, "spec": {"devices": devices}})
    };
    wire.create(claims, claim("one", None)).await;
    assert_eq!(used(&wire).await[devices], "1");
    denial_message(&wire, claims, claim("two", Some(2))).await;
}

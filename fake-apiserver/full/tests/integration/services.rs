//! Services: addresses, node ports, and the `kubernetes` service.

use super::client::TestServer;
use fake_apiserver::{Network, ServerOptions};
use serde_json::{Value, json};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";

fn service(name: &str, spec: &Value) -> Value {
    let mut service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        service["spec"][field] = value.clone();
    }
    service
}

fn message(answer: &super::client::TestResponse) -> (u16, String) {
    let text = answer.body["message"].as_str().unwrap_or_default();
    (answer.code, text.to_owned())
}

#[tokio::test]
async fn the_kubernetes_service_exists() {
    let wire = TestServer::start().await;
    let own = wire.get(&format!("{SERVICES}/kubernetes")).await.body;
    assert_eq!(
        (&own["spec"]["clusterIP"], &own["spec"]["ports"][0]["targetPort"]),
        (&json!("10.96.0.1"), &json!(6443))
    );
    let endpoints = wire
        .get("/api/v1/namespaces/default/endpoints/kubernetes")
        .await
        .body;
    assert_eq!(endpoints["subsets"][0]["addresses"], json!([{"ip": "127.0.0.1"}]));
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    assert_eq!(wire.get(slices).await.body["addressType"], "IPv4");
    let range = wire
        .get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        .await
        .body;
    assert_eq!(range["spec"]["cidrs"], json!(["10.96.0.0/12"]));
    assert_eq!(range["status"]["conditions"][0]["type"], "Ready");
    let trust = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    assert_eq!(wire.get(trust).await.code, 200);
}

#[tokio::test]
async fn cluster_ips_are_allocated_to_one_service_until_it_is_deleted() {
    let wire = TestServer::start().await;
    let requested = json!({"clusterIP": "10.96.1.2"});
    wire.create(SERVICES, service("a", &requested)).await;
    let parent = json!({"resource": "services", "namespace": "default", "name": "a"});
    let owned = wire.get(&format!("{ADDRESSES}/10.96.1.2")).await.body;
    assert_eq!(owned["spec"]["parentRef"], parent);
    let taken = wire.post(SERVICES, service("b", &requested)).await;
    let text = "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.1.2\"]: failed to allocate IP \
        10.96.1.2: provided IP is already allocated";
    assert_eq!(message(&taken), (422, text.to_owned()));
    let outside = wire
        .post(SERVICES, service("b", &json!({"clusterIP": "192.0.2.1"})))
        .await;
    let text = "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"192.0.2.1\"]: failed to allocate IP \
        192.0.2.1: the provided network does not match the current range";
    assert_eq!(message(&outside), (422, text.to_owned()));
    wire.delete(&format!("{SERVICES}/a")).await;
    assert_eq!(wire.get(&format!("{ADDRESSES}/10.96.1.2")).await.code, 404);
    wire.create(SERVICES, service("b", &requested)).await;
}

#[tokio::test]
async fn cluster_ip_ranges_can_be_exhausted() {
    let options = ServerOptions {
        network: Network {
            services: "10.0.0.0/30".parse().expect("the range is a valid CIDR"),
            ..Network::default()
        },
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let made = wire.create(SERVICES, service("a", &json!({}))).await;
    assert_eq!(
        made["spec"]["clusterIP"], "10.0.0.2",
        "the first address belongs to the kubernetes service"
    );
    let full = wire.post(SERVICES, service("b", &json!({}))).await;
    let text = "Internal error occurred: failed to allocate a serviceIP for Service \"b\": range is full";
    assert_eq!(message(&full), (500, text.to_owned()));
    wire.create(SERVICES, service("none", &json!({"clusterIP": "None"})))
        .await;
}

#[tokio::test]
async fn node_ports_are_allocated_to_one_service() {
    let wire = TestServer::start().await;
    let made = wire
        .create(SERVICES, service("a", &json!({"type": "NodePort"})))
        .await;
    let port = made["spec"]["ports"][0]["nodePort"].as_u64().expect("a port");
    assert!((30_000..=32_767).contains(&port), "{port}");
    let asking = |port: u64| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    let taken = wire.post(SERVICES, service("b", &asking(port))).await;
    let text = format!(
        "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: {port}: provided port is already allocated"
    );
    assert_eq!(message(&taken), (422, text));
    let outside = wire.post(SERVICES, service("b", &asking(40_000))).await;
    let text = "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 40000: provided port is not in the \
        valid range. The range of valid ports is 30000-32767";
    assert_eq!(message(&outside), (422, text.to_owned()));
    let two = json!({"type": "NodePort", "ports": [
        {"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"},
    ]});
    let made = wire.create(SERVICES, service("two", &two)).await;
    assert_eq!(
        made["spec"]["ports"][0]["nodePort"],
        made["spec"]["ports"][1]["nodePort"]
    );
    wire.delete(&format!("{SERVICES}/a")).await;
    wire.create(SERVICES, service("b", &asking(port))).await;
}

#[tokio::test]
async fn services_keep_their_allocations_until_a_type_change_releases_them() {
    let wire = TestServer::start().await;
    let made = wire
        .create(SERVICES, service("a", &json!({"type": "NodePort"})))
        .await;
    let mut bare = service("a", &json!({"type": "NodePort"}));
    bare["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    let path = format!("{SERVICES}/a");
    let put = wire.put(&path, bare).await;
    assert_eq!(put.body["spec"], made["spec"], "{}", put.text);
    let moved = wire
        .merge(
            &path,
            json!({"spec": {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77"]}}),
        )
        .await;
    let (code, text) = message(&moved);
    assert_eq!(code, 422);
    assert!(text.ends_with("may not change once set"), "{text}");
    let inner = wire
        .merge(&path, json!({"spec": {"type": "ClusterIP"}}))
        .await
        .body;
    assert_eq!(inner["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(inner["spec"].get("externalTrafficPolicy"), None);
    let away = json!({"spec": {"type": "ExternalName", "externalName": "example.com"}});
    let away = wire.merge(&path, away).await;
    assert_eq!(
        (away.code, away.body["spec"].get("clusterIP")),
        (200, None),
        "{}",
        away.text
    );
    let freed = made["spec"]["clusterIP"].as_str().expect("an address");
    assert_eq!(wire.get(&format!("{ADDRESSES}/{freed}")).await.code, 404);
}

#[tokio::test]
async fn services_require_ports() {
    let wire = TestServer::start().await;
    let answer = wire.post(SERVICES, service("a", &json!({"ports": []}))).await;
    let text = "Service \"a\" is invalid: spec.ports: Required value";
    assert_eq!(message(&answer), (422, text.to_owned()));
}

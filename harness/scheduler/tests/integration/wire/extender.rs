//! Tests of the extender protocol over HTTP, as kube-scheduler uses it.

use capacity_scheduler::Options;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::cluster::Cluster;

struct Extender(std::net::SocketAddr);

impl Extender {
    /// Starts an extender and waits until its cache is complete.
    async fn start(cluster: &Cluster, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let extender = Self(listener.local_addr().unwrap());
        let client = cluster.server.client();
        tokio::spawn(async move {
            let ended =
                capacity_scheduler::serve_extender(options, client, listener, std::future::pending()).await;
            panic!("the extender ended: {ended:?}");
        });
        while extender.send("GET", "/healthz", "").await.0 != 200 {
            tokio::task::yield_now().await;
        }
        extender
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(self.0).await.unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, serde_json::from_str(body).unwrap())
    }

    async fn post(&self, path: &str, args: &Value) -> Value {
        let (code, response) = self.send("POST", path, &args.to_string()).await;
        assert_eq!(code, 200, "{response}");
        response
    }
}

fn cluster() -> Cluster {
    let cluster = Cluster::new(&["n1", "n2", "n3"]);
    for (node, size) in [("n1", "5Gi"), ("n2", "20Gi"), ("n3", "100Gi")] {
        cluster.capacity(node, size);
    }
    cluster.pod_with_claim("p", "10Gi");
    cluster
}

fn pod() -> Value {
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "p"}});
    json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [], "volumes": [volume]}})
}

#[tokio::test]
async fn nodes_passed_by_name_are_filtered_and_scored() {
    let extender = Extender::start(
        &cluster(),
        Options {
            scoring: true,
            ..Options::default()
        },
    )
    .await;
    let args = json!({"Pod": pod(), "Nodes": null, "NodeNames": ["n1", "n2", "n3", "gone"]});
    let response = extender.post("/filter", &args).await;
    assert_eq!(response["NodeNames"], json!(["n2", "n3"]));
    assert_eq!(response["Error"], "");
    assert_eq!(
        response["FailedAndUnresolvableNodes"],
        json!({"n1": "node(s) did not have enough free storage", "gone": "node \"gone\" is not known"})
    );
    assert!(response["Nodes"].is_null());
    let scores = extender.post("/prioritize", &args).await;
    let expected = json!([{"Host": "gone", "Score": 0}, {"Host": "n1", "Score": 0}, {"Host": "n2", "Score": 5}, {"Host": "n3", "Score": 9}]);
    assert_eq!(scores, expected);
}

#[tokio::test]
async fn nodes_passed_as_objects_are_returned_unchanged() {
    let extender = Extender::start(&cluster(), Options::default()).await;
    let node = |name: &str, at: &str| json!({"metadata": {"name": name, "labels": {"node": at}}, "spec": {"podCIDR": "10.0.0.0/24"}});
    // Older releases send field names in lower case. The topology of a node comes from its labels in the request.
    let args = json!({"pod": pod(), "nodes": {"items": [node("n1", "n1"), node("other", "n3")]}});
    let response = extender.post("/filter", &args).await;
    assert_eq!(response["Nodes"]["items"], json!([node("other", "n3")]));
    assert!(response["NodeNames"].is_null());
}

#[tokio::test]
async fn pvcs_that_are_not_ready_reject_every_node_with_their_reason() {
    let extender = Extender::start(&cluster(), Options::default()).await;
    let mut pod = pod();
    pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = json!("gone");
    let response = extender
        .post("/filter", &json!({"Pod": pod, "NodeNames": ["n3"]}))
        .await;
    assert_eq!(response["NodeNames"], json!([]));
    assert_eq!(
        response["FailedAndUnresolvableNodes"]["n3"],
        "persistentvolumeclaim \"gone\" not found"
    );
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let extender = Extender::start(&cluster(), Options::default()).await;
    for (method, path, body, expected) in [
        ("POST", "/filter", "{", 400),
        ("POST", "/filter", "{}", 400),
        ("POST", "/prioritize", "{\"Pod\": {\"spec\": 1}}", 400),
        ("GET", "/filter", "", 404),
        ("POST", "/bind", "{}", 404),
    ] {
        assert_eq!(
            extender.send(method, path, body).await.0,
            expected,
            "{method} {path} {body}"
        );
    }
}

/// A scheduler that uses the extender makes the same decisions as one with its own volume check (KEP-1472, custom schedulers).
#[tokio::test]
async fn the_extender_returns_the_nodes_that_the_loop_finds_feasible() {
    for (sizes, request) in [
        (["5Gi", "20Gi", "100Gi"], "10Gi"),
        (["5Gi", "20Gi", "100Gi"], "21Gi"),
        (["1Gi", "1Gi", "1Gi"], "2Gi"),
        (["10Gi", "10Gi", "9Gi"], "10Gi"),
    ] {
        let nodes = ["n1", "n2", "n3"];
        let cluster = Cluster::new(&nodes);
        for (node, size) in nodes.into_iter().zip(sizes) {
            cluster.capacity(node, size);
        }
        cluster.pod_with_claim("p", request);
        let options = Options {
            scoring: true,
            ..Options::default()
        };
        let extender = Extender::start(&cluster, options.clone()).await;
        let args = json!({"Pod": pod(), "NodeNames": nodes});
        let passed = extender.post("/filter", &args).await["NodeNames"].clone();
        let scores = extender
            .post("/prioritize", &json!({"Pod": pod(), "NodeNames": passed}))
            .await;
        let best = scores
            .as_array()
            .unwrap()
            .iter()
            .map(|score| score["Score"].as_i64())
            .max();
        let is_best = |score: &&Value| Some(score["Score"].as_i64()) == best;
        let best: Vec<&str> = scores
            .as_array()
            .unwrap()
            .iter()
            .filter(is_best)
            .map(|score| score["Host"].as_str().unwrap())
            .collect();
        cluster.start(options);
        if best.is_empty() {
            cluster
                .wait_until_unscheduled("p", "3 node(s) did not have enough free storage")
                .await;
        } else {
            let chosen = cluster.wait_for_selected_node("p").await;
            assert!(best.contains(&chosen.as_str()), "{chosen} of {scores}");
        }
    }
}

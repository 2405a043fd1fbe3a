//! Flow control: which flow a request is said to belong to.

use super::client::{Answer, Wire, answer, client, request};
use fake_apiserver::User;
use serde_json::json;

const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

fn uids(answer: &Answer) -> [String; 2] {
    ["flowschema", "prioritylevel"].map(|what| {
        let value = answer.headers.get(format!("x-kubernetes-pf-{what}-uid"));
        let value = value.and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    })
}

async fn known(wire: &Wire, schema: &str, level: &str) -> [String; 2] {
    let mut uids = Vec::new();
    for path in [
        format!("flowschemas/{schema}"),
        format!("prioritylevelconfigurations/{level}"),
    ] {
        let object = wire.get(&format!("{GROUP}/{path}")).await.body;
        uids.push(
            object["metadata"]["uid"]
                .as_str()
                .expect("it is there")
                .to_owned(),
        );
    }
    uids.try_into().expect("there are two")
}

#[tokio::test]
async fn every_answer_names_the_flow_of_its_request() {
    let wire = Wire::start().await;
    let plain = wire.get("/version").await;
    assert_eq!(
        uids(&plain),
        known(&wire, "global-default", "global-default").await
    );
    let probe = wire.get("/healthz").await;
    assert_eq!(uids(&probe), known(&wire, "probes", "exempt").await);
    let scheduler = wire.server.add_user(User::new("system:kube-scheduler"));
    let scheduler = client(&wire.running, Some(scheduler));
    let asks = async |path: &str| answer(request(&scheduler, "GET", path, &[], String::new()).await).await;
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x";
    let elected = known(&wire, "system-leader-election", "leader-election").await;
    assert_eq!(uids(&asks(lease).await), elected);
    let all = known(&wire, "kube-scheduler", "workload-high").await;
    assert_eq!(uids(&asks("/api/v1/nodes").await), all);
}

#[tokio::test]
async fn a_schema_of_ones_own_comes_in_its_place_once_its_level_is_there() {
    let wire = Wire::start().await;
    let rule = json!({
        "subjects": [{"kind": "User", "user": {"name": "tester"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/version"]}],
    });
    let schema = json!({"metadata": {"name": "own"}, "spec": {
        "priorityLevelConfiguration": {"name": "own"}, "rules": [rule],
    }});
    let schemas = format!("{GROUP}/flowschemas");
    let made = wire.create(&schemas, schema).await;
    assert_eq!(made["spec"]["matchingPrecedence"], 1000);
    let dangling = async || {
        let schema = wire.get(&format!("{schemas}/own")).await.body;
        schema["status"]["conditions"][0]["status"].clone()
    };
    assert_eq!(dangling().await, "True");
    assert_ne!(uids(&wire.get("/version").await)[0], made["metadata"]["uid"]);
    let level = json!({"metadata": {"name": "own"}, "spec": {"type": "Limited", "limited": {
        "nominalConcurrencyShares": 245, "limitResponse": {"type": "Queue", "queuing": {}},
    }}});
    let level = wire
        .create(&format!("{GROUP}/prioritylevelconfigurations"), level)
        .await;
    assert_eq!(
        level["spec"]["limited"]["limitResponse"]["queuing"],
        json!({"queues": 64, "handSize": 8, "queueLengthLimit": 50})
    );
    assert_eq!(dangling().await, "False");
    assert_eq!(
        uids(&wire.get("/version").await),
        known(&wire, "own", "own").await
    );
    let metrics = wire.get("/metrics").await.text;
    let seats = "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"own\"} 300\n";
    assert!(metrics.contains(seats), "{metrics}");
}

//! Events that the observer receives, and when the server is quiet.

use super::client::{CAPACITIES, CONFIG_MAPS, TestServer, capacity, client, request};
use fake_apiserver::{ApiServer, Authorization, Event, Observer, ResourceRef, ServerOptions};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

/// Records the events that the observer receives as short texts.
#[derive(Default)]
pub(crate) struct Recorder {
    reported: Mutex<Vec<String>>,
    more: Notify,
}

impl Observer for Recorder {
    fn observe(&self, event: Event) {
        let text = match event {
            Event::Request {
                client,
                verb,
                resource,
                code,
                reason,
                revision,
                ..
            } => {
                let resource = resource
                    .map(|r| format!("{}/{}", r.resource, r.name.unwrap_or_default()))
                    .unwrap_or_default();
                let reason = reason.unwrap_or_default();
                format!(
                    "{client} {verb} {resource} {code} {reason} @{}",
                    revision.unwrap_or_default()
                )
            }
            Event::Commit {
                client,
                change,
                resource,
                name,
                revision,
                object,
                ..
            } => {
                assert_eq!(object["metadata"]["resourceVersion"], revision.to_string());
                format!(
                    "{client} commits {} {resource}/{name} @{revision}",
                    change.as_str()
                )
            }
            Event::Delivery {
                client,
                change,
                resource,
                name,
                revision,
                ..
            } => {
                format!(
                    "{client} learns {} {resource}/{name} @{revision}",
                    change.as_str()
                )
            }
            Event::WatchClosed {
                client,
                resource,
                why,
                ..
            } => format!("{client} unwatches {resource} {why:?}"),
            Event::Fault(fault) => {
                let kind = if fault.legal { "legal" } else { "illegal" };
                let client = fault.client.as_deref().unwrap_or("the server");
                format!("{client} suffers {kind} {fault}")
            }
        };
        self.reported.lock().push(text);
        self.more.notify_waiters();
    }
}

impl Recorder {
    pub(crate) fn texts_containing(&self, word: &str) -> Vec<String> {
        self.reported
            .lock()
            .iter()
            .filter(|text| text.contains(word))
            .cloned()
            .collect()
    }

    pub(crate) async fn wait_for_text(&self, text: &str) {
        loop {
            let more = self.more.notified();
            if !self.texts_containing(text).is_empty() {
                return;
            }
            more.await;
        }
    }
}

pub(crate) async fn start_with_recorder() -> (TestServer, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let wire = TestServer::start_with(ServerOptions::default(), Some(recorder.clone())).await;
    (wire, recorder)
}

#[tokio::test]
async fn commits_are_observed_before_the_response_and_delivery_after() {
    let (wire, recorder) = start_with_recorder().await;
    let mut watch = wire
        .watch(&format!("{CAPACITIES}?watch=true&resourceVersion=1"))
        .await;
    let created = wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    watch.next().await.unwrap();
    let at = created["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(
        recorder.texts_containing("csistoragecapacities"),
        [
            "tester watch csistoragecapacities/ 200  @1".to_owned(),
            format!("tester commits ADDED csistoragecapacities/c @{at}"),
            format!("tester create csistoragecapacities/c 201  @{at}"),
            format!("tester learns ADDED csistoragecapacities/c @{at}"),
        ]
    );
    drop(watch);
    recorder
        .wait_for_text("tester unwatches csistoragecapacities Client")
        .await;
}

#[tokio::test]
async fn rejected_requests_are_observed_with_their_reason() {
    let (wire, recorder) = start_with_recorder().await;
    wire.post(CAPACITIES, capacity("c", "-1Gi")).await;
    wire.get(&format!("{CAPACITIES}/nobody")).await;
    wire.post(CAPACITIES, json!("not an object")).await;
    wire.get(&format!("{CAPACITIES}?labelSelector=a%20b")).await;
    let stranger = client(&wire.running, Some("wrong".to_owned()));
    request(&stranger, "GET", CAPACITIES, &[], String::new()).await;
    wire.get("/apis").await;
    wire.get("/nowhere").await;
    assert_eq!(
        recorder.texts_containing(" 4"),
        [
            "tester create csistoragecapacities/ 422 Invalid @0",
            "tester get csistoragecapacities/nobody 404 NotFound @0",
            "tester create csistoragecapacities/ 400 BadRequest @0",
            "tester list csistoragecapacities/ 400 BadRequest @0",
            "system:anonymous list csistoragecapacities/ 401 Unauthorized @0",
            "tester get  404  @0",
        ]
    );
    assert_eq!(
        recorder.texts_containing("tester get  200").len(),
        1,
        "discovery is reported too"
    );
    assert!(recorder.texts_containing("tester commits").is_empty());
}

#[tokio::test]
async fn lists_are_observed_with_their_revision() {
    let (wire, recorder) = start_with_recorder().await;
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    wire.get(CAPACITIES).await;
    let expected = format!(
        "tester list csistoragecapacities/ 200  @{}",
        wire.server.revision()
    );
    assert_eq!(recorder.texts_containing("list"), [expected]);
}

#[tokio::test]
async fn in_process_clients_are_observed() {
    let (wire, recorder) = start_with_recorder().await;
    let local = wire.server.client("harness");
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    local.create(node).unwrap();
    local.delete(&ResourceRef::core("nodes").name("n1")).unwrap();
    let last = wire.server.revision();
    let created = last - 1;
    assert_eq!(
        recorder.texts_containing("harness"),
        [
            format!("harness commits ADDED nodes/n1 @{created}"),
            format!("harness create nodes/n1 201  @{created}"),
            format!("harness commits DELETED nodes/n1 @{last}"),
            format!("harness delete nodes/n1 200  @{last}"),
        ]
    );
}

#[tokio::test]
async fn the_server_is_quiet_when_all_watches_have_received_everything() {
    let (wire, recorder) = start_with_recorder().await;
    let mut watch = wire.watch(&format!("{CONFIG_MAPS}?watch=true")).await;
    let local = wire.server.client("writer");
    for n in 0..100 {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{n}"), "namespace": "default"},
        });
        local.create(map).unwrap();
    }
    let reading = async { watch.next_events(100).await.len() };
    let ((), read) = tokio::join!(wire.server.quiet(), reading);
    assert_eq!(read, 100);
    wire.server.quiet().await;
    assert_eq!(
        recorder.texts_containing("tester learns ADDED configmaps").len(),
        100
    );
}

#[tokio::test]
async fn rejected_watches_do_not_count_as_open() {
    let (wire, recorder) = start_with_recorder().await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (query, accept) in [("", "application/yaml"), ("&includeObject=Odd", table)] {
        let path = format!("{CONFIG_MAPS}?watch=true{query}");
        let refused = wire
            .send("GET", &path, &[("accept", accept)], String::new())
            .await;
        assert!(refused.code >= 400, "{accept}: {}", refused.code);
    }
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    // `quiet` would never return if the rejected watches still had queued events.
    wire.server.quiet().await;
    assert!(recorder.texts_containing("unwatches").is_empty());
}

#[test]
fn servers_with_equal_seeds_start_with_equal_objects_and_share_no_state() {
    let begin = |seed| {
        let recorder = Arc::new(Recorder::default());
        let options = ServerOptions {
            seed: Some(seed),
            authorization: Authorization::Rbac,
            ..ServerOptions::default()
        };
        let server = ApiServer::new(options, Some(recorder.clone()));
        (server, recorder)
    };
    let ((one, told_one), (other, told_other)) = (begin(1), begin(2));
    let born = told_one.texts_containing("commits ADDED");
    assert_eq!(born, told_other.texts_containing("commits ADDED"));
    assert!(born.len() > 100, "{} commits", born.len());
    assert_eq!(one.revision(), other.revision());
    let uid = |server: &ApiServer, resource: &str, name: &str| {
        let found = server
            .client("tester")
            .get(&ResourceRef::core(resource).name(name));
        found.map(|object| object["metadata"]["uid"].clone())
    };
    let role = |server: &ApiServer| {
        let at = ResourceRef::new("rbac.authorization.k8s.io", "clusterroles").name("admin");
        server.client("tester").get(&at).expect("bootstrap objects exist")
    };
    assert_eq!(
        uid(&one, "namespaces", "default"),
        uid(&other, "namespaces", "default")
    );
    assert_eq!(role(&one)["rules"], role(&other)["rules"]);
    let namespace = || json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}});
    one.client("tester").create(namespace()).expect("unused name");
    assert_eq!(
        uid(&other, "namespaces", "mine").map_err(|status| status.code),
        Err(404)
    );
    other
        .client("tester")
        .create(namespace())
        .expect("the name is unused on the other server");
    assert_ne!(uid(&one, "namespaces", "mine"), uid(&other, "namespaces", "mine"));
}

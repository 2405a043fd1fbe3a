//! Tests of kube-rs watchers, with paged and with streaming lists.

use super::client::{CAPACITIES, TestServer, capacity};
use fake_apiserver::ServerOptions;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::Api;
use kube::runtime::watcher::{Config, Event, watcher};
use std::collections::BTreeMap;
use std::pin::pin;

/// The objects that a client knows from the events of a kube-rs watcher.
#[derive(Default)]
struct ObservedState {
    capacities: BTreeMap<String, String>,
    fresh: BTreeMap<String, String>,
    complete: bool,
}

impl ObservedState {
    fn apply_event(&mut self, event: Event<CSIStorageCapacity>) {
        let pair = |object: CSIStorageCapacity| {
            (
                object.metadata.name.unwrap_or_default(),
                object.capacity.map(|c| c.0).unwrap_or_default(),
            )
        };
        match event {
            Event::Init => self.fresh.clear(),
            Event::InitApply(object) => self.fresh.extend([pair(object)]),
            Event::InitDone => {
                self.capacities = std::mem::take(&mut self.fresh);
                self.complete = true;
            }
            Event::Apply(object) => self.capacities.extend([pair(object)]),
            Event::Delete(object) => drop(self.capacities.remove(&pair(object).0)),
        }
    }
}

#[tokio::test]
async fn watchers_reach_the_state_of_the_server() {
    for config in [
        Config::default().page_size(2),
        Config::default().streaming_lists(),
    ] {
        let wire = TestServer::start().await;
        for (name, amount) in [("a", "1Gi"), ("b", "2Gi"), ("c", "3Gi")] {
            wire.create(CAPACITIES, capacity(name, amount)).await;
        }
        let api: Api<CSIStorageCapacity> = Api::default_namespaced(wire.client.clone());
        let mut events = pin!(watcher(api, config).boxed());
        let mut known = ObservedState::default();
        while !known.complete {
            known.apply_event(events.try_next().await.unwrap().unwrap());
        }
        assert_eq!(known.capacities.len(), 3);
        wire.delete(&format!("{CAPACITIES}/a")).await;
        wire.merge(
            &format!("{CAPACITIES}/b"),
            serde_json::json!({"capacity": "20Gi"}),
        )
        .await;
        wire.create(CAPACITIES, capacity("d", "4Gi")).await;
        while !known.capacities.contains_key("d") {
            known.apply_event(events.try_next().await.unwrap().unwrap());
        }
        let expected = [("b", "20Gi"), ("c", "3Gi"), ("d", "4Gi")];
        assert_eq!(
            known.capacities,
            expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
        );
    }
}

#[tokio::test]
async fn watchers_relist_when_their_revision_is_too_old() {
    let options = ServerOptions {
        history: 2,
        watch_queue: 1,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let api: Api<CSIStorageCapacity> = Api::default_namespaced(wire.client.clone());
    let mut events = pin!(watcher(api, Config::default()).boxed());
    let mut known = ObservedState::default();
    while !known.complete {
        known.apply_event(events.try_next().await.unwrap().unwrap());
    }
    // These writes exceed `watch_queue` and `history`: the watch is closed and its revision is compacted.
    let local = wire.server.client("writer");
    for n in 0..20 {
        let object = serde_json::json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "storageClassName": "fast",
            "metadata": {"name": format!("c{n}"), "namespace": "default"}, "capacity": "1Gi",
        });
        local.create(object).unwrap();
    }
    while known.capacities.len() < 20 {
        match events.next().await.unwrap() {
            Ok(event) => known.apply_event(event),
            Err(error) => assert!(error.to_string().contains("too old resource version"), "{error}"),
        }
    }
}

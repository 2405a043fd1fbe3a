//! Writes Events about PVCs and PersistentVolumes as external-provisioner does: an event equal to an earlier one increments its count. A
//! failed write is only logged.

use std::collections::HashMap;

use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    Options,
    rng::SharedRng,
    status::{brief, is_not_found},
};

/// Maximum number of distinct Events whose count is stored. When the maximum is reached, all counts are cleared.
const EVENTS_MAX: usize = 4096;

/// The reason of an Event, which also determines its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    Provisioning,
    ProvisioningSucceeded,
    ProvisioningFailed,
    VolumeFailedDelete,
}

impl Reason {
    fn event_type(self) -> &'static str {
        match self {
            Reason::Provisioning | Reason::ProvisioningSucceeded => "Normal",
            Reason::ProvisioningFailed | Reason::VolumeFailedDelete => "Warning",
        }
    }
}

pub(crate) struct Recorder {
    client: Client,
    component: String,
    clock: fn() -> Timestamp,
    rng: SharedRng,
    written: Mutex<HashMap<EventKey, WrittenEvent>>,
}

/// Events with equal keys are written as one Event object with a count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EventKey {
    uid: Option<String>,
    reason: Reason,
    message: String,
}

#[derive(Clone, Debug)]
struct WrittenEvent {
    name: String,
    count: i32,
}

impl Recorder {
    /// Creates a recorder. `source.component` of its Events consists of the driver name, the name of this process and a random suffix.
    pub(crate) fn new(client: Client, driver: &str, options: &Options) -> Recorder {
        let component = format!(
            "{driver}_{}_{:016x}",
            options.instance_name(),
            options.rng.next_u64()
        );
        Recorder {
            client,
            component,
            clock: options.clock,
            rng: options.rng.clone(),
            written: Mutex::default(),
        }
    }

    /// Writes an Event about an object, or increments the count of an earlier equal one.
    pub(crate) async fn record<K: Resource<DynamicType = ()>>(
        &self,
        about: &K,
        reason: Reason,
        message: &str,
    ) {
        let reference = about.object_ref(&());
        let namespace = reference
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let key = EventKey {
            uid: about.uid(),
            reason,
            message: message.to_owned(),
        };
        if let Err(error) = self.write(&api, reference, key).await {
            tracing::warn!(
                object = about.name_any(),
                ?reason,
                message,
                error = brief(&error),
                "event not written"
            );
        }
    }

    async fn write(&self, api: &Api<Event>, about: ObjectReference, key: EventKey) -> kube::Result<()> {
        let now = (self.clock)();
        let before = self.written.lock().get(&key).cloned();
        if let Some(WrittenEvent { name, count }) = before {
            let count = count.saturating_add(1);
            let patch = Patch::Merge(json!({"count": count, "lastTimestamp": Time(now)}));
            match api.patch(&name, &PatchParams::default(), &patch).await {
                Ok(_) => return self.store_written_event(key, name, count),
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let event = self.event(about, &key, now);
        let name = event.name_any();
        api.create(&PostParams::default(), &event).await?;
        self.store_written_event(key, name, 1)
    }

    fn store_written_event(&self, key: EventKey, name: String, count: i32) -> kube::Result<()> {
        let mut written = self.written.lock();
        if written.len() >= EVENTS_MAX {
            written.clear();
        }
        written.insert(key, WrittenEvent { name, count });
        Ok(())
    }

    fn event(&self, about: ObjectReference, key: &EventKey, now: Timestamp) -> Event {
        let name = about.name.clone().unwrap_or_default();
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:016x}", self.rng.next_u64())),
                namespace: Some(about.namespace.clone().unwrap_or_else(|| "default".to_owned())),
                ..Default::default()
            },
            involved_object: about,
            reason: Some(format!("{:?}", key.reason)),
            message: Some(key.message.clone()),
            type_: Some(key.reason.event_type().to_owned()),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource {
                component: Some(self.component.clone()),
                host: None,
            }),
            reporting_component: Some(self.component.clone()),
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
    use serde_json::Value;

    use super::*;
    use crate::test_server::TestServer;

    fn claim() -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.name = Some("data".to_owned());
        claim.metadata.namespace = Some("shop".to_owned());
        claim.metadata.uid = Some("7".to_owned());
        claim
    }

    async fn record(recorder: &Recorder, server: &TestServer) -> Vec<(String, Value)> {
        recorder
            .record(&claim(), Reason::ProvisioningFailed, "too full")
            .await;
        server.received()
    }

    fn options_on_node(node: &str) -> Options {
        Options {
            node_name: Some(node.to_owned()),
            ..Options::default()
        }
    }

    #[tokio::test]
    async fn an_event_names_object_and_reason_and_repetitions_increment_its_count() {
        let server = TestServer::default();
        let recorder = Recorder::new(server.client(), "disk.example.com", &options_on_node("n1"));
        (0..3).for_each(|_| server.echo());
        let (request, event) = record(&recorder, &server).await.remove(0);
        assert_eq!(request, "POST /api/v1/namespaces/shop/events");
        assert_eq!(event["metadata"]["namespace"], "shop");
        assert_eq!(event["involvedObject"]["kind"], "PersistentVolumeClaim");
        assert_eq!(event["involvedObject"]["uid"], "7");
        let texts = ["reason", "message", "type"].map(|field| event[field].as_str().unwrap());
        assert_eq!(texts, ["ProvisioningFailed", "too full", "Warning"]);
        assert_eq!(event["count"], 1);
        assert!(event["firstTimestamp"].is_string() && event["firstTimestamp"] == event["lastTimestamp"]);
        let component = event["source"]["component"].as_str().unwrap();
        assert!(component.starts_with("disk.example.com_n1_"), "{component}");
        assert_eq!(event["reportingComponent"], component);
        let name = event["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("data."), "{name}");
        for count in [2, 3] {
            let (request, patch) = record(&recorder, &server).await.remove(0);
            assert_eq!(request, format!("PATCH /api/v1/namespaces/shop/events/{name}"));
            assert_eq!(patch["count"], count);
        }
    }

    #[tokio::test]
    async fn an_expired_event_is_recreated_and_other_errors_are_only_logged() {
        let server = TestServer::default();
        let recorder = Recorder::new(server.client(), "d", &options_on_node("p"));
        server.echo();
        server.respond_with_error(404, "NotFound");
        server.echo();
        server.respond_with_error(403, "Forbidden");
        record(&recorder, &server).await;
        let again = record(&recorder, &server).await;
        assert_eq!(again[1].0, "POST /api/v1/namespaces/shop/events");
        assert_eq!(again[1].1["count"], 1);
        assert_eq!(record(&recorder, &server).await.len(), 1);
    }

    #[tokio::test]
    async fn events_of_cluster_scoped_objects_are_in_the_default_namespace() {
        let server = TestServer::default();
        let recorder = Recorder::new(server.client(), "d", &options_on_node("p"));
        server.echo();
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some("pv".to_owned());
        recorder
            .record(&volume, Reason::ProvisioningSucceeded, "here it is")
            .await;
        let (request, event) = server.received().remove(0);
        assert_eq!(request, "POST /api/v1/namespaces/default/events");
        assert_eq!(
            (&event["metadata"]["namespace"], &event["type"]),
            (&json!("default"), &json!("Normal"))
        );
    }
}

//! Converts events of the fake API server and the fake driver to facts, in order and without loss.

use std::sync::Arc;

use fake_apiserver as api;
use fake_csi as csi;

use crate::fact_sink::FactSink;
use crate::journal::{
    CallDetails, CallFact, Change, CommitFact, DeliveryFact, Observation, PlacedVolume, RefusalFact,
    RequestFact,
};
use crate::segment::Segments;
use crate::unserved;

pub(super) struct ApiObserver(pub(super) FactSink);

impl api::Observer for ApiObserver {
    fn observe(&self, event: api::Event) {
        match event {
            api::Event::Request {
                client,
                verb,
                resource,
                code,
                message,
                injected,
                revision,
                ..
            } => {
                self.0.record(Observation::Request(RequestFact {
                    injected,
                    ..request(client, verb, resource, (code, message, revision))
                }));
            }
            api::Event::Commit {
                client,
                change,
                resource,
                namespace,
                name,
                revision,
                object,
                ..
            } => {
                self.0.record(Observation::Commit(CommitFact {
                    client,
                    change: convert_change(change),
                    resource: resource.into(),
                    namespace: namespace.as_deref().map(str::to_owned),
                    name: name.to_string(),
                    revision,
                    object,
                }));
            }
            api::Event::Delivery {
                client,
                change,
                resource,
                namespace,
                name,
                revision,
                ..
            } => {
                self.0.record(Observation::Delivery(DeliveryFact {
                    client,
                    change: convert_change(change),
                    resource: resource.into(),
                    namespace: namespace.as_deref().map(str::to_owned),
                    name: name.to_string(),
                    revision,
                }));
            }
            api::Event::Fault(fault) => self.0.fault(fault),
            // The end of a watch is not recorded: the client starts a new watch, and expectations depend only on the new one.
            api::Event::WatchClosed { .. } => {}
        }
    }
}

fn request(
    client: Arc<str>,
    verb: api::Verb,
    path: Option<api::ResourcePath>,
    (code, message, revision): (u16, Option<String>, Option<u64>),
) -> RequestFact {
    let message = match &path {
        Some(path) => unserved::complete_message(path, code, message),
        None => message,
    };
    let resource = path
        .as_ref()
        .map_or_else(String::new, api::ResourcePath::affected_resource);
    let version = path.as_ref().map(api::ResourcePath::group_version);
    let (namespace, name) = path.map(|path| (path.namespace, path.name)).unwrap_or_default();
    RequestFact {
        client,
        verb,
        resource,
        version,
        namespace,
        name,
        code,
        message,
        revision,
        injected: false,
    }
}

fn convert_change(change: api::Change) -> Change {
    match change {
        api::Change::Added => Change::Added,
        api::Change::Modified => Change::Modified,
        api::Change::Deleted => Change::Deleted,
    }
}

#[derive(Clone)]
pub(super) struct CsiObserver {
    pub(super) sink: FactSink,
    pub(super) segments: Segments,
}

impl csi::Observer for CsiObserver {
    fn refused(&self, refusal: csi::Refusal) {
        let pid = refusal.peer.pid;
        let program = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok());
        self.sink.record(Observation::Refused(RefusalFact {
            node: refusal.node,
            program: program.map(|name| name.trim_end().to_owned()),
            pid,
            path: refusal.path,
            reason: refusal.reason,
        }));
    }

    fn observe(&self, event: csi::Event) {
        let (code, message) = match &event.outcome {
            Ok(_) => (
                "OK".to_owned(),
                event.lost.then(|| "the response was lost".to_owned()),
            ),
            Err(failure) => (failure.code.to_owned(), Some(failure.message.clone())),
        };
        let (available, maximum, minimum) = match event.outcome {
            Ok(csi::Answer::Capacity {
                available,
                maximum,
                minimum,
            }) => (Some(available), maximum, minimum),
            _ => (None, None, None),
        };
        let placed = match event.outcome {
            Ok(csi::Answer::Volume { bytes, segment }) => Some(PlacedVolume {
                segment: segment.map(|segment| self.segments.format(&segment)),
                bytes,
            }),
            _ => None,
        };
        let requisite = event.requisite.iter().filter(|_| event.requisite.len() > 1);
        let requisite = requisite.map(|segment| self.segments.format(segment)).collect();
        self.sink.record(Observation::Call(CallFact {
            method: event.method,
            node: event.node,
            segment: event.segment.map(|segment| self.segments.format(&segment)),
            parameters: event.parameters,
            volume: event.volume_name.or_else(|| event.volume_id.clone()),
            volume_id: event.volume_id,
            placed,
            required_bytes: event.required_bytes,
            code,
            message,
            available,
            maximum,
            details: Box::new(CallDetails {
                minimum,
                capabilities: event.capabilities,
                violations: event.violations,
                secrets: event.secrets,
                mutable: event.mutable_parameters,
                requisite,
                copy_of: event.source,
            }),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_without_a_pod_in_its_path_is_recorded_as_pods_binding() {
        let path = "/api/v1/namespaces/default/bindings";
        let (verb, path) = api::ResourcePath::of_request("POST", path, "").unwrap();
        let fact = request("scheduler".into(), verb, Some(path), (201, None, Some(7)));
        assert_eq!(
            (fact.verb.as_str(), fact.resource.as_str()),
            ("create", "pods/binding")
        );
    }
}

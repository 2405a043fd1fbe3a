//! Reports scheduling attempts: the PodScheduled condition, and events.k8s.io/v1 Events.
//!
//! The condition is written only when it changes. The Event is written at every attempt, so that each attempt is visible: the first attempt
//! creates the Event, later ones increment its series. kube-scheduler also counts in memory, but writes the count only every few minutes. A
//! report that the server rejects is logged and dropped.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ObjectReference, Pod as ApiPod, PodCondition};
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Error as ClientError};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::message;
use crate::objects::Pod;
use crate::preemption::{BY_SCHEDULER, DISRUPTION_TARGET};

/// Maximum length of an Event name without its suffix: names may have 253 characters, and the suffix is a dot and 16 digits.
const EVENT_NAME_STEM_MAX: usize = 236;
const POD_SCHEDULED: &str = "PodScheduled";

/// Writes pod conditions and Events about scheduling attempts.
#[derive(Clone)]
pub(super) struct Reporter {
    pub(super) client: Client,
    /// The scheduler name, written as `reportingController`.
    pub(super) scheduler_name: String,
    /// The name of this process, written as `reportingInstance`.
    pub(super) instance: String,
    pub(super) clock: fn() -> Timestamp,
}

/// The Event and the condition that were last written for a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LastReport {
    event: Option<WrittenEvent>,
    condition: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq)]
struct WrittenEvent {
    name: String,
    note: String,
    count: i32,
}

/// Why a pod was not scheduled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) reason: FailureReason,
    pub(super) message: String,
    /// The node on which the pod is expected to run after its preemption victims have terminated.
    pub(super) nominated: Option<String>,
}

/// The reason of the PodScheduled condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FailureReason {
    Unschedulable,
    /// An error aborted the scheduling attempt or the binding.
    SchedulerError,
}

impl FailureReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }
}

/// The Event fields that differ between a scheduled and an unschedulable pod.
struct EventFields<'a> {
    type_: &'a str,
    reason: &'a str,
    action: &'a str,
    note: String,
}

impl Reporter {
    /// Reports a failed scheduling attempt in the pod's condition and an Event.
    pub(super) async fn report_failure(&self, pod: &Pod, failure: &Failure, last: LastReport) -> LastReport {
        let outcome = EventFields {
            type_: "Warning",
            reason: "FailedScheduling",
            action: "Scheduling",
            note: message::truncate_note(&failure.message),
        };
        let event = self.repeat_event(pod, &outcome, last.event).await;
        let condition = self.write_condition(pod, failure, last.condition).await;
        LastReport { event, condition }
    }

    pub(super) async fn report_scheduled(&self, pod: &Pod, node: &str) {
        let outcome = EventFields {
            type_: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: message::truncate_note(&format!("Successfully assigned {} to {node}", pod.key)),
        };
        self.create_event(pod, &outcome).await;
    }

    /// Sets `status.nominatedNodeName` while the pod's PVCs are being bound.
    pub(super) async fn nominate(&self, pod: &Pod, node: &str) {
        self.patch_status(pod, &json!({ "nominatedNodeName": node }))
            .await;
    }

    /// Evicts the preemption victims of a pod: sets the DisruptionTarget condition and deletes them. Skips pods that are already
    /// terminating.
    pub(super) async fn evict(&self, victims: &[Arc<Pod>], pod: &Pod) {
        for victim in victims.iter().filter(|victim| !victim.deleting) {
            let condition = PodCondition {
                type_: DISRUPTION_TARGET.to_owned(),
                status: "True".to_owned(),
                reason: Some(BY_SCHEDULER.to_owned()),
                message: Some(format!(
                    "{}: preempting to accommodate a higher priority pod",
                    self.scheduler_name
                )),
                last_transition_time: Some(Time((self.clock)())),
                ..PodCondition::default()
            };
            let others = victim.conditions.iter();
            let others = others.filter(|condition| condition.type_ != DISRUPTION_TARGET);
            let conditions: Vec<_> = others.cloned().chain([condition]).collect();
            self.patch_status(victim, &json!({ "conditions": conditions }))
                .await;
            let pods: Api<ApiPod> = Api::namespaced(self.client.clone(), &victim.key.namespace);
            let only_this = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: Some(victim.uid.clone()),
                    ..Preconditions::default()
                }),
                ..DeleteParams::default()
            };
            match pods.delete(&victim.key.name, &only_this).await {
                Ok(_) => info!(pod = %pod.key, victim = %victim.key, "pod evicted"),
                Err(error) if is_not_found(&error) => {}
                Err(error) => warn!(pod = %pod.key, victim = %victim.key, %error, "pod not evicted"),
            }
        }
    }

    /// Increments the series of the last Event if the note is unchanged, otherwise creates an Event.
    async fn repeat_event(
        &self,
        pod: &Pod,
        outcome: &EventFields<'_>,
        last: Option<WrittenEvent>,
    ) -> Option<WrittenEvent> {
        let Some(same) = last.filter(|last| last.note == outcome.note) else {
            return self.create_event(pod, outcome).await;
        };
        let series = EventSeries {
            count: same.count.saturating_add(1),
            last_observed_time: MicroTime((self.clock)()),
        };
        let patch = Patch::Merge(json!({ "series": &series }));
        let events: Api<Event> = Api::namespaced(self.client.clone(), &pod.key.namespace);
        match events.patch(&same.name, &PatchParams::default(), &patch).await {
            Ok(_) => Some(WrittenEvent {
                count: series.count,
                ..same
            }),
            // The Event no longer exists, because its TTL has expired.
            Err(error) if is_not_found(&error) => self.create_event(pod, outcome).await,
            Err(error) => {
                warn!(pod = %pod.key, %error, "event series not written");
                Some(same)
            }
        }
    }

    async fn create_event(&self, pod: &Pod, outcome: &EventFields<'_>) -> Option<WrittenEvent> {
        let name = self.event_name(pod);
        let event = self.event(pod, outcome, &name);
        let events: Api<Event> = Api::namespaced(self.client.clone(), &pod.key.namespace);
        if let Err(error) = events.create(&PostParams::default(), &event).await {
            warn!(pod = %pod.key, %error, "event not written");
            return None;
        }
        Some(WrittenEvent {
            name,
            note: outcome.note.clone(),
            count: 1,
        })
    }

    /// The Event name as upstream: the pod's name, truncated if necessary, and the time in nanoseconds.
    fn event_name(&self, pod: &Pod) -> String {
        let name = pod.key.name.get(..EVENT_NAME_STEM_MAX).unwrap_or(&pod.key.name);
        format!("{name}.{:x}", (self.clock)().as_nanosecond())
    }

    fn event(&self, pod: &Pod, outcome: &EventFields<'_>, name: &str) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(pod.key.namespace.clone()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime((self.clock)())),
            reporting_controller: Some(self.scheduler_name.clone()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(outcome.type_.to_owned()),
            reason: Some(outcome.reason.to_owned()),
            action: Some(outcome.action.to_owned()),
            note: Some(outcome.note.clone()),
            regarding: Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                namespace: Some(pod.key.namespace.clone()),
                name: Some(pod.key.name.clone()),
                uid: Some(pod.uid.clone()),
                resource_version: Some(pod.version.clone()),
                ..ObjectReference::default()
            }),
            ..Event::default()
        }
    }

    /// Writes the condition if it changed. After an error, always writes the condition, because the patch also clears `nominatedNodeName`,
    /// which was set before binding.
    async fn write_condition(&self, pod: &Pod, failure: &Failure, last: Option<Failure>) -> Option<Failure> {
        let known = last.or_else(|| condition_of(pod));
        let mut status = json!({ "conditions": conditions_with(pod, failure, (self.clock)()) });
        match failure.reason {
            FailureReason::Unschedulable if known.as_ref() == Some(failure) => return known,
            FailureReason::Unschedulable => {
                if let Some(node) = &failure.nominated {
                    status["nominatedNodeName"] = json!(node);
                }
            }
            FailureReason::SchedulerError => status["nominatedNodeName"] = Value::Null,
        }
        let written = self.patch_status(pod, &status).await;
        written.then(|| failure.clone()).or(known)
    }

    /// Patches the status with a merge patch, which replaces lists, so `status` must contain all conditions. The patch contains the UID, so
    /// it fails for a recreated pod.
    async fn patch_status(&self, pod: &Pod, status: &Value) -> bool {
        let patch = Patch::Merge(json!({ "metadata": { "uid": pod.uid }, "status": status }));
        let pods: Api<ApiPod> = Api::namespaced(self.client.clone(), &pod.key.namespace);
        match pods
            .patch_status(&pod.key.name, &PatchParams::default(), &patch)
            .await
        {
            Ok(_) => true,
            Err(error) if is_not_found(&error) => {
                debug!(pod = %pod.key, "the pod was deleted, so its status is not written");
                false
            }
            Err(error) => {
                warn!(pod = %pod.key, %error, "status not written");
                false
            }
        }
    }
}

/// The failure in the pod's PodScheduled condition; `None` if the condition is not False or has another reason than a [`FailureReason`].
fn condition_of(pod: &Pod) -> Option<Failure> {
    let condition = pod
        .scheduled_condition()
        .filter(|condition| condition.status == "False")?;
    let reason = match condition.reason.as_deref() {
        Some("Unschedulable") => FailureReason::Unschedulable,
        Some("SchedulerError") => FailureReason::SchedulerError,
        _ => return None,
    };
    Some(Failure {
        reason,
        message: condition.message.clone().unwrap_or_default(),
        nominated: None,
    })
}

fn conditions_with(pod: &Pod, failure: &Failure, now: Timestamp) -> Vec<PodCondition> {
    let old = pod.scheduled_condition();
    let unchanged_since = old
        .filter(|old| old.status == "False")
        .and_then(|old| old.last_transition_time.clone());
    let new = PodCondition {
        type_: POD_SCHEDULED.to_owned(),
        status: "False".to_owned(),
        reason: Some(failure.reason.as_str().to_owned()),
        message: Some(failure.message.clone()),
        observed_generation: pod.generation,
        last_transition_time: unchanged_since.or(Some(Time(now))),
        last_probe_time: None,
    };
    let others = pod
        .conditions
        .iter()
        .filter(|condition| condition.type_ != POD_SCHEDULED);
    others.cloned().chain([new]).collect()
}

fn is_not_found(error: &ClientError) -> bool {
    matches!(error, ClientError::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Object;

    fn pod(conditions: &Value) -> Pod {
        let metadata = json!({"name": "p", "namespace": "ns", "generation": 7});
        let source =
            json!({"metadata": metadata, "spec": {"containers": []}, "status": {"conditions": conditions}});
        Pod::read(&serde_json::from_value(source).unwrap()).unwrap()
    }

    fn scheduled(status: &str, reason: &str) -> Value {
        json!({
            "type": POD_SCHEDULED, "status": status, "reason": reason, "message": "no room",
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        })
    }

    fn failure() -> Failure {
        Failure {
            reason: FailureReason::Unschedulable,
            message: "still no room".to_owned(),
            nominated: None,
        }
    }

    #[test]
    fn a_condition_that_this_scheduler_may_have_written_is_not_rewritten() {
        for (status, reason, expected) in [
            ("False", "Unschedulable", Some(FailureReason::Unschedulable)),
            ("False", "SchedulerError", Some(FailureReason::SchedulerError)),
            ("False", "SchedulingGated", None),
            ("True", "Unschedulable", None),
        ] {
            let known = condition_of(&pod(
                &json!([{"type": "Ready", "status": "False"}, scheduled(status, reason)]),
            ));
            assert_eq!(
                known.as_ref().map(|known| known.reason),
                expected,
                "{status} {reason}"
            );
            assert!(known.is_none_or(|known| known.message == "no room"));
        }
        assert_eq!(condition_of(&pod(&json!([]))), None);
    }

    #[test]
    fn a_condition_that_stays_false_retains_its_transition_time_and_other_conditions() {
        let first = "2024-01-01T00:00:00Z";
        let ready = json!({"type": "Ready", "status": "False"});
        for (before, keeps) in [
            (scheduled("False", "Unschedulable"), true),
            (scheduled("True", ""), false),
        ] {
            let written = json!(conditions_with(
                &pod(&json!([before, ready])),
                &failure(),
                Timestamp::now()
            ));
            assert_eq!(written.as_array().map(Vec::len), Some(2));
            assert_eq!(written[0]["type"], "Ready");
            let new = &written[1];
            assert_eq!(
                (&new["reason"], &new["message"]),
                (&json!("Unschedulable"), &json!("still no room"))
            );
            assert_eq!(new["observedGeneration"], 7);
            assert_eq!(new["lastTransitionTime"] == first, keeps, "{before}");
        }
    }
}

//! Pod: its volumes, its node constraints and its scheduling state.
//!
//! Fields that only affect scores, such as preferred affinity, are not stored.

use std::collections::BTreeSet;

use capacity_types::{Labels, NodeSelector, ephemeral_claim_name};
use k8s_openapi::api::core::v1::{Pod as ApiPod, PodCondition, PodSpec, Volume as ApiVolume};

use super::selector::node_selector;
use super::{
    Disk, HostPort, Object, ObjectKey, PodAffinityTerm, ReadError, Resources, SpreadConstraint, Toleration,
    version,
};

/// One Pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pod {
    /// Namespace and name of the pod.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `metadata.generation`, which conditions repeat as `observedGeneration`.
    pub generation: Option<i64>,
    /// `spec.schedulerName`: the scheduler that is responsible for the pod.
    pub scheduler_name: String,
    /// `spec.nodeName`. `None` while the pod is pending.
    pub node: Option<String>,
    /// `status.nominatedNodeName`: the node on which the pod is expected to run.
    pub nominated_node: Option<String>,
    /// `metadata.creationTimestamp`. All timestamps have the same format, so the strings sort by time.
    pub created: Option<String>,
    /// Whether a container is an external-provisioner, by its name or image.
    pub is_provisioner: bool,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether the phase is Succeeded or Failed.
    pub terminated: bool,
    /// Whether `spec.schedulingGates` is not empty.
    pub gated: bool,
    /// `spec.priority`. Pods with higher priority are attempted first.
    pub priority: i32,
    /// `preemptionPolicy: Never`. Changes the message of a failed attempt.
    pub never_preempts: bool,
    /// The volumes backed by PVCs, in pod order.
    pub volumes: Vec<PodVolume>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// Required node affinity of the pod.
    pub affinity: Option<NodeSelector>,
    /// Required inter-pod affinity.
    pub pod_affinity: Vec<PodAffinityTerm>,
    /// Required inter-pod anti-affinity.
    pub anti_affinity: Vec<PodAffinityTerm>,
    /// The topology spread constraints with `DoNotSchedule`.
    pub spread: Vec<SpreadConstraint>,
    /// The host ports that the pod uses.
    pub host_ports: Vec<HostPort>,
    /// The disks that the pod references without a PVC.
    pub disks: Vec<Disk>,
    /// Names of fields that affect the pod's scheduling but are not implemented here.
    pub unsupported: Vec<&'static str>,
    /// `status.startTime`. All timestamps have the same format, so the strings sort by time.
    pub started: Option<String>,
    /// The resource requests of the pod's containers, and a request of 1 for the resource `pods`.
    pub requests: Resources,
    /// Names of the extended resources (`domain/name`) in requests and limits of the pod's containers.
    pub extended_resources: BTreeSet<String>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `status.conditions`.
    pub conditions: Vec<PodCondition>,
}

/// The name of external-provisioner's image, and usually of its container.
const EXTERNAL_PROVISIONER: &str = "csi-provisioner";

/// A pod volume that is backed by a PVC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodVolume {
    /// Key of the PVC. For a generic ephemeral volume its name is the pod's name, a dash, and the volume's name.
    pub claim: ObjectKey,
    /// Whether the PVC is created for this pod (generic ephemeral volume).
    pub ephemeral: bool,
}

impl Pod {
    /// Whether the pod uses this PVC.
    pub fn uses(&self, claim: &ObjectKey) -> bool {
        self.volumes.iter().any(|volume| volume.claim == *claim)
    }

    /// The PodScheduled condition.
    pub fn scheduled_condition(&self) -> Option<&PodCondition> {
        self.condition("PodScheduled")
    }

    /// Whether the Ready condition is true.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready")
            .is_some_and(|condition| condition.status == "True")
    }

    fn condition(&self, name: &str) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.type_ == name)
    }
}

impl Object for Pod {
    type Api = ApiPod;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let metadata = &source.metadata;
        let key = ObjectKey::of(metadata);
        let absent = PodSpec::default();
        let spec = source.spec.as_ref().unwrap_or(&absent);
        let status = source.status.as_ref();
        let phase = status.and_then(|status| status.phase.as_deref());
        let volumes = spec.volumes.iter().flatten();
        let labels = metadata.labels.clone().unwrap_or_default();
        let affinity = spec.affinity.as_ref();
        let inter_pod_affinity = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
        let inter_pod_anti_affinity = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
        Ok(Self {
            // Objects in files written by hand have no UID.
            uid: metadata.uid.clone().unwrap_or_else(|| key.to_string()),
            version: version(metadata),
            generation: metadata.generation,
            scheduler_name: spec
                .scheduler_name
                .clone()
                .unwrap_or_else(|| "default-scheduler".to_owned()),
            node: spec.node_name.clone().filter(|name| !name.is_empty()),
            nominated_node: status
                .and_then(|status| status.nominated_node_name.clone())
                .filter(|name| !name.is_empty()),
            pod_affinity: PodAffinityTerm::compile(
                &key,
                &labels,
                inter_pod_affinity
                    .and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref()),
            ),
            anti_affinity: PodAffinityTerm::compile(
                &key,
                &labels,
                inter_pod_anti_affinity
                    .and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref()),
            ),
            spread: SpreadConstraint::compile(&labels, spec.topology_spread_constraints.as_ref()),
            host_ports: HostPort::of_pod(spec),
            disks: volumes.clone().filter_map(Disk::read).collect(),
            unsupported: unsupported_fields(spec),
            started: status
                .and_then(|status| status.start_time.as_ref())
                .map(|time| time.0.to_string()),
            created: metadata
                .creation_timestamp
                .as_ref()
                .map(|time| time.0.to_string()),
            is_provisioner: spec.containers.iter().any(|container| {
                let image = container.image.as_deref().unwrap_or_default();
                [image, &container.name]
                    .iter()
                    .any(|text| text.contains(EXTERNAL_PROVISIONER))
            }),
            labels,
            deleting: metadata.deletion_timestamp.is_some(),
            terminated: matches!(phase, Some("Succeeded" | "Failed")),
            gated: spec
                .scheduling_gates
                .as_ref()
                .is_some_and(|gates| !gates.is_empty()),
            priority: spec.priority.unwrap_or(0),
            never_preempts: spec.preemption_policy.as_deref() == Some("Never"),
            volumes: volumes.filter_map(|volume| pod_volume(&key, volume)).collect(),
            node_selector: spec.node_selector.clone().unwrap_or_default(),
            affinity: required_affinity(spec),
            requests: Resources::of_pod(source),
            extended_resources: extended_resources(spec),
            tolerations: spec
                .tolerations
                .iter()
                .flatten()
                .filter_map(Toleration::read)
                .collect(),
            conditions: status
                .and_then(|status| status.conditions.clone())
                .unwrap_or_default(),
            key,
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

fn pod_volume(pod: &ObjectKey, volume: &ApiVolume) -> Option<PodVolume> {
    let ephemeral = volume.ephemeral.is_some();
    let name = match &volume.persistent_volume_claim {
        Some(source) => source.claim_name.clone(),
        None if ephemeral => ephemeral_claim_name(&pod.name, &volume.name),
        None => return None,
    };
    Some(PodVolume {
        claim: ObjectKey::namespaced(&pod.namespace, &name),
        ephemeral,
    })
}

/// Names of the pod's fields that affect scheduling but are not implemented here.
fn unsupported_fields(spec: &PodSpec) -> Vec<&'static str> {
    let claims = spec
        .resource_claims
        .as_ref()
        .is_some_and(|claims| !claims.is_empty());
    let found = [
        (claims, "devices (spec.resourceClaims)"),
        (
            spec.scheduling_group.is_some(),
            "its pod group (spec.schedulingGroup)",
        ),
    ];
    found
        .into_iter()
        .filter_map(|(is_used, what)| is_used.then_some(what))
        .collect()
}

fn extended_resources(spec: &PodSpec) -> BTreeSet<String> {
    let containers = spec
        .containers
        .iter()
        .chain(spec.init_containers.iter().flatten());
    let resources = containers.filter_map(|container| container.resources.as_ref());
    let amounts = resources.flat_map(|resources| [&resources.requests, &resources.limits]);
    let names = amounts.flatten().flat_map(|amounts| amounts.keys());
    names.filter(|name| name.contains('/')).cloned().collect()
}

fn required_affinity(spec: &PodSpec) -> Option<NodeSelector> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()?;
    Some(node_selector(required))
}

//! PersistentVolumeClaim: the fields that binding and provisioning decisions use.

use capacity_types::{LabelSelector, Quantity, RequirementError};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::selector::label_selector;
use super::{Object, ObjectKey, ReadError, STORAGE, annotation, class_name, quantity, version};

/// The annotation that the scheduler sets to request provisioning for a node.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// The annotation that marks the binding of a PVC as complete. Its value is ignored.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// The annotations with which the PersistentVolume controller assigns a PVC to a provisioner.
const STORAGE_PROVISIONER: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];
/// The default of `spec.volumeMode`.
const FILESYSTEM: &str = "Filesystem";

/// One PersistentVolumeClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Namespace and name of the PVC.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// The StorageClass name: the beta annotation if present, else the field, else empty.
    pub class: String,
    /// The requested bytes. `None` if unset.
    pub request: Option<Quantity>,
    /// `spec.volumeName`: the PersistentVolume that the PVC is bound to, or is being bound to.
    pub volume: Option<String>,
    /// Whether the bind-completed annotation is present.
    pub bind_completed: bool,
    /// The selected-node annotation. An empty value counts as present.
    pub selected_node: Option<String>,
    /// Whether the PersistentVolume controller has assigned the PVC to a provisioner (annotation storage-provisioner).
    pub has_provisioner_annotation: bool,
    /// Whether the PVC has annotations. kube-scheduler's message for a missing PVC depends on this.
    pub has_annotations: bool,
    /// Whether `status.phase` is Lost: the PersistentVolume was deleted.
    pub lost: bool,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// UID of the controlling owner. For generic ephemeral volumes this is the pod.
    pub controller: Option<String>,
    /// The access modes that a volume must support.
    pub access_modes: Vec<String>,
    /// `spec.volumeMode`: `Filesystem` or `Block`.
    pub volume_mode: String,
    /// The VolumeAttributesClass name. Empty if unset.
    pub attributes_class: String,
    /// `spec.selector`, which selects PersistentVolumes by labels.
    pub selector: Result<LabelSelector, RequirementError>,
    /// Kind, name and namespace of `dataSource`, else of `dataSourceRef`. Namespace `None`: the namespace of the PVC.
    pub source: Option<(String, String, Option<String>)>,
}

impl Claim {
    /// Whether `spec.volumeName` is set and binding is complete.
    pub fn is_fully_bound(&self) -> bool {
        self.volume.is_some() && self.bind_completed
    }

    /// A copy of the PVC with this selected node.
    pub fn with_selected_node(&self, node: &str) -> Self {
        Self {
            selected_node: Some(node.to_owned()),
            has_annotations: true,
            ..self.clone()
        }
    }
}

impl Object for Claim {
    type Api = PersistentVolumeClaim;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let metadata = &source.metadata;
        let key = ObjectKey::of(metadata);
        let absent = PersistentVolumeClaimSpec::default();
        let spec = source.spec.as_ref().unwrap_or(&absent);
        let requests = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        let request = requests.and_then(|requests| requests.get(STORAGE));
        let phase = source.status.as_ref().and_then(|status| status.phase.as_deref());
        let selector = spec.selector.as_ref().map(label_selector);
        Ok(Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            version: version(metadata),
            class: class_name(metadata, spec.storage_class_name.as_ref()),
            request: quantity(&key, "spec.resources.requests[storage]", request)?,
            volume: spec.volume_name.clone().filter(|name| !name.is_empty()),
            bind_completed: annotation(metadata, BIND_COMPLETED).is_some(),
            selected_node: annotation(metadata, SELECTED_NODE).map(str::to_owned),
            has_provisioner_annotation: STORAGE_PROVISIONER
                .iter()
                .any(|key| annotation(metadata, key).is_some()),
            has_annotations: metadata.annotations.as_ref().is_some_and(|all| !all.is_empty()),
            lost: phase == Some("Lost"),
            deleting: metadata.deletion_timestamp.is_some(),
            controller: controller_uid(metadata),
            access_modes: spec.access_modes.clone().unwrap_or_default(),
            volume_mode: volume_mode(spec.volume_mode.as_ref()),
            attributes_class: spec.volume_attributes_class_name.clone().unwrap_or_default(),
            selector: selector.unwrap_or_else(|| Ok(LabelSelector::default())),
            source: source_of(spec),
            key,
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

fn source_of(spec: &PersistentVolumeClaimSpec) -> Option<(String, String, Option<String>)> {
    if let Some(source) = &spec.data_source {
        return Some((source.kind.clone(), source.name.clone(), None));
    }
    let source = spec.data_source_ref.as_ref()?;
    Some((source.kind.clone(), source.name.clone(), source.namespace.clone()))
}

/// The volume mode of a PVC or PersistentVolume; Filesystem if unset.
pub(super) fn volume_mode(field: Option<&String>) -> String {
    field.cloned().unwrap_or_else(|| FILESYSTEM.to_owned())
}

fn controller_uid(metadata: &ObjectMeta) -> Option<String> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let found = owners.iter().find(|owner| owner.controller == Some(true))?;
    Some(found.uid.clone())
}

//! Builds PersistentVolume objects from CreateVolume responses, and decides what to do with released ones. Pure functions.

use std::collections::BTreeMap;

use capacity_types::{Segment, segment};
use csi_proto::v1::Volume;
use k8s_openapi::{
    api::{
        core::v1::{
            CSIPersistentVolumeSource, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
            PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeSpec,
            SecretReference, VolumeNodeAffinity,
        },
        storage::v1::StorageClass,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Resource, ResourceExt};

use super::{
    claim,
    invalid_claim::InvalidClaim,
    request,
    secret::{self, SecretUse},
};
use crate::{Options, quantity};

/// The finalizer that protects a PersistentVolume until its volume is deleted.
pub(super) const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";

const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The volume attribute with the identity of the provisioner process that created the volume.
const IDENTITY: &str = "storage.kubernetes.io/csiProvisionerIdentity";

/// The annotations with name and namespace of the Secret for DeleteVolume. Their values are empty if DeleteVolume needs no Secret.
const DELETION_SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];

/// The provisioner identity in volume attributes, different for each process.
pub(super) fn identity(driver: &str, options: &Options) -> String {
    let now = (options.clock)().as_millisecond();
    let node = options
        .own_node()
        .map(|node| format!("-{node}"))
        .unwrap_or_default();
    format!("{now}-{}-{driver}{node}", options.rng.next_below(10_000))
}

/// The inputs for the PersistentVolume object of a new volume.
pub(super) struct NewVolume<'a> {
    /// Name of the PersistentVolume.
    pub(super) name: &'a str,
    pub(super) claim: &'a PersistentVolumeClaim,
    pub(super) class: &'a StorageClass,
    /// The volume from the CreateVolume response.
    pub(super) volume: &'a Volume,
    pub(super) requested_bytes: i64,
    /// Whether the driver supports topology.
    pub(super) topology: bool,
    /// The provisioner identity of this process, for the volume attributes.
    pub(super) identity: &'a str,
    pub(super) options: &'a Options,
}

impl NewVolume<'_> {
    pub(super) fn object(&self) -> Result<PersistentVolume, InvalidClaim> {
        let (claim, class, volume) = (self.claim, self.class, self.volume);
        let spec = claim.spec.clone().unwrap_or_default();
        let reclaim = class
            .reclaim_policy
            .clone()
            .unwrap_or_else(|| "Delete".to_owned());
        let bytes = if volume.capacity_bytes > 0 {
            volume.capacity_bytes
        } else {
            self.requested_bytes
        };
        let capacity = quantity::from_bytes(bytes.unsigned_abs());
        let mut claim_ref = claim.object_ref(&());
        claim_ref.resource_version = claim.resource_version();
        let deletion = self.secret(SecretUse::Provisioner)?;
        Ok(PersistentVolume {
            metadata: ObjectMeta {
                name: Some(self.name.to_owned()),
                annotations: Some(annotations(&class.provisioner, deletion)),
                finalizers: (reclaim == "Delete").then(|| vec![FINALIZER.to_owned()]),
                ..Default::default()
            },
            spec: Some(PersistentVolumeSpec {
                capacity: Some([("storage".to_owned(), capacity)].into()),
                csi: Some(self.source(&spec)?),
                volume_attributes_class_name: request::attributes_class(self.options, &spec)
                    .map(str::to_owned),
                node_affinity: Some(volume).filter(|_| self.topology).and_then(affinity),
                access_modes: spec.access_modes,
                volume_mode: spec.volume_mode,
                mount_options: class.mount_options.clone(),
                persistent_volume_reclaim_policy: Some(reclaim),
                storage_class_name: claim::class_name(claim).map(str::to_owned),
                claim_ref: Some(claim_ref),
                ..Default::default()
            }),
            status: None,
        })
    }

    fn secret(&self, used: SecretUse) -> Result<Option<SecretReference>, InvalidClaim> {
        secret::secret_reference(used, self.class, self.name, self.claim)
    }

    fn source(&self, claim: &PersistentVolumeClaimSpec) -> Result<CSIPersistentVolumeSource, InvalidClaim> {
        let filesystem = request::filesystem(self.class, &self.options.default_fstype)
            .ok()
            .filter(|name| !name.is_empty() && !request::is_block(claim));
        let mut attributes = self.volume.volume_context.clone();
        attributes.insert(IDENTITY.to_owned(), self.identity.to_owned());
        let modes = claim.access_modes.as_deref().unwrap_or_default();
        let only_read = !modes.is_empty() && modes.iter().all(|mode| mode == "ReadOnlyMany");
        Ok(CSIPersistentVolumeSource {
            driver: self.class.provisioner.clone(),
            volume_handle: self.volume.volume_id.clone(),
            fs_type: filesystem.map(str::to_owned),
            volume_attributes: Some(attributes),
            read_only: (self.options.controller_publish_readonly && only_read).then_some(true),
            controller_publish_secret_ref: self.secret(SecretUse::ControllerPublish)?,
            node_stage_secret_ref: self.secret(SecretUse::NodeStage)?,
            node_publish_secret_ref: self.secret(SecretUse::NodePublish)?,
            controller_expand_secret_ref: self.secret(SecretUse::ControllerExpand)?,
            node_expand_secret_ref: self.secret(SecretUse::NodeExpand)?,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReclaimAction {
    /// The PersistentVolume is released: delete the volume, then the PersistentVolume.
    Delete,
    /// The PersistentVolume is terminating and the volume is retained: only remove the finalizer.
    RemoveFinalizer,
}

/// The next step of this provisioner for a PersistentVolume; `None`: nothing to do. `own`: the segment of the own node in distributed
/// mode; other instances handle volumes that are not accessible from this segment.
pub(super) fn reclaim_action(
    object: &PersistentVolume,
    driver: &str,
    own: Option<&Segment>,
) -> Option<ReclaimAction> {
    let spec = object.spec.as_ref()?;
    let is_own = object
        .annotations()
        .get(PROVISIONED_BY)
        .is_some_and(|by| by == driver)
        && spec.csi.as_ref().is_some_and(|csi| csi.driver == driver);
    let accessible_from = segments(object);
    let is_accessible = own.is_none_or(|own| {
        accessible_from.is_empty() || accessible_from.iter().any(|term| segment::contains(own, term))
    });
    if !is_own || !is_accessible {
        return None;
    }
    let deletes = spec.persistent_volume_reclaim_policy.as_deref() == Some("Delete");
    let released = object.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Released");
    let has_finalizer = object.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    let is_terminating = object.metadata.deletion_timestamp.is_some();
    match (deletes, released) {
        // A terminating PersistentVolume without the finalizer has been processed already.
        (true, true) if has_finalizer || !is_terminating => Some(ReclaimAction::Delete),
        (false, _) if has_finalizer => Some(ReclaimAction::RemoveFinalizer),
        _ => None,
    }
}

/// The segments from which the volume is accessible. Empty: from everywhere.
pub(super) fn segments(object: &PersistentVolume) -> Vec<Segment> {
    let affinity = object.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref());
    let terms = affinity
        .and_then(|affinity| affinity.required.as_ref())
        .map(|required| &required.node_selector_terms);
    terms.into_iter().flatten().map(segment).collect()
}

fn segment(term: &NodeSelectorTerm) -> Segment {
    let single = |expression: &NodeSelectorRequirement| match expression.values.as_deref() {
        Some([value]) if expression.operator == "In" => Some((expression.key.clone(), value.clone())),
        _ => None,
    };
    term.match_expressions
        .iter()
        .flatten()
        .filter_map(single)
        .collect()
}

pub(super) fn deletion_secret(object: &PersistentVolume) -> Option<SecretReference> {
    let [name, namespace] = DELETION_SECRET.map(|key| object.annotations().get(key).cloned());
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    (is_set(&name) && is_set(&namespace)).then_some(SecretReference { name, namespace })
}

fn annotations(driver: &str, deletion: Option<SecretReference>) -> BTreeMap<String, String> {
    let SecretReference { name, namespace } = deletion.unwrap_or_default();
    let texts = [name, namespace].map(Option::unwrap_or_default);
    DELETION_SECRET
        .map(str::to_owned)
        .into_iter()
        .zip(texts)
        .chain([(PROVISIONED_BY.to_owned(), driver.to_owned())])
        .collect()
}

/// Node affinity with one term for each accessible segment. `None` if the driver returned no topology.
fn affinity(volume: &Volume) -> Option<VolumeNodeAffinity> {
    let expression = |(key, value): (&String, &String)| NodeSelectorRequirement {
        key: key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![value.clone()]),
    };
    let named = volume
        .accessible_topology
        .iter()
        .filter(|term| !term.segments.is_empty());
    let terms: Vec<NodeSelectorTerm> = named
        .map(|term| NodeSelectorTerm {
            match_expressions: Some(term.segments.iter().map(expression).collect()),
            match_fields: None,
        })
        .collect();
    let required = NodeSelector {
        node_selector_terms: terms,
    };
    (!required.node_selector_terms.is_empty()).then_some(VolumeNodeAffinity {
        required: Some(required),
    })
}

#[cfg(test)]
mod tests {
    use csi_proto::v1::Topology;
    use k8s_openapi::api::core::v1::PersistentVolumeStatus;

    use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

    use super::*;

    const DRIVER: &str = "disk.example.com";

    fn zone(name: &str) -> Segment {
        [("zone".to_owned(), name.to_owned())].into()
    }

    fn persistent_volume(reclaim: &str) -> PersistentVolume {
        persistent_volume_with(reclaim, 7 << 30, &Options::default(), |_| {})
    }

    /// Builds the PersistentVolume for a volume of this size. `change` first modifies the PVC.
    fn persistent_volume_with(
        reclaim: &str,
        bytes: i64,
        options: &Options,
        change: fn(&mut PersistentVolumeClaimSpec),
    ) -> PersistentVolume {
        let parameters = [("csi.storage.k8s.io/fstype".to_owned(), "xfs".to_owned())];
        let class = StorageClass {
            provisioner: DRIVER.to_owned(),
            reclaim_policy: Some(reclaim.to_owned()),
            mount_options: Some(vec!["noatime".to_owned()]),
            parameters: Some(parameters.into()),
            ..Default::default()
        };
        let volume = Volume {
            capacity_bytes: bytes,
            volume_id: "v".to_owned(),
            accessible_topology: vec![Topology { segments: zone("a") }],
            ..Default::default()
        };
        let metadata = ObjectMeta {
            name: Some("c".to_owned()),
            namespace: Some("n".to_owned()),
            uid: Some("u".to_owned()),
            ..Default::default()
        };
        let mut claim = PersistentVolumeClaim {
            metadata,
            ..Default::default()
        };
        claim.spec.get_or_insert_default().storage_class_name = Some("fast".to_owned());
        change(claim.spec.get_or_insert_default());
        let new_volume = NewVolume {
            name: "pvc-u",
            claim: &claim,
            class: &class,
            volume: &volume,
            requested_bytes: 1,
            topology: true,
            identity: "identity",
            options,
        };
        new_volume.object().unwrap()
    }

    fn in_phase(mut object: PersistentVolume, phase: &str) -> PersistentVolume {
        object.status = Some(PersistentVolumeStatus {
            phase: Some(phase.to_owned()),
            ..Default::default()
        });
        object
    }

    #[test]
    fn the_persistent_volume_contains_topology_size_driver_and_class() {
        let object = persistent_volume("Delete");
        assert_eq!(segments(&object), [zone("a")]);
        let spec = object.spec.unwrap();
        assert_eq!(spec.capacity.unwrap()["storage"].0, "7Gi");
        let claim = spec.claim_ref.unwrap();
        assert_eq!(
            (claim.kind.as_deref(), claim.uid.as_deref()),
            (Some("PersistentVolumeClaim"), Some("u"))
        );
        assert_eq!(
            (claim.namespace.as_deref(), claim.name.as_deref()),
            (Some("n"), Some("c"))
        );
        let csi = spec.csi.unwrap();
        assert_eq!((csi.driver.as_str(), csi.volume_handle.as_str()), (DRIVER, "v"));
        assert_eq!(spec.storage_class_name.as_deref(), Some("fast"));
    }

    #[test]
    fn the_persistent_volume_contains_mount_options_and_filesystem() {
        let of =
            |options: &Options, change| persistent_volume_with("Delete", 0, options, change).spec.unwrap();
        let usual = of(&Options::default(), |_| {});
        assert_eq!(
            usual.capacity.unwrap()["storage"].0,
            "1",
            "without a size in the response the requested size applies"
        );
        assert_eq!(usual.mount_options, Some(vec!["noatime".to_owned()]));
        let csi = usual.csi.unwrap();
        assert_eq!((csi.fs_type.as_deref(), csi.read_only), (Some("xfs"), None));
        let raw = of(&Options::default(), |claim| {
            claim.volume_mode = Some("Block".to_owned());
        });
        assert_eq!(
            (raw.volume_mode.as_deref(), raw.csi.unwrap().fs_type),
            (Some("Block"), None)
        );
        let read_only = Options {
            controller_publish_readonly: true,
            ..Options::default()
        };
        let with_modes = |options: &Options, change| of(options, change).csi.unwrap().read_only;
        let readers: fn(&mut PersistentVolumeClaimSpec) =
            |claim| claim.access_modes = Some(vec!["ReadOnlyMany".to_owned()]);
        let writers: fn(&mut PersistentVolumeClaimSpec) = |claim| {
            claim.access_modes = Some(vec!["ReadOnlyMany".to_owned(), "ReadWriteMany".to_owned()]);
        };
        assert_eq!(with_modes(&read_only, readers), Some(true));
        assert_eq!(with_modes(&read_only, writers), None);
        assert_eq!(
            with_modes(&read_only, |_| {}),
            None,
            "an empty list of modes is not read-only"
        );
        assert_eq!(
            with_modes(&Options::default(), readers),
            None,
            "the option is off"
        );
    }

    #[test]
    fn only_released_volumes_of_the_driver_are_deleted_and_retained_ones_lose_the_finalizer() {
        let released = in_phase(persistent_volume("Delete"), "Released");
        assert_eq!(
            reclaim_action(&released, DRIVER, None),
            Some(ReclaimAction::Delete)
        );
        assert_eq!(reclaim_action(&released, "other", None), None);
        assert_eq!(
            reclaim_action(&in_phase(persistent_volume("Delete"), "Bound"), DRIVER, None),
            None
        );
        assert_eq!(
            reclaim_action(&in_phase(persistent_volume("Retain"), "Released"), DRIVER, None),
            None
        );
        let mut switched = in_phase(persistent_volume("Delete"), "Released");
        switched
            .spec
            .get_or_insert_default()
            .persistent_volume_reclaim_policy = Some("Retain".to_owned());
        assert_eq!(
            reclaim_action(&switched, DRIVER, None),
            Some(ReclaimAction::RemoveFinalizer)
        );
    }

    #[test]
    fn an_instance_deletes_only_volumes_accessible_from_its_node() {
        let released = in_phase(persistent_volume("Delete"), "Released");
        assert_eq!(
            reclaim_action(&released, DRIVER, Some(&zone("a"))),
            Some(ReclaimAction::Delete)
        );
        assert_eq!(reclaim_action(&released, DRIVER, Some(&zone("b"))), None);
    }

    #[test]
    fn a_terminating_object_is_processed_once() {
        let mut terminating = in_phase(persistent_volume("Delete"), "Released");
        terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(
            reclaim_action(&terminating, DRIVER, None),
            Some(ReclaimAction::Delete)
        );
        terminating.metadata.finalizers = Some(vec!["kubernetes.io/pv-protection".to_owned()]);
        assert_eq!(reclaim_action(&terminating, DRIVER, None), None);
    }
}

//! Decides which PVCs this provisioner provisions, and for which nodes. Pure functions.

use k8s_openapi::api::{core::v1::PersistentVolumeClaim, storage::v1::StorageClass};
use kube::ResourceExt;

pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The annotations, set by the PersistentVolume controller, that contain the provisioner of a PVC.
const PROVISIONER: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn class_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    let annotated = claim.annotations().get(BETA_CLASS);
    let field = || claim.spec.as_ref()?.storage_class_name.as_ref();
    annotated
        .or_else(field)
        .map(String::as_str)
        .filter(|name| !name.is_empty())
}

pub(super) fn selected_node(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim
        .annotations()
        .get(SELECTED_NODE)
        .map(String::as_str)
        .filter(|node| !node.is_empty())
}

pub(super) fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// Whether a PVC is assigned to the driver and has no volume yet.
pub(super) fn needs_volume(claim: &PersistentVolumeClaim, class: &StorageClass, driver: &str) -> bool {
    let is_of_other_provisioner = PROVISIONER
        .iter()
        .find_map(|key| claim.annotations().get(*key))
        .is_some_and(|name| name != driver);
    let bound = claim
        .spec
        .as_ref()
        .is_none_or(|spec| spec.volume_name.as_ref().is_some_and(|name| !name.is_empty()));
    let terminating = claim.metadata.deletion_timestamp.is_some();
    class.provisioner == driver && !is_of_other_provisioner && !bound && !terminating
}

/// Whether a PVC that needs a volume can be provisioned now. With `own_node` (distributed mode) only if the scheduler selected that node,
/// so that exactly one instance provisions the PVC.
pub(super) fn can_provision_now(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    own_node: Option<&str>,
) -> bool {
    match (own_node, selected_node(claim)) {
        (Some(own), selected) => selected == Some(own),
        (None, selected) => selected.is_some() || !waits_for_consumer(class),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;

    use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

    use super::*;

    const DRIVER: &str = "disk.example.com";

    fn class(mode: &str) -> StorageClass {
        StorageClass {
            provisioner: DRIVER.to_owned(),
            volume_binding_mode: Some(mode.to_owned()),
            ..Default::default()
        }
    }

    fn claim(annotations: &[(&str, &str)]) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim {
            spec: Some(PersistentVolumeClaimSpec {
                storage_class_name: Some("fast".to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let annotations = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        claim.annotations_mut().extend(annotations);
        claim
    }

    #[test]
    fn delayed_binding_waits_for_a_node_and_immediate_binding_does_not() {
        let (delayed, immediate) = (class("WaitForFirstConsumer"), class("Immediate"));
        let (without_node, with_node) = (claim(&[]), claim(&[(SELECTED_NODE, "n1")]));
        for (claim, class, own_node, ready) in [
            (&without_node, &delayed, None, false),
            (&with_node, &delayed, None, true),
            (&without_node, &immediate, None, true),
            (&with_node, &delayed, Some("n1"), true),
            (&with_node, &delayed, Some("n2"), false),
            (&without_node, &immediate, Some("n1"), false),
        ] {
            assert_eq!(
                can_provision_now(claim, class, own_node),
                ready,
                "{class:?} {own_node:?}"
            );
        }
    }

    #[test]
    fn pvcs_of_other_drivers_and_bound_or_terminating_pvcs_are_ignored() {
        let immediate = class("Immediate");
        assert!(!needs_volume(
            &claim(&[(PROVISIONER[0], "other")]),
            &immediate,
            DRIVER
        ));
        assert!(needs_volume(
            &claim(&[(PROVISIONER[1], DRIVER)]),
            &immediate,
            DRIVER
        ));
        assert!(!needs_volume(&claim(&[]), &immediate, "other"));
        let mut bound = claim(&[]);
        bound.spec.get_or_insert_default().volume_name = Some("pv".to_owned());
        assert!(!needs_volume(&bound, &immediate, DRIVER));
        let mut terminating = claim(&[]);
        terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(!needs_volume(&terminating, &immediate, DRIVER));
    }

    #[test]
    fn the_beta_annotation_sets_the_class() {
        assert_eq!(class_name(&claim(&[])), Some("fast"));
        assert_eq!(class_name(&claim(&[(BETA_CLASS, "old")])), Some("old"));
        assert_eq!(class_name(&PersistentVolumeClaim::default()), None);
    }
}

//! Alternative forms of requests, objects and calls that KEP-1472 and the CSI specification allow; the default is the form that
//! external-provisioner uses. Does not decide which objects exist or which capacity they have.

use std::{collections::BTreeMap, time::Duration};

use csi_proto::v1::{
    VolumeCapability,
    volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode},
};
use k8s_openapi::{
    api::storage::v1::CSIStorageCapacity,
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{LabelSelectorRequirement, OwnerReference},
    },
};

use crate::{quantity, rng::SharedRng};

/// Where KEP-1472 and the CSI specification allow several forms, the form that this publisher uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// How an existing object is updated.
    pub update: UpdateVerb,
    /// How the sizes in objects (`capacity` and `maximumVolumeSize`) are written.
    pub sizes: SizeForm,
    /// How `nodeTopology` is written.
    pub selector: SelectorForm,
    /// How CSIStorageCapacity objects are named (KEP-1472, "CSIStorageCapacity", recommends all of these forms).
    pub names: NameForm,
    /// Whether the owner reference omits `controller: true`, which garbage collection does not need.
    pub plain_owner: bool,
    /// Whether GetCapacity requests contain the optional `volume_capabilities`.
    pub capabilities: bool,
    /// Whether a distributed instance reads its node's topology from CSINode and Node instead of NodeGetInfo.
    pub topology_of_csi_node: bool,
    /// Whether a managed-by label that would be too long is shortened with a hash. The KEP does not define how to shorten it.
    pub hashed_instance: bool,
    /// Whether API discovery is repeated only when the server no longer serves the API version in use.
    pub cached_discovery: bool,
    /// Delay before the publisher's first request.
    pub start_delay: Duration,
    /// Whether a cleaner looks for orphaned objects only at regular intervals and ignores watch events.
    pub regular_checks: bool,
    /// Whether a cleaner finds the nodes of the driver only by CSINode objects, as in the KEP, and ignores Node objects.
    pub csi_nodes_alone: bool,
}

/// How an existing object is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateVerb {
    /// PUT of the whole object.
    #[default]
    Update,
    /// PATCH with a JSON merge patch of the changed fields.
    MergePatch,
    /// PATCH with server-side apply. `maximumVolumeSize` is removed with a JSON merge patch, since it may have another field manager.
    Apply,
}

/// How the sizes in objects (`capacity` and `maximumVolumeSize`) are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeForm {
    /// As a quantity with the largest binary suffix that divides the size: `10Gi`.
    #[default]
    Suffix,
    /// As a number of bytes: `10737418240`.
    Bytes,
}

/// How `nodeTopology` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectorForm {
    /// `nodeTopology` with `matchLabels`.
    #[default]
    Labels,
    /// `nodeTopology` with `matchExpressions` and the operator `In`, as in the examples of the KEP.
    Expressions,
}

/// How CSIStorageCapacity objects are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameForm {
    /// `generateName: csisc-`, so that the API server completes the name.
    #[default]
    Generated,
    /// The name `csisc-<uuid>`.
    Uuid,
    /// The name `<uuid>.<driver name>`: a reverse-domain name that ends with the unique driver name.
    ReverseDomain,
}

impl Dialect {
    /// Converts a new CSIStorageCapacity object to the configured forms.
    pub(crate) fn new_object(
        self,
        mut object: CSIStorageCapacity,
        driver: &str,
        rng: &SharedRng,
    ) -> CSIStorageCapacity {
        let metadata = &mut object.metadata;
        let name = match self.names {
            NameForm::Generated => None,
            NameForm::Uuid => Some(format!("csisc-{}", uuid(rng))),
            NameForm::ReverseDomain => Some(format!("{}.{driver}", uuid(rng))),
        };
        if name.is_some() {
            metadata.generate_name = None;
            metadata.name = name;
        }
        if let (SelectorForm::Expressions, Some(topology)) = (self.selector, &mut object.node_topology) {
            let labels = topology.match_labels.take();
            topology.match_expressions =
                labels.map(|labels| labels.into_iter().map(single_value_requirement).collect());
        }
        self.changed_object(object)
    }

    /// Converts an updated CSIStorageCapacity object to the configured forms.
    pub(crate) fn changed_object(self, mut object: CSIStorageCapacity) -> CSIStorageCapacity {
        if self.sizes == SizeForm::Bytes {
            for size in [&mut object.capacity, &mut object.maximum_volume_size]
                .into_iter()
                .flatten()
            {
                if let Some(bytes) = quantity::to_bytes(size) {
                    *size = Quantity(bytes.to_string());
                }
            }
        }
        object
    }

    pub(crate) fn convert_owner(self, owner: OwnerReference) -> OwnerReference {
        let controller = owner.controller.filter(|_| !self.plain_owner);
        OwnerReference { controller, ..owner }
    }

    /// `volume_capabilities` of GetCapacity requests.
    pub(crate) fn volume_capabilities(self) -> Vec<VolumeCapability> {
        let mounted = VolumeCapability {
            access_mode: Some(AccessMode {
                mode: Mode::SingleNodeWriter.into(),
            }),
            access_type: Some(AccessType::Mount(MountVolume::default())),
        };
        Vec::from_iter(self.capabilities.then_some(mounted))
    }
}

fn single_value_requirement((key, value): (String, String)) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key,
        operator: "In".to_owned(),
        values: Some(vec![value]),
    }
}

/// The labels that a selector requires, if it requires one value for each of them and nothing else; otherwise `None`.
pub(crate) fn as_labels(
    labels: Option<&BTreeMap<String, String>>,
    expressions: Option<&Vec<LabelSelectorRequirement>>,
) -> Option<BTreeMap<String, String>> {
    let mut all = labels.cloned().unwrap_or_default();
    for expression in expressions.into_iter().flatten() {
        let ("In", Some([value])) = (expression.operator.as_str(), expression.values.as_deref()) else {
            return None;
        };
        let before = all.insert(expression.key.clone(), value.clone());
        if before.is_some_and(|before| before != *value) {
            return None;
        }
    }
    Some(all)
}

/// A random UUID (RFC 9562, version 4).
fn uuid(rng: &SharedRng) -> String {
    let (high, low) = (rng.next_u64(), rng.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_version_4_and_its_variant() {
        let uuid = uuid(&SharedRng::seeded(7));
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
    }

    #[test]
    fn only_selectors_with_one_value_per_label_are_segments() {
        let expression = |operator: &str, values: &[&str]| LabelSelectorRequirement {
            key: "zone".to_owned(),
            operator: operator.to_owned(),
            values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
        };
        let zone = |value: &str| BTreeMap::from([("zone".to_owned(), value.to_owned())]);
        let read = |labels: Option<BTreeMap<String, String>>, expression| {
            as_labels(labels.as_ref(), Some(&vec![expression]))
        };
        assert_eq!(as_labels(None, None), Some(BTreeMap::new()));
        assert_eq!(read(None, expression("In", &["a"])), Some(zone("a")));
        assert_eq!(read(Some(zone("a")), expression("In", &["a"])), Some(zone("a")));
        assert_eq!(read(Some(zone("b")), expression("In", &["a"])), None);
        assert_eq!(read(None, expression("In", &["a", "b"])), None);
        assert_eq!(read(None, expression("NotIn", &["a"])), None);
    }
}

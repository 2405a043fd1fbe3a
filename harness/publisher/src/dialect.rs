//! How a publisher uses the freedom that KEP-1472 and the CSI specification leave it: forms of requests, objects and calls that mean the
//! same. The default is what external-provisioner does. Does not decide which objects exist or which capacity they report.

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

use crate::{chance::Chance, quantity};

/// One choice for each freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// How an existing object is changed.
    pub update: UpdateVerb,
    /// How sizes are written.
    pub sizes: SizeForm,
    /// How `nodeTopology` is written.
    pub selector: SelectorForm,
    /// How objects are named (KEP-1472, "CSIStorageCapacity", recommends all three).
    pub names: NameForm,
    /// Whether the owner reference lacks `controller: true`, which garbage collection does not need.
    pub plain_owner: bool,
    /// Whether GetCapacity has a `volume_capabilities`, an optional field of CSI.
    pub capabilities: bool,
    /// Whether a distributed instance reads the topology of its node from CSINode and Node instead of NodeGetInfo.
    pub topology_of_csi_node: bool,
    /// Whether a managed-by label that would be too long ends in a hash of the whole; the KEP does not say how to shorten it.
    pub hashed_instance: bool,
    /// Whether the versions of the API are discovered once and again only when the version in use is gone, not polled.
    pub cached_discovery: bool,
    /// How long the program needs before its first request.
    pub start_delay: Duration,
    /// Whether a cleaner looks at regular intervals alone, and not whenever a watch reports something.
    pub regular_checks: bool,
    /// Whether a cleaner goes by the CSINode objects alone, as the KEP says, and not by the Node objects as well.
    pub csi_nodes_alone: bool,
}

/// How an existing object is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateVerb {
    /// PUT of the whole object.
    #[default]
    Update,
    /// PATCH with a JSON merge patch of the changed fields.
    MergePatch,
    /// PATCH with server-side apply; where `maximumVolumeSize` has to go, which another manager may own, a JSON merge patch.
    Apply,
}

/// How sizes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeForm {
    /// With the largest binary suffix that divides them: `10Gi`.
    #[default]
    Suffix,
    /// As a number of bytes: `10737418240`.
    Bytes,
}

/// How `nodeTopology` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectorForm {
    /// `matchLabels`.
    #[default]
    Labels,
    /// `matchExpressions` with `In`, as in the examples of the KEP.
    Expressions,
}

/// How objects are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameForm {
    /// `generateName: csisc-`.
    #[default]
    Generated,
    /// `csisc-<uuid>`.
    Uuid,
    /// `<uuid>.<driver name>`, a reverse-domain name that ends with the unique driver name.
    ReverseDomain,
}

impl Dialect {
    /// The same object, new to the API server, in this dialect.
    pub(crate) fn new_object(
        self,
        mut object: CSIStorageCapacity,
        driver: &str,
        chance: &Chance,
    ) -> CSIStorageCapacity {
        let metadata = &mut object.metadata;
        let name = match self.names {
            NameForm::Generated => None,
            NameForm::Uuid => Some(format!("csisc-{}", uuid(chance))),
            NameForm::ReverseDomain => Some(format!("{}.{driver}", uuid(chance))),
        };
        if name.is_some() {
            metadata.generate_name = None;
            metadata.name = name;
        }
        if let (SelectorForm::Expressions, Some(topology)) = (self.selector, &mut object.node_topology) {
            let labels = topology.match_labels.take();
            topology.match_expressions = labels.map(|labels| labels.into_iter().map(in_one).collect());
        }
        self.changed_object(object)
    }

    /// The same object, known to the API server already, in this dialect.
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

    /// The owner reference in this dialect.
    pub(crate) fn owner(self, owner: OwnerReference) -> OwnerReference {
        let controller = owner.controller.filter(|_| !self.plain_owner);
        OwnerReference { controller, ..owner }
    }

    /// The `volume_capabilities` of GetCapacity.
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

/// The requirement that a label has one value.
fn in_one((key, value): (String, String)) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key,
        operator: "In".to_owned(),
        values: Some(vec![value]),
    }
}

/// The labels of a selector, where it requires one value of each and nothing else.
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
fn uuid(chance: &Chance) -> String {
    let (high, low) = (chance.number(), chance.number());
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
    fn uuids_have_the_version_and_variant_of_random_ones() {
        let uuid = uuid(&Chance::seeded(7));
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
    }

    #[test]
    fn only_one_value_of_each_label_is_a_segment() {
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

//! Builds desired CSIStorageCapacity objects and interprets existing ones. Pure functions.

use std::{collections::BTreeMap, fmt, sync::Arc};

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL, SIDECAR_PREFIX, Segment};
use k8s_openapi::{
    api::storage::v1::{CSIStorageCapacity, StorageClass},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};

use crate::{
    dialect::{SelectorForm, as_labels},
    quantity,
};

/// The value of [`MANAGED_BY_LABEL`] for the central instance of external-provisioner.
const CENTRAL: &str = "external-provisioner";

const LABEL_LENGTH_MAX: usize = 63;

/// How the publisher recognizes its objects: by driver and managed-by labels, or by their controlling owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagedBy {
    pub(crate) driver: String,
    pub(crate) instance: String,
    /// UID of the controlling owner by which objects are recognized, whatever their labels; new objects then have no labels
    /// (external-provisioner 2.0.0). `None`: objects are recognized by labels.
    owner: Option<String>,
}

/// StorageClass and topology segment of a published object. Each desired key should have exactly one object (external-provisioner:
/// `workItem`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) class: Arc<str>,
    pub(crate) topology: KeyTopology,
}

/// The nodes that an object's `nodeTopology` selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum KeyTopology {
    /// The nodes of a segment. The empty segment contains all nodes.
    Segment(Arc<Segment>),
    /// No `nodeTopology` (no nodes), or a selector that this publisher never writes. The object is obsolete.
    Other(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CapacityBytes {
    pub(crate) capacity: u64,
    pub(crate) maximum_volume_size: Option<u64>,
}

/// Whether objects are published for a class: its provisioner is this driver, and its binding mode is not Immediate (unless `immediate` is
/// set).
pub(crate) fn is_publishable(class: &StorageClass, driver: &str, immediate: bool) -> bool {
    class.provisioner == driver && (immediate || class.volume_binding_mode.as_deref() != Some("Immediate"))
}

/// The class parameters that are not reserved for the sidecar. CSI requires the same parameters in CreateVolume and GetCapacity.
pub(crate) fn parameters_for_driver(class: &StorageClass) -> BTreeMap<String, String> {
    let all = class.parameters.iter().flatten();
    all.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

impl ManagedBy {
    /// The driver and managed-by labels of the central instance (`node` is `None`), or of the distributed instance on this node.
    pub(crate) fn new(driver: &str, node: Option<&str>) -> ManagedBy {
        let instance = node.map_or_else(|| CENTRAL.to_owned(), managed_by_value);
        ManagedBy {
            driver: driver.to_owned(),
            instance,
            owner: None,
        }
    }

    /// Replaces a managed-by value that is too long for a label by a value that ends with a hash of the node name.
    pub(crate) fn with_hashed_instance(mut self, node: Option<&str>) -> ManagedBy {
        if let Some(node) = node.filter(|node| Self::is_shortened(node)) {
            self.instance = format!("{CENTRAL}-{:08x}{:08x}", fnv1a(node), fnv1a(&node[1..]));
        }
        self
    }

    /// Whether `external-provisioner-NODE` is too long for a label value, so that it must be shortened.
    pub(crate) fn is_shortened(node: &str) -> bool {
        CENTRAL.len() + 1 + node.len() > LABEL_LENGTH_MAX
    }

    /// Makes the publisher recognize objects by this controlling owner, or by labels if `owner` is `None`.
    pub(crate) fn owned_by(self, owner: Option<&OwnerReference>) -> ManagedBy {
        let owner = owner.map(|owner| owner.uid.clone());
        ManagedBy { owner, ..self }
    }

    /// The label selector for the publisher's objects. `None` if the publisher recognizes objects by owner.
    pub(crate) fn selector(&self) -> Option<String> {
        let ManagedBy { driver, instance, .. } = self;
        let by_labels = || format!("{DRIVER_LABEL}={driver},{MANAGED_BY_LABEL}={instance}");
        self.owner.is_none().then(by_labels)
    }

    pub(crate) fn owns(&self, object: &CSIStorageCapacity) -> bool {
        if let Some(uid) = &self.owner {
            let mut owners = object.metadata.owner_references.iter().flatten();
            return owners.any(|owner| owner.controller == Some(true) && owner.uid == *uid);
        }
        let label = |key| object.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        label(DRIVER_LABEL) == Some(&self.driver) && label(MANAGED_BY_LABEL) == Some(&self.instance)
    }

    /// Whether a managed-by value belongs to an instance that publishes for one node (distributed mode).
    pub(crate) fn is_distributed_instance(instance: &str) -> bool {
        let infix = truncation_infix();
        let shortened = |(before, _): (&str, &str)| !before.is_empty() && CENTRAL.starts_with(before);
        instance
            .strip_prefix(CENTRAL)
            .is_some_and(|rest| rest.len() > 1 && rest.starts_with('-'))
            || instance.split_once(&infix).is_some_and(shortened)
    }

    fn labels(&self) -> Option<BTreeMap<String, String>> {
        let labels = [(DRIVER_LABEL, &self.driver), (MANAGED_BY_LABEL, &self.instance)];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.clone()));
        self.owner.is_none().then(|| labels.into())
    }
}

/// The managed-by value of the instance on a node. Shortened as by external-provisioner if it is too long for a label; unique per node, and
/// the same after a restart.
fn managed_by_value(node: &str) -> String {
    let whole = format!("{CENTRAL}-{node}");
    let infix = truncation_infix();
    match LABEL_LENGTH_MAX.checked_sub(node.len() + infix.len()) {
        _ if whole.len() <= LABEL_LENGTH_MAX => whole,
        Some(room @ 1..) => format!("{}{infix}{node}", &CENTRAL[..room.min(CENTRAL.len())]),
        _ => format!("{CENTRAL}-{:08x}", fnv1a(&whole)),
    }
}

/// The text that replaces the truncated part of a managed-by value that is too long for a label; equal for all nodes.
fn truncation_infix() -> String {
    format!("-{:08x}-", fnv1a(CENTRAL))
}

fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl Key {
    /// The key of an existing object: StorageClass and topology. `form`: how this publisher writes selectors.
    pub(crate) fn of(object: &CSIStorageCapacity, form: SelectorForm) -> Key {
        Key {
            class: object.storage_class_name.as_str().into(),
            topology: KeyTopology::of(object.node_topology.as_ref(), form),
        }
    }
}

impl KeyTopology {
    /// The segment in a selector that has the form `form`. As in external-provisioner, a publisher that writes `matchLabels` replaces an
    /// object with `matchExpressions`.
    fn of(selector: Option<&LabelSelector>, form: SelectorForm) -> KeyTopology {
        let has_expressions = selector.is_some_and(|it| it.match_expressions.is_some());
        let is_own_form = form == SelectorForm::Expressions || !has_expressions;
        segment_of_selector(selector).filter(|_| is_own_form).map_or_else(
            || KeyTopology::Other(format!("{selector:?}")),
            |segment| KeyTopology::Segment(Arc::new(segment)),
        )
    }
}

impl fmt::Display for KeyTopology {
    /// Formats the segment as `key=value,…`, sorted; empty for all nodes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyTopology::Other(text) => out.write_str(text),
            KeyTopology::Segment(segment) => {
                for (index, (key, value)) in segment.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(out, "{comma}{key}={value}")?;
                }
                Ok(())
            }
        }
    }
}

/// The segment in a selector with `matchLabels` or `matchExpressions`. `None` if the selector does not represent a segment.
fn segment_of_selector(selector: Option<&LabelSelector>) -> Option<Segment> {
    let LabelSelector {
        match_labels,
        match_expressions,
    } = selector?;
    as_labels(match_labels.as_ref(), match_expressions.as_ref())
}

/// The segment of an object. `None` if its `nodeTopology` does not represent a segment.
pub(crate) fn segment_of(object: &CSIStorageCapacity) -> Option<Segment> {
    segment_of_selector(object.node_topology.as_ref())
}

pub(crate) fn build_object(
    by: &ManagedBy,
    class: &str,
    segment: &Segment,
    values: CapacityBytes,
    owner: Option<&OwnerReference>,
) -> CSIStorageCapacity {
    let selector = LabelSelector {
        match_labels: (!segment.is_empty()).then(|| segment.clone()),
        ..Default::default()
    };
    CSIStorageCapacity {
        metadata: ObjectMeta {
            generate_name: Some("csisc-".to_owned()),
            labels: by.labels(),
            owner_references: owner.map(|owner| vec![owner.clone()]),
            ..Default::default()
        },
        storage_class_name: class.to_owned(),
        node_topology: Some(selector),
        capacity: Some(quantity::from_bytes(values.capacity)),
        maximum_volume_size: values.maximum_volume_size.map(quantity::from_bytes),
    }
}

/// Whether an object already has these capacity values and this owner. Quantities are equal if their values in bytes are.
pub(crate) fn is_current(
    object: &CSIStorageCapacity,
    values: CapacityBytes,
    owner: Option<&OwnerReference>,
) -> bool {
    let capacity = object
        .capacity
        .as_ref()
        .is_some_and(|capacity| quantity::equals_bytes(capacity, values.capacity));
    let maximum = match (&object.maximum_volume_size, values.maximum_volume_size) {
        (None, None) => true,
        (Some(published), Some(bytes)) => quantity::equals_bytes(published, bytes),
        _ => false,
    };
    capacity && maximum && owner.is_none_or(|owner| has_owner(object, owner))
}

/// A copy of the object with these capacity values and this owner. Another controlling owner is removed: an object can have only one.
pub(crate) fn with_capacity_and_owner(
    object: &CSIStorageCapacity,
    values: CapacityBytes,
    owner: Option<&OwnerReference>,
) -> CSIStorageCapacity {
    let mut object = object.clone();
    object.capacity = Some(quantity::from_bytes(values.capacity));
    object.maximum_volume_size = values.maximum_volume_size.map(quantity::from_bytes);
    if let Some(owner) = owner.filter(|owner| !has_owner(&object, owner)) {
        let owners = object.metadata.owner_references.get_or_insert_default();
        owners.retain(|other| other.controller != Some(true));
        owners.push(owner.clone());
    }
    object
}

fn has_owner(object: &CSIStorageCapacity, owner: &OwnerReference) -> bool {
    object
        .metadata
        .owner_references
        .iter()
        .flatten()
        .any(|other| other.uid == owner.uid)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::LabelSelectorRequirement};
    use proptest::prelude::*;

    use super::*;

    fn segment(pairs: &[(&str, &str)]) -> Segment {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn owner(uid: &str) -> OwnerReference {
        OwnerReference {
            uid: uid.to_owned(),
            controller: Some(true),
            ..Default::default()
        }
    }

    fn central() -> ManagedBy {
        ManagedBy::new("disk.example.com", None)
    }

    const GIB: CapacityBytes = CapacityBytes {
        capacity: 1 << 30,
        maximum_volume_size: None,
    };

    #[test]
    fn the_key_of_a_new_object_is_the_key_it_was_created_for() {
        for desired in [
            segment(&[]),
            segment(&[("zone", "a")]),
            segment(&[("rack", "1"), ("zone", "a")]),
        ] {
            let object = build_object(&central(), "fast", &desired, GIB, None);
            let topology = KeyTopology::Segment(Arc::new(desired));
            let class = "fast".into();
            assert_eq!(Key::of(&object, SelectorForm::Labels), Key { class, topology });
            assert!(central().owns(&object));
            assert!(!ManagedBy::new("disk.example.com", Some("n1")).owns(&object));
        }
    }

    #[test]
    fn only_selectors_in_the_publishers_form_are_segments() {
        assert_eq!(
            KeyTopology::of(Some(&LabelSelector::default()), SelectorForm::Labels),
            KeyTopology::Segment(Arc::default())
        );
        let expression = LabelSelectorRequirement {
            key: "zone".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec!["a".to_owned()]),
        };
        let with_expression = LabelSelector {
            match_labels: Some(segment(&[("zone", "a")])),
            match_expressions: Some(vec![expression]),
        };
        assert_eq!(
            KeyTopology::of(Some(&with_expression), SelectorForm::Expressions),
            KeyTopology::Segment(Arc::new(segment(&[("zone", "a")])))
        );
        for other in [None, Some(&with_expression)] {
            assert!(
                matches!(
                    KeyTopology::of(other, SelectorForm::Labels),
                    KeyTopology::Other(_)
                ),
                "{other:?}"
            );
        }
    }

    #[test]
    fn quantities_are_compared_by_value() {
        let mut object = build_object(&central(), "fast", &segment(&[]), GIB, None);
        assert!(is_current(&object, GIB, None));
        object.capacity = Some(Quantity("1024Mi".to_owned()));
        assert!(is_current(&object, GIB, None), "another notation is not a change");
        assert!(!is_current(
            &object,
            CapacityBytes {
                capacity: (1 << 30) + 1,
                ..GIB
            },
            None
        ));
        let zero = CapacityBytes {
            maximum_volume_size: Some(0),
            ..GIB
        };
        assert!(
            !is_current(&object, zero, None),
            "an explicit 0 differs from unset"
        );
        object = with_capacity_and_owner(&object, zero, None);
        assert_eq!(object.maximum_volume_size, Some(Quantity("0".to_owned())));
        assert!(is_current(&object, zero, None) && !is_current(&object, GIB, None));
        object = with_capacity_and_owner(&object, GIB, None);
        assert_eq!(object.maximum_volume_size, None);
        object.capacity = None;
        assert!(
            !is_current(&object, GIB, None),
            "an object without capacity is updated"
        );
    }

    #[test]
    fn the_owner_is_added_and_replaces_another_controller() {
        let mut plain = owner("bystander");
        plain.controller = None;
        let mut object = build_object(&central(), "fast", &segment(&[]), GIB, Some(&owner("old")));
        object
            .metadata
            .owner_references
            .get_or_insert_default()
            .push(plain.clone());
        assert!(
            is_current(&object, GIB, None),
            "without a desired owner the owners are unchanged"
        );
        assert!(!is_current(&object, GIB, Some(&owner("new"))));
        let object = with_capacity_and_owner(&object, GIB, Some(&owner("new")));
        assert_eq!(object.metadata.owner_references, Some(vec![plain, owner("new")]));
        assert!(is_current(&object, GIB, Some(&owner("new"))));
    }

    #[test]
    fn with_an_owner_labels_are_ignored() {
        let by = central().owned_by(Some(&owner("us")));
        assert_eq!(by.selector(), None);
        let ours = build_object(&by, "fast", &segment(&[]), GIB, Some(&owner("us")));
        assert_eq!(ours.metadata.labels, None);
        assert!(by.owns(&ours) && !central().owns(&ours));
        let labelled = build_object(&central(), "fast", &segment(&[]), GIB, None);
        assert!(!by.owns(&labelled) && central().owns(&labelled));
        let mut aside = ours;
        for owner in aside.metadata.owner_references.iter_mut().flatten() {
            owner.controller = None;
        }
        assert!(!by.owns(&aside), "an owner that is not the controller");
    }

    #[test]
    fn managed_by_values_are_shortened_as_upstream() {
        let instance = |node: &str| ManagedBy::new("d", Some(node)).instance;
        assert_eq!(instance("n1"), "external-provisioner-n1");
        assert_eq!(
            instance(&"n".repeat(42)),
            format!("external-provisioner-{}", "n".repeat(42))
        );
        assert_eq!(
            instance(&"n".repeat(43)),
            format!("external-p-53f40b57-{}", "n".repeat(43))
        );
        assert_eq!(
            instance(&"n".repeat(52)),
            format!("e-53f40b57-{}", "n".repeat(52))
        );
        assert_eq!(instance(&"n".repeat(53)).len(), "external-provisioner-".len() + 8);
        for other in [
            "external-provisioner",
            "external-provisioner-",
            "another-client",
            "x-53f40b57-n",
        ] {
            assert!(!ManagedBy::is_distributed_instance(other), "{other}");
        }
    }

    #[test]
    fn only_driver_parameters_are_passed_to_the_driver() {
        let parameters = segment(&[("kind", "fast"), ("csi.storage.k8s.io/fstype", "xfs")]);
        let class = StorageClass {
            parameters: Some(parameters),
            ..Default::default()
        };
        assert_eq!(parameters_for_driver(&class), segment(&[("kind", "fast")]));
    }

    proptest! {
        #[test]
        fn managed_by_values_are_unique_label_values(length in 1..254usize, other in 1..254usize) {
            let instance = |length| ManagedBy::new("d", Some(&"n".repeat(length))).instance;
            prop_assert!(instance(length).len() <= LABEL_LENGTH_MAX);
            prop_assert!(ManagedBy::is_distributed_instance(&instance(length)));
            prop_assert_eq!(instance(length) == instance(other), length == other);
        }
    }
}

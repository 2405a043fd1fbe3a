//! What a CSIStorageCapacity object should look like, and what an existing one means. Pure: objects in, objects and answers out.

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use std::{collections::BTreeMap, fmt, sync::Arc};

use capacity_types::{SIDECAR_PREFIX, Segment};
use k8s_openapi::{
    api::storage::v1::{CSIStorageCapacity, StorageClass},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};

use crate::{
    dialect::{SelectorForm, as_labels},
    quantity,
};

/// The value that the central instance of external-provisioner gives to [`MANAGED_BY_LABEL`].
const CENTRAL: &str = "external-provisioner";

/// Longest value of a label.
const LABEL_LENGTH_MAX: usize = 63;

/// How we recognize our objects: by the labels for driver and manager, or by their controlling owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagedBy {
    pub(crate) driver: String,
    pub(crate) instance: String,
    /// Uid of the owner whose objects are ours, whatever their labels; they get none then (external-provisioner 2.0.0).
    owner: Option<String>,
}

/// What one object is about; there should be one object for each wanted key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) class: Arc<str>,
    pub(crate) place: Place,
}

/// What the node topology of an object means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// Exactly the nodes of a segment; the empty segment is all nodes.
    Segment(Arc<Segment>),
    /// Anything else: no selector at all (no nodes), or one that we never write. Such an object is not wanted.
    Other(String),
}

/// The numbers of an object, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) capacity: u64,
    pub(crate) maximum: Option<u64>,
}

/// Whether objects are published for a class: it is of this driver, and its volumes wait for a consumer or `immediate` is chosen.
pub(crate) fn is_publishable(class: &StorageClass, driver: &str, immediate: bool) -> bool {
    class.provisioner == driver && (immediate || class.volume_binding_mode.as_deref() != Some("Immediate"))
}

/// The parameters of a class for the driver (CSI: CreateVolume and GetCapacity get the same ones).
pub(crate) fn parameters_for_driver(class: &StorageClass) -> BTreeMap<String, String> {
    let all = class.parameters.iter().flatten();
    all.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

impl ManagedBy {
    /// The central instance (`node` is `None`) or the instance of a node in distributed mode.
    pub(crate) fn new(driver: &str, node: Option<&str>) -> ManagedBy {
        let instance = node.map_or_else(|| CENTRAL.to_owned(), instance_on);
        ManagedBy {
            driver: driver.to_owned(),
            instance,
            owner: None,
        }
    }

    /// The same, with another way to shorten the label of a long node name.
    pub(crate) fn hashed(mut self, node: Option<&str>) -> ManagedBy {
        if let Some(node) = node.filter(|node| Self::is_shortened(node)) {
            self.instance = format!("{CENTRAL}-{:08x}{:08x}", fnv1a(node), fnv1a(&node[1..]));
        }
        self
    }

    /// Whether the label of the instance on a node does not have the whole name of the node.
    pub(crate) fn is_shortened(node: &str) -> bool {
        CENTRAL.len() + 1 + node.len() > LABEL_LENGTH_MAX
    }

    /// Our objects are those that this owner controls; with none, those with our labels.
    pub(crate) fn owned_by(self, owner: Option<&OwnerReference>) -> ManagedBy {
        let owner = owner.map(|owner| owner.uid.clone());
        ManagedBy { owner, ..self }
    }

    /// Selects our objects on the server; it cannot select by owner.
    pub(crate) fn selector(&self) -> Option<String> {
        let ManagedBy { driver, instance, .. } = self;
        let by_labels = || format!("{DRIVER_LABEL}={driver},{MANAGED_BY_LABEL}={instance}");
        self.owner.is_none().then(by_labels)
    }

    /// Whether an object is ours.
    pub(crate) fn owns(&self, object: &CSIStorageCapacity) -> bool {
        if let Some(uid) = &self.owner {
            let mut owners = object.metadata.owner_references.iter().flatten();
            return owners.any(|owner| owner.controller == Some(true) && owner.uid == *uid);
        }
        let label = |key| object.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        label(DRIVER_LABEL) == Some(&self.driver) && label(MANAGED_BY_LABEL) == Some(&self.instance)
    }

    /// Whether an instance is that of a node, in distributed mode.
    pub(crate) fn is_of_a_node(instance: &str) -> bool {
        let infix = infix();
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

/// The managed-by value on a node, shortened like upstream does so that it stays a label value, unique for each node, and the same after
/// a restart.
fn instance_on(node: &str) -> String {
    let whole = format!("{CENTRAL}-{node}");
    let infix = infix();
    match LABEL_LENGTH_MAX.checked_sub(node.len() + infix.len()) {
        _ if whole.len() <= LABEL_LENGTH_MAX => whole,
        Some(room @ 1..) => format!("{}{infix}{node}", &CENTRAL[..room.min(CENTRAL.len())]),
        _ => format!("{CENTRAL}-{:08x}", fnv1a(&whole)),
    }
}

/// Stands where the name of the central instance was cut off.
fn infix() -> String {
    format!("-{:08x}-", fnv1a(CENTRAL))
}

/// FNV-1a of 32 bits.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl Key {
    /// What an existing object is about.
    pub(crate) fn of(object: &CSIStorageCapacity, form: SelectorForm) -> Key {
        Key {
            class: object.storage_class_name.as_str().into(),
            place: Place::of(object.node_topology.as_ref(), form),
        }
    }
}

impl Place {
    /// The segment that a selector means, where it is written in the form of this publisher. Like external-provisioner, one that writes labels
    /// replaces an object with expressions.
    fn of(selector: Option<&LabelSelector>, form: SelectorForm) -> Place {
        let has_expressions = selector.is_some_and(|it| it.match_expressions.is_some());
        let is_own_form = form == SelectorForm::Expressions || !has_expressions;
        selected(selector).filter(|_| is_own_form).map_or_else(
            || Place::Other(format!("{selector:?}")),
            |segment| Place::Segment(Arc::new(segment)),
        )
    }
}

impl fmt::Display for Place {
    /// `key=value,…`, in order; empty for all nodes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Other(text) => out.write_str(text),
            Place::Segment(segment) => {
                for (index, (key, value)) in segment.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(out, "{comma}{key}={value}")?;
                }
                Ok(())
            }
        }
    }
}

/// The segment that a selector means, in whichever form it is written; none: no segment.
fn selected(selector: Option<&LabelSelector>) -> Option<Segment> {
    let LabelSelector {
        match_labels,
        match_expressions,
    } = selector?;
    as_labels(match_labels.as_ref(), match_expressions.as_ref())
}

/// The segment of an object; none: its selector means none.
pub(crate) fn segment_of(object: &CSIStorageCapacity) -> Option<Segment> {
    selected(object.node_topology.as_ref())
}

/// A new object for a class and segment.
pub(crate) fn object(
    by: &ManagedBy,
    class: &str,
    segment: &Segment,
    values: Values,
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
        maximum_volume_size: values.maximum.map(quantity::from_bytes),
    }
}

/// Whether an object already says all this; numbers are compared by value.
pub(crate) fn is_current(
    object: &CSIStorageCapacity,
    values: Values,
    owner: Option<&OwnerReference>,
) -> bool {
    let capacity = object
        .capacity
        .as_ref()
        .is_some_and(|capacity| quantity::equals_bytes(capacity, values.capacity));
    let maximum = match (&object.maximum_volume_size, values.maximum) {
        (None, None) => true,
        (Some(published), Some(bytes)) => quantity::equals_bytes(published, bytes),
        _ => false,
    };
    capacity && maximum && owner.is_none_or(|owner| has_owner(object, owner))
}

/// The same object, saying this. Another controlling owner gives way to ours: there can be only one.
pub(crate) fn updated(
    object: &CSIStorageCapacity,
    values: Values,
    owner: Option<&OwnerReference>,
) -> CSIStorageCapacity {
    let mut object = object.clone();
    object.capacity = Some(quantity::from_bytes(values.capacity));
    object.maximum_volume_size = values.maximum.map(quantity::from_bytes);
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

    const GIB: Values = Values {
        capacity: 1 << 30,
        maximum: None,
    };

    #[test]
    fn an_object_reads_back_as_its_key() {
        for wanted in [
            segment(&[]),
            segment(&[("zone", "a")]),
            segment(&[("rack", "1"), ("zone", "a")]),
        ] {
            let object = object(&central(), "fast", &wanted, GIB, None);
            let place = Place::Segment(Arc::new(wanted));
            let class = "fast".into();
            assert_eq!(Key::of(&object, SelectorForm::Labels), Key { class, place });
            assert!(central().owns(&object));
            assert!(!ManagedBy::new("disk.example.com", Some("n1")).owns(&object));
        }
    }

    #[test]
    fn a_selector_is_a_segment_in_the_form_of_the_publisher() {
        assert_eq!(
            Place::of(Some(&LabelSelector::default()), SelectorForm::Labels),
            Place::Segment(Arc::default())
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
            Place::of(Some(&with_expression), SelectorForm::Expressions),
            Place::Segment(Arc::new(segment(&[("zone", "a")])))
        );
        for other in [None, Some(&with_expression)] {
            assert!(
                matches!(Place::of(other, SelectorForm::Labels), Place::Other(_)),
                "{other:?}"
            );
        }
    }

    #[test]
    fn numbers_decide_about_an_update() {
        let mut object = object(&central(), "fast", &segment(&[]), GIB, None);
        assert!(is_current(&object, GIB, None));
        object.capacity = Some(Quantity("1024Mi".to_owned()));
        assert!(is_current(&object, GIB, None), "another notation is no change");
        assert!(!is_current(
            &object,
            Values {
                capacity: (1 << 30) + 1,
                ..GIB
            },
            None
        ));
        let zero = Values {
            maximum: Some(0),
            ..GIB
        };
        assert!(
            !is_current(&object, zero, None),
            "an explicit 0 is not the same as none"
        );
        object = updated(&object, zero, None);
        assert_eq!(object.maximum_volume_size, Some(Quantity("0".to_owned())));
        assert!(is_current(&object, zero, None) && !is_current(&object, GIB, None));
        object = updated(&object, GIB, None);
        assert_eq!(object.maximum_volume_size, None);
        object.capacity = None;
        assert!(
            !is_current(&object, GIB, None),
            "an object without capacity is filled"
        );
    }

    #[test]
    fn an_owner_is_added_and_replaces_another_controller() {
        let mut plain = owner("bystander");
        plain.controller = None;
        let mut object = object(&central(), "fast", &segment(&[]), GIB, Some(&owner("old")));
        object
            .metadata
            .owner_references
            .get_or_insert_default()
            .push(plain.clone());
        assert!(
            is_current(&object, GIB, None),
            "no owner wanted leaves owners alone"
        );
        assert!(!is_current(&object, GIB, Some(&owner("new"))));
        let object = updated(&object, GIB, Some(&owner("new")));
        assert_eq!(object.metadata.owner_references, Some(vec![plain, owner("new")]));
        assert!(is_current(&object, GIB, Some(&owner("new"))));
    }

    #[test]
    fn with_an_owner_labels_mean_nothing() {
        let by = central().owned_by(Some(&owner("us")));
        assert_eq!(by.selector(), None);
        let ours = object(&by, "fast", &segment(&[]), GIB, Some(&owner("us")));
        assert_eq!(ours.metadata.labels, None);
        assert!(by.owns(&ours) && !central().owns(&ours));
        let labelled = object(&central(), "fast", &segment(&[]), GIB, None);
        assert!(!by.owns(&labelled) && central().owns(&labelled));
        let mut aside = ours;
        for owner in aside.metadata.owner_references.iter_mut().flatten() {
            owner.controller = None;
        }
        assert!(!by.owns(&aside), "an owner that does not control");
    }

    #[test]
    fn instance_names_are_shortened_like_upstream() {
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
            "somebody",
            "x-53f40b57-n",
        ] {
            assert!(!ManagedBy::is_of_a_node(other), "{other}");
        }
    }

    #[test]
    fn only_parameters_of_the_driver_are_passed_on() {
        let parameters = segment(&[("kind", "fast"), ("csi.storage.k8s.io/fstype", "xfs")]);
        let class = StorageClass {
            parameters: Some(parameters),
            ..Default::default()
        };
        assert_eq!(parameters_for_driver(&class), segment(&[("kind", "fast")]));
    }

    proptest! {
        #[test]
        fn instance_names_are_label_values_and_differ(length in 1..254usize, other in 1..254usize) {
            let instance = |length| ManagedBy::new("d", Some(&"n".repeat(length))).instance;
            prop_assert!(instance(length).len() <= LABEL_LENGTH_MAX);
            prop_assert!(ManagedBy::is_of_a_node(&instance(length)));
            prop_assert_eq!(instance(length) == instance(other), length == other);
        }
    }
}

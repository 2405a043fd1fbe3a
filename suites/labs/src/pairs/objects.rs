//! Determines the values of a case on the axes for existing capacity objects: objects of an earlier publisher or of other clients, and
//! changes by other clients.

use std::collections::{BTreeMap, BTreeSet};

use suites::harness::plan::{ActionSpec, CapacityAction};
use suites::harness::scenario::{Bytes, CapacitySpec, NodeSpec, Role, Size};

use super::case::Case;

const MANAGED_BY: &str = "csi.storage.k8s.io/managed-by";
const DRIVER_NAME: &str = "csi.storage.k8s.io/drivername";
/// Value of the label `csi.storage.k8s.io/managed-by`; in distributed mode followed by the node name.
const PUBLISHER: &str = "external-provisioner";

pub(super) fn prior_object_values(case: &Case<'_>) -> BTreeSet<&'static str> {
    let stored = ObjectClassifier::of(case);
    let mut values = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for capacity in case.capacities() {
        let kind = stored.prior_value(capacity);
        values.insert(kind);
        let key_of_object = (
            &capacity.class,
            capacity.segment.as_deref().map(|it| stored.segment_with_keys(it)),
        );
        if kind != ANOTHER_CLIENT && !seen.insert(key_of_object) {
            values.insert("duplicate");
        }
    }
    if values.is_empty() {
        values.insert("none");
    }
    let is_again = case.stops_publisher() && case.starts_publisher();
    if case.has(Role::Publisher) && (is_again || case.cluster.publisher.replicas.is_some()) {
        values.insert("own earlier life");
    }
    for action in &case.actions {
        match action {
            ActionSpec::Capacity(CapacityAction::Delete { .. }) => drop(values.insert("deleted meanwhile")),
            ActionSpec::Capacity(CapacityAction::Edit { merge, .. }) => {
                values.insert("edited meanwhile");
                if merge["metadata"]["ownerReferences"].is_array() {
                    values.insert("wrong owner");
                }
            }
            _ => {}
        }
    }
    values
}

const ANOTHER_CLIENT: &str = "of another client";

/// Determines the axis value of each existing capacity object of a case.
struct ObjectClassifier<'a> {
    case: &'a Case<'a>,
    classes: BTreeSet<String>,
    keys: Vec<String>,
    segments: BTreeSet<String>,
    /// Capacity and maximum volume size by topology segment.
    pools: BTreeMap<String, CapacityValues>,
}

impl<'a> ObjectClassifier<'a> {
    fn of(case: &'a Case<'a>) -> Self {
        let driver = &case.cluster.driver;
        let of_driver = || vec![format!("{}/node", driver.name)];
        let mut stored = ObjectClassifier {
            case,
            classes: case.own_classes(),
            keys: driver.topology_keys.clone().unwrap_or_else(of_driver),
            segments: BTreeSet::new(),
            pools: BTreeMap::new(),
        };
        let nodes = &case.cluster.nodes;
        stored.segments = nodes.iter().map(|node| stored.segment(node)).collect();
        let pools = case.cluster.backend.iter();
        stored.pools = pools
            .map(|(name, pool)| {
                let count = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| bytes.count().into());
                (
                    stored.segment_with_keys(name),
                    (count(&pool.value.capacity), count(&pool.value.maximum)),
                )
            })
            .collect();
        stored
    }

    fn segment(&self, node: &NodeSpec) -> String {
        let value = |key: &String| node.labels.get(key).cloned().flatten();
        let label = |key| format!("{key}={}", value(key).unwrap_or_else(|| node.name.clone()));
        join_sorted(self.keys.iter().map(label))
    }

    /// Converts a segment of a case file to sorted `key=value` labels. A bare value is used for each of the driver's topology keys.
    fn segment_with_keys(&self, name: &str) -> String {
        if name == "*" {
            return self
                .keys
                .is_empty()
                .then(String::new)
                .unwrap_or_else(|| name.to_owned());
        }
        match name.contains('=') {
            true => join_sorted(name.split(',').map(str::to_owned)),
            false => join_sorted(self.keys.iter().map(|key| format!("{key}={name}"))),
        }
    }

    fn prior_value(&self, capacity: &CapacitySpec) -> &'static str {
        if !self.is_managed(capacity) {
            return ANOTHER_CLIENT;
        }
        if !self.classes.contains(&capacity.class) {
            return "obsolete class";
        }
        let segment = capacity
            .segment
            .as_deref()
            .map(|segment| self.segment_with_keys(segment));
        if segment.as_ref().is_some_and(|it| !self.segments.contains(it)) {
            return "obsolete segment";
        }
        let topology = capacity.topology.as_ref();
        if capacity.capacity.is_none() || topology.is_some_and(|it| it["matchExpressions"].is_array()) {
            return "malformed";
        }
        let pool = segment.and_then(|segment| self.pools.get(&segment));
        let bytes = |size: &Option<Size>| size.as_ref().map(Size::bytes);
        let same = pool == Some(&(bytes(&capacity.capacity), bytes(&capacity.maximum)));
        if same { "exact" } else { "stale" }
    }

    /// Whether the capacity object has the labels of the publisher under test.
    fn is_managed(&self, capacity: &CapacitySpec) -> bool {
        let by = capacity.labels.get(MANAGED_BY);
        let of_driver = capacity.labels.get(DRIVER_NAME) == Some(&self.case.cluster.driver.name);
        match by {
            Some(by) => (capacity.managed || of_driver) && by.starts_with(PUBLISHER),
            None => capacity.managed,
        }
    }
}

/// Capacity and maximum volume size of a segment, in bytes.
type CapacityValues = (Option<i128>, Option<i128>);

fn join_sorted(labels: impl Iterator<Item = String>) -> String {
    let labels: BTreeSet<String> = labels.collect();
    labels.into_iter().collect::<Vec<_>>().join(",")
}

//! Evaluates the flat design (one object per class and segment) with the filter of the reference scheduler. Does not know other designs.

use std::sync::Arc;

use capacity_scheduler::capacity_check::{self, Demand, Sufficiency};
use capacity_scheduler::objects::{Capacity, ObjectKey};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use capacity_types::{Expression, LabelSelector, NodeTopology, Quantity};

use super::input_cluster::{InputCluster, Node, VolumeRequest};
use super::model::FlatCapacity;
use crate::study::cluster;

pub(super) fn snapshot(cluster: &InputCluster, objects: &[FlatCapacity]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for class in &cluster.classes {
        snapshot.classes.put(cluster::class(&class.name, &class.driver));
    }
    for driver in &cluster.drivers {
        let tracks = cluster.tracks(&driver.name);
        snapshot.drivers.put(cluster::driver(&driver.name, tracks));
    }
    for object in objects {
        snapshot.capacities.put(Arc::new(to_scheduler_capacity(object)));
    }
    snapshot
}

fn to_scheduler_capacity(object: &FlatCapacity) -> Capacity {
    let topology = object.node_topology.as_ref().map(|topology| {
        let expressions = topology.match_expressions.iter().map(|it| Expression {
            key: &it.key,
            operator: &it.operator,
            values: &it.values,
        });
        LabelSelector::compile(&topology.match_labels, expressions)
    });
    let quantity = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<Quantity>().ok());
    Capacity {
        maximum: quantity(&object.maximum_volume_size),
        capacity: quantity(&object.capacity),
        ..cluster::capacity(
            &object.metadata.name,
            &object.storage_class_name,
            NodeTopology::new(topology),
            None,
        )
    }
}

/// Whether the filter accepts a claim on a node; `None` for an inline volume, which the filter does not check.
pub(super) fn admits(snapshot: &Snapshot, volume_request: &VolumeRequest, node: &Node) -> Option<bool> {
    let name = volume_request.class.as_deref()?;
    let class = snapshot.classes.get(&ObjectKey::cluster(name))?;
    let rules = Rules::default();
    let claim = cluster::claim("claim", name, volume_request.bytes);
    let demand = Demand::of(snapshot, &rules, &claim, class);
    let node = cluster::node(&node.name, node.labels.clone());
    let found = capacity_check::check_capacity(snapshot, &rules, &demand, class, &node.labels);
    Some(found != Sufficiency::NotEnough)
}

//! Number of capacity objects that a scheduler reads for one claim on all nodes: with a scan, and with an index on labels.

use std::sync::Arc;

use capacity_scheduler::capacity_index::CapacityIndex;
use capacity_scheduler::node_labels::NodeLabels;
use capacity_scheduler::store::Collection;
use capacity_types::Labels;

use crate::study::cluster;

const CLASSES: [&str; 2] = ["fast", "slow"];

/// Numbers of capacity objects read by a full scan and by the index of the reference scheduler, in a cluster with one object per node and
/// class, for two classes.
pub(super) fn objects_read(nodes: usize) -> (usize, usize) {
    let mut index = CapacityIndex::default();
    let labels: Vec<Labels> = (0..nodes)
        .map(|node| [("node".to_owned(), format!("n{node}"))].into())
        .collect();
    for (number, labels) in labels.iter().enumerate() {
        for class in CLASSES {
            let topology = cluster::topology_with_labels(labels);
            let name = format!("{class}-{number}");
            index.put(Arc::new(cluster::capacity(&name, class, topology, Some(1))));
        }
    }
    let of_class = index.of_class(CLASSES[0]);
    let indexed = labels.into_iter().map(|labels| {
        let labels = NodeLabels::from(labels);
        of_class.map_or(0, |it| {
            it.candidates(&labels).map(|group| group.iter().count()).sum()
        })
    });
    (nodes * index.len(), indexed.sum())
}

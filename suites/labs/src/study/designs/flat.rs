//! The flat design, one capacity object per class and segment: converts the storage of a cluster to objects.

use super::conversion::{Inexpressible, classes_of, selector};
use super::input_cluster::{InputCluster, Pool};
use super::model::{FlatCapacity, LabelTopology, Metadata};
use super::selector::{NodeSelector, Term};

/// Operators that node selectors have and label selectors lack.
const ORDERING: [&str; 2] = ["Gt", "Lt"];

/// Converts the storage of a cluster to CSIStorageCapacity objects.
pub(super) fn publish(cluster: &InputCluster) -> Result<Vec<FlatCapacity>, Inexpressible> {
    let mut objects = Vec::new();
    for pool in &cluster.pools {
        let topologies = topologies(pool)?;
        for capacity in &pool.capacities {
            for class in classes_of(cluster, pool, capacity) {
                for topology in &topologies {
                    let total = capacity.total.unwrap_or(capacity.bytes);
                    objects.push(FlatCapacity {
                        metadata: Metadata::stored("csisc", objects.len(), Some("default")),
                        storage_class_name: class.to_owned(),
                        node_topology: Some(topology.clone()),
                        capacity: Some(total.to_string()),
                        maximum_volume_size: capacity.total.map(|_| capacity.bytes.to_string()),
                    });
                }
            }
        }
    }
    Ok(objects)
}

fn topologies(pool: &Pool) -> Result<Vec<LabelTopology>, Inexpressible> {
    match selector(&pool.node_access) {
        None => Ok(vec![LabelTopology::default()]),
        Some(selector) => topologies_of_terms(&selector),
    }
}

/// One label selector per term of the node selector, because label selectors have no OR.
fn topologies_of_terms(selector: &NodeSelector) -> Result<Vec<LabelTopology>, Inexpressible> {
    selector
        .node_selector_terms
        .iter()
        .map(topology_of_term)
        .collect()
}

fn topology_of_term(term: &Term) -> Result<LabelTopology, Inexpressible> {
    let mut topology = LabelTopology::default();
    for expression in &term.match_expressions {
        if ORDERING.contains(&expression.operator.as_str()) {
            return Err(Inexpressible::Ordering);
        }
        match expression.values.as_slice() {
            // The label is put into `matchLabels`, as publishers do, unless `matchLabels` already contains the key.
            [value]
                if expression.operator == "In" && !topology.match_labels.contains_key(&expression.key) =>
            {
                topology
                    .match_labels
                    .insert(expression.key.clone(), value.clone());
            }
            _ => topology.match_expressions.push(expression.clone()),
        }
    }
    Ok(topology)
}

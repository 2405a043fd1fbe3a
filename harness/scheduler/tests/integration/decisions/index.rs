//! Tests that the index returns the same objects as a scan of all objects. The clusters are random, with all operators, unset, empty and
//! invalid topologies, duplicates, changes of class, size and topology, and deletions.

use std::sync::Arc;

use capacity_scheduler::capacity_check::{self, Demand, Sufficiency};
use capacity_scheduler::capacity_index::CapacityIndex;
use capacity_scheduler::cycle;
use capacity_scheduler::naive;
use capacity_scheduler::node_labels::NodeLabels;
use capacity_scheduler::objects::{Capacity, Object, ObjectKey};
use capacity_scheduler::rules::{Choice, Rules};
use capacity_scheduler::store::Collection;
use capacity_types::{ByteConversion, Labels, Quantity};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::test_cluster::TestCluster;

const OPERATORS: [&str; 6] = ["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt"];
const SIZES: [&str; 7] = ["0", "1", "2", "3", "1500m", "3Ki", "100E"];

fn values() -> impl Strategy<Value = Value> {
    vec("[xyz]", 0..3).prop_map(|values| json!(values))
}

/// Generates selector expressions. Most are valid; current API servers reject the invalid ones, but earlier releases may have stored them.
fn expression() -> impl Strategy<Value = Value> {
    ("[abc]", select(&OPERATORS[..]), values()).prop_map(|(key, operator, values)| {
        let values = if operator.ends_with("ist") || operator == "Exists" {
            Value::Null
        } else {
            values
        };
        json!({"key": key, "operator": operator, "values": values})
    })
}

fn topology() -> impl Strategy<Value = Value> {
    let selector = (btree_map("[abc]", "[xyz]", 0..3), vec(expression(), 0..3));
    prop_oneof![
        1 => Just(Value::Null),
        1 => Just(json!({})),
        6 => selector.prop_map(|(labels, expressions)| json!({"matchLabels": labels, "matchExpressions": expressions})),
    ]
}

fn size() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), select(&SIZES[..]).prop_map(|size| json!(size))]
}

fn object() -> impl Strategy<Value = CSIStorageCapacity> {
    let parts = ("[a-h]", select(&["fast", "slow"][..]), topology(), size(), size());
    parts.prop_map(|(name, class, topology, capacity, maximum)| {
        let source = json!({
            "metadata": {"name": name, "namespace": "driver"}, "storageClassName": class,
            "nodeTopology": topology, "capacity": capacity, "maximumVolumeSize": maximum,
        });
        serde_json::from_value(source).unwrap()
    })
}

fn nodes() -> impl Strategy<Value = Vec<Labels>> {
    vec(btree_map("[abc]", "[xyz]", 0..4), 1..5)
}

fn read(object: &CSIStorageCapacity) -> Arc<Capacity> {
    Arc::new(Capacity::read(object).unwrap())
}

fn name(object: &CSIStorageCapacity) -> &str {
    object.metadata.name.as_deref().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// After any sequence of puts, replacements and deletions, a node is feasible if and only if a scan finds a sufficient object.
    #[test]
    fn the_index_finds_the_same_nodes_as_a_scan(
        history in vec((object(), any::<bool>()), 0..24), nodes in nodes(), size in select(&["1", "2", "1501m", "3Ki"][..]),
    ) {
        let mut cluster = TestCluster::new(&[]);
        let mut left: Vec<CSIStorageCapacity> = Vec::new();
        for (object, goes) in &history {
            cluster.snapshot.capacities.put(read(object));
            left.retain(|old| name(old) != name(object));
            if *goes {
                cluster.snapshot.capacities.take(&ObjectKey::namespaced("driver", name(object)));
            } else {
                left.push(object.clone());
            }
        }
        for (index, labels) in nodes.iter().enumerate() {
            cluster.node(&format!("n{index}"), &json!({"labels": labels}), &Value::Null);
        }
        cluster.add_delayed_claim("data", "fast", size);
        let request: Quantity = size.parse().unwrap();
        let assessment = cycle::assess(&cluster.snapshot, &Rules::default(), &cluster.pod(json!({}))).unwrap();
        let feasible: Vec<_> = assessment.feasible.iter().map(|feasible| feasible.node.name().to_owned()).collect();
        let scanned: Vec<_> = nodes.iter().enumerate()
            .filter(|(_, labels)| naive::first_sufficient(&left, "fast", request, labels).is_some())
            .map(|(index, _)| format!("n{index}"))
            .collect();
        prop_assert_eq!(feasible, scanned);
        prop_assert_eq!(cluster.snapshot.capacities.len(), left.len());
    }

    /// The largest sufficient object is recorded, both by a search in index order and by a comparison of all objects.
    #[test]
    fn the_largest_object_is_recorded(objects in vec(object(), 0..24), labels in btree_map("[abc]", "[xyz]", 0..4)) {
        let mut cluster = TestCluster::new(&["n1"]);
        for object in &objects {
            cluster.snapshot.capacities.put(read(object));
        }
        let class = cluster.snapshot.class("fast").unwrap();
        let labels = NodeLabels::from(labels);
        let demand = Demand::Request("2".parse().unwrap());
        let found = |rules: &Rules| match capacity_check::check_capacity(&cluster.snapshot, rules, &demand, class, &labels) {
            Sufficiency::Enough(object) => Some(object),
            _ => None,
        };
        let bytes = |quantity: Quantity| quantity.bytes(ByteConversion::Exact);
        let limit = |object: &Capacity| object.largest_volume().map(bytes);
        let sufficient: Vec<_> = cluster.snapshot.capacities.iter().filter(|object| {
            object.class == "fast" && object.topology.admits(&labels) && limit(object) >= Some(2)
        }).collect();
        let largest = sufficient.iter().copied().max_by(|a, b| limit(a).cmp(&limit(b)).then(b.key.cmp(&a.key)));
        let recorded = found(&Rules::default());
        prop_assert_eq!(recorded.as_ref(), largest);
        // `Any` selects one of the sufficient objects; equal salts select the same object.
        for salt in 0..4 {
            let rules = Rules { choice: Choice::Any(salt), ..Rules::default() };
            let any = found(&rules);
            prop_assert_eq!(any.is_some(), largest.is_some());
            prop_assert!(any.iter().all(|any| sufficient.contains(&any)));
            prop_assert_eq!(&any, &found(&rules));
        }
    }

    /// After all objects are removed, the index is empty.
    #[test]
    fn an_index_without_objects_is_empty(objects in vec(object(), 0..24)) {
        let mut index = CapacityIndex::default();
        for object in &objects {
            index.put(read(object));
        }
        for key in index.keys() {
            prop_assert!(index.take(&key).is_some());
        }
        prop_assert!(index.is_empty() && index.of_class("fast").is_none() && index.of_class("slow").is_none());
    }
}

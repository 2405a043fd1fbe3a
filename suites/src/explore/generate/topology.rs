//! Topology of nodes in the case format: topology keys, labels, and the resulting segments.

use std::collections::{BTreeMap, BTreeSet};

use super::super::cluster::{Driver, Labels, Node};
use super::super::rng::SeededRng;

pub(super) const NODES: [&str; 5] = ["n1", "n2", "n3", "n4", "n5"];
/// Node names at three limits: a name of 42 characters fits after `external-provisioner-` in the publisher's label, a label value has at
/// most 63 characters, and a name at most 253.
pub(super) const LONG_NODES: [&str; 5] = [
    "n4-whose-name-is-longer-than-what-a-label-has-left",
    "n6-whose-name-has-as-many-characters-as-ax",
    "n7-whose-name-has-as-many-characters-as-a-x",
    "n8-whose-name-has-as-many-characters-as-a-limit-allows-for-namx",
    "n9-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
pub(super) const LABEL_MAX: usize = 63;
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
/// A second topology key.
pub(super) const RACK: &str = "rack";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// The segment of a driver without topology.
const EVERYWHERE: &str = "*";

const VALUES: [&str; 3] = ["a", "b", "c"];
const RACKS: [&str; 3] = ["r1", "r2", "r3"];

/// Random topology keys of a driver; `None` for the default key, whose values are node names.
pub(super) fn random_topology_keys(rng: &mut SeededRng) -> Option<Vec<String>> {
    let keys: &[&str] = match rng.below(16) {
        0..=7 => return None,
        8..=9 => &[ZONE],
        10 => &[OLD_REGION],
        11..=14 => &[ZONE, RACK],
        _ => &[],
    };
    Some(keys.iter().map(|key| (*key).to_owned()).collect())
}

/// The default topology key of a driver.
fn own_key(driver: &Driver) -> String {
    format!("{}/node", driver.name)
}

fn keys_of(driver: &Driver) -> Vec<String> {
    driver
        .topology_keys
        .clone()
        .unwrap_or_else(|| vec![own_key(driver)])
}

fn values_of(key: &str) -> &'static [&'static str; 3] {
    match key {
        RACK => &RACKS,
        _ => &VALUES,
    }
}

/// Random labels for some of the topology keys. `None` as value removes the label of a key.
pub(super) fn labels(rng: &mut SeededRng, driver: &Driver) -> Labels {
    let mut labels = Labels::new();
    for key in keys_of(driver) {
        // The default topology key needs no label here: its value is the node name.
        let is_own = key == own_key(driver);
        let value = match rng.below(10) {
            0 => None,
            1 => continue,
            _ if is_own => continue,
            _ => Some((*rng.pick(&values_of(&key)[..2])).to_owned()),
        };
        labels.insert(key, value);
    }
    labels
}

/// One or two values of a topology key of the driver; `None` if the driver has no topology keys.
pub(super) fn some_values(rng: &mut SeededRng, driver: &Driver) -> Option<(String, Vec<String>)> {
    let key = rng.pick_from_iter(keys_of(driver))?;
    let all = if key == own_key(driver) {
        &NODES[..3]
    } else {
        &values_of(&key)[..]
    };
    let first = rng.below(3) as usize;
    let values = all.iter().cycle().skip(first).take(rng.between(1, 2) as usize);
    Some((key, values.map(|value| (*value).to_owned()).collect()))
}

/// A new value for the label of a random topology key, or the removal of the label.
pub(super) fn relabelling(rng: &mut SeededRng, driver: &Driver) -> Option<Labels> {
    let key = rng.pick_from_iter(keys_of(driver))?;
    let value = (!rng.one_in(5)).then(|| (*rng.pick(values_of(&key))).to_owned());
    Some([(key, value)].into())
}

/// The segment of a node in the case format; `None` if the node lacks the label of a topology key.
pub(super) fn segment(node: &Node, driver: &Driver) -> Option<String> {
    if !node.registered {
        return None;
    }
    let keys = keys_of(driver);
    let value = |key: &String| match node.labels.get(key) {
        Some(label) => label.clone(),
        None => Some(node.name.clone()),
    };
    let pairs: BTreeMap<&String, Option<String>> = keys.iter().map(|key| (key, value(key))).collect();
    if pairs.is_empty() {
        return Some(EVERYWHERE.to_owned());
    }
    if driver.topology_keys.is_none() {
        return pairs.into_values().next().flatten();
    }
    let words: Option<Vec<String>> = pairs
        .into_iter()
        .map(|(key, value)| Some(format!("{key}={}", value?)))
        .collect();
    Some(words?.join(","))
}

pub(super) fn segments<'n>(nodes: impl IntoIterator<Item = &'n Node>, driver: &Driver) -> BTreeSet<String> {
    nodes
        .into_iter()
        .filter_map(|node| segment(node, driver))
        .collect()
}

/// A segment that no generated node has, except in a cluster without topology.
pub(super) fn another_segment(driver: &Driver) -> String {
    let node = Node {
        labels: keys_of(driver)
            .into_iter()
            .map(|key| (key, Some("elsewhere".to_owned())))
            .collect(),
        ..node("elsewhere")
    };
    segment(&node, driver).unwrap_or_else(|| EVERYWHERE.to_owned())
}

/// Labels with a short value for all topology keys of a node whose name is too long for a label value.
pub(super) fn long_labels(name: &str, driver: &Driver) -> Labels {
    let keys = keys_of(driver).into_iter().chain([HOSTNAME.to_owned()]);
    let keys = keys.filter(|_| name.len() > LABEL_MAX);
    keys.map(|key| (key, Some("n9".to_owned()))).collect()
}

pub(super) fn node(name: &str) -> Node {
    Node {
        name: name.to_owned(),
        labels: Labels::new(),
        registered: true,
        topology_keys: None,
        unschedulable: false,
    }
}

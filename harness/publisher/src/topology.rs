//! Topology segments from Node and CSINode objects (KEP-1472, central mode), updated incrementally.
//!
//! The segment of a node consists of the node's labels for the topology keys that CSINode lists for the driver. A node that lacks one of
//! these labels has no segment until the label is set. Nodes with equal labels share one segment.

use std::collections::{BTreeMap, HashMap};

use capacity_types::{Segment, segment};

#[derive(Debug, Default)]
struct NodeFacts {
    labels: Option<BTreeMap<String, String>>,
    registration: Registration,
    segment: Option<Segment>,
}

/// Whether and how the driver is registered in the CSINode of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Registration {
    #[default]
    NoCsiNode,
    /// The CSINode does not list the driver.
    NotListed,
    /// The driver is registered with these topology keys.
    Keys(Vec<String>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentChange {
    /// A segment whose first node was added.
    pub(crate) added: Option<Segment>,
    /// A segment whose last node was removed.
    pub(crate) removed: Option<Segment>,
}

/// The segment of the node that was selected for a volume, if the node has a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NodeSegment<'a> {
    In(&'a Segment),
    /// The segment is not known yet: the driver is not registered, or a label is missing.
    Unknown,
    /// The node has no CSINode: the node was deleted, or no driver ever ran there.
    Absent,
}

/// The nodes of the cluster, and the segments of the nodes that run the driver.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    nodes: HashMap<String, NodeFacts>,
    /// Number of nodes in each segment.
    segments: BTreeMap<Segment, usize>,
}

impl Topology {
    /// The topology of a single node, with the segment from NodeGetInfo (distributed mode).
    pub(crate) fn single_node(node: &str, segment: Segment) -> Topology {
        let mut topology = Topology::default();
        topology.set_registration(node, Registration::Keys(segment.keys().cloned().collect()));
        topology.set_labels(node, Some(segment));
        topology
    }

    /// Sets the labels of a Node (`None` if the Node was deleted), and returns the resulting change of the segments.
    pub(crate) fn set_labels(
        &mut self,
        node: &str,
        labels: Option<BTreeMap<String, String>>,
    ) -> SegmentChange {
        self.update(node, |facts| facts.labels = labels)
    }

    pub(crate) fn set_registration(&mut self, node: &str, registration: Registration) -> SegmentChange {
        self.update(node, |facts| facts.registration = registration)
    }

    pub(crate) fn is_registered(&self, node: &str) -> bool {
        let facts = self.nodes.get(node);
        facts.is_some_and(|facts| matches!(facts.registration, Registration::Keys(_)))
    }

    /// All distinct segments of nodes, sorted.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.keys()
    }

    pub(crate) fn segment_of_node(&self, node: &str) -> NodeSegment<'_> {
        match self.nodes.get(node) {
            None
            | Some(NodeFacts {
                registration: Registration::NoCsiNode,
                ..
            }) => NodeSegment::Absent,
            Some(facts) => facts
                .segment
                .as_ref()
                .map_or(NodeSegment::Unknown, NodeSegment::In),
        }
    }

    fn update(&mut self, node: &str, change: impl FnOnce(&mut NodeFacts)) -> SegmentChange {
        let facts = self.nodes.entry(node.to_owned()).or_default();
        change(facts);
        let new = facts.compute_segment();
        let old = std::mem::replace(&mut facts.segment, new.clone());
        if facts.labels.is_none() && facts.registration == Registration::NoCsiNode {
            self.nodes.remove(node);
        }
        if old == new {
            return SegmentChange::default();
        }
        let added = new.filter(|segment| self.add_node_to_segment(segment));
        let removed = old.filter(|segment| self.remove_node_from_segment(segment));
        SegmentChange { added, removed }
    }

    /// Adds a node to a segment. Returns whether it is the first node of the segment.
    fn add_node_to_segment(&mut self, segment: &Segment) -> bool {
        let nodes = self.segments.entry(segment.clone()).or_default();
        *nodes += 1;
        *nodes == 1
    }

    /// Removes a node from a segment. Returns whether it was the last node of the segment.
    fn remove_node_from_segment(&mut self, segment: &Segment) -> bool {
        let Some(nodes) = self.segments.get_mut(segment) else {
            return false;
        };
        *nodes -= 1;
        let last = *nodes == 0;
        if last {
            self.segments.remove(segment);
        }
        last
    }
}

impl NodeFacts {
    fn compute_segment(&self) -> Option<Segment> {
        let (Some(labels), Registration::Keys(keys)) = (&self.labels, &self.registration) else {
            return None;
        };
        segment::of_node(keys, labels)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn keys(keys: &[&str]) -> Registration {
        Registration::Keys(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    #[test]
    fn a_segment_exists_while_a_node_is_in_it() {
        let mut topology = Topology::default();
        let zone = labels(&[("zone", "a")]);
        assert_eq!(
            topology.set_labels("n1", Some(labels(&[("zone", "a"), ("host", "1")]))),
            SegmentChange::default()
        );
        assert_eq!(
            topology.set_registration("n1", keys(&["zone"])).added,
            Some(zone.clone())
        );
        topology.set_registration("n2", keys(&["zone"]));
        assert_eq!(
            topology.set_labels("n2", Some(zone.clone())),
            SegmentChange::default(),
            "n1 is already in the segment"
        );
        assert_eq!(
            topology.set_registration("n1", Registration::NotListed),
            SegmentChange::default()
        );
        assert_eq!(
            topology.set_labels("n2", None),
            SegmentChange {
                added: None,
                removed: Some(zone)
            }
        );
        assert_eq!(topology.segments().count(), 0);
    }

    #[test]
    fn a_node_has_no_segment_until_all_its_labels_are_set() {
        let mut topology = Topology::default();
        topology.set_registration("n", keys(&["zone", "rack"]));
        assert_eq!(
            topology.set_labels("n", Some(labels(&[("zone", "a")]))),
            SegmentChange::default()
        );
        assert_eq!(topology.segment_of_node("n"), NodeSegment::Unknown);
        let whole = labels(&[("rack", "1"), ("zone", "a")]);
        assert_eq!(
            topology.set_labels("n", Some(whole.clone())).added,
            Some(whole.clone())
        );
        assert_eq!(topology.segment_of_node("n"), NodeSegment::In(&whole));
    }

    #[test]
    fn changed_labels_replace_the_segment_and_key_order_does_not_matter() {
        let mut topology = Topology::default();
        topology.set_labels("n", Some(labels(&[("zone", "a"), ("rack", "1")])));
        topology.set_registration("n", keys(&["zone", "rack"]));
        assert_eq!(
            topology.set_registration("n", keys(&["rack", "zone"])),
            SegmentChange::default()
        );
        let change = topology.set_labels("n", Some(labels(&[("zone", "b"), ("rack", "1")])));
        assert_eq!(change.added, Some(labels(&[("zone", "b"), ("rack", "1")])));
        assert_eq!(change.removed, Some(labels(&[("zone", "a"), ("rack", "1")])));
    }

    #[test]
    fn without_topology_keys_there_is_one_empty_segment() {
        let mut topology = Topology::default();
        topology.set_labels("n1", Some(labels(&[])));
        assert_eq!(
            topology.set_registration("n1", keys(&[])).added,
            Some(Segment::new())
        );
        topology.set_labels("n2", Some(labels(&[("zone", "a")])));
        assert_eq!(
            topology.set_registration("n2", keys(&[])),
            SegmentChange::default()
        );
    }

    #[test]
    fn a_node_without_csinode_is_absent() {
        let mut topology = Topology::default();
        topology.set_labels("n", Some(labels(&[])));
        assert_eq!(topology.segment_of_node("n"), NodeSegment::Absent);
        assert_eq!(topology.segment_of_node("other"), NodeSegment::Absent);
        let fixed = Topology::single_node("n", labels(&[("zone", "a")]));
        assert_eq!(
            fixed.segment_of_node("n"),
            NodeSegment::In(&labels(&[("zone", "a")]))
        );
    }

    proptest! {
        /// After any sequence of changes, the segments equal those computed from all nodes at once.
        #[test]
        fn incremental_updates_equal_a_full_computation(steps in proptest::collection::vec((0..4u8, 0..4u8, 0..3u8), 0..60)) {
            let mut topology = Topology::default();
            let mut tracked = BTreeSet::new();
            for (node, what, value) in steps {
                let name = node.to_string();
                let change = match what {
                    0 => topology.set_labels(&name, None),
                    1 => topology.set_labels(&name, Some(labels(&[("zone", &value.to_string())]))),
                    2 => topology.set_registration(&name, keys(&["zone"])),
                    _ => topology.set_registration(&name, Registration::NoCsiNode),
                };
                tracked.extend(change.added);
                if let Some(removed) = change.removed {
                    prop_assert!(tracked.remove(&removed));
                }
            }
            let fresh: BTreeSet<Segment> = topology.nodes.values().filter_map(NodeFacts::compute_segment).collect();
            prop_assert_eq!(&tracked, &fresh);
            prop_assert_eq!(topology.segments().cloned().collect::<BTreeSet<_>>(), fresh);
        }
    }
}

//! Topology segments from Node and CSINode objects (KEP-1472, central mode), kept up to date one object at a time. Knows no API.
//!
//! A node that runs the driver has the segment made of its labels for the keys that the driver registered in the CSINode. A node whose
//! label for a key is missing has none until the label appears. Nodes with equal segments share one.

use std::collections::{BTreeMap, HashMap};

use capacity_types::{Segment, segment};

/// What is known of one node.
#[derive(Debug, Default)]
struct NodeFacts {
    labels: Option<BTreeMap<String, String>>,
    registration: Registration,
    segment: Option<Segment>,
}

/// What the CSINode of a node says about the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Registration {
    /// There is no CSINode.
    #[default]
    NoCsiNode,
    /// The CSINode does not list the driver.
    NotListed,
    /// The driver is there, with these topology keys.
    Keys(Vec<String>),
}

/// Segments that came and went with one change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Segments that no node had before.
    pub(crate) added: Option<Segment>,
    /// Segments that no node has any more.
    pub(crate) removed: Option<Segment>,
}

/// Where a node is, for a volume that shall be reachable from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Located<'a> {
    /// In this segment.
    In(&'a Segment),
    /// Not known yet: the driver is not listed, or a label is missing.
    Unknown,
    /// The node has no CSINode, so it is gone or no driver ever ran there.
    Absent,
}

/// All nodes of the cluster and the segments of those that run the driver.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    nodes: HashMap<String, NodeFacts>,
    /// Number of nodes in each segment.
    segments: BTreeMap<Segment, usize>,
}

impl Topology {
    /// A topology of one node that never changes, as the driver on that node reports it (distributed mode).
    pub(crate) fn fixed(node: &str, segment: Segment) -> Topology {
        let mut topology = Topology::default();
        topology.set_registration(node, Registration::Keys(segment.keys().cloned().collect()));
        topology.set_labels(node, Some(segment));
        topology
    }

    /// Takes the labels of a Node object; `None` if it is gone.
    pub(crate) fn set_labels(&mut self, node: &str, labels: Option<BTreeMap<String, String>>) -> Change {
        self.update(node, |facts| facts.labels = labels)
    }

    /// Applies what a CSINode object says about the driver.
    pub(crate) fn set_registration(&mut self, node: &str, registration: Registration) -> Change {
        self.update(node, |facts| facts.registration = registration)
    }

    /// Whether the driver is registered on a node.
    pub(crate) fn is_registered(&self, node: &str) -> bool {
        let facts = self.nodes.get(node);
        facts.is_some_and(|facts| matches!(facts.registration, Registration::Keys(_)))
    }

    /// All segments, in order, each once.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.keys()
    }

    /// Where a node is.
    pub(crate) fn locate(&self, node: &str) -> Located<'_> {
        match self.nodes.get(node) {
            None
            | Some(NodeFacts {
                registration: Registration::NoCsiNode,
                ..
            }) => Located::Absent,
            Some(facts) => facts.segment.as_ref().map_or(Located::Unknown, Located::In),
        }
    }

    fn update(&mut self, node: &str, change: impl FnOnce(&mut NodeFacts)) -> Change {
        let facts = self.nodes.entry(node.to_owned()).or_default();
        change(facts);
        let new = facts.located();
        let old = std::mem::replace(&mut facts.segment, new.clone());
        if facts.labels.is_none() && facts.registration == Registration::NoCsiNode {
            self.nodes.remove(node);
        }
        if old == new {
            return Change::default();
        }
        let added = new.filter(|segment| self.enter(segment));
        let removed = old.filter(|segment| self.leave(segment));
        Change { added, removed }
    }

    /// Counts a node in; whether it is the first.
    fn enter(&mut self, segment: &Segment) -> bool {
        let nodes = self.segments.entry(segment.clone()).or_default();
        *nodes += 1;
        *nodes == 1
    }

    /// Counts a node out; whether it was the last.
    fn leave(&mut self, segment: &Segment) -> bool {
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
    fn located(&self) -> Option<Segment> {
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
    fn a_segment_lives_as_long_as_a_node_is_in_it() {
        let mut topology = Topology::default();
        let zone = labels(&[("zone", "a")]);
        assert_eq!(
            topology.set_labels("n1", Some(labels(&[("zone", "a"), ("host", "1")]))),
            Change::default()
        );
        assert_eq!(
            topology.set_registration("n1", keys(&["zone"])).added,
            Some(zone.clone())
        );
        topology.set_registration("n2", keys(&["zone"]));
        assert_eq!(
            topology.set_labels("n2", Some(zone.clone())),
            Change::default(),
            "n1 is already in it"
        );
        assert_eq!(
            topology.set_registration("n1", Registration::NotListed),
            Change::default()
        );
        assert_eq!(
            topology.set_labels("n2", None),
            Change {
                added: None,
                removed: Some(zone)
            }
        );
        assert_eq!(topology.segments().count(), 0);
    }

    #[test]
    fn a_missing_label_keeps_a_node_out_until_it_appears() {
        let mut topology = Topology::default();
        topology.set_registration("n", keys(&["zone", "rack"]));
        assert_eq!(
            topology.set_labels("n", Some(labels(&[("zone", "a")]))),
            Change::default()
        );
        assert_eq!(topology.locate("n"), Located::Unknown);
        let whole = labels(&[("rack", "1"), ("zone", "a")]);
        assert_eq!(
            topology.set_labels("n", Some(whole.clone())).added,
            Some(whole.clone())
        );
        assert_eq!(topology.locate("n"), Located::In(&whole));
    }

    #[test]
    fn changed_labels_swap_the_segment_and_key_order_does_not_matter() {
        let mut topology = Topology::default();
        topology.set_labels("n", Some(labels(&[("zone", "a"), ("rack", "1")])));
        topology.set_registration("n", keys(&["zone", "rack"]));
        assert_eq!(
            topology.set_registration("n", keys(&["rack", "zone"])),
            Change::default()
        );
        let change = topology.set_labels("n", Some(labels(&[("zone", "b"), ("rack", "1")])));
        assert_eq!(change.added, Some(labels(&[("zone", "b"), ("rack", "1")])));
        assert_eq!(change.removed, Some(labels(&[("zone", "a"), ("rack", "1")])));
    }

    #[test]
    fn no_keys_make_one_empty_segment() {
        let mut topology = Topology::default();
        topology.set_labels("n1", Some(labels(&[])));
        assert_eq!(
            topology.set_registration("n1", keys(&[])).added,
            Some(Segment::new())
        );
        topology.set_labels("n2", Some(labels(&[("zone", "a")])));
        assert_eq!(topology.set_registration("n2", keys(&[])), Change::default());
    }

    #[test]
    fn a_node_without_csinode_is_absent() {
        let mut topology = Topology::default();
        topology.set_labels("n", Some(labels(&[])));
        assert_eq!(topology.locate("n"), Located::Absent);
        assert_eq!(topology.locate("other"), Located::Absent);
        let fixed = Topology::fixed("n", labels(&[("zone", "a")]));
        assert_eq!(fixed.locate("n"), Located::In(&labels(&[("zone", "a")])));
    }

    proptest! {
        /// Whatever order changes come in, the segments are those that a fresh look at all nodes finds.
        #[test]
        fn incremental_equals_fresh(steps in proptest::collection::vec((0..4u8, 0..4u8, 0..3u8), 0..60)) {
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
            let fresh: BTreeSet<Segment> = topology.nodes.values().filter_map(NodeFacts::located).collect();
            prop_assert_eq!(&tracked, &fresh);
            prop_assert_eq!(topology.segments().cloned().collect::<BTreeSet<_>>(), fresh);
        }
    }
}

//! Chooses the accessibility requirements of a new volume: requisite and preferred topology (CSI: `TopologyRequirement`), as
//! external-provisioner does. Pure functions.

use std::collections::BTreeSet;

use capacity_types::segment::{Segment, contains};
use csi_proto::v1::{Topology as Term, TopologyRequirement};
use k8s_openapi::api::core::v1::TopologySelectorTerm;

use crate::topology::{NodeSegment, Topology};

/// The inputs for the accessibility requirements of one volume.
#[derive(Clone, Copy, Debug)]
pub(super) struct TopologyInput<'a> {
    /// The selected node. `None` for Immediate binding.
    pub(super) node: Option<&'a str>,
    /// Name of the PVC, by which the volumes of a StatefulSet with Immediate binding are spread.
    pub(super) claim: &'a str,
    /// `allowedTopologies` of the class.
    pub(super) allowed: &'a [TopologySelectorTerm],
    /// Require the segment of the selected node, instead of preferring it.
    pub(super) strict: bool,
    /// Send the segments of the cluster if no node was selected.
    pub(super) immediate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TopologyError {
    #[error("the selected node {0} has no CSINode; another node is needed")]
    NodeAbsent(String),
    /// The segment of the selected node is not known yet.
    #[error(
        "no topology key found for node {0}; wait until the driver is registered there and the node has its labels"
    )]
    NodeUnknown(String),
    #[error(
        "the selected node {0} is outside of allowedTopologies; select another node, or extend allowedTopologies of the class"
    )]
    NotAllowed(String),
}

/// The accessibility requirements. `None`: the driver chooses the topology.
pub(super) fn requirement(
    topology: &Topology,
    input: TopologyInput<'_>,
) -> Result<Option<TopologyRequirement>, TopologyError> {
    let allowed = allowed_segments(input.allowed);
    let (requisite, first) = match input.node {
        Some(node) => segments_for_node(topology, node, allowed, input)?,
        None if !allowed.is_empty() => spread_segments(allowed, input.claim),
        None if input.immediate => spread_segments(topology.segments().cloned().collect(), input.claim),
        None => return Ok(None),
    };
    Ok((!requisite.is_empty()).then(|| to_requirement(&requisite, first)))
}

/// The requisite segments for a selected node, sorted, and the index of the segment that is preferred.
fn segments_for_node(
    topology: &Topology,
    node: &str,
    allowed: BTreeSet<Segment>,
    input: TopologyInput<'_>,
) -> Result<(Vec<Segment>, usize), TopologyError> {
    let own = match topology.segment_of_node(node) {
        NodeSegment::In(segment) => segment,
        NodeSegment::Unknown => return Err(TopologyError::NodeUnknown(node.to_owned())),
        NodeSegment::Absent => return Err(TopologyError::NodeAbsent(node.to_owned())),
    };
    let requisite: Vec<Segment> = if allowed.is_empty() {
        topology
            .segments()
            .filter(|segment| segment.keys().eq(own.keys()))
            .cloned()
            .collect()
    } else {
        allowed.into_iter().collect()
    };
    let first = requisite.iter().position(|term| contains(own, term));
    let first = first.ok_or_else(|| TopologyError::NotAllowed(node.to_owned()))?;
    if input.strict {
        Ok((vec![own.clone()], 0))
    } else {
        Ok((requisite, first))
    }
}

/// All segments, and the index of the preferred segment, which is derived from the PVC name.
fn spread_segments(segments: BTreeSet<Segment>, claim: &str) -> (Vec<Segment>, usize) {
    let segments: Vec<Segment> = segments.into_iter().collect();
    let (hash, index) = name_hash(claim);
    let first = usize::try_from(hash.wrapping_add(index))
        .unwrap_or(0)
        .checked_rem(segments.len())
        .unwrap_or(0);
    (segments, first)
}

/// For the PVC of a StatefulSet pod: a hash of the StatefulSet's name, and the ordinal of the pod. For other PVCs: a hash of the PVC name,
/// and 0.
fn name_hash(claim: &str) -> (u32, u32) {
    let (base, ordinal) = match claim
        .rsplit_once('-')
        .map(|(base, last)| (base, last.parse::<u32>()))
    {
        Some((base, Ok(ordinal))) => (base, ordinal),
        _ => (claim, 0),
    };
    let set = base.rsplit_once('-').map_or(base, |(_, set)| set);
    // 32-bit FNV-1 hash.
    let hash = set.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        hash.wrapping_mul(0x0100_0193) ^ u32::from(byte)
    });
    (hash, ordinal)
}

/// The TopologyRequirement with these requisite segments; the preferred order starts at index `first` and wraps around.
fn to_requirement(requisite: &[Segment], first: usize) -> TopologyRequirement {
    let term = |segment: &Segment| Term {
        segments: segment.clone(),
    };
    let (before, from) = requisite.split_at(first);
    TopologyRequirement {
        requisite: requisite.iter().map(term).collect(),
        preferred: from.iter().chain(before).map(term).collect(),
    }
}

/// All combinations of values that `allowedTopologies` permits.
fn allowed_segments(terms: &[TopologySelectorTerm]) -> BTreeSet<Segment> {
    terms
        .iter()
        .flat_map(combinations)
        .filter(|segment| !segment.is_empty())
        .collect()
}

fn combinations(term: &TopologySelectorTerm) -> Vec<Segment> {
    term.match_label_expressions
        .iter()
        .flatten()
        .fold(vec![Segment::new()], |segments, expression| {
            let extend = |segment: &Segment, value: &String| {
                let mut segment = segment.clone();
                segment.insert(expression.key.clone(), value.clone());
                segment
            };
            segments
                .iter()
                .flat_map(|segment| expression.values.iter().map(move |value| extend(segment, value)))
                .collect()
        })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::TopologySelectorLabelRequirement;
    use proptest::prelude::*;

    use super::*;
    use crate::topology::Registration;

    fn zone(name: &str) -> Segment {
        [("zone".to_owned(), name.to_owned())].into()
    }

    fn zones(names: &[&str]) -> Topology {
        let mut topology = Topology::default();
        for (index, name) in names.iter().enumerate() {
            let node = format!("n{}", index + 1);
            topology.set_labels(&node, Some(zone(name)));
            topology.set_registration(&node, Registration::Keys(vec!["zone".to_owned()]));
        }
        topology
    }

    fn allow(values: &[&str]) -> Vec<TopologySelectorTerm> {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let expression = TopologySelectorLabelRequirement {
            key: "zone".to_owned(),
            values,
        };
        vec![TopologySelectorTerm {
            match_label_expressions: Some(vec![expression]),
        }]
    }

    fn input<'a>(node: Option<&'a str>, allowed: &'a [TopologySelectorTerm]) -> TopologyInput<'a> {
        TopologyInput {
            node,
            claim: "data-web-0",
            allowed,
            strict: false,
            immediate: true,
        }
    }

    /// Requisite and preferred zones as text, for comparisons in tests.
    fn text(requirement: Option<TopologyRequirement>) -> Option<(String, String)> {
        let text = |terms: Vec<Term>| {
            terms
                .iter()
                .map(|term| term.segments["zone"].as_str())
                .collect::<String>()
        };
        requirement.map(|requirement| (text(requirement.requisite), text(requirement.preferred)))
    }

    #[test]
    fn a_selected_node_is_preferred_or_required() {
        let topology = zones(&["a", "b", "c"]);
        let preferred = requirement(&topology, input(Some("n2"), &[])).unwrap();
        assert_eq!(text(preferred), Some(("abc".to_owned(), "bca".to_owned())));
        let strict = TopologyInput {
            strict: true,
            ..input(Some("n2"), &[])
        };
        assert_eq!(
            text(requirement(&topology, strict).unwrap()),
            Some(("b".to_owned(), "b".to_owned()))
        );
    }

    #[test]
    fn allowed_topologies_limit_the_segments() {
        let topology = zones(&["a", "b", "c"]);
        let allowed = allow(&["c", "b"]);
        let preferred = requirement(&topology, input(Some("n3"), &allowed)).unwrap();
        assert_eq!(text(preferred), Some(("bc".to_owned(), "cb".to_owned())));
        for strict in [false, true] {
            let outside = TopologyInput {
                strict,
                ..input(Some("n1"), &allowed)
            };
            assert_eq!(
                requirement(&topology, outside),
                Err(TopologyError::NotAllowed("n1".to_owned()))
            );
        }
        let (requisite, _) = text(requirement(&topology, input(None, &allowed)).unwrap()).unwrap();
        assert_eq!(requisite, "bc");
    }

    #[test]
    fn without_a_node_cluster_segments_are_sent_if_enabled() {
        let topology = zones(&["a", "b"]);
        assert_eq!(
            text(requirement(&topology, input(None, &[])).unwrap()).unwrap().0,
            "ab"
        );
        let disabled = TopologyInput {
            immediate: false,
            ..input(None, &[])
        };
        assert_eq!(requirement(&topology, disabled), Ok(None));
        assert_eq!(requirement(&zones(&[]), input(None, &[])), Ok(None));
    }

    #[test]
    fn stateful_sets_spread_over_the_segments() {
        let topology = zones(&["a", "b", "c"]);
        let first = |claim| {
            let immediate = TopologyInput {
                claim,
                ..input(None, &[])
            };
            text(requirement(&topology, immediate).unwrap())
                .unwrap()
                .1
                .remove(0)
        };
        let mut firsts = [first("data-web-0"), first("data-web-1"), first("data-web-2")];
        firsts.sort_unstable();
        assert_eq!(firsts, ['a', 'b', 'c']);
        assert_eq!(
            first("data-web-4"),
            first("logs-web-1"),
            "the PVCs of one pod start at the same segment"
        );
    }

    #[test]
    fn a_node_with_unknown_segment_differs_from_an_absent_node() {
        let mut topology = zones(&["a"]);
        assert_eq!(
            requirement(&topology, input(Some("n9"), &[])),
            Err(TopologyError::NodeAbsent("n9".to_owned()))
        );
        topology.set_registration("n9", Registration::NotListed);
        assert_eq!(
            requirement(&topology, input(Some("n9"), &[])),
            Err(TopologyError::NodeUnknown("n9".to_owned()))
        );
    }

    proptest! {
        #[test]
        fn preferred_is_a_permutation_of_requisite(claim in "[a-z-]{0,9}[0-9]{0,3}", count in 1..6usize) {
            let names: Vec<String> = (0..count).map(|name| name.to_string()).collect();
            let topology = zones(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let immediate = TopologyInput { claim: &claim, ..input(None, &[]) };
            let mut found = requirement(&topology, immediate).unwrap().unwrap();
            prop_assert_eq!(found.requisite.len(), count);
            found.preferred.sort_by(|a, b| a.segments.cmp(&b.segments));
            prop_assert_eq!(found.preferred, found.requisite);
        }
    }
}

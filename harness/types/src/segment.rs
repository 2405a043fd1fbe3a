//! Topology segments: the parts of a cluster that a driver distinguishes (CSI `Topology`; KEP-1472).

use serde_json::Value;

use crate::Labels;

/// Label values by topology key. A driver without topology keys has only the empty segment, which contains all nodes.
pub type Segment = std::collections::BTreeMap<String, String>;

/// The text cannot be parsed as a topology segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pair}` is not key=value")]
pub struct SegmentError {
    pair: String,
}

/// The segment of a node: its labels for the topology keys that the driver registered in CSINode. `None` if the node lacks such a label.
pub fn of_node<'k>(keys: impl IntoIterator<Item = &'k String>, labels: &Labels) -> Option<Segment> {
    let values = keys
        .into_iter()
        .map(|key| Some((key.clone(), labels.get(key)?.clone())));
    values.collect()
}

/// Whether every key of the segment `part` has the same value in the segment `whole`.
pub fn contains(whole: &Segment, part: &Segment) -> bool {
    part.iter().all(|(key, value)| whole.get(key) == Some(value))
}

/// Parses a segment from `key=value,key=value`; an empty text is the empty segment. Fails if a pair has no `=`.
pub fn parse(text: &str) -> Result<Segment, SegmentError> {
    let pairs = text.split(',').filter(|_| !text.is_empty());
    let values = pairs.map(|pair| match pair.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(SegmentError {
            pair: pair.to_owned(),
        }),
    });
    values.collect()
}

/// Formats the segment as `key=value,key=value`, ordered by key; the inverse of [`parse`].
pub fn format(segment: &Segment) -> String {
    let pairs = segment.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}

/// Key and value of a `matchExpressions` entry that is equivalent to a label: operator `In` with one value.
pub fn as_label(term: &Value) -> Option<(&str, &str)> {
    let [value] = term["values"].as_array()?.as_slice() else {
        return None;
    };
    let is_in = term["operator"] == "In";
    is_in.then_some((term["key"].as_str()?, value.as_str()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn node_has_a_segment_if_it_has_all_topology_labels() {
        let labels = parse("zone=a,rack=1,host=n1").unwrap();
        let keys = ["zone".to_owned(), "rack".to_owned()];
        assert_eq!(of_node(&keys, &labels), Some(parse("rack=1,zone=a").unwrap()));
        assert_eq!(of_node(&["row".to_owned()], &labels), None);
        assert_eq!(of_node(&[], &labels), Some(Segment::new()));
    }

    #[test]
    fn segment_contains_subsets_of_its_keys_and_values() {
        let whole = parse("rack=1,zone=a").unwrap();
        for (part, expected) in [("", true), ("zone=a", true), ("zone=b", false), ("row=1", false)] {
            assert_eq!(contains(&whole, &parse(part).unwrap()), expected, "{part}");
        }
    }

    #[test]
    fn pair_without_a_value_is_reported() {
        let error = parse("zone=a,rack").unwrap_err();
        assert_eq!(error.to_string(), "`rack` is not key=value");
    }

    proptest! {
        #[test]
        fn formatted_segment_parses_to_the_same_segment(segment in proptest::collection::btree_map("[a-z./]{1,8}", "[a-z0-9]{0,4}", 0..4)) {
            prop_assert_eq!(parse(&format(&segment)).unwrap(), segment);
        }
    }
}

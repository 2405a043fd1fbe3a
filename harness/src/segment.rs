//! Text form of topology segments in cases and reports: `n1`, `region=east,rack=1`, or `*` for every node.

use std::collections::BTreeMap;

use capacity_types::{Segment, segment};
use serde_json::Value;

/// Parses and formats topology segments for the driver's topology keys. With a single key, the value of the key is sufficient as text. If
/// the driver's values for nodes are known, the name of a node is sufficient.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    keys: Vec<String>,
    /// Topology values by topology key. A value may contain the placeholder [`NODE`].
    values: BTreeMap<String, String>,
}

pub(crate) const NODE: &str = "{node}";

/// Text of the empty segment, which contains every node.
const EVERYWHERE: &str = "*";

impl Segments {
    /// Creates the parser and formatter of segments for a driver with these topology keys.
    pub fn new(keys: Vec<String>) -> Self {
        Self::with_values(keys, BTreeMap::new())
    }

    /// Creates the parser and formatter of segments for a driver that returns these topology values for its nodes. For a key without a
    /// value, the value is the node's name.
    pub(crate) fn with_values(keys: Vec<String>, values: BTreeMap<String, String>) -> Self {
        Segments { keys, values }
    }

    /// The segment that the driver returns for a node in a case that does not set another segment.
    pub fn default_segment(&self, node: &str) -> Segment {
        let value = |key| {
            self.values
                .get(key)
                .map_or(NODE, String::as_str)
                .replace(NODE, node)
        };
        self.keys.iter().map(|key| (key.clone(), value(key))).collect()
    }

    /// Whether the name of a node is sufficient as the text of a segment.
    fn is_named_by_node(&self) -> bool {
        self.keys.len() == 1 || !self.values.is_empty()
    }

    /// The node for which the driver returns this segment, if the segment contains the node's name.
    fn node_with_segment(&self, segment: &Segment) -> Option<String> {
        let named = |key: &String| {
            let (before, after) = self
                .values
                .get(key)
                .map_or(NODE, String::as_str)
                .split_once(NODE)?;
            segment.get(key)?.strip_prefix(before)?.strip_suffix(after)
        };
        let node = self.keys.iter().find_map(named)?;
        (self.default_segment(node) == *segment).then(|| node.to_owned())
    }

    /// The driver's topology keys.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Parses the text of a topology segment, such as `n1`.
    pub fn parse(&self, text: &str) -> Result<Segment, String> {
        if text == EVERYWHERE {
            return Ok(Segment::new());
        }
        if !text.contains('=') {
            if self.is_named_by_node() {
                return Ok(self.default_segment(text));
            }
            if self.keys.is_empty() {
                return Err(format!(
                    "`{text}` is no segment of a driver without topology keys; write `*` for all nodes"
                ));
            }
            return Err(format!(
                "`{text}` is a segment without topology keys; write key=value,… with the keys {}",
                self.keys.join(", ")
            ));
        }
        segment::parse(text).map_err(|error| error.to_string())
    }

    /// Formats a topology segment. The inverse of [`Segments::parse`].
    pub fn format(&self, segment: &Segment) -> String {
        if segment.is_empty() {
            return EVERYWHERE.to_owned();
        }
        if self.is_named_by_node()
            && let Some(node) = self.node_with_segment(segment)
        {
            return node;
        }
        segment::format(segment)
    }

    /// Segment of a node with these labels; `None` if the node lacks the label of a topology key.
    pub fn segment_of_node(&self, labels: &BTreeMap<String, String>) -> Option<Segment> {
        segment::of_node(&self.keys, labels)
    }

    /// Formats the `nodeTopology` of a CSIStorageCapacity object: matchLabels, and `In` expressions with a single value, which are
    /// equivalent to labels.
    pub fn format_topology(&self, topology: Option<&Value>) -> String {
        let Some(topology) = topology.filter(|topology| !topology.is_null()) else {
            return "(no node)".to_owned();
        };
        let mut segment = Segment::new();
        for (key, value) in topology["matchLabels"].as_object().into_iter().flatten() {
            segment.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
        }
        for term in topology["matchExpressions"].as_array().into_iter().flatten() {
            if let Some((key, value)) = segment::as_label(term) {
                segment.insert(key.to_owned(), value.to_owned());
                continue;
            }
            let values = term["values"].as_array().into_iter().flatten();
            let values: Vec<&str> = values.filter_map(Value::as_str).collect();
            let operator = term["operator"].as_str().unwrap_or("?");
            let key = term["key"].as_str().unwrap_or_default().to_owned();
            segment.insert(key, format!("{operator} [{}]", values.join(" ")));
        }
        self.format(&segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one() -> Segments {
        Segments::new(vec!["disk/node".to_owned()])
    }

    #[test]
    fn format_and_parse_are_inverse() {
        let two = Segments::new(vec!["region".to_owned(), "rack".to_owned()]);
        for (segments, text) in [
            (&one(), "n1"),
            (&one(), "*"),
            (&two, "rack=1,region=east"),
            (&one(), "zone=a"),
        ] {
            assert_eq!(segments.format(&segments.parse(text).unwrap()), text);
        }
        assert!(
            two.parse("n1")
                .unwrap_err()
                .contains("is a segment without topology keys")
        );
        let none = Segments::new(Vec::new());
        assert!(none.parse("n1").unwrap_err().contains("write `*` for all nodes"));
    }

    #[test]
    fn node_name_is_enough_if_its_values_are_known() {
        let values = [("zone", "z1"), ("host", "host-{node}.local")];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let segments = Segments::with_values(vec!["zone".to_owned(), "host".to_owned()], values.into());
        let segment = segments.parse("n1").unwrap();
        assert_eq!(segment["zone"], "z1");
        assert_eq!(segment["host"], "host-n1.local");
        assert_eq!(segments.format(&segment), "n1");
        let elsewhere = Segment::from(
            [("zone", "z2"), ("host", "host-n1.local")].map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        assert_eq!(segments.format(&elsewhere), "host=host-n1.local,zone=z2");
        let partial = Segment::from([("zone".to_owned(), "z1".to_owned())]);
        assert_eq!(segments.format(&partial), "zone=z1");
    }

    #[test]
    fn unset_empty_and_set_topology_are_distinguished() {
        let format = |topology: Value| one().format_topology(Some(&topology));
        assert_eq!(one().format_topology(None), "(no node)");
        assert_eq!(format(json!({})), "*");
        assert_eq!(format(json!({"matchLabels": {"disk/node": "n1"}})), "n1");
        let term = json!({"key": "disk/node", "operator": "In", "values": ["n1"]});
        assert_eq!(format(json!({"matchExpressions": [term]})), "n1");
    }
}

//! CSIStorageCapacity objects, with the fields that rules use.

use capacity_types::{ByteConversion, Labels, NodeTopology, Quantity, Segment};
use serde::{Deserialize, Deserializer, de};

use super::capacity_response::ReportedCapacity;
use super::metadata::{Metadata, NamespacedName, Owner};
use super::selection::LabelSelectorJson;

/// The fields of a CSIStorageCapacity object that rules use, without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityObject {
    /// `metadata.uid`, which differs if an object is created again.
    pub uid: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.ownerReferences`.
    pub owners: Vec<Owner>,
    /// `storageClassName`.
    pub class: String,
    /// `nodeTopology`: the nodes that can access the storage.
    pub topology: NodeTopology,
    /// Whether `nodeTopology` uses only `matchLabels`. A publisher may replace an equivalent object that uses expressions.
    pub has_only_match_labels: bool,
    /// `capacity`.
    pub capacity: Option<Quantity>,
    /// `maximumVolumeSize`.
    pub maximum: Option<Quantity>,
}

impl CapacityObject {
    /// Size in bytes of the largest volume that the object allows: `maximumVolumeSize`, otherwise `capacity`. `None`: no volume fits.
    /// Fractions are rounded up.
    pub fn largest_volume(&self, has_maximum: bool) -> Option<i128> {
        let maximum = self.maximum.filter(|_| has_maximum);
        Some(bytes(maximum.or(self.capacity)?))
    }

    /// Whether no volume fits. An object with unset or zero capacity is equivalent to no object (KEP-1472, comment of the type).
    pub fn is_empty(&self, has_maximum: bool) -> bool {
        self.largest_volume(has_maximum).is_none_or(|limit| limit <= 0)
    }

    /// Whether the object has the values of a GetCapacity response.
    pub fn has_values(&self, values: &ReportedCapacity) -> bool {
        let is_equal = |quantity: Option<Quantity>, bytes: Option<i64>| match (quantity, bytes) {
            (Some(quantity), Some(bytes)) => {
                u64::try_from(bytes).is_ok_and(|bytes| quantity.equals_bytes(bytes))
            }
            (None, None) => true,
            _ => false,
        };
        is_equal(self.capacity, Some(values.available)) && is_equal(self.maximum, values.maximum)
    }

    /// Whether `capacity` and `maximumVolumeSize` of two objects are equal as numbers.
    pub fn has_same_values(&self, other: &Self) -> bool {
        (self.capacity, self.maximum) == (other.capacity, other.maximum)
    }

    /// The segment of the object. `None` unless `nodeTopology` requires exactly one value per label.
    pub fn segment(&self) -> Option<Segment> {
        let NodeTopology::Matching(selector) = &self.topology else {
            return None;
        };
        let mut segment = Segment::new();
        for requirement in selector.requirements() {
            let [value] = requirement.in_values()? else {
                return None;
            };
            let before = segment.insert(requirement.key().to_owned(), value.clone());
            if before.is_some_and(|before| before != *value) {
                return None;
            }
        }
        Some(segment)
    }

    /// Formats `capacity` and `maximumVolumeSize` for messages.
    pub fn values_text(&self) -> String {
        let word = |quantity: Option<Quantity>| {
            quantity.map_or_else(|| "unset".to_owned(), |quantity| bytes(quantity).to_string())
        };
        format!("capacity {}, maximum {}", word(self.capacity), word(self.maximum))
    }
}

/// A quantity in bytes, with fractions rounded away from zero.
pub(crate) fn bytes(quantity: Quantity) -> i128 {
    quantity.bytes(ByteConversion::Exact)
}

impl CapacityObject {
    /// Parses a CSIStorageCapacity object from the API. Also returns its namespace and name.
    pub fn read<'de, D: Deserializer<'de>>(object: D) -> Result<(NamespacedName, Self), D::Error> {
        CapacityJson::deserialize(object).map(Into::into)
    }
}

/// The fields of a CSIStorageCapacity object that rules use, as JSON in the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CapacityJson {
    metadata: Metadata,
    storage_class_name: String,
    node_topology: Option<LabelSelectorJson>,
    #[serde(default, deserialize_with = "quantity")]
    capacity: Option<Quantity>,
    #[serde(default, deserialize_with = "quantity")]
    maximum_volume_size: Option<Quantity>,
}

impl From<CapacityJson> for (NamespacedName, CapacityObject) {
    fn from(mut json: CapacityJson) -> Self {
        let key = json.metadata.key();
        let object = CapacityObject {
            uid: json.metadata.uid.unwrap_or_default(),
            labels: json.metadata.labels.unwrap_or_default(),
            owners: json.metadata.owner_references.unwrap_or_default(),
            class: json.storage_class_name,
            has_only_match_labels: json
                .node_topology
                .as_ref()
                .is_none_or(LabelSelectorJson::has_only_match_labels),
            topology: NodeTopology::new(json.node_topology.map(|selector| selector.compile())),
            capacity: json.capacity,
            maximum: json.maximum_volume_size,
        };
        (key, object)
    }
}

/// A quantity as a string or number.
#[derive(Deserialize)]
#[serde(untagged)]
enum QuantityJson {
    Text(String),
    Number(i64),
}

pub(super) fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Quantity>, D::Error> {
    let text = match Option::<QuantityJson>::deserialize(deserializer)? {
        None => return Ok(None),
        Some(QuantityJson::Text(text)) => text,
        Some(QuantityJson::Number(number)) => number.to_string(),
    };
    text.parse().map(Some).map_err(de::Error::custom)
}

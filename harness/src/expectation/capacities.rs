//! The `capacities` expectation: the exact set of CSIStorageCapacity objects that the publisher must have created.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::CapacityValues;
use capacity_types::capacity_api::RESOURCE;
use serde::Deserialize;
use serde_json::Value;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names, all_rows_match};
use super::rows::{DiffRow, RowState, Subject, is_managed, row_key, values_of};
use crate::cluster_state::ClusterState;
use crate::plan::Case;
use crate::scenario::{Bound, FromShort, Short, Size};

/// Expected published capacity by StorageClass and topology segment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<String, BTreeMap<String, Short<Row>>>")]
pub struct Capacities(pub Rows);

/// Expected published capacity by (class, segment).
pub type Rows = BTreeMap<(String, String), Row>;

impl From<BTreeMap<String, BTreeMap<String, Short<Row>>>> for Capacities {
    fn from(classes: BTreeMap<String, BTreeMap<String, Short<Row>>>) -> Self {
        let rows = classes.into_iter().flat_map(|(class, segments)| {
            let of_class = move |(segment, row): (String, Short<Row>)| ((class.clone(), segment), row.0);
            segments.into_iter().map(of_class)
        });
        Capacities(rows.collect())
    }
}

/// Expected published capacity of one class in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "RowSpec")]
pub enum Row {
    /// A CSIStorageCapacity object with exactly these values exists.
    Values(CapacityValues),
    /// No CSIStorageCapacity object exists, or its capacity is unset or zero (KEP-1472: both mean no available capacity).
    Nothing,
}

/// Expected published capacity of one class in one segment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Expected `capacity`. Unset: the field must be absent.
    capacity: Option<Size>,
    /// Expected `maximumVolumeSize`. Unset: the field must be absent.
    maximum: Option<Size>,
}

impl From<RowSpec> for Row {
    fn from(spec: RowSpec) -> Self {
        Row::Values(CapacityValues {
            capacity: spec.capacity.map(|size| size.bytes()),
            maximum: spec.maximum.map(|size| size.bytes()),
        })
    }
}

impl FromShort for Row {
    const EXPECTING: &'static str = "a size such as 100Gi, `nothing`, or a map with `capacity`, `maximum`";
    fn from_short(text: &str) -> Result<Self, String> {
        match text {
            "nothing" => Ok(Row::Nothing),
            "none" => Err("`none` is for pods without a node; write `nothing` for no capacity".to_owned()),
            size => Ok(Row::Values(CapacityValues {
                capacity: Some(Size::parse(size)?.bytes()),
                maximum: None,
            })),
        }
    }
}

impl Capacities {
    pub(super) const EXAMPLE: &str = "capacities: {CLASS: {SEGMENT: 10Gi}}";
    pub(super) const HOLDS: &str = "the publisher has exactly these CSIStorageCapacity objects. A row is a size, a map with `capacity` \
        and `maximum`, or `nothing` (no object, or one without capacity)";
}

impl Expectation for Capacities {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        let rows = std::mem::take(&mut self.0).into_iter();
        let resolved = rows.map(|((class, segment), row)| {
            let segment = names.resolve_segment(&segment)?;
            names.check_class(&class)?;
            Ok(((class, segment), row))
        });
        self.0 = resolved.collect::<Result<_, String>>()?;
        match self.0.values().any(|row| !matches!(row, Row::Nothing)) {
            true => names.check_can_have_capacities(),
            false => Ok(()),
        }
    }

    fn default_hold(&self, polls: bool) -> Option<Bound> {
        polls.then_some(Bound::Refreshes(1))
    }

    /// Negative without `stays`, because any GetCapacity poll may still change a capacity: the capacities count only after the programs
    /// have reacted to the step.
    fn is_negative(&self, has_hold: bool) -> bool {
        !has_hold
    }

    fn depends_on(&self, resource: &str) -> bool {
        resource == RESOURCE
    }

    fn rows(&self, case: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let mut got: BTreeMap<(String, String), Vec<CapacityValues>> = BTreeMap::new();
        for object in self.published_objects(case, cluster) {
            got.entry(row_key(case, object))
                .or_default()
                .push(values_of(object));
        }
        let keys: BTreeSet<_> = self.0.keys().chain(got.keys()).cloned().collect();
        let mut rows = Vec::new();
        for key in keys {
            let values = got.get(&key).map(Vec::as_slice).unwrap_or_default();
            rows.extend(rows_of(key.clone(), self.0.get(&key), values));
        }
        rows
    }

    fn holds(&self, case: &Case, cluster: &ClusterState) -> bool {
        // More objects than expected rows can never match, so thousands of objects need not be compared.
        self.published_objects(case, cluster).nth(self.0.len()).is_none()
            && all_rows_match(&self.rows(case, cluster))
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::Capacity { class, segment } = &row.subject else {
            return Chain::default();
        };
        let want = self.0.get(&(class.clone(), segment.clone()));
        window.capacity_chain(want.copied(), class, segment, row.state)
    }
}

impl Capacities {
    /// The publisher's CSIStorageCapacity objects. KEP-1472 does not specify whether classes with Immediate binding get objects; objects of
    /// such classes are compared only if the publisher is configured to publish them, or if the expectation names the class.
    fn published_objects<'w>(
        &'w self,
        case: &'w Case,
        cluster: &'w ClusterState,
    ) -> impl Iterator<Item = &'w Value> {
        let is_open = |class: &str| {
            let class_object = cluster.object("storageclasses", None, class);
            let binding = class_object.and_then(|object| object["volumeBindingMode"].as_str());
            binding == Some("Immediate") && !self.0.keys().any(|(named, _)| named == class)
        };
        let may_be_open = !case.publisher.immediate;
        let objects = cluster.objects(RESOURCE).map(|(_, object)| &**object);
        objects.filter(move |object| {
            is_managed(case, cluster, object)
                && !(may_be_open && object["storageClassName"].as_str().is_some_and(is_open))
        })
    }
}

/// Compares the CSIStorageCapacity objects of one class and segment with the expected row. Every object after the first is `Extra`.
fn rows_of(key: (String, String), want: Option<&Row>, got: &[CapacityValues]) -> Vec<DiffRow> {
    let subject = Subject::Capacity {
        class: key.0,
        segment: key.1,
    };
    let row = |state, want: String, got: String| DiffRow {
        state,
        subject: subject.clone(),
        want,
        got,
    };
    let mut rows = Vec::new();
    if let Some(want) = want {
        let (state, got) = match got.first() {
            None if *want == Row::Nothing => (RowState::Same, "-".to_owned()),
            None => (RowState::Missing, "-".to_owned()),
            Some(values) if want.allows(*values) => (RowState::Same, values.to_string()),
            Some(values) => (RowState::Differs, values.to_string()),
        };
        rows.push(row(state, want.to_string(), got));
    }
    let surplus = got.iter().skip(usize::from(want.is_some()));
    rows.extend(surplus.map(|values| row(RowState::Extra, "-".into(), values.to_string())));
    rows
}

impl Row {
    pub(super) fn allows(self, got: CapacityValues) -> bool {
        match self {
            Row::Nothing => got.is_empty(),
            Row::Values(values) => values == got,
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Row::Nothing => f.write_str("nothing"),
            Row::Values(values) => values.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_absent_unset_or_zero() {
        let row = |got: &[(Option<i128>, Option<i128>)]| {
            let values = got.iter().map(|(capacity, maximum)| CapacityValues {
                capacity: *capacity,
                maximum: *maximum,
            });
            let values: Vec<_> = values.collect();
            rows_of(("c".to_owned(), "n1".to_owned()), Some(&Row::Nothing), &values)[0].state
        };
        assert_eq!(row(&[]), RowState::Same);
        assert_eq!(row(&[(None, None)]), RowState::Same);
        assert_eq!(row(&[(Some(0), None)]), RowState::Same);
        assert_eq!(row(&[(Some(1), None)]), RowState::Differs);
        assert_eq!(row(&[(Some(0), Some(1))]), RowState::Differs);
    }

    #[test]
    fn a_second_object_for_a_row_is_extra() {
        let values = CapacityValues {
            capacity: Some(5),
            maximum: None,
        };
        let want = Row::Values(values);
        let rows = rows_of(("c".to_owned(), "n1".to_owned()), Some(&want), &[values, values]);
        assert_eq!(
            rows.iter().map(|row| row.state).collect::<Vec<_>>(),
            [RowState::Same, RowState::Extra]
        );
    }
}

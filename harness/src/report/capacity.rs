//! Published and true capacity over time, for each class and segment of a case.
//!
//! The true capacity is computed from the plan and the journal (`backend`) instead of the driver's responses, so that wrong responses are
//! visible.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::capacity_api::RESOURCE;
use fake_csi::Method;

use super::backend::Backend;
use crate::expectation::{row_key, values_of};
use crate::journal::{CallFact, Change, CommitFact, Fact, Observation};
use crate::plan::Plan;
use capacity_types::CapacityValues;

/// Which field of published and true capacity a series compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapacityField {
    /// `capacity` of the CSIStorageCapacity object, `available_capacity` of the driver.
    Capacity,
    /// `maximumVolumeSize` of the CSIStorageCapacity object, `maximum_volume_size` of the driver.
    Maximum,
}

/// A capacity and the time from which it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Microseconds since the journal was opened.
    pub at_us: u64,
    /// The capacity in bytes; `None` if there is no capacity.
    pub bytes: Option<i128>,
}

/// True capacity, published capacity and the driver's capacity over time, for one class and segment.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name of the StorageClass.
    pub class: String,
    /// Topology segment, spelled as in case files.
    pub segment: String,
    /// The field whose values the series contains.
    pub field: CapacityField,
    /// True capacity in bytes of volumes of the class. `None` if it cannot be computed: for pools of devices, the journal does not contain
    /// which device a volume uses.
    pub truth: Vec<Point>,
    /// Capacity in the CSIStorageCapacity object. If the class and segment have several objects, the largest capacity.
    pub published: Vec<Point>,
    /// Capacity in the driver's GetCapacity responses.
    pub reported: Vec<Point>,
}

/// StorageClass and topology segment.
type Key = (String, String);

/// All capacity series of a journal: for each class and segment in `wanted` or of a CSIStorageCapacity object.
pub fn capacity_series(plan: &Plan, facts: &[Fact], wanted: impl IntoIterator<Item = Key>) -> Vec<Series> {
    let mut keys: BTreeSet<Key> = wanted.into_iter().collect();
    keys.extend(facts.iter().filter_map(|fact| match &fact.what {
        Observation::Commit(commit) if is_capacity(commit) => Some(row_key(plan, &commit.object)),
        _ => None,
    }));
    let mut all: Vec<Series> = keys
        .iter()
        .flat_map(|(class, segment)| {
            [CapacityField::Capacity, CapacityField::Maximum].map(|field| Series {
                class: class.clone(),
                segment: segment.clone(),
                field,
                truth: Vec::new(),
                published: Vec::new(),
                reported: Vec::new(),
            })
        })
        .collect();
    let mut observed = ObservedState::new(plan);
    for (at, fact) in facts.iter().enumerate() {
        // Facts of all other kinds change neither the storage nor the published capacity.
        let has_effect = match &fact.what {
            Observation::Action(_) | Observation::Call(_) | Observation::StepStarted(_) => true,
            Observation::Commit(commit) => is_capacity(commit),
            _ => at == 0,
        };
        if has_effect {
            observed.apply(fact);
            all.iter_mut()
                .for_each(|series| observed.append_points(series, fact));
        }
    }
    all.retain(Series::has_values);
    all
}

fn is_capacity(commit: &CommitFact) -> bool {
    &*commit.resource == RESOURCE
}

impl Series {
    fn has_values(&self) -> bool {
        let has_value = |points: &[Point]| points.iter().any(|point| point.bytes.is_some());
        has_value(&self.truth) || has_value(&self.published) || has_value(&self.reported)
    }
}

/// Storage and published capacity at one position of the journal.
struct ObservedState<'p> {
    plan: &'p Plan,
    backend: Backend<'p>,
    /// CSIStorageCapacity objects by namespace and name.
    published: BTreeMap<(Option<String>, String), (Key, CapacityValues)>,
}

impl<'p> ObservedState<'p> {
    fn new(plan: &'p Plan) -> Self {
        ObservedState {
            plan,
            backend: Backend::new(plan),
            published: BTreeMap::new(),
        }
    }

    fn apply(&mut self, fact: &Fact) {
        self.backend.apply(fact);
        if let Observation::Commit(commit) = &fact.what
            && is_capacity(commit)
        {
            self.commit(commit);
        }
    }

    fn commit(&mut self, commit: &CommitFact) {
        let name = (commit.namespace.clone(), commit.name.clone());
        match commit.change {
            Change::Deleted => drop(self.published.remove(&name)),
            Change::Added | Change::Modified => {
                let values = (row_key(self.plan, &commit.object), values_of(&commit.object));
                self.published.insert(name, values);
            }
        }
    }

    /// Appends a point to each list of the series whose value a fact has changed.
    fn append_points(&self, series: &mut Series, fact: &Fact) {
        let truth = self.true_capacity(series);
        let published = self.published_for(series);
        for (points, bytes) in [(&mut series.truth, truth), (&mut series.published, published)] {
            if points.last().is_none_or(|last| last.bytes != bytes) {
                points.push(Point {
                    at_us: fact.at_us,
                    bytes,
                });
            }
        }
        if let Observation::Call(call) = &fact.what
            && self.is_about(call, series)
        {
            let bytes = match series.field {
                CapacityField::Capacity => call.available,
                CapacityField::Maximum => call.maximum,
            };
            series.reported.push(Point {
                at_us: fact.at_us,
                bytes: bytes.map(i128::from),
            });
        }
    }

    fn is_about(&self, call: &CallFact, series: &Series) -> bool {
        // A publisher may add parameters, so the call is for the class if it contains all parameters of the class.
        let has = |(key, value): (&String, &String)| call.parameters.get(key) == Some(value);
        call.method == Method::GetCapacity
            && call.segment.as_deref().unwrap_or("*") == series.segment
            && self.plan.class_parameters.contains_key(&series.class)
            && self.plan.driver_parameters(&series.class).iter().all(has)
    }

    fn published_for(&self, series: &Series) -> Option<i128> {
        let objects = self.published.values();
        let own = objects.filter(|(key, _)| key.0 == series.class && key.1 == series.segment);
        own.filter_map(|(_, values)| match series.field {
            CapacityField::Capacity => values.capacity,
            CapacityField::Maximum => values.maximum,
        })
        .max()
    }

    fn true_capacity(&self, series: &Series) -> Option<i128> {
        let segment = self.plan.segments.parse(&series.segment).ok()?;
        self.plan.class_parameters.get(&series.class)?;
        let parameters = self.plan.driver_parameters(&series.class);
        match series.field {
            CapacityField::Capacity => self.backend.available(&segment, &parameters),
            CapacityField::Maximum => self.backend.maximum_volume_size(&segment, &parameters),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::journal::{ActionFact, PlacedVolume, StepMark};
    use crate::plan::resolve;
    use crate::scenario::parse;

    const CASE: &str = "\
id: a
title: t
requirements: [PUB-21]
cluster: {nodes: [n1, n2], classes: [fast], backend: {n1: 10, n2: 20}}
steps:
  - id: shrink
    do: [{backend: {n1: 7}}]
    expect: [{capacities: {fast: {n1: 7, n2: 20}}, why: it must}]
";

    fn call(method: Method) -> CallFact {
        CallFact {
            method,
            node: None,
            segment: None,
            parameters: BTreeMap::new(),
            volume: None,
            volume_id: None,
            placed: None,
            required_bytes: None,
            code: "OK".to_owned(),
            message: None,
            available: None,
            maximum: None,
            details: Box::default(),
        }
    }

    fn created(id: &str, bytes: i64) -> Observation {
        let segment = Some("n1".to_owned());
        Observation::Call(CallFact {
            volume_id: Some(id.to_owned()),
            placed: Some(PlacedVolume { segment, bytes }),
            ..call(Method::CreateVolume)
        })
    }

    fn published(change: Change, capacity: &str) -> Observation {
        let topology = json!({"matchLabels": {"disk.example.com/node": "n1"}});
        let object = json!({"storageClassName": "fast", "capacity": capacity, "nodeTopology": topology});
        Observation::Commit(CommitFact {
            client: "publisher".into(),
            change,
            resource: "csistoragecapacities".into(),
            namespace: Some("csi".to_owned()),
            name: "c".to_owned(),
            revision: 1,
            object: Arc::new(object),
        })
    }

    /// The capacity series for class `fast` and segment `n1` in a journal of these facts, one second apart.
    fn series_of_n1(facts: Vec<Observation>) -> Series {
        let plan = resolve(&parse("a.yaml", CASE).unwrap()[0]).unwrap();
        let numbered = facts.into_iter().zip(0..);
        let facts: Vec<Fact> = numbered
            .map(|(what, seq)| Fact {
                seq,
                at_us: seq,
                what,
            })
            .collect();
        let wanted = ("fast".to_owned(), "n1".to_owned());
        let mut all = capacity_series(&plan, &facts, [wanted]);
        assert_eq!(all.len(), 1, "neither a maximum nor n2 was published");
        all.remove(0)
    }

    fn points(points: &[Point]) -> Vec<(u64, Option<i128>)> {
        points.iter().map(|point| (point.at_us, point.bytes)).collect()
    }

    #[test]
    fn true_capacity_follows_actions_and_volumes() {
        let deleted = Observation::Call(CallFact {
            volume_id: Some("v".to_owned()),
            ..call(Method::DeleteVolume)
        });
        let refused = Observation::Call(CallFact {
            code: "INTERNAL".to_owned(),
            volume_id: Some("v".to_owned()),
            ..call(Method::DeleteVolume)
        });
        let action = Observation::Action(ActionFact {
            text: "backend n1 is now 7".to_owned(),
        });
        let series = series_of_n1(vec![
            Observation::StepStarted(StepMark { step: 0 }),
            created("v", 4),
            // A repeated CreateVolume call for the same volume uses no additional capacity.
            created("v", 4),
            action,
            refused,
            deleted,
        ]);
        let wanted = [(0, Some(10)), (1, Some(6)), (3, Some(3)), (5, Some(7))];
        assert_eq!(points(&series.truth), wanted);
        assert_eq!(points(&series.published), [(0, None)]);
    }

    #[test]
    fn published_capacity_follows_the_objects() {
        let call = Observation::Call(CallFact {
            segment: Some("n1".to_owned()),
            available: Some(8),
            ..call(Method::GetCapacity)
        });
        let series = series_of_n1(vec![
            Observation::StepStarted(StepMark { step: 0 }),
            call,
            published(Change::Added, "8"),
            published(Change::Modified, "1k"),
            published(Change::Deleted, "1k"),
        ]);
        let wanted = [(0, None), (2, Some(8)), (3, Some(1000)), (4, None)];
        assert_eq!(points(&series.published), wanted);
        assert_eq!(points(&series.reported), [(1, Some(8))]);
        assert_eq!(points(&series.truth), [(0, Some(10))]);
    }
}

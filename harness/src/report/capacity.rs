//! Published against true capacity over time, for each class and segment that a case is about.
//!
//! The truth is what the pools hold, by the plan, the actions and the volumes that were created. It is reckoned here from the
//! journal, and not by the driver: a driver that answers something else shows as such.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use fake_csi::Storage;

use crate::journal::{CallFact, Change, CommitFact, Fact, What};
use crate::judge::{Offer, row_key};
use crate::plan::{Action, Plan};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// `capacity`, which comes from available_capacity.
    Capacity,
    /// `maximumVolumeSize`, which comes from maximum_volume_size.
    Maximum,
}

/// A value from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Microseconds since the journal was opened.
    pub at_us: u64,
    /// Bytes; none: there is no value.
    pub bytes: Option<i128>,
}

/// What there was and what was said, of one class and segment.
#[derive(Debug, Clone)]
pub struct Series {
    /// The storage class.
    pub class: String,
    /// The segment, as cases spell it.
    pub segment: String,
    /// What is compared.
    pub quantity: Quantity,
    /// What the pools had, in bytes of a volume of that class. Without a value where that can't be reckoned: of storage that is
    /// made of devices the journal does not show which one a volume took.
    pub truth: Vec<Point>,
    /// What the API server held: the largest, where several objects say something.
    pub published: Vec<Point>,
    /// What the driver answered, when it was asked.
    pub answered: Vec<Point>,
}

/// Class and segment.
type Key = (String, String);

/// All series of a journal: for each class and segment that was ever published or that `wanted` names.
pub fn series(plan: &Plan, facts: &[Fact], wanted: impl IntoIterator<Item = Key>) -> Vec<Series> {
    let mut keys: BTreeSet<Key> = wanted.into_iter().collect();
    keys.extend(facts.iter().filter_map(|fact| match &fact.what {
        What::Commit(commit) if is_capacity(commit) => Some(row_key(plan, &commit.object)),
        _ => None,
    }));
    let mut all: Vec<Series> = keys
        .iter()
        .flat_map(|(class, segment)| {
            [Quantity::Capacity, Quantity::Maximum].map(|quantity| Series {
                class: class.clone(),
                segment: segment.clone(),
                quantity,
                truth: Vec::new(),
                published: Vec::new(),
                answered: Vec::new(),
            })
        })
        .collect();
    let mut books = Books::new(plan);
    for (at, fact) in facts.iter().enumerate() {
        // Everything else changes neither what there is nor what is said.
        let is_telling = match &fact.what {
            What::Action(_) | What::Call(_) | What::StepStarted(_) => true,
            What::Commit(commit) => is_capacity(commit),
            _ => at == 0,
        };
        if is_telling {
            books.apply(fact);
            all.iter_mut().for_each(|series| books.extend(series, fact));
        }
    }
    all.retain(Series::says_something);
    all
}

fn is_capacity(commit: &CommitFact) -> bool {
    &*commit.resource == "csistoragecapacities"
}

impl Series {
    fn says_something(&self) -> bool {
        let has_value = |points: &[Point]| points.iter().any(|point| point.bytes.is_some());
        has_value(&self.truth) || has_value(&self.published) || has_value(&self.answered)
    }
}

/// What takes room, by the id of the driver.
struct Volume {
    segment: Segment,
    bytes: u64,
    /// Raw bytes per byte.
    cost: u64,
}

/// What the backend holds and the API server says, at one fact of the journal.
struct Books<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Storage>,
    volumes: BTreeMap<String, Volume>,
    /// By namespace and name.
    published: BTreeMap<(Option<String>, String), (Key, Offer)>,
    step: usize,
    action: usize,
}

impl<'p> Books<'p> {
    fn new(plan: &'p Plan) -> Self {
        Books {
            plan,
            pools: plan.driver.pools.iter().cloned().collect(),
            volumes: BTreeMap::new(),
            published: BTreeMap::new(),
            step: 0,
            action: 0,
        }
    }

    fn apply(&mut self, fact: &Fact) {
        match &fact.what {
            What::StepStarted(mark) => (self.step, self.action) = (mark.step, 0),
            What::Action(_) => {
                let actions = self.plan.steps.get(self.step).map(|step| &step.actions);
                if let Some((action, _)) = actions.and_then(|actions| actions.get(self.action)) {
                    self.act(action);
                }
                self.action += 1;
            }
            What::Call(call) if call.code == "OK" => self.call(call),
            What::Commit(commit) if is_capacity(commit) => self.commit(commit),
            _ => {}
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Pool(segment, Some(pool)) => {
                self.pools.insert(segment.clone(), pool.clone());
            }
            Action::Pool(segment, None) => drop(self.pools.remove(segment)),
            Action::Attempt(action) => self.act(action),
            _ => {}
        }
    }

    fn call(&mut self, call: &CallFact) {
        let Some(id) = &call.volume_id else {
            return;
        };
        if call.method == "DeleteVolume" {
            self.volumes.remove(id);
        } else if let Some(placed) = &call.placed {
            let spelled = placed.segment.as_deref().unwrap_or("*");
            let volume = Volume {
                // What the plan spells it can read again.
                segment: self.plan.segments.parse(spelled).unwrap_or_default(),
                bytes: u64::try_from(placed.bytes).unwrap_or(0),
                // A volume that grows goes on costing what it cost; the call does not tell its parameters again.
                cost: match self.volumes.get(id) {
                    Some(known) => known.cost,
                    None => self.cost(&call.parameters),
                },
            };
            self.volumes.insert(id.clone(), volume);
        }
    }

    fn commit(&mut self, commit: &CommitFact) {
        let name = (commit.namespace.clone(), commit.name.clone());
        match commit.change {
            Change::Deleted => drop(self.published.remove(&name)),
            Change::Added | Change::Modified => {
                let said = (row_key(self.plan, &commit.object), Offer::of(&commit.object));
                self.published.insert(name, said);
            }
        }
    }

    /// Adds what is new after a fact.
    fn extend(&self, series: &mut Series, fact: &Fact) {
        let truth = self.truth(series);
        let published = self.published_for(series);
        for (points, bytes) in [(&mut series.truth, truth), (&mut series.published, published)] {
            if points.last().is_none_or(|last| last.bytes != bytes) {
                points.push(Point {
                    at_us: fact.at_us,
                    bytes,
                });
            }
        }
        if let What::Call(call) = &fact.what
            && self.is_about(call, series)
        {
            let bytes = match series.quantity {
                Quantity::Capacity => call.available,
                Quantity::Maximum => call.maximum,
            };
            series.answered.push(Point {
                at_us: fact.at_us,
                bytes: bytes.map(i128::from),
            });
        }
    }

    fn is_about(&self, call: &CallFact, series: &Series) -> bool {
        // A sidecar adds parameters of its own; those of the class are all there.
        let parameters = self.plan.class_parameters.get(&series.class);
        let has = |(key, value): (&String, &String)| call.parameters.get(key) == Some(value);
        call.method == "GetCapacity"
            && call.segment.as_deref().unwrap_or("*") == series.segment
            && parameters.is_some_and(|parameters| parameters.iter().all(has))
    }

    fn published_for(&self, series: &Series) -> Option<i128> {
        let said = self.published.values();
        let own = said.filter(|(key, _)| key.0 == series.class && key.1 == series.segment);
        own.filter_map(|(_, offer)| match series.quantity {
            Quantity::Capacity => offer.capacity,
            Quantity::Maximum => offer.maximum,
        })
        .max()
    }

    /// What all pools together have that can be reached from the segment.
    fn truth(&self, series: &Series) -> Option<i128> {
        let asked = self.plan.segments.parse(&series.segment).ok()?;
        let parameters = self.plan.class_parameters.get(&series.class)?;
        let cost = self.cost(parameters).max(1);
        // Who asks for no segment asks for all of them.
        let serves = |segment: &Segment| {
            let is_asked = |(key, value)| asked.get(key) == Some(value);
            asked.is_empty() || segment.iter().all(is_asked)
        };
        let serving = self.pools.iter().filter(|(segment, _)| serves(segment));
        let rooms = serving.map(|(segment, storage)| {
            let taken = self.taken(segment);
            let (free, largest) = match storage {
                Storage::Linear { capacity, largest } => (capacity.saturating_sub(taken), *largest),
                Storage::Filesystem { size, used } => {
                    (size.saturating_sub(*used).saturating_sub(taken), Some(u64::MAX))
                }
                // No answer tells which device a volume took.
                Storage::Devices(_) => return None,
            };
            match series.quantity {
                Quantity::Capacity => Some(i128::from(free / cost)),
                Quantity::Maximum => largest.map(|largest| i128::from(free.min(largest) / cost)),
            }
        });
        // One pool that does not say is enough for nothing to be known.
        let rooms: Vec<i128> = rooms.collect::<Option<_>>()?;
        match series.quantity {
            Quantity::Capacity if rooms.is_empty() => None,
            Quantity::Capacity => Some(rooms.into_iter().sum()),
            Quantity::Maximum => rooms.into_iter().max(),
        }
    }

    fn taken(&self, segment: &Segment) -> u64 {
        let volumes = self.volumes.values().filter(|volume| volume.segment == *segment);
        let raw = volumes.map(|volume| volume.bytes.saturating_mul(volume.cost));
        raw.fold(0, u64::saturating_add)
    }

    /// Raw bytes per byte of a volume with these parameters.
    fn cost(&self, parameters: &BTreeMap<String, String>) -> u64 {
        let costs = self.plan.driver.costs.iter();
        let applying = costs.filter(|(name, value, _)| parameters.get(name) == Some(value));
        applying.map(|(_, _, factor)| factor).product()
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

    fn call(method: &str) -> CallFact {
        CallFact {
            method: method.to_owned(),
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

    fn created(id: &str, bytes: i64) -> What {
        let segment = Some("n1".to_owned());
        What::Call(CallFact {
            volume_id: Some(id.to_owned()),
            placed: Some(PlacedVolume { segment, bytes }),
            ..call("CreateVolume")
        })
    }

    fn published(change: Change, capacity: &str) -> What {
        let topology = json!({"matchLabels": {"disk.example.com/node": "n1"}});
        let object = json!({"storageClassName": "fast", "capacity": capacity, "nodeTopology": topology});
        What::Commit(CommitFact {
            client: "publisher".into(),
            change,
            resource: "csistoragecapacities".into(),
            namespace: Some("csi".to_owned()),
            name: "c".to_owned(),
            revision: 1,
            object: Arc::new(object),
        })
    }

    /// The capacity of class fast at n1, with a second between two facts.
    fn of_n1(facts: Vec<What>) -> Series {
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
        let mut all = series(&plan, &facts, [wanted]);
        assert_eq!(
            all.len(),
            1,
            "nothing is said about a maximum, and nothing was said about n2"
        );
        all.remove(0)
    }

    fn points(points: &[Point]) -> Vec<(u64, Option<i128>)> {
        points.iter().map(|point| (point.at_us, point.bytes)).collect()
    }

    #[test]
    fn truth_follows_actions_and_volumes() {
        let deleted = What::Call(CallFact {
            volume_id: Some("v".to_owned()),
            ..call("DeleteVolume")
        });
        let refused = What::Call(CallFact {
            code: "INTERNAL".to_owned(),
            volume_id: Some("v".to_owned()),
            ..call("DeleteVolume")
        });
        let action = What::Action(ActionFact {
            text: "backend n1 is now 7".to_owned(),
        });
        let series = of_n1(vec![
            What::StepStarted(StepMark { step: 0 }),
            created("v", 4),
            // The same once more takes nothing more.
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
    fn published_follows_the_objects() {
        let asked = What::Call(CallFact {
            segment: Some("n1".to_owned()),
            available: Some(8),
            ..call("GetCapacity")
        });
        let series = of_n1(vec![
            What::StepStarted(StepMark { step: 0 }),
            asked,
            published(Change::Added, "8"),
            published(Change::Modified, "1k"),
            published(Change::Deleted, "1k"),
        ]);
        let wanted = [(0, None), (2, Some(8)), (3, Some(1000)), (4, None)];
        assert_eq!(points(&series.published), wanted);
        assert_eq!(points(&series.answered), [(1, Some(8))]);
        assert_eq!(points(&series.truth), [(0, Some(10))]);
    }
}

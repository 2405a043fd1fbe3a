//! The storage behind the driver, as the plan, the actions and the calls of a journal determine it.
//!
//! It is computed from the facts, and not by the driver. Does not know what was published.

use std::collections::BTreeMap;

use capacity_types::Segment;
use fake_csi::Method;
use fake_csi::Storage;

use crate::journal::{CallFact, Fact, What};
use crate::plan::{Action, Plan};

/// A volume in the storage.
struct Volume {
    segment: Segment,
    bytes: u64,
    /// Raw bytes per byte.
    cost: u64,
}

/// The storage at one fact of the journal.
pub(super) struct Backend<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Storage>,
    /// By the driver's id.
    volumes: BTreeMap<String, Volume>,
    step: usize,
    action: usize,
}

/// What one pool has left, in bytes of a volume of some class.
struct Left {
    free: i128,
    largest: Option<i128>,
}

impl<'p> Backend<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Backend {
            plan,
            pools: plan.driver.pools.iter().cloned().collect(),
            volumes: BTreeMap::new(),
            step: 0,
            action: 0,
        }
    }

    /// Applies the next fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
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
            _ => {}
        }
    }

    /// What all pools together have that can be reached from the segment; none: there is no pool, or it can't be computed.
    pub(super) fn available(&self, segment: &Segment, parameters: &BTreeMap<String, String>) -> Option<i128> {
        let pools = self.left(segment, parameters)?;
        (!pools.is_empty()).then(|| pools.iter().map(|pool| pool.free).sum())
    }

    /// The largest volume that one of these pools can take; none: a pool does not limit volumes, or it can't be computed.
    pub(super) fn largest(&self, segment: &Segment, parameters: &BTreeMap<String, String>) -> Option<i128> {
        let pools = self.left(segment, parameters)?;
        let largest: Vec<i128> = pools.iter().map(|pool| pool.largest).collect::<Option<_>>()?;
        largest.into_iter().max()
    }

    /// The pools that can be reached from the segment; none if one of them can't be computed.
    fn left(&self, segment: &Segment, parameters: &BTreeMap<String, String>) -> Option<Vec<Left>> {
        let cost = self.cost(parameters).max(1);
        // A call without a segment is about all of them.
        let serves = |pool: &Segment| {
            let is_same = |(key, value)| segment.get(key) == Some(value);
            segment.is_empty() || pool.iter().all(is_same)
        };
        let serving = self.pools.iter().filter(|(pool, _)| serves(pool));
        let left = serving.map(|(pool, storage)| {
            let taken = self.taken(pool);
            let (free, largest) = match storage {
                Storage::Linear { capacity, largest } => (capacity.saturating_sub(taken), *largest),
                Storage::Filesystem { size, used } => {
                    (size.saturating_sub(*used).saturating_sub(taken), Some(u64::MAX))
                }
                // No answer says which device a volume took.
                Storage::Devices(_) => return None,
            };
            Some(Left {
                free: i128::from(free / cost),
                largest: largest.map(|largest| i128::from(free.min(largest) / cost)),
            })
        });
        left.collect()
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
        if call.method == Method::DeleteVolume {
            self.volumes.remove(id);
        } else if let Some(placed) = &call.placed {
            let segment = placed.segment.as_deref().unwrap_or("*");
            let volume = Volume {
                // The plan reads what it has written.
                segment: self.plan.segments.parse(segment).unwrap_or_default(),
                bytes: u64::try_from(placed.bytes).unwrap_or(0),
                // A volume that grows keeps its cost; the call does not have its parameters.
                cost: match self.volumes.get(id) {
                    Some(known) => known.cost,
                    None => self.cost(&call.parameters),
                },
            };
            self.volumes.insert(id.clone(), volume);
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

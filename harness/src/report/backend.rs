//! The storage of the driver, computed from the plan, the actions and the CSI calls of a journal.
//!
//! Independent of the capacity that the driver returns. Does not know CSIStorageCapacity objects.

use std::collections::BTreeMap;

use capacity_types::Segment;
use fake_csi::Method;
use fake_csi::Storage;

use crate::journal::{CallFact, Fact, Observation};
use crate::plan::{Action, Plan};

struct Volume {
    segment: Segment,
    bytes: u64,
    /// Raw bytes that the volume uses per byte of its size.
    cost: u64,
}

/// The storage of the driver at one position of the journal.
pub(super) struct Backend<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Storage>,
    /// Existing volumes by volume id.
    volumes: BTreeMap<String, Volume>,
    step: usize,
    action: usize,
}

/// Free capacity of a pool, in bytes of volumes of one StorageClass.
struct FreeCapacity {
    free: i128,
    maximum: Option<i128>,
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

    pub(super) fn apply(&mut self, fact: &Fact) {
        match &fact.what {
            Observation::StepStarted(mark) => (self.step, self.action) = (mark.step, 0),
            Observation::Action(_) => {
                let actions = self.plan.steps.get(self.step).map(|step| &step.actions);
                if let Some((action, _)) = actions.and_then(|actions| actions.get(self.action)) {
                    self.apply_action(action);
                }
                self.action += 1;
            }
            Observation::Call(call) if call.code == "OK" => self.apply_call(call),
            _ => {}
        }
    }

    /// Total free capacity of the pools that are accessible from the segment. `None` if there is no such pool, or if the capacity cannot be
    /// computed.
    pub(super) fn available(&self, segment: &Segment, parameters: &BTreeMap<String, String>) -> Option<i128> {
        let pools = self.accessible_pools(segment, parameters)?;
        (!pools.is_empty()).then(|| pools.iter().map(|pool| pool.free).sum())
    }

    /// Size of the largest volume that fits into a pool that is accessible from the segment. `None` if a pool does not limit the size, or
    /// if the size cannot be computed.
    pub(super) fn maximum_volume_size(
        &self,
        segment: &Segment,
        parameters: &BTreeMap<String, String>,
    ) -> Option<i128> {
        let pools = self.accessible_pools(segment, parameters)?;
        let largest: Vec<i128> = pools.iter().map(|pool| pool.maximum).collect::<Option<_>>()?;
        largest.into_iter().max()
    }

    /// The pools that are accessible from the segment. `None` if the capacity of one of the pools cannot be computed.
    fn accessible_pools(
        &self,
        segment: &Segment,
        parameters: &BTreeMap<String, String>,
    ) -> Option<Vec<FreeCapacity>> {
        let cost = self.cost(parameters).max(1);
        // A CSI call without a segment concerns all pools.
        let serves = |pool: &Segment| {
            let is_same = |(key, value)| segment.get(key) == Some(value);
            segment.is_empty() || pool.iter().all(is_same)
        };
        let serving = self.pools.iter().filter(|(pool, _)| serves(pool));
        let pools = serving.map(|(pool, storage)| {
            let used_bytes = self.used_bytes(pool);
            let (free, largest) = match storage {
                Storage::Linear { capacity, largest } => (capacity.saturating_sub(used_bytes), *largest),
                Storage::Filesystem { size, used } => (
                    size.saturating_sub(*used).saturating_sub(used_bytes),
                    Some(u64::MAX),
                ),
                // The device of a volume is unknown, because no CSI response contains it.
                Storage::Devices(_) => return None,
            };
            Some(FreeCapacity {
                free: i128::from(free / cost),
                maximum: largest.map(|largest| i128::from(free.min(largest) / cost)),
            })
        });
        pools.collect()
    }

    fn apply_action(&mut self, action: &Action) {
        match action {
            Action::SetPool(segment, Some(pool)) => {
                self.pools.insert(segment.clone(), pool.clone());
            }
            Action::SetPool(segment, None) => drop(self.pools.remove(segment)),
            Action::Attempt(action) => self.apply_action(action),
            _ => {}
        }
    }

    fn apply_call(&mut self, call: &CallFact) {
        let Some(id) = &call.volume_id else {
            return;
        };
        if call.method == Method::DeleteVolume {
            self.volumes.remove(id);
        } else if let Some(placed) = &call.placed {
            let segment = placed.segment.as_deref().unwrap_or("*");
            let volume = Volume {
                // Parsing cannot fail, because the text was formatted from a segment of the plan.
                segment: self.plan.segments.parse(segment).unwrap_or_default(),
                bytes: u64::try_from(placed.bytes).unwrap_or(0),
                // ControllerExpandVolume has no class parameters, so an expanded volume retains its cost.
                cost: match self.volumes.get(id) {
                    Some(known) => known.cost,
                    None => self.cost(&call.parameters),
                },
            };
            self.volumes.insert(id.clone(), volume);
        }
    }

    fn used_bytes(&self, segment: &Segment) -> u64 {
        let volumes = self.volumes.values().filter(|volume| volume.segment == *segment);
        let raw = volumes.map(|volume| volume.bytes.saturating_mul(volume.cost));
        raw.fold(0, u64::saturating_add)
    }

    /// Raw bytes that a volume with these class parameters uses per byte of its size.
    fn cost(&self, parameters: &BTreeMap<String, String>) -> u64 {
        let costs = self.plan.driver.costs.iter();
        let applying = costs.filter(|(name, value, _)| parameters.get(name) == Some(value));
        applying.map(|(_, _, factor)| factor).product()
    }
}

//! Capacity that the driver of a case must report, computed from the case's storage, the volumes created so far, and injected faults.
//!
//! Computed from the case file and completed calls. Does not know the driver's code, device groups and reservations.

use std::collections::BTreeMap;

use capacity_spec::volumes::Backend;
use capacity_spec::world::{Answer, Figures, Parameters};
use capacity_types::Segment;
use capacity_types::segment::contains;
use fake_csi::{Access, Device, Storage as Layout};
use fake_csi::{Effect, Method, Rule, is_block};

use crate::journal::CallFact;
use crate::plan::{Action, Plan};
use crate::scenario::Role;

/// Storage of a case at a moment of its journal.
pub(super) struct Storage<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Layout>,
    /// Capacity used by each volume, by volume id.
    taken: BTreeMap<String, Taken>,
    /// Active fault rules of the driver, with their ids.
    scripts: Vec<(Option<&'p str>, &'p Rule)>,
    is_down: bool,
    /// Earlier pool states since everything was last quiet.
    former: Vec<BTreeMap<Segment, Layout>>,
    /// Whether volumes were created, deleted or expanded since then; and whether one was deleted.
    has_moved: bool,
    has_lost: bool,
    /// Whether a fault ever made the driver report a given capacity.
    is_told_figures: bool,
    /// Whether connections are cut, so that any response may be lost.
    loses_answers: bool,
}

/// Capacity used by a volume.
struct Taken {
    segment: Segment,
    /// The device, if the pool has devices.
    device: Option<String>,
    /// Raw bytes.
    raw: u128,
}

/// A requested volume.
struct Wanted<'c> {
    parameters: &'c Parameters,
    is_block: bool,
    bytes: u128,
}

impl<'p> Storage<'p> {
    /// Initial state of a case.
    pub(super) fn of(plan: &'p Plan) -> Self {
        Storage {
            plan,
            pools: plan.driver.pools.iter().cloned().collect(),
            taken: BTreeMap::new(),
            scripts: Vec::new(),
            is_down: false,
            former: Vec::new(),
            has_moved: false,
            has_lost: false,
            is_told_figures: false,
            loses_answers: false,
        }
    }

    /// Processes an action of the harness. Faults with limited `times` are over once everything is quiet, so they are not recorded.
    pub(super) fn act(&mut self, action: &'p Action) {
        match action {
            Action::Pool(..) => self.former.push(self.pools.clone()),
            Action::Script { rule, .. } => {
                self.loses_answers |= rule.effect.cuts_connection();
                self.is_told_figures |= matches!(rule.effect, Effect::Capacity { .. });
            }
            _ => {}
        }
        match action {
            Action::Pool(segment, Some(layout)) => {
                drop(self.pools.insert(segment.clone(), layout.clone()));
            }
            Action::Pool(segment, None) => drop(self.pools.remove(segment)),
            // A delay does not change the response.
            Action::Script { id, rule }
                if rule.times.is_none() && !matches!(rule.effect, Effect::Delay(_)) =>
            {
                self.scripts.push((id.as_deref(), rule));
            }
            Action::Unscript(name) => self.scripts.retain(|(id, _)| *id != Some(name)),
            Action::Stop(Role::Driver) => self.is_down = true,
            Action::Start(Role::Driver) => self.is_down = false,
            _ => {}
        }
    }

    /// Whether a response may not have reached the publisher.
    pub(super) fn loses_answers(&self) -> bool {
        self.loses_answers
    }

    /// Forgets earlier states once everything is quiet.
    pub(super) fn settle(&mut self) {
        self.former.clear();
        (self.has_moved, self.has_lost) = (false, false);
    }

    /// Capacities that GetCapacity may return for a segment and parameters, including earlier states since everything was last quiet. Empty
    /// if unknown.
    pub(super) fn possible(&self, segment: &Segment, parameters: &Parameters) -> Vec<Figures> {
        if self.has_moved || self.is_told_figures {
            return Vec::new();
        }
        let pools = self.former.iter().chain([&self.pools]);
        pools
            .map(|pools| self.figures(pools, segment, parameters))
            .collect()
    }

    /// Whether any fault of the case affects calls about volumes.
    pub(super) fn scripts_volumes(&self) -> bool {
        self.plan
            .scripts()
            .any(|script| script.method != Method::GetCapacity)
    }

    /// Processes the creation, deletion or expansion of a volume.
    pub(super) fn called(&mut self, call: &CallFact) {
        self.has_moved = true;
        let Some(id) = call.volume_id.as_ref().filter(|_| call.code == "OK") else {
            return;
        };
        if call.method == Method::DeleteVolume {
            self.has_lost = true;
            self.taken.remove(id);
        }
        let cost = self.cost(&call.parameters);
        if let Some(placed) = &call.placed
            && call.method == Method::ControllerExpandVolume
            && let Some(taken) = self.taken.get_mut(id)
        {
            taken.raw = u128::try_from(placed.bytes)
                .unwrap_or_default()
                .saturating_mul(cost);
        }
        if let Some(placed) = &call.placed
            && !self.taken.contains_key(id)
        {
            let segment = parsed(self.plan, placed.segment.as_deref());
            let bytes = u128::try_from(placed.bytes).unwrap_or_default();
            let extent = self.chosen(&segment, &wanted(call, bytes));
            let device = extent.and_then(|extent| extent.device.map(str::to_owned));
            let taken = Taken {
                device,
                raw: bytes.saturating_mul(cost),
                segment,
            };
            self.taken.insert(id.clone(), taken);
        }
    }

    /// Whether the driver creates a volume without sufficient capacity. False if the order of events is uncertain.
    pub(super) fn is_overfull(&self, call: &CallFact) -> bool {
        let (Some(placed), Some(id)) = (&call.placed, &call.volume_id) else {
            return false;
        };
        let is_certain = self.former.is_empty() && !self.has_lost && !self.taken.contains_key(id);
        let bytes = call
            .required_bytes
            .and_then(|bytes| u128::try_from(bytes).ok())
            .unwrap_or_default();
        let segment = parsed(self.plan, placed.segment.as_deref());
        is_certain && self.chosen(&segment, &wanted(call, bytes)).is_none()
    }

    /// The part of a pool on which a volume is created: the smallest sufficient device, if there are devices.
    fn chosen(&self, segment: &Segment, wanted: &Wanted<'_>) -> Option<Extent<'_>> {
        let (of, layout) = self.pools.get_key_value(segment)?;
        let cost = self.cost(wanted.parameters);
        let extents = extents(layout, wanted.parameters, Some(wanted.is_block));
        let fitting = extents.filter(|extent| wanted.bytes <= self.free(of, extent).1 / cost);
        fitting.min_by_key(|extent| self.free(of, extent).0)
    }

    /// The GetCapacity result for a segment and parameters once everything is quiet.
    pub(super) fn answer(&self, segment: &Segment, parameters: &Parameters) -> Answer {
        if self.is_down {
            return Answer::error();
        }
        let mut rules = self.scripts.iter().map(|(_, rule)| rule);
        let rule = rules.find(|rule| is_about(rule, segment, parameters));
        match rule.map(|rule| &rule.effect) {
            None => Answer::Figures(self.figures(&self.pools, segment, parameters)),
            Some(&Effect::Capacity {
                available, maximum, ..
            }) => Answer::Figures(Figures { available, maximum }),
            Some(_) => Answer::error(),
        }
    }

    /// The free capacity of all pools of the segment, and the largest contiguous part if every pool reports one.
    fn figures(
        &self,
        pools: &BTreeMap<Segment, Layout>,
        segment: &Segment,
        parameters: &Parameters,
    ) -> Figures {
        let cost = self.cost(parameters);
        let is_everywhere = self.plan.segments.keys().is_empty();
        let is_reached = |of: &Segment| is_everywhere || contains(segment, of);
        let mut figures = Figures::default();
        let mut tells = self.plan.driver.version.has_volume_sizes();
        for (of, layout) in pools.iter().filter(|(of, _)| is_reached(of)) {
            for extent in extents(layout, parameters, None) {
                let (sum, piece) = self.free(of, &extent);
                tells &= extent.largest.is_some();
                figures.available = figures.available.saturating_add(bytes(sum / cost));
                figures.maximum = figures.maximum.max(Some(bytes(piece / cost)));
            }
        }
        figures.maximum = figures.maximum.filter(|_| tells);
        figures
    }

    /// Free raw bytes of a part of a pool: in total, and contiguous.
    fn free(&self, of: &Segment, extent: &Extent<'_>) -> (u128, u128) {
        let is_there = |taken: &&Taken| taken.segment == *of && taken.device.as_deref() == extent.device;
        let taken = self.taken.values().filter(is_there);
        let (count, taken) = taken.fold((0, 0_u128), |(count, sum), taken| {
            (count + 1, sum.saturating_add(taken.raw))
        });
        let sum = match extent.is_whole && count > 0 {
            true => 0,
            false => extent.size.saturating_sub(taken),
        };
        (sum, extent.largest.map_or(sum, |largest| sum.min(largest)))
    }

    /// Raw bytes per volume byte.
    fn cost(&self, parameters: &Parameters) -> u128 {
        let costs = self.plan.driver.costs.iter();
        let own = costs.filter(|(parameter, value, _)| parameters.get(parameter) == Some(value));
        own.map(|(_, _, factor)| u128::from(*factor)).product()
    }
}

impl Backend for Storage<'_> {
    fn is_up(&self) -> bool {
        !self.is_down
            && self
                .scripts
                .iter()
                .all(|(_, rule)| rule.method == Method::GetCapacity)
    }

    fn has_room(&self, segment: &Segment, parameters: &Parameters, is_block: bool, wanted: i128) -> bool {
        let Ok(bytes) = u128::try_from(wanted) else {
            return false;
        };
        let wanted = Wanted {
            parameters,
            is_block,
            bytes,
        };
        let mut own = self.pools.keys().filter(|of| contains(segment, of));
        own.any(|of| self.chosen(of, &wanted).is_some())
    }
}

/// The volume requested by a call, with this size.
fn wanted(call: &CallFact, bytes: u128) -> Wanted<'_> {
    Wanted {
        parameters: &call.parameters,
        is_block: call.details.capabilities.iter().any(|it| is_block(it)),
        bytes,
    }
}

/// A part of a pool that can contain a volume.
struct Extent<'l> {
    /// Name of the device. None for pools without devices.
    device: Option<&'l str>,
    /// Raw bytes.
    size: u128,
    /// Maximum raw bytes of a volume, if the driver reports one.
    largest: Option<u128>,
    /// Whether a volume uses all of it.
    is_whole: bool,
}

/// Parts of a pool that are usable for these class parameters, and for raw or mounted volumes if `is_block` is known.
fn extents<'l>(
    layout: &'l Layout,
    parameters: &Parameters,
    is_block: Option<bool>,
) -> impl Iterator<Item = Extent<'l>> {
    let whole = |size: u64, largest: Option<u128>| Extent {
        device: None,
        size: size.into(),
        largest,
        is_whole: false,
    };
    let (store, devices) = match layout {
        Layout::Linear { capacity, largest } => (Some(whole(*capacity, largest.map(u128::from))), None),
        Layout::Filesystem { size, used } => (Some(whole(size.saturating_sub(*used), Some(u128::MAX))), None),
        Layout::Devices(devices) => (None, Some(devices)),
    };
    let devices = devices.into_iter().flatten();
    let good = devices.filter(move |(_, device)| is_good(device, parameters, is_block));
    let good = good.map(|(name, device)| Extent {
        device: Some(name),
        size: device.size.into(),
        largest: Some(u128::MAX),
        is_whole: !device.group,
    });
    store.into_iter().chain(good)
}

/// Whether a device supports these class parameters and this access type.
fn is_good(device: &Device, parameters: &Parameters, is_block: Option<bool>) -> bool {
    let mut own = device.parameters.iter();
    let agrees = own.all(|(name, value)| parameters.get(name).is_none_or(|asked| asked == value));
    let is_usable = match device.access {
        Access::Any => true,
        Access::Block => is_block != Some(false),
        Access::Mount => is_block != Some(true),
    };
    agrees && is_usable
}

fn bytes(bytes: u128) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Parses the segment of a fact. None is the segment that contains everything.
pub(super) fn parsed(plan: &Plan, segment: Option<&str>) -> Segment {
    let segment = segment.map(|text| plan.segments.parse(text));
    segment.and_then(Result::ok).unwrap_or_default()
}

/// Whether a fault rule applies to GetCapacity calls for a segment and parameters.
fn is_about(script: &Rule, segment: &Segment, parameters: &Parameters) -> bool {
    let mut wanted = script.parameters.iter();
    script.method == Method::GetCapacity
        && script.segment.as_ref().is_none_or(|of| contains(segment, of))
        && wanted.all(|(key, value)| parameters.get(key) == Some(value))
}

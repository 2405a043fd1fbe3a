//! The capacity that the driver of a case must return, computed from the storage in the case file, the completed CSI calls and the injected
//! faults.
//!
//! Does not know the driver's code, reservations, and the minimum volume size of device groups.

use std::collections::BTreeMap;

use capacity_spec::volumes::Backend;
use capacity_spec::world::{CapacityResponse, Parameters, ReportedCapacity};
use capacity_types::Segment;
use capacity_types::segment::contains;
use fake_csi::{Access, Device, Storage as Layout};
use fake_csi::{Effect, Method, Rule, is_block};

use crate::journal::CallFact;
use crate::plan::{Action, Plan};
use crate::scenario::Role;

/// The storage of a case after the facts processed so far.
pub(super) struct Storage<'p> {
    plan: &'p Plan,
    pools: BTreeMap<Segment, Layout>,
    /// Capacity that each volume uses, by volume id.
    used: BTreeMap<String, UsedCapacity>,
    /// Active fault rules of the driver, each with its `id` in the case.
    fault_rules: Vec<(Option<&'p str>, &'p Rule)>,
    is_down: bool,
    /// Pools as they were at earlier times since the cluster was last quiet.
    earlier_pools: Vec<BTreeMap<Segment, Layout>>,
    /// Whether volumes were created, deleted or expanded since the cluster was last quiet, and (`has_deletions`) whether a volume was
    /// deleted.
    has_volume_changes: bool,
    has_deletions: bool,
    /// Whether a fault rule has ever made the driver return an injected capacity.
    has_injected_capacity: bool,
    /// Whether a fault rule cuts connections, so that any response may be lost.
    loses_answers: bool,
}

struct UsedCapacity {
    segment: Segment,
    /// The device that contains the volume; None if the pool has no devices.
    device: Option<String>,
    /// Raw bytes of the pool that the volume uses.
    raw: u128,
}

struct RequestedVolume<'c> {
    parameters: &'c Parameters,
    is_block: bool,
    bytes: u128,
}

impl<'p> Storage<'p> {
    /// The initial storage of a case.
    pub(super) fn of(plan: &'p Plan) -> Self {
        Storage {
            plan,
            pools: plan.driver.pools.iter().cloned().collect(),
            used: BTreeMap::new(),
            fault_rules: Vec::new(),
            is_down: false,
            earlier_pools: Vec::new(),
            has_volume_changes: false,
            has_deletions: false,
            has_injected_capacity: false,
            loses_answers: false,
        }
    }

    /// Processes an action of the harness. Ignores fault rules with limited `times`, because their matches are used up once the cluster is
    /// quiet.
    pub(super) fn apply_action(&mut self, action: &'p Action) {
        match action {
            Action::SetPool(..) => self.earlier_pools.push(self.pools.clone()),
            Action::DriverFault { rule, .. } => {
                self.loses_answers |= rule.effect.cuts_connection();
                self.has_injected_capacity |= matches!(rule.effect, Effect::Capacity { .. });
            }
            _ => {}
        }
        match action {
            Action::SetPool(segment, Some(layout)) => {
                drop(self.pools.insert(segment.clone(), layout.clone()));
            }
            Action::SetPool(segment, None) => drop(self.pools.remove(segment)),
            // A delay does not change the returned capacity.
            Action::DriverFault { id, rule }
                if rule.times.is_none() && !matches!(rule.effect, Effect::Delay(_)) =>
            {
                self.fault_rules.push((id.as_deref(), rule));
            }
            Action::RemoveDriverFault(name) => self.fault_rules.retain(|(id, _)| *id != Some(name)),
            Action::Stop(Role::Driver) => self.is_down = true,
            Action::Start(Role::Driver) => self.is_down = false,
            _ => {}
        }
    }

    /// Whether a response may not have reached the publisher.
    pub(super) fn loses_answers(&self) -> bool {
        self.loses_answers
    }

    /// Forgets earlier contents of the pools. Called when the cluster is quiet, because programs no longer act on old capacities.
    pub(super) fn settle(&mut self) {
        self.earlier_pools.clear();
        (self.has_volume_changes, self.has_deletions) = (false, false);
    }

    /// Results that GetCapacity may return for a segment and parameters, including results since the cluster was last quiet. Empty if
    /// unknown.
    pub(super) fn possible_capacities(
        &self,
        segment: &Segment,
        parameters: &Parameters,
    ) -> Vec<ReportedCapacity> {
        if self.has_volume_changes || self.has_injected_capacity {
            return Vec::new();
        }
        let pools = self.earlier_pools.iter().chain([&self.pools]);
        pools
            .map(|pools| self.capacity_of(pools, segment, parameters))
            .collect()
    }

    /// Whether the case injects a fault into a call that creates or deletes volumes.
    pub(super) fn has_volume_faults(&self) -> bool {
        self.plan
            .driver_fault_rules()
            .any(|rule| rule.method != Method::GetCapacity)
    }

    /// Processes the creation, deletion or expansion of a volume.
    pub(super) fn volume_call_ended(&mut self, call: &CallFact) {
        self.has_volume_changes = true;
        let Some(id) = call.volume_id.as_ref().filter(|_| call.code == "OK") else {
            return;
        };
        if call.method == Method::DeleteVolume {
            self.has_deletions = true;
            self.used.remove(id);
        }
        let cost = self.raw_bytes_per_byte(&call.parameters);
        if let Some(placed) = &call.placed
            && call.method == Method::ControllerExpandVolume
            && let Some(used) = self.used.get_mut(id)
        {
            used.raw = u128::try_from(placed.bytes)
                .unwrap_or_default()
                .saturating_mul(cost);
        }
        if let Some(placed) = &call.placed
            && !self.used.contains_key(id)
        {
            let segment = parse_segment(self.plan, placed.segment.as_deref());
            let bytes = u128::try_from(placed.bytes).unwrap_or_default();
            let extent = self.extent_for(&segment, &requested_volume(call, bytes));
            let device = extent.and_then(|extent| extent.device.map(str::to_owned));
            let used = UsedCapacity {
                device,
                raw: bytes.saturating_mul(cost),
                segment,
            };
            self.used.insert(id.clone(), used);
        }
    }

    /// Whether a CreateVolume call succeeded although the capacity was insufficient. False if the order of events is uncertain.
    pub(super) fn exceeds_free_capacity(&self, call: &CallFact) -> bool {
        let (Some(placed), Some(id)) = (&call.placed, &call.volume_id) else {
            return false;
        };
        let is_certain = self.earlier_pools.is_empty() && !self.has_deletions && !self.used.contains_key(id);
        let bytes = call
            .required_bytes
            .and_then(|bytes| u128::try_from(bytes).ok())
            .unwrap_or_default();
        let segment = parse_segment(self.plan, placed.segment.as_deref());
        is_certain
            && self
                .extent_for(&segment, &requested_volume(call, bytes))
                .is_none()
    }

    /// The part of a pool in which the driver must create a volume: in a pool with devices, the smallest device that is large enough.
    fn extent_for(&self, segment: &Segment, volume: &RequestedVolume<'_>) -> Option<Extent<'_>> {
        let (of, layout) = self.pools.get_key_value(segment)?;
        let cost = self.raw_bytes_per_byte(volume.parameters);
        let extents = extents(layout, volume.parameters, Some(volume.is_block));
        let fitting = extents.filter(|extent| volume.bytes <= self.free(of, extent).1 / cost);
        fitting.min_by_key(|extent| self.free(of, extent).0)
    }

    /// The GetCapacity result for a segment and parameters once the cluster is quiet.
    pub(super) fn get_capacity_result(&self, segment: &Segment, parameters: &Parameters) -> CapacityResponse {
        if self.is_down {
            return CapacityResponse::error();
        }
        let mut rules = self.fault_rules.iter().map(|(_, rule)| rule);
        let rule = rules.find(|rule| matches_call(rule, segment, parameters));
        match rule.map(|rule| &rule.effect) {
            None => CapacityResponse::Reported(self.capacity_of(&self.pools, segment, parameters)),
            Some(&Effect::Capacity {
                available, maximum, ..
            }) => CapacityResponse::Reported(ReportedCapacity { available, maximum }),
            Some(_) => CapacityResponse::error(),
        }
    }

    /// Total free capacity of the pools in a segment, and the largest contiguous free capacity if every pool reports one.
    fn capacity_of(
        &self,
        pools: &BTreeMap<Segment, Layout>,
        segment: &Segment,
        parameters: &Parameters,
    ) -> ReportedCapacity {
        let cost = self.raw_bytes_per_byte(parameters);
        let is_without_topology = self.plan.segments.keys().is_empty();
        let is_accessible = |of: &Segment| is_without_topology || contains(segment, of);
        let mut capacity = ReportedCapacity::default();
        let mut reports_maximum = self.plan.driver.version.has_volume_sizes();
        for (of, layout) in pools.iter().filter(|(of, _)| is_accessible(of)) {
            for extent in extents(layout, parameters, None) {
                let (sum, contiguous) = self.free(of, &extent);
                reports_maximum &= extent.largest.is_some();
                capacity.available = capacity.available.saturating_add(bytes(sum / cost));
                capacity.maximum = capacity.maximum.max(Some(bytes(contiguous / cost)));
            }
        }
        capacity.maximum = capacity.maximum.filter(|_| reports_maximum);
        capacity
    }

    /// Free raw bytes of a part of a pool, as (total, largest contiguous).
    fn free(&self, of: &Segment, extent: &Extent<'_>) -> (u128, u128) {
        let is_on_extent =
            |used: &&UsedCapacity| used.segment == *of && used.device.as_deref() == extent.device;
        let used = self.used.values().filter(is_on_extent);
        let (count, used) = used.fold((0, 0_u128), |(count, sum), used| {
            (count + 1, sum.saturating_add(used.raw))
        });
        let sum = match extent.is_whole && count > 0 {
            true => 0,
            false => extent.size.saturating_sub(used),
        };
        (sum, extent.largest.map_or(sum, |largest| sum.min(largest)))
    }

    /// Raw bytes that a volume uses per byte of its size, from the `costs` of the class parameters.
    fn raw_bytes_per_byte(&self, parameters: &Parameters) -> u128 {
        let costs = self.plan.driver.costs.iter();
        let matching = costs.filter(|(parameter, value, _)| parameters.get(parameter) == Some(value));
        matching.map(|(_, _, factor)| u128::from(*factor)).product()
    }
}

impl Backend for Storage<'_> {
    fn is_up(&self) -> bool {
        !self.is_down
            && self
                .fault_rules
                .iter()
                .all(|(_, rule)| rule.method == Method::GetCapacity)
    }

    fn can_create(&self, segment: &Segment, parameters: &Parameters, is_block: bool, bytes: i128) -> bool {
        let Ok(bytes) = u128::try_from(bytes) else {
            return false;
        };
        let volume = RequestedVolume {
            parameters,
            is_block,
            bytes,
        };
        let mut matching = self.pools.keys().filter(|of| contains(segment, of));
        matching.any(|of| self.extent_for(of, &volume).is_some())
    }
}

fn requested_volume(call: &CallFact, bytes: u128) -> RequestedVolume<'_> {
    RequestedVolume {
        parameters: &call.parameters,
        is_block: call.details.capabilities.iter().any(|it| is_block(it)),
        bytes,
    }
}

/// A part of a pool that can contain volumes: a device, or a whole pool without devices.
struct Extent<'l> {
    /// Name of the device. None for pools without devices.
    device: Option<&'l str>,
    /// Size of the device or pool in raw bytes.
    size: u128,
    /// Maximum size of a volume in raw bytes, if the driver reports one.
    largest: Option<u128>,
    /// Whether a volume always uses the whole device, as with a raw device.
    is_whole: bool,
}

/// The parts of a pool that volumes with these class parameters can use: for block volumes (`is_block` is true), mounted volumes (false), or
/// any volume (None).
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
    let (undivided, devices) = match layout {
        Layout::Linear { capacity, largest } => (Some(whole(*capacity, largest.map(u128::from))), None),
        Layout::Filesystem { size, used } => (Some(whole(size.saturating_sub(*used), Some(u128::MAX))), None),
        Layout::Devices(devices) => (None, Some(devices)),
    };
    let devices = devices.into_iter().flatten();
    let usable = devices.filter(move |(_, device)| is_usable_device(device, parameters, is_block));
    let usable = usable.map(|(name, device)| Extent {
        device: Some(name),
        size: device.size.into(),
        largest: Some(u128::MAX),
        is_whole: !device.group,
    });
    undivided.into_iter().chain(usable)
}

fn is_usable_device(device: &Device, parameters: &Parameters, is_block: Option<bool>) -> bool {
    let mut matching = device.parameters.iter();
    let agrees =
        matching.all(|(name, value)| parameters.get(name).is_none_or(|requested| requested == value));
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

/// Parses the topology segment of a call. None stands for the segment that contains every node.
pub(super) fn parse_segment(plan: &Plan, segment: Option<&str>) -> Segment {
    let segment = segment.map(|text| plan.segments.parse(text));
    segment.and_then(Result::ok).unwrap_or_default()
}

/// Whether a fault rule matches GetCapacity calls for a segment and parameters.
fn matches_call(rule: &Rule, segment: &Segment, parameters: &Parameters) -> bool {
    let mut required = rule.parameters.iter();
    rule.method == Method::GetCapacity
        && rule.segment.as_ref().is_none_or(|of| contains(segment, of))
        && required.all(|(key, value)| parameters.get(key) == Some(value))
}

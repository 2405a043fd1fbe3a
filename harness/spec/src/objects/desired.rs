//! Which CSIStorageCapacity object must or may be published for a class and segment.

use std::collections::BTreeSet;

use capacity_types::Segment;

use crate::rules::Unspecified;
use crate::world::{
    CapacityResponse, Deployment, Driver, Instance, Parameters, Publisher, ReportedCapacity, StorageClass,
    VolumeBindingMode, World,
};

/// Which object must or may be published for a class and segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DesiredState {
    /// One object with these values must exist.
    Present(ReportedCapacity),
    /// One object must exist, with these values or with its earlier values.
    Stale(ReportedCapacity),
    /// Several outcomes are allowed: an object with one of the `values`, an object without values, or no object.
    Optional {
        /// The capacity values that the object may have.
        values: BTreeSet<ReportedCapacity>,
        /// Whether an existing object may retain its current values, even if `values` lacks them.
        as_before: bool,
        /// Why several outcomes are allowed.
        unspecified: Unspecified,
    },
}

impl DesiredState {
    /// Why several outcomes are allowed. `None` if only one outcome is allowed.
    pub fn unspecified(&self) -> Option<Unspecified> {
        match self {
            DesiredState::Present(_) => None,
            DesiredState::Stale(_) => Some(Unspecified::WithoutPolling),
            DesiredState::Optional { unspecified, .. } => Some(*unspecified),
        }
    }
}

/// The desired state of the object for a class and segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredObject<'w> {
    /// Name of the StorageClass.
    pub class: &'w str,
    /// Topology segment of the driver.
    pub segment: &'w Segment,
    /// Whether the object must or may exist, and with which values.
    pub state: DesiredState,
}

/// The objects that one publisher must publish.
pub struct DesiredObjects<'w> {
    world: &'w World,
    publisher: &'w Publisher,
    /// StorageClasses of the driver, sorted by name.
    classes: Vec<(&'w str, &'w StorageClass)>,
    segments: BTreeSet<Segment>,
    /// The driver. `None`: nothing is known about the driver, so it returns no capacity.
    driver: Option<&'w Driver>,
}

impl<'w> DesiredObjects<'w> {
    /// The desired objects of a publisher in this state of the cluster.
    pub fn of(world: &'w World, instance: &'w Instance, publisher: &'w Publisher) -> Self {
        let classes = world.classes.iter();
        let own = classes.filter(|(_, class)| class.provisioner == instance.driver);
        Self {
            world,
            publisher,
            classes: own.map(|(name, class)| (name.as_str(), class)).collect(),
            segments: segments(world, instance, publisher),
            driver: world.drivers.get(&instance.driver),
        }
    }

    /// Whether the driver lacks GET_CAPACITY, so that the publisher publishes nothing.
    pub fn lacks_get_capacity(&self) -> bool {
        self.driver.is_some_and(|driver| !driver.get_capacity)
    }

    /// Whether an object for a class and segment may exist at all.
    pub fn has(&self, class: &str, segment: &Segment) -> bool {
        self.class(class).is_some() && self.segments.contains(segment)
    }

    /// The segments for which the publisher creates objects.
    pub fn segments(&self) -> &BTreeSet<Segment> {
        &self.segments
    }

    /// A StorageClass of the publisher's driver.
    pub fn class(&self, name: &str) -> Option<&'w StorageClass> {
        let at = self.classes.binary_search_by_key(&name, |(own, _)| own).ok()?;
        Some(self.classes[at].1)
    }

    /// All desired objects, sorted by class and segment.
    pub fn all(&self) -> impl Iterator<Item = DesiredObject<'_>> {
        self.classes.iter().flat_map(move |(name, class)| {
            let parameters = class.driver_parameters();
            self.segments.iter().map(move |segment| DesiredObject {
                class: name,
                segment,
                state: self.state(class, segment, self.response(segment, &parameters)),
            })
        })
    }

    /// The desired state for a class and segment. `None`: no object may exist.
    pub fn state_for(&self, class: &str, segment: &Segment) -> Option<DesiredState> {
        let class = self.class(class).filter(|_| self.segments.contains(segment))?;
        let response = self.response(segment, &class.driver_parameters());
        Some(self.state(class, segment, response))
    }

    /// Whether the object may be absent. While GetCapacity fails, a publisher that does not delete objects with unknown capacity must
    /// retain the object.
    pub(crate) fn may_be_absent(&self, class: &str, segment: &Segment) -> bool {
        let must_retain =
            !self.publisher.deletes_unknown_capacity && self.driver_with_get_capacity().is_some();
        let is_open = |class| self.optional_reason(class, segment).is_some();
        match self.state_for(class, segment) {
            None => true,
            Some(DesiredState::Present(_) | DesiredState::Stale(_)) => false,
            Some(state) if state.unspecified() == Some(Unspecified::RetainOrDelete) => {
                !must_retain || self.class(class).is_none_or(is_open)
            }
            Some(DesiredState::Optional { .. }) => true,
        }
    }

    fn response(&self, segment: &Segment, parameters: &Parameters) -> Option<&'w CapacityResponse> {
        Some(self.driver_with_get_capacity()?.response(segment, parameters))
    }

    /// The driver of the publisher. `None` if the driver is unknown or lacks GET_CAPACITY.
    fn driver_with_get_capacity(&self) -> Option<&'w Driver> {
        self.driver.filter(|driver| driver.get_capacity)
    }

    fn state(
        &self,
        class: &StorageClass,
        segment: &Segment,
        response: Option<&CapacityResponse>,
    ) -> DesiredState {
        let has_maximum = self.world.api.release.has_maximum();
        let unknown = |values: BTreeSet<ReportedCapacity>, may_retain: bool| DesiredState::Optional {
            values: if may_retain { values } else { BTreeSet::new() },
            as_before: may_retain,
            unspecified: Unspecified::RetainOrDelete,
        };
        // A publisher without polling may not have noticed the error.
        let may_retain = !self.publisher.deletes_unknown_capacity || !self.publisher.polls;
        let values = match response {
            // CSI spec: GetCapacity must not be called if the driver lacks GET_CAPACITY.
            None => return unknown(BTreeSet::new(), true),
            Some(CapacityResponse::Error { before }) => {
                let valid = before.iter().filter(|values| values.is_valid());
                // The existing object may have been written while the API server dropped `maximumVolumeSize`.
                let stored =
                    |values: &ReportedCapacity| [values.as_stored(false), values.as_stored(has_maximum)];
                return unknown(valid.flat_map(stored).collect(), may_retain);
            }
            Some(CapacityResponse::Reported(values)) if !values.is_valid() => {
                return unknown(BTreeSet::new(), may_retain);
            }
            Some(CapacityResponse::Reported(values)) => values.as_stored(has_maximum),
        };
        match self.unspecified_choice(class, segment, values) {
            Some(unspecified) => DesiredState::Optional {
                values: BTreeSet::from([values]),
                as_before: !self.publisher.polls,
                unspecified,
            },
            None if !self.publisher.polls => DesiredState::Stale(values),
            None => DesiredState::Present(values),
        }
    }

    /// Why the object need not have exactly these values, which GetCapacity returned. `None` if the object must have them.
    fn unspecified_choice(
        &self,
        class: &StorageClass,
        segment: &Segment,
        values: ReportedCapacity,
    ) -> Option<Unspecified> {
        let is_zero = values.available == 0 && !self.publisher.zero_capacity_objects;
        let unspecified = self.optional_reason(class, segment);
        unspecified.or(is_zero.then_some(Unspecified::ZeroOrAbsent))
    }

    /// Why the object is optional whatever GetCapacity returns. `None` if there is no such reason.
    fn optional_reason(&self, class: &StorageClass, segment: &Segment) -> Option<Unspecified> {
        if class.binding == VolumeBindingMode::Immediate && !self.publisher.immediate {
            return Some(Unspecified::ImmediateClasses);
        }
        segment.is_empty().then_some(Unspecified::WithoutTopology)
    }
}

/// The segments of a publisher's nodes. A node without a label for one of the topology keys has no segment yet.
fn segments(world: &World, instance: &Instance, publisher: &Publisher) -> BTreeSet<Segment> {
    if publisher.deployment != Deployment::Central {
        return publisher.own_segment(world, instance).into_iter().collect();
    }
    let nodes = world.nodes.keys();
    nodes
        .filter_map(|node| world.segment(&instance.driver, node))
        .collect()
}

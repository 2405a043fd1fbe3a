//! The table of event kinds, with their weight for each focus of exploration.

use harness::scenario::Role;

use super::super::event::{ClassEvent, CsiDriverEvent, DeleteEvent, Event, Named, NodeEvent, Release};
use super::super::focus::Focus;
use super::super::world::CLASSES;
use super::places::{LONG_NODES, NODES};
use super::{Draw, by_name, cluster, objects, places, settings, storage, trouble, workload};

/// A kind of event.
struct Kind {
    /// Weight per focus, indexed by [`Focus::column`].
    weights: [u32; 4],
    /// Generates an event; `None` if no object exists that it could apply to.
    draw: fn(&mut Draw) -> Option<Event>,
}

const fn kind(weights: [u32; 4], draw: fn(&mut Draw) -> Option<Event>) -> Kind {
    Kind { weights, draw }
}

/// All kinds. The columns are those of [`Focus::column`]: publisher, scheduler, cleaner, story.
const KINDS: [Kind; 36] = [
    kind([4, 3, 4, 3], node_joins),
    kind([3, 2, 5, 2], node_leaves),
    kind([4, 3, 2, 3], relabelled),
    kind([2, 1, 4, 1], registered),
    kind([2, 1, 6, 1], unregistered),
    kind([4, 2, 2, 2], class_comes),
    kind([3, 1, 2, 1], class_goes),
    kind([9, 0, 4, 8], storage_changes),
    kind([1, 1, 0, 1], storage_goes),
    kind([1, 3, 1, 2], flag_flips),
    kind([1, 1, 1, 1], driver_object_goes),
    kind([2, 2, 1, 1], driver_object_comes),
    kind([2, 6, 2, 1], objects::created),
    kind([4, 6, 2, 2], objects::edited),
    kind([3, 4, 2, 2], objects::deleted),
    kind([3, 5, 2, 2], by_name::written),
    kind([2, 2, 4, 2], halved),
    kind([0, 14, 0, 16], workload::pod),
    kind([0, 2, 0, 2], workload::lone_claim),
    kind([1, 0, 1, 1], workload::claim_without_class),
    kind([0, 3, 0, 3], workload::pod_goes),
    kind([0, 2, 0, 4], workload::claim_goes),
    kind([3, 0, 1, 2], trouble::driver_fails),
    kind([2, 0, 1, 2], trouble::driver_recovers),
    kind([3, 2, 2, 2], trouble::requests_fail),
    kind([3, 3, 2, 2], trouble::watches_break),
    kind([2, 2, 3, 1], trouble::outage),
    kind([2, 1, 1, 1], trouble::killed),
    kind([2, 0, 3, 2], |draw| stopped(draw, Role::Publisher)),
    kind([3, 0, 3, 4], |draw| started(draw, Role::Publisher)),
    kind([1, 0, 1, 1], |draw| stopped(draw, Role::Driver)),
    kind([1, 0, 1, 1], |draw| started(draw, Role::Driver)),
    kind([0, 2, 0, 1], |draw| stopped(draw, Role::Scheduler)),
    kind([0, 3, 0, 2], |draw| started(draw, Role::Scheduler)),
    kind([0, 3, 0, 2], rescheduled),
    kind([2, 1, 1, 1], release_changes),
];

/// A random event, which may not be possible in the current state.
pub(super) fn event(draw: &mut Draw) -> Option<Event> {
    let Focus { column, .. } = *draw.focus;
    let at = draw.dice.weighted(KINDS.iter().map(|kind| kind.weights[column]));
    (KINDS.get(at)?.draw)(draw)
}

impl Draw {
    /// An existing node.
    pub(super) fn node(&mut self) -> Option<String> {
        self.dice.any(self.state.nodes.keys().cloned())
    }

    /// An existing class.
    pub(super) fn class(&mut self) -> Option<String> {
        self.dice.any(self.state.classes.clone())
    }

    /// An existing segment.
    pub(super) fn segment(&mut self) -> String {
        objects::segment(&mut self.dice, self.state.nodes.values(), &self.world)
    }

    /// The segment of a node.
    fn place(&mut self) -> Option<String> {
        let segments = places::segments(self.state.nodes.values(), &self.world.driver);
        self.dice.any(segments)
    }
}

fn node_joins(draw: &mut Draw) -> Option<Event> {
    let name = match draw.dice.one_in(4) {
        true => *draw.dice.pick(&LONG_NODES),
        false => *draw.dice.pick(&NODES),
    };
    let node = cluster::node(&mut draw.dice, &draw.world.driver, name);
    Some(Event::Node(NodeEvent::Join(node)))
}

fn node_leaves(draw: &mut Draw) -> Option<Event> {
    Some(Event::Node(NodeEvent::Leave(draw.node()?)))
}

fn relabelled(draw: &mut Draw) -> Option<Event> {
    let name = draw.node()?;
    let labels = places::relabelling(&mut draw.dice, &draw.world.driver)?;
    Some(Event::Node(NodeEvent::Relabel { name, labels }))
}

fn registered(draw: &mut Draw) -> Option<Event> {
    Some(Event::Node(NodeEvent::Register(draw.node()?)))
}

fn unregistered(draw: &mut Draw) -> Option<Event> {
    Some(Event::Node(NodeEvent::Unregister(draw.node()?)))
}

/// Only the Node or only the CSINode is deleted.
fn halved(draw: &mut Draw) -> Option<Event> {
    let resource = *draw.dice.pick(&["nodes", "csinodes"]);
    let name = draw.node()?;
    Some(Event::Delete(DeleteEvent::Object(Named {
        resource: resource.to_owned(),
        namespace: None,
        name,
    })))
}

fn class_comes(draw: &mut Draw) -> Option<Event> {
    let name = *draw.dice.pick(&CLASSES);
    let class = storage::class(&mut draw.dice, &draw.world.driver, name);
    Some(Event::Class(ClassEvent::Create(class)))
}

fn class_goes(draw: &mut Draw) -> Option<Event> {
    Some(Event::Class(ClassEvent::Delete(draw.class()?)))
}

fn storage_changes(draw: &mut Draw) -> Option<Event> {
    let segment = draw.place()?;
    let pool = storage::pool(&mut draw.dice);
    Some(Event::Backend([(segment, Some(pool))].into()))
}

fn storage_goes(draw: &mut Draw) -> Option<Event> {
    Some(Event::Backend([(draw.place()?, None)].into()))
}

fn flag_flips(draw: &mut Draw) -> Option<Event> {
    let on = draw.dice.one_in(2);
    Some(Event::CsiDriver(CsiDriverEvent::StorageCapacity(on)))
}

// The event may not be possible; the table requires this function type.
#[expect(clippy::unnecessary_wraps, reason = "the table requires this type")]
fn driver_object_goes(_: &mut Draw) -> Option<Event> {
    Some(Event::CsiDriver(CsiDriverEvent::Delete))
}

fn driver_object_comes(draw: &mut Draw) -> Option<Event> {
    let flag = *draw.dice.pick(&[Some(true), Some(true), Some(false), None]);
    Some(Event::CsiDriver(CsiDriverEvent::Create(flag)))
}

#[expect(clippy::unnecessary_wraps, reason = "the table requires this type")]
fn stopped(_: &mut Draw, role: Role) -> Option<Event> {
    Some(Event::Stop(role))
}

#[expect(clippy::unnecessary_wraps, reason = "the table requires this type")]
fn started(_: &mut Draw, role: Role) -> Option<Event> {
    Some(Event::Start(role))
}

#[expect(clippy::unnecessary_wraps, reason = "the table requires this type")]
fn rescheduled(draw: &mut Draw) -> Option<Event> {
    Some(Event::Scheduler(settings::scheduler(&mut draw.dice)))
}

fn release_changes(draw: &mut Draw) -> Option<Event> {
    let gates = settings::gates(&mut draw.dice, draw.state.minor);
    let toggled = gates.filter(|_| draw.dice.one_in(2));
    let release = match toggled {
        Some(gates) => Release { to: None, gates },
        None => settings::release(&mut draw.dice),
    };
    Some(Event::Release(release))
}

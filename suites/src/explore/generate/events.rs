//! The table of event kinds. Each kind has a weight for each focus of exploration.

use harness::scenario::Role;

use super::super::cluster::CLASSES;
use super::super::event::{ClassEvent, CsiDriverEvent, DeleteEvent, Event, NodeEvent, ObjectName, Release};
use super::super::focus::Focus;
use super::topology::{LONG_NODES, NODES};
use super::{Generator, by_name, cluster, faults, objects, settings, storage, topology, workload};

/// A kind of generated event, with its weights and the function that generates such an event.
struct Kind {
    /// Weight per focus, indexed by [`Focus::column`].
    weights: [u32; 4],
    /// Generates an event; `None` if no object exists that an event of this kind could change.
    generate: fn(&mut Generator) -> Option<Event>,
}

const fn kind(weights: [u32; 4], generate: fn(&mut Generator) -> Option<Event>) -> Kind {
    Kind { weights, generate }
}

/// All kinds of events, with their weights for the focuses publisher, scheduler, cleaner and story, in the order of [`Focus::column`].
const KINDS: [Kind; 36] = [
    kind([4, 3, 4, 3], node_added),
    kind([3, 2, 5, 2], node_removed),
    kind([4, 3, 2, 3], node_relabelled),
    kind([2, 1, 4, 1], driver_registered),
    kind([2, 1, 6, 1], driver_unregistered),
    kind([4, 2, 2, 2], class_created),
    kind([3, 1, 2, 1], class_deleted),
    kind([9, 0, 4, 8], storage_changed),
    kind([1, 1, 0, 1], storage_removed),
    kind([1, 3, 1, 2], storage_capacity_set),
    kind([1, 1, 1, 1], csi_driver_deleted),
    kind([2, 2, 1, 1], csi_driver_created),
    kind([2, 6, 2, 1], objects::create_capacity_object),
    kind([4, 6, 2, 2], objects::update_capacity_object),
    kind([3, 4, 2, 2], objects::delete_capacity_object),
    kind([3, 5, 2, 2], by_name::write_by_name),
    kind([2, 2, 4, 2], node_or_csinode_deleted),
    kind([0, 14, 0, 16], workload::pod),
    kind([0, 2, 0, 2], workload::unmounted_claim),
    kind([1, 0, 1, 1], workload::claim_without_class),
    kind([0, 3, 0, 3], workload::pod_deleted),
    kind([0, 2, 0, 4], workload::claim_deleted),
    kind([3, 0, 1, 2], faults::driver_fails),
    kind([2, 0, 1, 2], faults::driver_recovers),
    kind([3, 2, 2, 2], faults::requests_fail),
    kind([3, 3, 2, 2], faults::watches_break),
    kind([2, 2, 3, 1], faults::outage),
    kind([2, 1, 1, 1], faults::kill_program),
    kind([2, 0, 3, 2], |generator| stopped(generator, Role::Publisher)),
    kind([3, 0, 3, 4], |generator| started(generator, Role::Publisher)),
    kind([1, 0, 1, 1], |generator| stopped(generator, Role::Driver)),
    kind([1, 0, 1, 1], |generator| started(generator, Role::Driver)),
    kind([0, 2, 0, 1], |generator| stopped(generator, Role::Scheduler)),
    kind([0, 3, 0, 2], |generator| started(generator, Role::Scheduler)),
    kind([0, 3, 0, 2], scheduler_reconfigured),
    kind([2, 1, 1, 1], release_changed),
];

/// A random event, which may not be possible in the current state.
pub(super) fn event(generator: &mut Generator) -> Option<Event> {
    let Focus { column, .. } = *generator.focus;
    let at = generator
        .rng
        .weighted(KINDS.iter().map(|kind| kind.weights[column]));
    (KINDS.get(at)?.generate)(generator)
}

impl Generator {
    /// A random existing node; `None` if no node exists.
    pub(super) fn node(&mut self) -> Option<String> {
        self.rng.pick_from_iter(self.state.nodes.keys().cloned())
    }

    /// A random existing class; `None` if no class exists.
    pub(super) fn class(&mut self) -> Option<String> {
        self.rng.pick_from_iter(self.state.classes.clone())
    }

    /// A random segment of the existing nodes; if no node has a segment, a segment without nodes.
    pub(super) fn segment(&mut self) -> String {
        objects::segment(&mut self.rng, self.state.nodes.values(), &self.cluster)
    }

    /// The segment of a random node.
    pub(super) fn node_segment(&mut self) -> Option<String> {
        let segments = topology::segments(self.state.nodes.values(), &self.cluster.driver);
        self.rng.pick_from_iter(segments)
    }
}

fn node_added(generator: &mut Generator) -> Option<Event> {
    let name = match generator.rng.one_in(4) {
        true => *generator.rng.pick(&LONG_NODES),
        false => *generator.rng.pick(&NODES),
    };
    let node = cluster::node(&mut generator.rng, &generator.cluster.driver, name);
    Some(Event::Node(NodeEvent::Join(node)))
}

fn node_removed(generator: &mut Generator) -> Option<Event> {
    Some(Event::Node(NodeEvent::Leave(generator.node()?)))
}

fn node_relabelled(generator: &mut Generator) -> Option<Event> {
    let name = generator.node()?;
    let labels = topology::relabelling(&mut generator.rng, &generator.cluster.driver)?;
    Some(Event::Node(NodeEvent::Relabel { name, labels }))
}

fn driver_registered(generator: &mut Generator) -> Option<Event> {
    Some(Event::Node(NodeEvent::Register(generator.node()?)))
}

fn driver_unregistered(generator: &mut Generator) -> Option<Event> {
    Some(Event::Node(NodeEvent::Unregister(generator.node()?)))
}

/// Deletes either the Node or the CSINode of a node.
fn node_or_csinode_deleted(generator: &mut Generator) -> Option<Event> {
    let resource = *generator.rng.pick(&["nodes", "csinodes"]);
    let name = generator.node()?;
    Some(Event::Delete(DeleteEvent::Object(ObjectName {
        resource: resource.to_owned(),
        namespace: None,
        name,
    })))
}

fn class_created(generator: &mut Generator) -> Option<Event> {
    let name = *generator.rng.pick(&CLASSES);
    let class = storage::class(&mut generator.rng, &generator.cluster.driver, name);
    Some(Event::Class(ClassEvent::Create(class)))
}

fn class_deleted(generator: &mut Generator) -> Option<Event> {
    Some(Event::Class(ClassEvent::Delete(generator.class()?)))
}

fn storage_changed(generator: &mut Generator) -> Option<Event> {
    let segment = generator.node_segment()?;
    let pool = storage::pool(&mut generator.rng);
    Some(Event::Backend([(segment, Some(pool))].into()))
}

fn storage_removed(generator: &mut Generator) -> Option<Event> {
    Some(Event::Backend([(generator.node_segment()?, None)].into()))
}

fn storage_capacity_set(generator: &mut Generator) -> Option<Event> {
    let on = generator.rng.one_in(2);
    Some(Event::CsiDriver(CsiDriverEvent::StorageCapacity(on)))
}

#[expect(clippy::unnecessary_wraps, reason = "`Kind::generate` requires this type")]
fn csi_driver_deleted(_: &mut Generator) -> Option<Event> {
    Some(Event::CsiDriver(CsiDriverEvent::Delete))
}

fn csi_driver_created(generator: &mut Generator) -> Option<Event> {
    let flag = *generator.rng.pick(&[Some(true), Some(true), Some(false), None]);
    Some(Event::CsiDriver(CsiDriverEvent::Create(flag)))
}

#[expect(clippy::unnecessary_wraps, reason = "`Kind::generate` requires this type")]
fn stopped(_: &mut Generator, role: Role) -> Option<Event> {
    Some(Event::Stop(role))
}

#[expect(clippy::unnecessary_wraps, reason = "`Kind::generate` requires this type")]
fn started(_: &mut Generator, role: Role) -> Option<Event> {
    Some(Event::Start(role))
}

#[expect(clippy::unnecessary_wraps, reason = "`Kind::generate` requires this type")]
fn scheduler_reconfigured(generator: &mut Generator) -> Option<Event> {
    Some(Event::Scheduler(settings::scheduler(&mut generator.rng)))
}

fn release_changed(generator: &mut Generator) -> Option<Event> {
    let gates = settings::gates(&mut generator.rng, generator.state.minor);
    let toggled = gates.filter(|_| generator.rng.one_in(2));
    let release = match toggled {
        Some(gates) => Release { to: None, gates },
        None => settings::release(&mut generator.rng),
    };
    Some(Event::Release(release))
}

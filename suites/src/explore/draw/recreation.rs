//! Deletes objects that others refer to, and recreates them under the same name, while a program writes a reference to them.

use std::collections::{BTreeMap, BTreeSet};

use harness::plan::FaultSpec;
use harness::plan::NAMESPACE;
use harness::scenario::{Mode, Role};
use serde_json::json;

use super::super::event::{
    CapacityEvent, Claim, ClassEvent, CsiDriverEvent, DeleteEvent, Event, Named, NodeEvent, Pod,
};
use super::super::state::{NAMESPACES, VOLUMES};
use super::super::world::{Node, Pool};
use super::{Draw, cluster, objects, places, storage, trouble, workload};

/// Maximum number of a program's writes before the delayed one.
const WRITES: u32 = 4;

/// Delays a write, triggers it, and meanwhile deletes an object, which in most cases is recreated under its name with other content.
pub(super) fn events(draw: &mut Draw) -> Vec<Event> {
    let mut drawn: Vec<Event> = Vec::new();
    drawn.extend(held(draw));
    drawn.extend(draw.segments().into_iter().map(|segment| changed(draw, segment)));
    let recreated = recreated(draw);
    if recreated.is_empty() {
        return Vec::new();
    }
    drawn.extend(recreated);
    drawn
        .into_iter()
        .filter_map(|event| draw.admitted(event))
        .collect()
}

/// Delays one of the next writes of a program.
fn held(draw: &mut Draw) -> Option<Event> {
    let (role, api) = trouble::write(draw)?;
    let (id, skip) = (draw.name('f'), draw.dice.below(WRITES));
    Some(Event::Fault(Box::new(FaultSpec {
        id: Some(id),
        api: api.to_owned(),
        by: Some(role),
        skip,
        times: Some(1),
        ..trouble::delay()
    })))
}

/// Changes all storage, so that every object is written.
fn changed(draw: &mut Draw, segment: String) -> Event {
    let pool: Pool = storage::pool(&mut draw.dice);
    Event::Backend([(segment, Some(pool))].into())
}

/// Generates the deletion of an object of a kind, and its creation if requested.
type Kind = fn(&mut Draw, bool) -> Option<Vec<Event>>;

/// Deletes an object of a random kind and, in three of four cases, recreates it under its name; empty if there is no such object.
fn recreated(draw: &mut Draw) -> Vec<Event> {
    let is_created = !draw.dice.one_in(4);
    let kinds: [Kind; 10] = [
        class,
        class,
        node,
        registration,
        csi_driver,
        capacity,
        pod,
        claim,
        volume,
        publisher,
    ];
    draw.dice.pick(&kinds)(draw, is_created).unwrap_or_default()
}

fn pair(deleted: Event, created: Event, is_created: bool) -> Option<Vec<Event>> {
    let created = is_created.then_some(created);
    Some([deleted].into_iter().chain(created).collect())
}

fn class(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let name = draw.class()?;
    let class = storage::class(&mut draw.dice, &draw.world.driver, &name);
    let (deleted, created) = (ClassEvent::Delete(name), ClassEvent::Create(class));
    pair(Event::Class(deleted), Event::Class(created), is_created)
}

fn node(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let name = draw.node()?;
    let node: Node = cluster::node(&mut draw.dice, &draw.world.driver, &name);
    let (deleted, created) = (NodeEvent::Leave(name), NodeEvent::Join(node));
    pair(Event::Node(deleted), Event::Node(created), is_created)
}

fn registration(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let name = draw.node()?;
    let (deleted, created) = (NodeEvent::Unregister(name.clone()), NodeEvent::Register(name));
    pair(Event::Node(deleted), Event::Node(created), is_created)
}

fn csi_driver(_: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let (deleted, created) = (CsiDriverEvent::Delete, CsiDriverEvent::Create(Some(true)));
    pair(Event::CsiDriver(deleted), Event::CsiDriver(created), is_created)
}

fn capacity(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let (class, segment) = (draw.class()?, draw.segment());
    let created = CapacityEvent::Create(objects::at(draw, &class, &segment));
    let deleted = CapacityEvent::Delete { class, segment };
    pair(Event::Capacity(deleted), Event::Capacity(created), is_created)
}

/// Replaces a pod, as a StatefulSet controller does: with its claims, one of which may be a new one of the same name.
fn pod(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let (name, claims) = draw.dice.any(draw.state.pods.clone())?;
    let mut events = vec![Event::Delete(DeleteEvent::Pod(name.clone()))];
    if draw.dice.one_in(2)
        && let Some(claim) = draw.dice.any(claims.iter().cloned())
    {
        events.push(Event::Delete(DeleteEvent::Claim(claim.clone())));
        events.push(Event::Claim(workload::claim(draw, claim)));
    }
    let mounted = claims.into_iter().map(|name| Claim {
        name: Some(name),
        ..Claim::default()
    });
    let pod = Pod {
        name,
        claims: mounted.collect(),
        ephemeral: Vec::new(),
        node_selector: BTreeMap::new(),
        inline: None,
    };
    events.extend(is_created.then_some(Event::Pod(pod)));
    Some(events)
}

/// Replaces a claim that no pod mounts.
fn claim(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let mounted = draw.state.pods.values().flatten();
    let mounted: BTreeSet<String> = mounted.cloned().collect();
    let name = draw.dice.any(&draw.state.claims - &mounted)?;
    let created = workload::claim(draw, name.clone());
    let deleted = DeleteEvent::Claim(name);
    pair(Event::Delete(deleted), Event::Claim(created), is_created)
}

/// Replaces a pre-provisioned volume; a bound one is deleted together with its claim.
fn volume(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    let volume = draw.dice.any(draw.world.volumes.clone())?;
    let created = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume.name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": volume.size},
            "storageClassName": volume.class,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "static.example.com", "volumeHandle": volume.name},
        },
    });
    let deleted = named(VOLUMES, None, &volume.name);
    pair(deleted, Event::Object(created), is_created)
}

/// Reinstalls the publisher: its pod, an owner of the pod or the namespace is deleted while it is stopped, and created when it starts. With
/// leader election, the Lease is deleted while it runs.
fn publisher(draw: &mut Draw, is_created: bool) -> Option<Vec<Event>> {
    if draw.world.mode != Mode::Central {
        return None;
    }
    if draw.world.publisher.replicas == Some(1) && draw.dice.one_in(2) {
        let lease = draw.world.driver.name.replace('.', "-");
        return Some(vec![named("leases", Some(NAMESPACE), &lease)]);
    }
    let deleted = match draw.dice.below(4) {
        0 => named(NAMESPACES, None, NAMESPACE),
        1 => named("deployments", Some(NAMESPACE), "publisher"),
        2 => named("replicasets", Some(NAMESPACE), "publisher-5d4"),
        _ => named("pods", Some(NAMESPACE), "publisher-5d4-x7x"),
    };
    let stop = draw.state.running.contains(&Role::Publisher);
    let stop = stop.then_some(Event::Stop(Role::Publisher));
    let start = is_created.then_some(Event::Start(Role::Publisher));
    Some(stop.into_iter().chain([deleted]).chain(start).collect())
}

fn named(resource: &str, namespace: Option<&str>, name: &str) -> Event {
    Event::Delete(DeleteEvent::Object(Named {
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }))
}

impl Draw {
    /// The segments of all nodes.
    fn segments(&self) -> Vec<String> {
        let segments = places::segments(self.state.nodes.values(), &self.world.driver);
        segments.into_iter().collect()
    }
}

//! Events that delete an object and recreate it under the same name, while a program writes a reference to the old object.

use std::collections::{BTreeMap, BTreeSet};

use harness::plan::FaultSpec;
use harness::plan::NAMESPACE;
use harness::scenario::{Mode, Role};
use serde_json::json;

use super::super::cluster::{Node, Pool};
use super::super::event::{
    CapacityEvent, Claim, ClassEvent, CsiDriverEvent, DeleteEvent, Event, NodeEvent, ObjectName, Pod,
};
use super::super::state::{NAMESPACES, VOLUMES};
use super::{Generator, cluster, faults, objects, storage, topology, workload};

/// Maximum number of writes of a program before the delayed write.
const WRITES: u32 = 4;

/// Delays a write of a program, and causes that write. During the delay, deletes an object, which in most cases is recreated under the same
/// name with different content.
pub(super) fn events(generator: &mut Generator) -> Vec<Event> {
    let mut generated: Vec<Event> = Vec::new();
    generated.extend(delayed_write(generator));
    generated.extend(
        generator
            .segments()
            .into_iter()
            .map(|segment| storage_changed(generator, segment)),
    );
    let recreated = recreate_object(generator);
    if recreated.is_empty() {
        return Vec::new();
    }
    generated.extend(recreated);
    generated
        .into_iter()
        .filter_map(|event| generator.apply_if_possible(event))
        .collect()
}

/// Adds a fault that delays one of the next writes of a program.
fn delayed_write(generator: &mut Generator) -> Option<Event> {
    let (role, api) = faults::write_request(generator)?;
    let (id, skip) = (generator.name('f'), generator.rng.below(WRITES));
    Some(Event::Fault(Box::new(FaultSpec {
        id: Some(id),
        api: api.to_owned(),
        by: Some(role),
        skip,
        times: Some(1),
        ..faults::delay()
    })))
}

/// Changes the storage of a segment, so that the publisher writes the objects of the segment.
fn storage_changed(generator: &mut Generator, segment: String) -> Event {
    let pool: Pool = storage::pool(&mut generator.rng);
    Event::Backend([(segment, Some(pool))].into())
}

/// Generates the deletion of an object of one kind and, if requested, the creation of an object with the same name.
type Kind = fn(&mut Generator, bool) -> Option<Vec<Event>>;

/// Deletes an object of a random kind and, in three of four cases, recreates the object under the same name. Returns no events if no object
/// of that kind exists.
fn recreate_object(generator: &mut Generator) -> Vec<Event> {
    let is_created = !generator.rng.one_in(4);
    let kinds: [Kind; 10] = [
        recreate_class,
        recreate_class,
        recreate_node,
        recreate_registration,
        recreate_csi_driver,
        recreate_capacity,
        recreate_pod,
        recreate_claim,
        recreate_volume,
        reinstall_publisher,
    ];
    generator.rng.pick(&kinds)(generator, is_created).unwrap_or_default()
}

fn delete_and_recreate(deleted: Event, created: Event, is_created: bool) -> Option<Vec<Event>> {
    let created = is_created.then_some(created);
    Some([deleted].into_iter().chain(created).collect())
}

fn recreate_class(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let name = generator.class()?;
    let class = storage::class(&mut generator.rng, &generator.cluster.driver, &name);
    let (deleted, created) = (ClassEvent::Delete(name), ClassEvent::Create(class));
    delete_and_recreate(Event::Class(deleted), Event::Class(created), is_created)
}

fn recreate_node(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let name = generator.node()?;
    let node: Node = cluster::node(&mut generator.rng, &generator.cluster.driver, &name);
    let (deleted, created) = (NodeEvent::Leave(name), NodeEvent::Join(node));
    delete_and_recreate(Event::Node(deleted), Event::Node(created), is_created)
}

fn recreate_registration(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let name = generator.node()?;
    let (deleted, created) = (NodeEvent::Unregister(name.clone()), NodeEvent::Register(name));
    delete_and_recreate(Event::Node(deleted), Event::Node(created), is_created)
}

fn recreate_csi_driver(_: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let (deleted, created) = (CsiDriverEvent::Delete, CsiDriverEvent::Create(Some(true)));
    delete_and_recreate(Event::CsiDriver(deleted), Event::CsiDriver(created), is_created)
}

fn recreate_capacity(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let (class, segment) = (generator.class()?, generator.segment());
    let created = CapacityEvent::Create(objects::object(generator, &class, &segment));
    let deleted = CapacityEvent::Delete { class, segment };
    delete_and_recreate(Event::Capacity(deleted), Event::Capacity(created), is_created)
}

/// Replaces a pod by a pod with the same name and claims, as a StatefulSet controller does. May recreate one of the claims too.
fn recreate_pod(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let (name, claims) = generator.rng.pick_from_iter(generator.state.pods.clone())?;
    let mut events = vec![Event::Delete(DeleteEvent::Pod(name.clone()))];
    if generator.rng.one_in(2)
        && let Some(claim) = generator.rng.pick_from_iter(claims.iter().cloned())
    {
        events.push(Event::Delete(DeleteEvent::Claim(claim.clone())));
        events.push(Event::Claim(workload::claim(generator, claim)));
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
fn recreate_claim(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let mounted = generator.state.pods.values().flatten();
    let mounted: BTreeSet<String> = mounted.cloned().collect();
    let name = generator.rng.pick_from_iter(&generator.state.claims - &mounted)?;
    let created = workload::claim(generator, name.clone());
    let deleted = DeleteEvent::Claim(name);
    delete_and_recreate(Event::Delete(deleted), Event::Claim(created), is_created)
}

/// Replaces a pre-provisioned volume. If the volume is bound, its deletion completes only after its claim was deleted.
fn recreate_volume(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    let volume = generator.rng.pick_from_iter(generator.cluster.volumes.clone())?;
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
    let deleted = delete_by_name(VOLUMES, None, &volume.name);
    delete_and_recreate(deleted, Event::Object(created), is_created)
}

/// Reinstalls the publisher: deletes its pod, an owner of the pod or the namespace while the publisher is stopped, and recreates them when
/// it starts. With leader election, deletes the Lease while the publisher runs.
fn reinstall_publisher(generator: &mut Generator, is_created: bool) -> Option<Vec<Event>> {
    if generator.cluster.mode != Mode::Central {
        return None;
    }
    if generator.cluster.publisher.replicas == Some(1) && generator.rng.one_in(2) {
        let lease = generator.cluster.driver.name.replace('.', "-");
        return Some(vec![delete_by_name("leases", Some(NAMESPACE), &lease)]);
    }
    let deleted = match generator.rng.below(4) {
        0 => delete_by_name(NAMESPACES, None, NAMESPACE),
        1 => delete_by_name("deployments", Some(NAMESPACE), "publisher"),
        2 => delete_by_name("replicasets", Some(NAMESPACE), "publisher-5d4"),
        _ => delete_by_name("pods", Some(NAMESPACE), "publisher-5d4-x7x"),
    };
    let stop = generator.state.running.contains(&Role::Publisher);
    let stop = stop.then_some(Event::Stop(Role::Publisher));
    let start = is_created.then_some(Event::Start(Role::Publisher));
    Some(stop.into_iter().chain([deleted]).chain(start).collect())
}

fn delete_by_name(resource: &str, namespace: Option<&str>, name: &str) -> Event {
    Event::Delete(DeleteEvent::Object(ObjectName {
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }))
}

impl Generator {
    fn segments(&self) -> Vec<String> {
        let segments = topology::segments(self.state.nodes.values(), &self.cluster.driver);
        segments.into_iter().collect()
    }
}

//! Generates pods and claims, for which the scheduler chooses nodes and the publisher provisions volumes.

use harness::plan::WORKLOADS;
use serde_json::json;

use super::super::event::{Claim, DeleteEvent, Event, Pod};
use super::super::sizes;
use super::Generator;
use super::topology::LABEL_MAX;

pub(super) fn pod(generator: &mut Generator) -> Option<Event> {
    let mut pod = Pod {
        name: generator.name('p'),
        claims: Vec::new(),
        ephemeral: Vec::new(),
        node_selector: Default::default(),
        inline: generator
            .rng
            .one_in(10)
            .then(|| generator.cluster.driver.name.clone()),
    };
    let count = match generator.rng.below(8) {
        0 => 0,
        1..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    for _ in 0..count {
        let mut claim = unnamed_claim(generator);
        if pod
            .claims
            .last()
            .is_some_and(|before| before.class == claim.class)
            && generator.rng.one_in(2)
        {
            // Claims of several classes, because the score of a node is then the mean over the classes.
            claim.class = generator.class().or(claim.class);
        }
        if count > 1 {
            // All claims of a pod have to fit on one node.
            claim.size = Some(sizes::small_claim_size(&mut generator.rng));
        }
        match generator.rng.one_in(6) {
            true => pod.ephemeral.push(claim),
            false => pod.claims.push(claim),
        }
    }
    if generator.rng.one_in(5)
        && let Some(name) = generator.rng.pick_from_iter(generator.state.claims.clone())
    {
        pod.claims = vec![Claim {
            name: Some(name),
            ..Claim::default()
        }];
    }
    if generator.rng.one_in(8)
        && let Some(node) = generator.rng.pick_from_iter(generator.state.nodes.keys().cloned())
        // A node name longer than LABEL_MAX is invalid as a label value in a selector.
        && node.len() <= LABEL_MAX
    {
        pod.node_selector
            .insert("kubernetes.io/hostname".to_owned(), node);
    }
    Some(Event::Pod(pod))
}

pub(super) fn claim(generator: &mut Generator, name: String) -> Claim {
    Claim {
        name: Some(name),
        ..unnamed_claim(generator)
    }
}

fn unnamed_claim(generator: &mut Generator) -> Claim {
    // The class of the claim may not exist yet.
    let class = generator.class().unwrap_or_else(|| "fast".to_owned());
    let is_copied = generator.cluster.driver.clone_volume && generator.rng.one_in(3);
    let original = generator
        .rng
        .pick_from_iter(generator.state.claims.clone())
        .filter(|_| is_copied);
    Claim {
        name: None,
        copy_of: original,
        class: Some(class),
        size: Some(sizes::size(&mut generator.rng)),
        mode: generator.rng.one_in(8).then(|| "Block".to_owned()),
    }
}

pub(super) fn unmounted_claim(generator: &mut Generator) -> Option<Event> {
    let name = generator.name('c');
    Some(Event::Claim(claim(generator, name)))
}

/// A claim without a class, which the driver must provision because of the annotation of the claim.
pub(super) fn claim_without_class(generator: &mut Generator) -> Option<Event> {
    let name = generator.name('c');
    Some(Event::Object(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": WORKLOADS,
            "annotations": {"volume.kubernetes.io/storage-provisioner": generator.cluster.driver.name},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })))
}

pub(super) fn pod_deleted(generator: &mut Generator) -> Option<Event> {
    let name = generator
        .rng
        .pick_from_iter(generator.state.pods.keys().cloned())?;
    Some(Event::Delete(DeleteEvent::Pod(name)))
}

pub(super) fn claim_deleted(generator: &mut Generator) -> Option<Event> {
    let name = generator.rng.pick_from_iter(generator.state.claims.clone())?;
    Some(Event::Delete(DeleteEvent::Claim(name)))
}

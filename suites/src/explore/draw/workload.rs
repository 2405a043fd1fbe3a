//! Generates pods and claims, for which the scheduler chooses nodes and the publisher provisions volumes.

use harness::plan::WORKLOADS;
use serde_json::json;

use super::super::event::{Claim, DeleteEvent, Event, Pod};
use super::super::sizes;
use super::Draw;
use super::places::LABEL_MAX;

/// A pod with its claims.
pub(super) fn pod(draw: &mut Draw) -> Option<Event> {
    let mut pod = Pod {
        name: draw.name('p'),
        claims: Vec::new(),
        ephemeral: Vec::new(),
        node_selector: Default::default(),
        inline: draw.dice.one_in(10).then(|| draw.world.driver.name.clone()),
    };
    let count = match draw.dice.below(8) {
        0 => 0,
        1..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    for _ in 0..count {
        let mut claim = unnamed_claim(draw);
        if pod
            .claims
            .last()
            .is_some_and(|before| before.class == claim.class)
            && draw.dice.one_in(2)
        {
            // Per-class scores matter only with several classes.
            claim.class = draw.class().or(claim.class);
        }
        if count > 1 {
            // All claims have to fit on one node.
            claim.size = Some(sizes::small(&mut draw.dice));
        }
        match draw.dice.one_in(6) {
            true => pod.ephemeral.push(claim),
            false => pod.claims.push(claim),
        }
    }
    if draw.dice.one_in(5)
        && let Some(name) = draw.dice.any(draw.state.claims.clone())
    {
        pod.claims = vec![Claim {
            name: Some(name),
            ..Claim::default()
        }];
    }
    if draw.dice.one_in(8)
        && let Some(node) = draw.dice.any(draw.state.nodes.keys().cloned())
        // Longer names are invalid as selector values.
        && node.len() <= LABEL_MAX
    {
        pod.node_selector
            .insert("kubernetes.io/hostname".to_owned(), node);
    }
    Some(Event::Pod(pod))
}

/// A claim of this name.
pub(super) fn claim(draw: &mut Draw, name: String) -> Claim {
    Claim {
        name: Some(name),
        ..unnamed_claim(draw)
    }
}

/// A claim without a name.
fn unnamed_claim(draw: &mut Draw) -> Claim {
    // The class may not exist yet.
    let class = draw.class().unwrap_or_else(|| "fast".to_owned());
    let is_copied = draw.world.driver.clone_volume && draw.dice.one_in(3);
    let original = draw.dice.any(draw.state.claims.clone()).filter(|_| is_copied);
    Claim {
        name: None,
        copy_of: original,
        class: Some(class),
        size: Some(sizes::size(&mut draw.dice)),
        mode: draw.dice.one_in(8).then(|| "Block".to_owned()),
    }
}

/// A claim that no pod mounts yet.
pub(super) fn lone_claim(draw: &mut Draw) -> Option<Event> {
    let name = draw.name('c');
    Some(Event::Claim(claim(draw, name)))
}

/// A claim without a class that the driver must provision because of its annotation.
pub(super) fn claim_without_class(draw: &mut Draw) -> Option<Event> {
    let name = draw.name('c');
    Some(Event::Object(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": WORKLOADS,
            "annotations": {"volume.kubernetes.io/storage-provisioner": draw.world.driver.name},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    })))
}

/// A pod is deleted.
pub(super) fn pod_goes(draw: &mut Draw) -> Option<Event> {
    let name = draw.dice.any(draw.state.pods.keys().cloned())?;
    Some(Event::Delete(DeleteEvent::Pod(name)))
}

/// A claim is deleted.
pub(super) fn claim_goes(draw: &mut Draw) -> Option<Event> {
    let name = draw.dice.any(draw.state.claims.clone())?;
    Some(Event::Delete(DeleteEvent::Claim(name)))
}

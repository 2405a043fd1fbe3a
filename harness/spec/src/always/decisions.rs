//! Rules for the nodes that the scheduler selects.

use super::monitor::Monitor;
use crate::placement::{IndexedWorld, Outcome, assumed};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::change::ChangeKind;
use crate::world::{Change, NamespacedName, Pod, PodVolume, World};

/// The kinds of objects on which the scheduler's decision depends, besides the pod itself. Includes PVCs, because the scheduler may already
/// have bound some of them for this decision.
const KINDS: [ChangeKind; 8] = [
    ChangeKind::Nodes,
    ChangeKind::CsiNodes,
    ChangeKind::CsiDrivers,
    ChangeKind::Classes,
    ChangeKind::Objects,
    ChangeKind::Claims,
    ChangeKind::Volumes,
    ChangeKind::Settings,
];

impl Monitor {
    pub(super) fn check_node_selection(&mut self, claim: &NamespacedName, node: String) -> Vec<Violation> {
        let uses = |volume: &PodVolume| matches!(volume, PodVolume::Claim(name) | PodVolume::Ephemeral(name) if *name == claim.name);
        let waits = |(key, pod): &(&NamespacedName, &Pod)| {
            key.namespace == claim.namespace && pod.node.is_none() && pod.volumes.iter().any(uses)
        };
        // The node may have been selected for any pod that uses the PVC, including a pod that was deleted and cannot be checked.
        let is_deleted = |pod: &NamespacedName| !self.world.pods.contains_key(pod);
        let had_another = || {
            self.recent.any_state(&self.world, &[ChangeKind::Pods], |world| {
                world.pods.iter().filter(waits).any(|(pod, _)| is_deleted(pod))
            })
        };
        let pods = self.world.pods.iter().filter(waits);
        let judged: Vec<_> = pods.map(|(key, _)| self.check_node(key, &node, &[])).collect();
        let is_right = judged.iter().any(Vec::is_empty);
        let violations = judged.into_iter().next().filter(|_| !is_right && !had_another());
        let violations = violations.unwrap_or_default();
        if let Some(known) = self.world.claims.get(claim) {
            let mut known = known.clone();
            known.selected_node = Some(node);
            self.apply(Change::Claim(claim.clone(), Some(known)));
        }
        violations
    }

    pub(super) fn check_pod_binding(&mut self, pod: &NamespacedName, node: String) -> Vec<Violation> {
        let before = self.world.pods.get(pod).and_then(|pod| pod.node.clone());
        let violations = match before {
            Some(before) if before == node => Vec::new(),
            Some(before) => vec![Violation {
                rule: rules::MOVED,
                subject: Subject::Pod(pod.clone()),
                detail: format!("the pod was bound to {before}, and is now bound to {node}"),
            }],
            None => self.check_node(pod, &node, &[]),
        };
        if let Some(known) = self.world.pods.get(pod) {
            let mut known = known.clone();
            known.node = Some(node);
            self.apply(Change::Pod(pod.clone(), Some(known)));
        }
        violations
    }

    pub(super) fn check_extender_call(
        &self,
        extender: &str,
        pod: &NamespacedName,
        nodes: &[String],
    ) -> Vec<Violation> {
        // The call may have been in flight when the pod was deleted.
        if !self.world.pods.contains_key(pod) {
            return Vec::new();
        }
        let is_called_for_pod = |world: &World| {
            let mut extenders = world.extenders.iter().filter(|it| it.name == extender);
            extenders.all(|it| !it.has_managed_resources)
        };
        // Rules that do not apply to an extender call: it only filters nodes, and the scheduler chooses the best node afterwards.
        let later = [rules::NOT_BEST, rules::NOT_EXTENDED];
        let out = |node: &String| {
            Some((
                node.clone(),
                self.check_node(pod, node, &later).into_iter().next()?,
            ))
        };
        let detail = match nodes.iter().find_map(out) {
            _ if !is_called_for_pod(&self.world) => "the pod requests no resource of the extender".to_owned(),
            Some((node, why)) => format!("the call contains infeasible node {node}: {}", why.detail),
            None => return Vec::new(),
        };
        vec![Violation {
            rule: rules::WRONGLY_FILTERED,
            subject: Subject::Pod(pod.clone()),
            detail: format!("extender {extender}: {detail}"),
        }]
    }

    /// The violations if the scheduler selects this node, except those of the rules in `ignored`. Empty if the node is allowed in any
    /// cluster state that the scheduler may have received.
    fn check_node(&self, pod: &NamespacedName, node: &str, ignored: &[&Rule]) -> Vec<Violation> {
        let outcome = Outcome::ScheduledOn(node.to_owned());
        let judged = |world: &World| {
            let mut violations = IndexedWorld::new(world).judge(pod, &outcome);
            violations.retain(|violation| !ignored.contains(&violation.rule));
            violations
        };
        let violations = judged(&self.world);
        // The scheduler may still have an earlier `storageCapacity` in its cache, or may have started while the server did not return the
        // field.
        let is_allowed = |world: &World| {
            let hidden =
                (!world.api.release.has_storage_capacity()).then(|| world.without_storage_capacity());
            judged(world).is_empty()
                || hidden.is_some_and(|hidden| judged(&hidden).is_empty())
                || assumed::assumed_worlds(world, pod).any(|world| judged(&world).is_empty())
        };
        match violations.is_empty() || self.recent.any_state(&self.world, &KINDS, is_allowed) {
            true => Vec::new(),
            false => violations,
        }
    }
}

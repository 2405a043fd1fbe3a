//! Immediate binding in distributed mode: the scheduler selects no node, so the instances do. Each instance waits for a random time, calls
//! GetCapacity, and selects its own node; the API server accepts only one of these updates. Does not create volumes.

use std::time::Duration;

use kube::{Api, ResourceExt, api::PostParams};
use tokio::time::Instant;

use super::{
    Provisioner,
    claim::{self, SELECTED_NODE},
    create::Job,
    request,
    requirement::{TopologyInput, requirement},
};
use crate::{
    capacity::parameters_for_driver,
    status::{brief, is_conflict, is_not_found},
    topology::NodeSegment,
};

impl Provisioner {
    /// The PVC and its class, if this instance may select its own node for the PVC.
    fn selectable_job(&self, uid: &str) -> Option<Job> {
        let is_enabled = self.options.own_node().is_some() && self.options.node_deployment_immediate_binding;
        let job = self.unprovisioned_job(uid).filter(|_| is_enabled)?;
        let selectable = job.annotated_node().is_none() && !claim::waits_for_consumer(&job.class);
        selectable.then_some(job)
    }

    /// Schedules an attempt to select this instance's node for a PVC, if the PVC has Immediate binding and no selected node.
    pub(super) fn schedule_node_selection(&self, uid: &str) {
        if self.selectable_job(uid).is_some() {
            self.node_selections
                .add_at(uid.to_owned(), self.next_attempt(uid));
        } else if self.unprovisioned_job(uid).is_none() {
            self.attempts.lock().remove(uid);
        }
    }

    pub(super) async fn try_select_own_node(&self, uid: &String) {
        let Some(job) = self.selectable_job(uid) else {
            return self.node_selections.done(uid);
        };
        if !self.is_own_node_allowed(&job) {
            return self.node_selections.done(uid);
        }
        if !self.has_capacity(&job).await {
            // Other nodes may have enough capacity, or this node may have enough later.
            return self.node_selections.postpone(uid);
        }
        let selected = self.select_own_node(&job).await;
        // The attempt counts even if another instance was faster: if the volume cannot be created on the other instance's node, the
        // selection is cleared, and the instances try again.
        *self.attempts.lock().entry(uid.clone()).or_insert(0) += 1;
        match selected {
            Ok(()) => self.node_selections.done(uid),
            Err(error) if is_not_found(&error) => {
                self.attempts.lock().remove(uid);
                self.node_selections.done(uid);
            }
            Err(error) if is_conflict(&error) => {
                self.node_selections.done(uid);
                self.node_selections.add_at(uid.clone(), self.next_attempt(uid));
            }
            Err(error) => {
                tracing::warn!(
                    claim = uid,
                    error = brief(&error),
                    "this instance's node was not selected for the claim"
                );
                self.node_selections.retry_after_backoff(uid);
            }
        }
    }

    /// The time of the next attempt to select this instance's node. The delay grows with each attempt and is randomized per instance.
    fn next_attempt(&self, uid: &str) -> Instant {
        let attempts = self.attempts.lock().get(uid).copied().unwrap_or(0);
        let base = self.options.node_deployment_base_delay;
        let maximum = delay(base, self.options.node_deployment_max_delay, attempts);
        Instant::now() + maximum.saturating_sub(base.mul_f64(self.options.rng.fraction()))
    }

    fn is_own_node_allowed(&self, job: &Job) -> bool {
        let input = TopologyInput {
            node: self.options.own_node(),
            claim: &job.claim.name_any(),
            allowed: job.class.allowed_topologies.as_deref().unwrap_or_default(),
            strict: true,
            immediate: true,
        };
        !self.driver.capabilities.topology || requirement(&self.cluster.lock().topology, input).is_ok()
    }

    /// Whether the driver has enough capacity for a PVC on this node. True if the capacity is unknown, so that provisioning is attempted.
    async fn has_capacity(&self, job: &Job) -> bool {
        let spec = job.claim.spec.clone().unwrap_or_default();
        let Ok(requested) = request::requested_bytes(&spec) else {
            // The requested size is invalid, so provisioning will fail and write an Event with the reason.
            return true;
        };
        let segment = {
            let cluster = self.cluster.lock();
            match self
                .options
                .own_node()
                .map(|node| cluster.topology.segment_of_node(node))
            {
                Some(NodeSegment::In(segment)) => segment.clone(),
                _ => Default::default(),
            }
        };
        if !self.driver.capabilities.capacity {
            return true;
        }
        let parameters = parameters_for_driver(&job.class);
        match self.driver.get_capacity(&segment, parameters).await {
            Ok(response) => {
                requested
                    <= response
                        .maximum_volume_size
                        .unwrap_or(response.available_capacity)
            }
            Err(error) => {
                tracing::warn!(claim = job.claim.name_any(), %error, "GetCapacity failed; this instance's node is selected nevertheless");
                true
            }
        }
    }

    async fn select_own_node(&self, job: &Job) -> kube::Result<()> {
        let namespace = job.claim.namespace().unwrap_or_default();
        let api: Api<k8s_openapi::api::core::v1::PersistentVolumeClaim> =
            Api::namespaced(self.client.clone(), &namespace);
        let mut claim = (*job.claim).clone();
        let node = self.options.own_node().unwrap_or_default();
        claim
            .annotations_mut()
            .insert(SELECTED_NODE.to_owned(), node.to_owned());
        api.replace(&claim.name_any(), &PostParams::default(), &claim)
            .await
            .map(drop)
    }
}

/// The maximum delay after `attempts` attempts to select the node.
fn delay(base: Duration, max: Duration, attempts: u32) -> Duration {
    let factor = 1_u32.checked_shl(attempts).unwrap_or(u32::MAX);
    base.saturating_mul(factor).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let delays: Vec<u64> = [0, 1, 2, 40]
            .map(|attempts| delay(Duration::from_secs(20), Duration::from_secs(60), attempts).as_secs())
            .into();
        assert_eq!(delays, [20, 40, 60, 60]);
    }
}

//! Causal chains for PVCs: node selected → volume provisioned → PVC bound.

use fake_csi::Method;
use serde_json::Value;

use super::{Chain, Window};
use crate::expectation::claims::ClaimState;
use crate::expectation::rows::DiffRow;
use crate::journal::{CallFact, Change, CommitFact, Fact, Observation};
use crate::plan::WORKLOADS;
use crate::scenario::Role;
use capacity_types::pod::class_of;

/// PVC annotation with which the scheduler triggers provisioning for a node.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

impl<'a> Window<'a> {
    pub(in crate::expectation) fn claim_chain(&self, claim: &str, want: ClaimState, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        if self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)
            .is_none()
        {
            chain.add_missing_link(format!("claim {claim} exists"), "it does not");
            return chain;
        }
        if want == ClaimState::Bound {
            self.add_claim_links(&mut chain, claim);
        } else {
            chain.add_missing_link(
                format!("claim {claim} is {}", row.want),
                format!("it is {}", row.got),
            );
        }
        chain
    }

    /// The fact that set the selected-node annotation of a PVC, and the annotated node. None if the annotation was removed.
    pub(super) fn selected_node(&self, claim: &str) -> Option<(&'a Fact, String)> {
        let is_write_of_claim = |commit: &CommitFact| {
            &*commit.resource == "persistentvolumeclaims"
                && commit.name == claim
                && commit.change != Change::Deleted
        };
        let (fact, commit) = self.last_commit(|commit| {
            is_write_of_claim(commit) && Role::of_client(&commit.client) == Some(Role::Scheduler)
        })?;
        let current = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)?;
        current["metadata"]["annotations"][SELECTED_NODE].as_str()?;
        let node = commit.object["metadata"]["annotations"][SELECTED_NODE].as_str()?;
        Some((fact, node.to_owned()))
    }

    pub(super) fn is_bound(&self, claim: &str) -> bool {
        let object = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim);
        object.is_some_and(|claim| claim["status"]["phase"] == "Bound")
    }

    pub(super) fn uid_of(&self, claim: &str) -> Option<String> {
        let object = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)?;
        object["metadata"]["uid"].as_str().map(str::to_owned)
    }

    /// Adds to the causal chain the CreateVolume call for a PVC and the binding of the PVC. Returns whether the PVC is bound.
    pub(super) fn add_claim_links(&self, chain: &mut Chain, claim: &str) -> bool {
        let Some(object) = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)
        else {
            chain.add_missing_link(format!("claim {claim} exists"), "it does not");
            return false;
        };
        if object["status"]["phase"] == "Bound" {
            return true;
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let last = self.create_volume_calls(uid).next_back();
        let otherwise = || match (self.warning(uid), self.rejected_pod(claim)) {
            (Some(warning), _) => format!("never; the publisher reports: {warning}"),
            (None, Some((pod, why))) => format!("never; pod {pod} is refused: {why}"),
            (None, None) => "never".to_owned(),
        };
        if !chain.add_link(
            format!("CreateVolume for claim {claim}"),
            last.map(|(fact, _)| fact),
            otherwise(),
        ) {
            return false;
        }
        if let Some((_, call)) = last
            && call.code != "OK"
        {
            let note = format!("{} {}", call.code, call.message.as_deref().unwrap_or_default());
            chain.add_missing_link(format!("the volume of claim {claim} is created"), note);
            return false;
        }
        chain.add_missing_link(format!("claim {claim} is bound"), "never");
        false
    }

    /// CreateVolume calls for a PVC, found by the PVC's uid in the volume name.
    pub(super) fn create_volume_calls(
        &self,
        uid: &str,
    ) -> impl DoubleEndedIterator<Item = (&'a Fact, &'a CallFact)> {
        self.facts.iter().filter_map(move |fact| match &fact.what {
            Observation::Call(call) if call.method == Method::CreateVolume => {
                let is_own = call.volume.as_ref().is_some_and(|name| name.contains(uid));
                is_own.then_some((fact, call))
            }
            _ => None,
        })
    }

    /// A pod that uses the PVC and was rejected before a node was selected, and the scheduler's reason.
    fn rejected_pod(&self, claim: &str) -> Option<(&'a str, &'a str)> {
        if self.selected_node(claim).is_some() {
            return None;
        }
        let mut pods = self.cluster.objects("pods");
        pods.find_map(|((_, pod), _)| {
            let mounts = self.claims_of(pod).iter().any(|mounted| mounted == claim);
            let refusal = self.cluster.scheduling_failure(pod).filter(|_| mounts)?;
            Some((pod.as_str(), refusal.text.as_str()))
        })
    }

    /// The last Warning event about a PVC.
    pub(super) fn warning(&self, claim: &str) -> Option<String> {
        let is_about = |event: &Value| {
            let about = [&event["regarding"]["uid"], &event["involvedObject"]["uid"]];
            event["type"] == "Warning" && about.iter().any(|uid| uid.as_str() == Some(claim))
        };
        let (_, commit) =
            self.last_commit(|commit| &*commit.resource == "events" && is_about(&commit.object))?;
        let event = &commit.object;
        let text = event["note"].as_str().or_else(|| event["message"].as_str());
        text.map(str::to_owned)
    }

    pub(super) fn requested_size_and_class(&self, claim: &str) -> Option<(String, String)> {
        let object = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)?;
        let spec = &object["spec"];
        let size = spec["resources"]["requests"]["storage"].as_str()?;
        let class = class_of(object).unwrap_or("no class");
        Some((size.to_owned(), class.to_owned()))
    }
}

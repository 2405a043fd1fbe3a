//! Causal chains for pods: watch events delivered → capacity read → node selected → PVCs bound (`claims`) → pod bound.

use std::collections::BTreeSet;

use capacity_types::capacity_api::RESOURCE;
use serde_json::Value;

use super::claims::SELECTED_NODE;
use super::{Chain, Window};
use crate::client_name::HARNESS;
use crate::cluster_state::SchedulingFailure;
use crate::expectation::placement::{ExpectedNode, format_expected_node, node_of};
use crate::expectation::rows::{row_key, values_of};
use crate::journal::{Change, CommitFact, Fact, Observation};
use crate::plan::WORKLOADS;
use crate::scenario::Role;
use capacity_types::pod::claims_of;

/// Maximum number of CSIStorageCapacity objects that one note of a causal chain lists.
const CAPACITIES_MAX: usize = 6;

/// Resources whose watch events make the scheduler requeue a rejected pod. The deletion of a pod has this effect as well.
pub(crate) const REQUEUE_RESOURCES: [&str; 7] = [
    "csidrivers",
    "csinodes",
    RESOURCE,
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
];

impl<'a> Window<'a> {
    pub(in crate::expectation) fn placement_chain(&self, pod: &str, want: &ExpectedNode) -> Chain {
        let mut chain = Chain::default();
        if !self.add_scheduler_deliveries(&mut chain, pod) {
            return chain;
        }
        self.published_capacity_links(&mut chain, pod);
        if *want == ExpectedNode::Unschedulable {
            let note = match node_of(self.cluster, pod) {
                Some(node) => format!("it was placed on {node}"),
                None => "it was neither refused nor placed".to_owned(),
            };
            chain.add_missing_link(
                format!("pod {pod} is refused"),
                format!("{note}{}", self.note_if_untracked()),
            );
            return chain;
        }
        self.decision_links(&mut chain, pod, want);
        chain
    }

    /// Explains why the scheduler's rejection of a pod does not contain the expected text.
    pub(in crate::expectation) fn refusal_chain(&self, pod: &str, want: &str, got: &str) -> Chain {
        let mut chain = Chain::default();
        if self.add_scheduler_deliveries(&mut chain, pod) {
            chain.add_missing_link(
                format!("an unschedulable condition of pod {pod} with the text “{want}”"),
                format!("got: {got}{}", self.note_if_untracked()),
            );
        }
        chain
    }

    /// A note that the scheduler ignores capacity, if the driver's CSIDriver object does not exist or lacks `storageCapacity: true`.
    fn note_if_untracked(&self) -> String {
        let driver = &self.case.driver.name;
        match self.storage_capacity() {
            None => format!("; CSIDriver {driver} does not exist, so the scheduler ignores its capacity"),
            Some(true) => String::new(),
            Some(false) => format!(
                "; CSIDriver {driver} does not have storageCapacity: true, so the scheduler ignores its capacity"
            ),
        }
    }

    /// `spec.storageCapacity` of the case's CSIDriver object. None if the object does not exist.
    pub(super) fn storage_capacity(&self) -> Option<bool> {
        let object = self.cluster.object("csidrivers", None, &self.case.driver.name)?;
        Some(object["spec"]["storageCapacity"] == true)
    }

    /// Adds to the causal chain the watch events of the pod and of the newest CSIStorageCapacity object. Returns whether the scheduler
    /// received both.
    fn add_scheduler_deliveries(&self, chain: &mut Chain, pod: &str) -> bool {
        let created = self.last_commit(|commit| &*commit.resource == "pods" && commit.name == pod);
        let Some((_, created)) = created else {
            chain.add_missing_link(format!("pod {pod} exists"), "it was never created");
            return false;
        };
        let requests = self.format_requests(pod);
        let text = format!("pod {pod}, which requests {requests}, delivered to the scheduler");
        if !self.delivery_link(chain, text, Role::Scheduler, created) {
            return false;
        }
        let capacity = self.last_commit(|commit| &*commit.resource == RESOURCE);
        let Some((_, capacity)) = capacity else {
            return true;
        };
        let text = format!(
            "the newest capacity ({}) delivered to the scheduler",
            self.format_capacity(capacity)
        );
        self.delivery_link(chain, text, Role::Scheduler, capacity)
    }

    /// Adds to the causal chain the CSIStorageCapacity objects for the classes of the pod's PVCs, if a class has more than one object.
    fn published_capacity_links(&self, chain: &mut Chain, pod: &str) {
        let classes: BTreeSet<String> = self
            .claims_of(pod)
            .iter()
            .filter_map(|it| self.requested_size_and_class(it))
            .map(|(_, class)| class)
            .collect();
        for class in classes {
            let is_of_class = |object: &Value| object["storageClassName"] == class.as_str();
            let newest =
                self.last_commit(|commit| &*commit.resource == RESOURCE && is_of_class(&commit.object));
            let capacities: Vec<String> = self
                .cluster
                .objects(RESOURCE)
                .filter(|(_, object)| is_of_class(object))
                .map(|(_, object)| {
                    let (_, segment) = row_key(self.case, object);
                    format!("{} at {segment}", values_of(object))
                })
                .collect();
            if let (Some((fact, _)), 2..) = (newest, capacities.len()) {
                let more = capacities.len().saturating_sub(CAPACITIES_MAX);
                let mut text = format!(
                    "published for {class}: {}",
                    capacities[..capacities.len() - more].join(", ")
                );
                if more > 0 {
                    text.push_str(&format!(", and {more} more"));
                }
                chain.add_proven_link(text, fact);
            }
        }
    }

    /// The case's changes that can requeue a rejected pod, because the scheduler had not received them when it rejected the pod. Contains
    /// only the last change for each verb and resource.
    fn requeueing_changes(&self, pod: &str, refusal: &SchedulingFailure) -> Vec<&'a CommitFact> {
        let mut kinds = BTreeSet::new();
        let mut written_later = BTreeSet::new();
        let all = self.facts.iter().rev().filter_map(|fact| match &fact.what {
            Observation::Commit(commit) => Some(commit),
            _ => None,
        });
        let mut changes: Vec<&CommitFact> = all
            .map(|commit| {
                let object = (
                    &*commit.resource,
                    commit.namespace.as_deref(),
                    commit.name.as_str(),
                );
                (commit, written_later.insert(object))
            })
            .filter(|(commit, _)| &*commit.client == HARNESS)
            .filter(|(commit, _)| match &*commit.resource {
                "pods" => commit.name != pod,
                resource => REQUEUE_RESOURCES.contains(&resource),
            })
            // An undelivered change is relevant only if it is the last change of its object.
            .filter(|(commit, is_last)| {
                let known = self.delivery(Role::Scheduler, commit);
                known.map_or(*is_last, |fact| refusal.seq < fact.seq)
            })
            .map(|(commit, _)| commit)
            .filter(|commit| kinds.insert((commit.change.verb(), &*commit.resource)))
            .collect();
        changes.reverse();
        changes
    }

    /// Adds to the causal chain the next scheduling attempt of a rejected pod.
    fn retry_link(&self, chain: &mut Chain, pod: &str, refusal: &SchedulingFailure, claims: &[String]) {
        let mut since = Vec::new();
        for commit in self.requeueing_changes(pod, refusal) {
            let (verb, resource, name) = (commit.change.verb(), &commit.resource, &commit.name);
            let change = format!("the {verb} of {resource} {name}");
            let text = format!("{change} delivered to the scheduler");
            if !self.delivery_link(chain, text, Role::Scheduler, commit) {
                return;
            }
            since.push(change);
        }
        if since.is_empty() {
            since.push("the step began".to_owned());
        }
        let note = format!(
            "not since {}; last refusal: {}{}",
            since.join(" and "),
            refusal.text,
            self.format_earlier_selection(claims, None)
        );
        chain.add_missing_link(format!("pod {pod} is tried again"), note);
    }

    fn decision_links(&self, chain: &mut Chain, pod: &str, want: &ExpectedNode) {
        let claims = self.claims_of(pod);
        let placed = node_of(self.cluster, pod);
        let selected = self.chosen_node(pod, &claims);
        let decided = placed
            .clone()
            .or_else(|| selected.as_ref().map(|(_, node)| node.clone()));
        let Some(decided) = decided else {
            if let ExpectedNode::OneOf(nodes) = want
                && !self.has_sufficient_capacity(chain, pod, nodes)
            {
                return;
            }
            let note = match self.cluster.scheduling_failure(pod) {
                Some(refusal)
                    if refusal.seq < self.from || !self.requeueing_changes(pod, refusal).is_empty() =>
                {
                    return self.retry_link(chain, pod, refusal, &claims);
                }
                Some(refusal) => format!("refused: {}", refusal.text),
                None => "the scheduler neither placed nor refused it".to_owned(),
            };
            let note = format!("{note}{}", self.format_earlier_selection(&claims, None));
            chain.add_missing_link(format!("a node is chosen for pod {pod}"), note);
            return;
        };
        if !want.allows(&decided) {
            self.volume_links(chain, pod, selected.as_ref(), &claims);
            let outcome = self.selection_outcome(pod, &decided, &claims, placed.is_some());
            chain.add_missing_link(
                format!("{} is chosen for pod {pod}", format_expected_node(want)),
                outcome,
            );
            return;
        }
        if let Some((fact, node)) = &selected {
            chain.add_proven_link(format!("{node} chosen for the claims of pod {pod}"), fact);
        }
        if claims.iter().all(|claim| self.add_claim_links(chain, claim)) && placed.is_none() {
            chain.add_missing_link(format!("pod {pod} is bound to {decided}"), "never");
        }
    }

    /// The node selected for the pod's PVCs. None if the scheduler rejected the pod and one PVC has no selected node: the selected node of
    /// a shared PVC is then due to another pod.
    fn chosen_node(&self, pod: &str, claims: &[String]) -> Option<(&'a Fact, String)> {
        let is_open = |claim: &String| self.selected_node(claim).is_none() && !self.is_bound(claim);
        if self.cluster.scheduling_failure(pod).is_some() && claims.iter().any(is_open) {
            return None;
        }
        claims.iter().find_map(|claim| self.selected_node(claim))
    }

    /// Adds to the causal chain the selected node, the volumes created afterwards (their node affinity restricts the pod), and the
    /// scheduler's rejection.
    fn volume_links(
        &self,
        chain: &mut Chain,
        pod: &str,
        selected: Option<&(&'a Fact, String)>,
        claims: &[String],
    ) {
        if let Some((fact, node)) = selected {
            chain.add_proven_link(format!("{node} chosen for the claims of pod {pod}"), fact);
        }
        for claim in claims {
            let Some(uid) = self.uid_of(claim) else { continue };
            let made = self.create_volume_calls(&uid).rev().find_map(|(fact, call)| {
                let placed = call.placed.as_ref().filter(|_| call.code == "OK")?;
                Some((fact, placed.segment.as_deref().unwrap_or("*")))
            });
            if let Some((fact, segment)) = made {
                chain.add_proven_link(
                    format!("the volume of claim {claim} is created in segment {segment}"),
                    fact,
                );
            }
        }
        let refusal = self.rejection_after_selection(pod, claims);
        if let Some(fact) = refusal.and_then(|refusal| self.fact(refusal.seq)) {
            chain.add_proven_link(format!("pod {pod} rejected by the scheduler"), fact);
        }
    }

    /// The scheduler's rejection of a pod, unless a node was selected for one of the pod's PVCs after the rejection.
    fn rejection_after_selection(&self, pod: &str, claims: &[String]) -> Option<&'a SchedulingFailure> {
        let chosen = claims.iter().filter_map(|claim| self.selected_node(claim));
        let chosen = chosen.map(|(fact, _)| fact.seq).max();
        self.cluster
            .scheduling_failure(pod)
            .filter(|refusal| chosen.is_none_or(|chosen| chosen < refusal.seq))
    }

    /// Describes what happened after an unexpected node was selected, and which node had been selected earlier in the step.
    fn selection_outcome(&self, pod: &str, node: &str, claims: &[String], is_placed: bool) -> String {
        let now = match claims.iter().find(|claim| !self.is_bound(claim)) {
            _ if is_placed => "the pod is bound there".to_owned(),
            None => match self.rejection_after_selection(pod, claims) {
                Some(refusal) => format!("the pod is refused: {}", refusal.text),
                None => "the pod is not bound yet".to_owned(),
            },
            Some(claim) => match self.uid_of(claim).and_then(|uid| self.warning(&uid)) {
                Some(warning) => {
                    format!("claim {claim} is not provisioned there yet; the publisher reports: {warning}")
                }
                None => format!("claim {claim} is not provisioned there yet"),
            },
        };
        format!(
            "{node} was chosen, and {now}{}",
            self.format_earlier_selection(claims, Some(node))
        )
    }

    /// Describes the node that was selected for a PVC earlier in this step, if any, and why the selected-node annotation was removed.
    fn format_earlier_selection(&self, claims: &[String], now: Option<&str>) -> String {
        let chosen = |fact: &'a Fact| match &fact.what {
            Observation::Commit(commit)
                if &*commit.resource == "persistentvolumeclaims"
                    && claims.contains(&commit.name)
                    && fact.seq >= self.from =>
            {
                let node = commit.object["metadata"]["annotations"][SELECTED_NODE].as_str()?;
                let is_current = || {
                    self.selected_node(&commit.name)
                        .is_some_and(|(_, current)| current == node)
                };
                (Some(node) != now && !is_current()).then_some((&commit.name, node))
            }
            _ => None,
        };
        let Some((claim, node)) = self.facts.iter().rev().find_map(chosen) else {
            return String::new();
        };
        let Some(uid) = self.uid_of(claim) else {
            return String::new();
        };
        let refused = self
            .create_volume_calls(&uid)
            .rev()
            .find(|(_, call)| call.code != "OK");
        match refused {
            Some((_, call)) => format!(
                "; {node} was selected before, but its selection was removed after CreateVolume returned {}",
                call.code
            ),
            None => format!("; {node} was selected before, but its selection was removed"),
        }
    }

    pub(super) fn claims_of(&self, pod: &str) -> Vec<String> {
        let object = self.cluster.object("pods", Some(WORKLOADS), pod);
        object.map_or_else(Vec::new, |pod| claims_of(pod))
    }

    /// Sizes and StorageClasses of the pod's PVCs.
    fn format_requests(&self, pod: &str) -> String {
        let requests = self
            .claims_of(pod)
            .into_iter()
            .filter_map(|claim| self.requested_size_and_class(&claim));
        let requests: Vec<String> = requests
            .map(|(size, class)| format!("{size} of {class}"))
            .collect();
        match requests.is_empty() {
            true => "no storage".to_owned(),
            false => requests.join(" and "),
        }
    }

    /// Formats the capacity in the last write of a CSIStorageCapacity object.
    fn format_capacity(&self, commit: &CommitFact) -> String {
        let (class, segment) = row_key(self.case, &commit.object);
        let values = values_of(&commit.object);
        match commit.change {
            Change::Deleted => format!("deleted for {class} at {segment}"),
            Change::Added | Change::Modified => format!("{values} for {class} at {segment}"),
        }
    }
}

//! Explains why the expected node has no CSIStorageCapacity object that is large enough for one of the pod's PVCs. The explanation contains
//! the capacity that the driver returned for the node's segment.

use capacity_spec::world::{CapacityObject, Change};
use capacity_types::Labels;
use capacity_types::capacity_api::RESOURCE;
use capacity_types::quantity::{ByteConversion, Quantity};
use fake_csi::Method;
use serde_json::Value;

use super::capacities::format_response;
use super::{Chain, Window, labels};
use crate::expectation::rows::values_of;
use crate::journal::{Fact, Observation};
use crate::plan::WORKLOADS;
use crate::scenario::Role;
use capacity_types::pod::class_of;

/// StorageClass and size of a PVC that needs a new volume.
struct RequestedVolume {
    class: String,
    /// The requested quantity as spelled in the PVC.
    size: String,
    bytes: i128,
}

impl<'a> Window<'a> {
    /// Whether each PVC of the pod fits the published capacity of at least one of the nodes. If not, adds the cause to the causal chain.
    pub(super) fn has_sufficient_capacity(&self, chain: &mut Chain, pod: &str, nodes: &[String]) -> bool {
        let known: Vec<(&String, Labels)> = nodes
            .iter()
            .filter_map(|node| {
                let object = self.cluster.object("nodes", None, node)?;
                Some((node, labels(object).unwrap_or_default()))
            })
            .collect();
        let Some((node, labels)) = known.first().filter(|_| self.is_tracked()) else {
            return true;
        };
        let claims = self.claims_of(pod);
        let wanted: Vec<RequestedVolume> = claims
            .iter()
            .filter_map(|claim| self.requested_volume(claim))
            .collect();
        let is_insufficient = |claim: &&RequestedVolume| {
            !known
                .iter()
                .any(|(_, labels)| self.is_published_for(claim, labels))
        };
        let Some(claim) = wanted.iter().find(is_insufficient) else {
            return true;
        };
        let text = format!(
            "capacity for {} of {} is published for node {node}",
            claim.size, claim.class
        );
        let note = self.explain_insufficient_capacity(chain, claim, node, labels);
        chain.add_missing_link(text, note);
        false
    }

    /// Whether the scheduler checks capacity: the CSIDriver has `storageCapacity: true`, GetCapacity was called if a publisher runs, and
    /// the scheduler has its default release and gates.
    fn is_tracked(&self) -> bool {
        let is_call =
            |fact: &Fact| matches!(&fact.what, Observation::Call(call) if call.method == Method::GetCapacity);
        self.is_default_release
            && (!self.has_publisher() || self.facts.iter().any(is_call))
            && self.storage_capacity() == Some(true)
    }

    fn has_publisher(&self) -> bool {
        self.case.roles.contains(&Role::Publisher)
    }

    /// StorageClass and size of a PVC that waits for a node. None if the PVC is bound, has a selected node, or belongs to another driver.
    fn requested_volume(&self, claim: &str) -> Option<RequestedVolume> {
        if self.is_bound(claim) || self.selected_node(claim).is_some() {
            return None;
        }
        let object = self
            .cluster
            .object("persistentvolumeclaims", Some(WORKLOADS), claim)?;
        let (size, class) = self.requested_size_and_class(claim)?;
        let of_class = self.cluster.object("storageclasses", None, &class)?;
        let is_own_class = of_class["provisioner"] == self.case.driver.name.as_str()
            && of_class["volumeBindingMode"] == "WaitForFirstConsumer"
            && object["spec"]["volumeName"].as_str().is_none_or(str::is_empty);
        let bytes = size.parse::<Quantity>().ok()?.bytes(ByteConversion::Exact);
        // An existing PV may satisfy the PVC, whatever capacity is published.
        let is_free = |volume: &Value| {
            class_of(volume) == Some(&*class)
                && volume["spec"]["claimRef"]["uid"]
                    .as_str()
                    .is_none_or(str::is_empty)
        };
        let mut volumes = self.cluster.objects("persistentvolumes");
        let may_be_bound = volumes.any(|(_, volume)| is_free(volume));
        (is_own_class && !may_be_bound).then_some(RequestedVolume { class, size, bytes })
    }

    /// Whether a CSIStorageCapacity object for a node with these labels is large enough for the PVC.
    fn is_published_for(&self, claim: &RequestedVolume, labels: &Labels) -> bool {
        self.capacity_objects(claim, labels).any(|(_, object)| {
            object
                .largest_volume(true)
                .is_some_and(|limit| limit >= claim.bytes)
        })
    }

    /// The CSIStorageCapacity objects for the class of the PVC and a node with these labels.
    fn capacity_objects(
        &self,
        claim: &RequestedVolume,
        labels: &Labels,
    ) -> impl Iterator<Item = (&Value, CapacityObject)> {
        self.cluster.objects(RESOURCE).filter_map(|(_, object)| {
            let (_, capacity) = CapacityObject::read(&**object).ok()?;
            (capacity.class == claim.class && capacity.topology.admits(labels))
                .then_some((&**object, capacity))
        })
    }

    /// Returns why no CSIStorageCapacity object for a node is large enough, and adds the GetCapacity call that proves it to the causal chain.
    fn explain_insufficient_capacity(
        &self,
        chain: &mut Chain,
        claim: &RequestedVolume,
        node: &str,
        labels: &Labels,
    ) -> String {
        let driver = &self.case.driver.name;
        let csi_node = self.cluster.object("csinodes", None, node);
        let registered =
            csi_node.and_then(|object| match Change::of_object("csinodes", &**object).ok()?? {
                Change::CsiNode(_, csi_node) => csi_node?.drivers.remove(driver),
                _ => None,
            });
        let Some(registered) = registered else {
            return format!("CSINode {node} does not list the driver {driver}");
        };
        let Some(segment) = registered.segment(labels) else {
            let mut keys = registered.topology_keys.iter();
            let missing = keys.find(|key| !labels.contains_key(*key));
            let missing = missing.map(String::as_str).unwrap_or_default();
            return format!(
                "node {node} lacks the label {missing}, a topology key of {driver} in CSINode {node}"
            );
        };
        let name = self.case.segments.format(&segment);
        if !self.has_publisher() {
            let objects = self.capacity_objects(claim, labels);
            let smaller: Vec<String> = objects.map(|(object, _)| values_of(object).to_string()).collect();
            let smaller = match smaller.is_empty() {
                true => String::new(),
                false => format!(", only {}", smaller.join(" and ")),
            };
            return format!(
                "the API server has no CSIStorageCapacity object that large for class {} at {name}{smaller}; as no publisher runs, only the case creates objects",
                claim.class
            );
        }
        let Some((fact, call)) = self.last_response(&claim.class, &name, 0) else {
            return format!("no object for {name} is large enough, and GetCapacity was never called for it");
        };
        let response = format_response(call);
        chain.add_proven_link(
            format!(
                "GetCapacity for class {} at {name} returned {response}",
                claim.class
            ),
            fact,
        );
        let first = self.case.driver.pools.iter().map(|(of, _)| of);
        let mut pools = first.chain(self.later_pools.iter().copied());
        let is_without_pool = !pools.any(|of| *of == segment) && response == "0";
        let pool = match is_without_pool {
            true => "; `backend` of the case has no storage there",
            false => "",
        };
        format!("the driver reported {response} for {name}{pool}")
    }
}

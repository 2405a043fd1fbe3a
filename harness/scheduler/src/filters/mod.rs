//! The filters of kube-scheduler's default profile, except VolumeBinding, in their order. Only filters that depend on nothing but API
//! objects are implemented. The first filter that rejects a node determines the reason.
//!
//! Not implemented: scoring, devices (DynamicResources), and pod groups.

mod inter_pod;
mod limits;
mod restrictions;
mod spread;
mod zone;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use self::inter_pod::PodAffinityCounts;
use self::spread::SpreadCounts;
use crate::node_pods::NodeInfo;
use crate::objects::{HostPort, Node, ObjectKey, Pod, Taint};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

pub use self::limits::VolumeLimit;
pub use self::spread::Skew;

/// The name of the resource that counts pods.
const PODS: &str = "pods";
const UNSCHEDULABLE_TAINT: &str = "node.kubernetes.io/unschedulable";

/// Why a filter other than VolumeBinding rejects a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterReason {
    /// `matchFields` in the pod's node affinity does not contain the node.
    NodeNameMismatch,
    /// The node is cordoned.
    Cordoned,
    /// The pod does not tolerate this taint.
    UntoleratedTaint(Taint),
    /// The node's labels do not match `nodeSelector` or the required node affinity.
    NodeSelectorMismatch,
    /// A pod on the node uses this host port.
    HostPortInUse(HostPort),
    /// The insufficient resources, in the order in which kube-scheduler reports them.
    InsufficientResources(Vec<InsufficientResource>),
    /// The pending pod and a pod on the node reference this disk without PVCs.
    DiskInUse(String),
    /// Another pod uses the PVC, which has the access mode ReadWriteOncePod.
    ClaimInUse(ObjectKey),
    /// The driver's volume limit on the node would be exceeded.
    TooManyVolumes(VolumeLimit),
    /// A label of the PersistentVolume names another zone or region.
    ZoneMismatch {
        /// Name of the PersistentVolume with the label.
        volume: String,
        /// Key of the zone or region label.
        key: String,
    },
    /// The node lacks the `topologyKey` label of a topology spread constraint.
    MissingTopologyLabel(String),
    /// `maxSkew` of a topology spread constraint would be exceeded.
    MaxSkewExceeded(Skew),
    /// No pod in the node's topology domain matches the pod's affinity. Contains the `topologyKey` of the first unsatisfied term.
    AffinityUnsatisfied(String),
    /// A pod in the node's topology domain matches the pod's anti-affinity.
    AntiAffinityUnsatisfied {
        /// Namespace and name of the matching pod.
        pod: ObjectKey,
        /// The `topologyKey` of the anti-affinity term.
        key: String,
    },
    /// The anti-affinity of a pod in the node's topology domain matches the pending pod.
    ExistingAntiAffinity {
        /// Namespace and name of the pod with the anti-affinity term.
        pod: ObjectKey,
        /// The `topologyKey` of the anti-affinity term.
        key: String,
    },
}

/// A resource of which the node has too little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsufficientResource {
    /// The resource name, such as `memory`.
    pub resource: String,
    /// The pod's request: milli-CPU, bytes, or a count.
    pub requested: i64,
    /// Sum of the requests of the pods on the node.
    pub used: i64,
    /// The node's allocatable amount.
    pub allocatable: i64,
}

impl FilterReason {
    /// The rejection reasons in kube-scheduler's wording.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        let reason = match self {
            Self::NodeNameMismatch => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::Cordoned => "node(s) were unschedulable",
            Self::UntoleratedTaint(taint) => return vec![rules.taint_wording.reason(taint)],
            Self::NodeSelectorMismatch => "node(s) didn't match Pod's node affinity/selector",
            Self::HostPortInUse(_) => "node(s) didn't have free ports for the requested pod ports",
            Self::InsufficientResources(insufficient) => {
                return insufficient.iter().map(InsufficientResource::reason).collect();
            }
            Self::DiskInUse(_) => "node(s) had no available disk",
            Self::ClaimInUse(_) => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            Self::TooManyVolumes(_) => "node(s) exceed max volume count",
            Self::ZoneMismatch { .. } => "node(s) had no available volume zone",
            Self::MissingTopologyLabel(_) => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::MaxSkewExceeded(_) => "node(s) didn't match pod topology spread constraints",
            Self::AffinityUnsatisfied(_) => "node(s) didn't match pod affinity rules",
            Self::AntiAffinityUnsatisfied { .. } => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingAntiAffinity { .. } => "node(s) didn't satisfy existing pods anti-affinity rules",
        };
        vec![reason.into()]
    }

    /// Whether the node would still reject the pod after other pods were evicted (`UnschedulableAndUnresolvable`).
    pub fn is_unresolvable(&self) -> bool {
        match self {
            Self::NodeNameMismatch
            | Self::Cordoned
            | Self::UntoleratedTaint(_)
            | Self::NodeSelectorMismatch
            | Self::ZoneMismatch { .. }
            | Self::MissingTopologyLabel(_)
            | Self::AffinityUnsatisfied(_) => true,
            // Upstream tries preemption even on a node whose allocatable pod count is 0.
            Self::InsufficientResources(insufficient) => insufficient.iter().any(|insufficient| {
                insufficient.resource != PODS && insufficient.requested > insufficient.allocatable
            }),
            Self::HostPortInUse(_)
            | Self::DiskInUse(_)
            | Self::ClaimInUse(_)
            | Self::TooManyVolumes(_)
            | Self::MaxSkewExceeded(_)
            | Self::AntiAffinityUnsatisfied { .. }
            | Self::ExistingAntiAffinity { .. } => false,
        }
    }

    /// Whether adding or deleting another pod may make the node pass this filter.
    pub fn depends_on_pods(&self) -> bool {
        !self.is_unresolvable()
            || matches!(
                self,
                Self::InsufficientResources(_) | Self::AffinityUnsatisfied(_)
            )
    }
}

impl InsufficientResource {
    /// The rejection reason in kube-scheduler's wording.
    fn reason(&self) -> Cow<'static, str> {
        match self.resource.as_str() {
            PODS => "Too many pods".into(),
            resource => format!("Insufficient {resource}").into(),
        }
    }
}

/// Numbers of pods that the filters compare for one pending pod, by topology domain and PVC. Computed once per attempt, and updated when
/// preemption simulates evictions.
#[derive(Clone, Debug)]
pub struct Counts<'a> {
    affinity: PodAffinityCounts<'a>,
    spread: SpreadCounts<'a>,
    /// How often other pods use the pod's ReadWriteOncePod PVCs.
    claims_in_use: usize,
}

/// The filters for one pod, prepared once per attempt and then run for each node.
#[derive(Debug)]
pub struct NodeFilters<'a> {
    snapshot: &'a Snapshot,
    rules: &'a Rules,
    pod: &'a Pod,
    named_nodes: Option<BTreeSet<&'a str>>,
    /// The pod's PVCs with access mode ReadWriteOncePod.
    exclusive: Vec<&'a ObjectKey>,
    volumes: limits::PodVolumes,
    zones: Vec<zone::VolumeZone<'a>>,
    /// Pending pods with a nominated node whose priority is at least that of the pod.
    nominated: Vec<&'a Arc<Pod>>,
    counts: Counts<'a>,
}

impl<'a> NodeFilters<'a> {
    /// Prepares the filters for a pod.
    pub fn of(snapshot: &'a Snapshot, rules: &'a Rules, pod: &'a Pod) -> Self {
        let affinity = pod.affinity.as_ref();
        let exclusive = restrictions::exclusive_claims(snapshot, pod);
        let in_use = exclusive
            .iter()
            .filter(|claim| snapshot.pods.is_claim_used(claim));
        let is_ahead = |other: &&Arc<Pod>| other.uid != pod.uid && other.priority >= pod.priority;
        Self {
            snapshot,
            rules,
            pod,
            named_nodes: affinity.and_then(|affinity| affinity.named_nodes()),
            counts: Counts {
                affinity: PodAffinityCounts::of(snapshot, pod),
                spread: SpreadCounts::of(snapshot, pod),
                claims_in_use: in_use.count(),
            },
            exclusive,
            volumes: limits::PodVolumes::of(snapshot, pod),
            zones: zone::zones(snapshot, pod),
            nominated: snapshot.pods.nominated().filter(is_ahead).collect(),
        }
    }

    /// The counts for the current cluster. Preemption clones them for its simulation.
    pub fn counts(&self) -> &Counts<'a> {
        &self.counts
    }

    /// Runs all filters on a node; `volumes` runs VolumeBinding at its position in the order. As upstream, the node must pass both with and
    /// without the pods that are nominated to it.
    pub fn check<T, E: From<FilterReason>>(
        &self,
        node: &'a Node,
        volumes: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        let none = NodeInfo::default();
        let info = self.snapshot.pods.node_info(node.name()).unwrap_or(&none);
        self.check_with(node, info, &self.counts, volumes)
    }

    /// Like [`Self::check`], with other pods on the node than the snapshot contains.
    pub fn check_with<T, E: From<FilterReason>>(
        &self,
        node: &'a Node,
        info: &NodeInfo,
        counts: &Counts<'a>,
        volumes: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        let is_nominated_here = |pod: &&&Arc<Pod>| pod.nominated_node.as_deref() == Some(node.name());
        let mut nominated = self.nominated.iter().filter(is_nominated_here).peekable();
        if nominated.peek().is_some() {
            let (mut info, mut counts) = (info.clone(), counts.clone());
            for pod in nominated {
                info.add(pod);
                self.add(&mut counts, pod, node);
            }
            self.check_once(node, &info, &counts, &volumes)?;
        }
        self.check_once(node, info, counts, &volumes)
    }

    fn check_once<T, E: From<FilterReason>>(
        &self,
        node: &Node,
        info: &NodeInfo,
        counts: &Counts<'_>,
        volumes: &impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(reason) = self.check_before_volumes(node, info, counts) {
            return Err(reason.into());
        }
        let plan = volumes()?;
        match self.check_after_volumes(node, counts) {
            Some(reason) => Err(reason.into()),
            None => Ok(plan),
        }
    }

    /// Adds a pod on a node to the counts.
    pub fn add(&self, counts: &mut Counts<'a>, pod: &'a Pod, node: &'a Node) {
        counts.affinity.update(self.snapshot, self.pod, pod, node, 1);
        counts.spread.update(self.pod, pod, node, 1);
        counts.claims_in_use += self.count_shared_exclusive_claims(pod);
    }

    /// Removes a pod on a node from the counts.
    pub fn remove(&self, counts: &mut Counts<'a>, pod: &'a Pod, node: &'a Node) {
        counts.affinity.update(self.snapshot, self.pod, pod, node, -1);
        counts.spread.update(self.pod, pod, node, -1);
        counts.claims_in_use = counts
            .claims_in_use
            .saturating_sub(self.count_shared_exclusive_claims(pod));
    }

    fn count_shared_exclusive_claims(&self, other: &Pod) -> usize {
        let named = other.volumes.iter().filter(|volume| !volume.ephemeral);
        named
            .filter(|volume| self.exclusive.contains(&&volume.claim))
            .count()
    }

    fn check_before_volumes(
        &self,
        node: &Node,
        info: &NodeInfo,
        counts: &Counts<'_>,
    ) -> Option<FilterReason> {
        let pod = self.pod;
        if let Some(reason) = check_node_constraints(pod, self.named_nodes.as_ref(), node) {
            return Some(reason);
        }
        if let Some(port) = host_port_in_use(pod, info) {
            return Some(FilterReason::HostPortInUse(port.clone()));
        }
        let insufficient = insufficient_resources(self.rules, pod, node, info);
        if !insufficient.is_empty() {
            return Some(FilterReason::InsufficientResources(insufficient));
        }
        if let Some(disk) = restrictions::disk_in_use(pod, info) {
            return Some(FilterReason::DiskInUse(disk.to_string()));
        }
        if counts.claims_in_use > 0 {
            let is_used = |claim: &&&ObjectKey| self.snapshot.pods.is_claim_used(claim);
            let used = self.exclusive.iter().find(is_used).or(self.exclusive.first());
            return used.map(|claim| FilterReason::ClaimInUse((*claim).clone()));
        }
        let limit = self.volumes.exceeded_limit(self.snapshot, node, info);
        limit.map(FilterReason::TooManyVolumes)
    }

    fn check_after_volumes(&self, node: &Node, counts: &Counts<'_>) -> Option<FilterReason> {
        zone::zone_mismatch(&self.zones, node)
            .or_else(|| counts.spread.check(self.pod, node))
            .or_else(|| counts.affinity.check(self.snapshot, self.pod, node))
    }
}

/// Runs the filters that need neither other pods nor volumes: node name, unschedulable, taints and labels. `named_nodes`: the node names in
/// `matchFields` of the pod's affinity; `None` if the affinity has no `matchFields`.
fn check_node_constraints(
    pod: &Pod,
    named_nodes: Option<&BTreeSet<&str>>,
    node: &Node,
) -> Option<FilterReason> {
    if named_nodes.is_some_and(|names| !names.contains(node.name())) {
        return Some(FilterReason::NodeNameMismatch);
    }
    if node.unschedulable && !Taint::no_schedule(UNSCHEDULABLE_TAINT).is_tolerated(&pod.tolerations) {
        return Some(FilterReason::Cordoned);
    }
    if let Some(taint) = untolerated_taint(pod, node) {
        return Some(FilterReason::UntoleratedTaint(taint.clone()));
    }
    (!matches_node_selector(pod, node)).then_some(FilterReason::NodeSelectorMismatch)
}

/// Whether node name, unschedulable, taints and labels allow the pod on one of these nodes.
pub fn may_use_any<'n>(pod: &Pod, nodes: impl IntoIterator<Item = &'n Arc<Node>>) -> bool {
    let named = pod.affinity.as_ref().and_then(|affinity| affinity.named_nodes());
    let mut nodes = nodes.into_iter();
    nodes.any(|node| check_node_constraints(pod, named.as_ref(), node).is_none())
}

fn untolerated_taint<'n>(pod: &Pod, node: &'n Node) -> Option<&'n Taint> {
    let mut taints = node.taints.iter();
    taints.find(|taint| !taint.is_tolerated(&pod.tolerations))
}

/// Whether the node's labels match `nodeSelector` and the required node affinity.
fn matches_node_selector(pod: &Pod, node: &Node) -> bool {
    let selected = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
    let wanted = pod.affinity.as_ref();
    pod.node_selector.iter().all(selected)
        && wanted.is_none_or(|affinity| affinity.matches(node.name(), &node.labels))
}

fn host_port_in_use<'p>(pod: &'p Pod, info: &NodeInfo) -> Option<&'p HostPort> {
    let taken = |port: &&HostPort| {
        let mut others = info.pods.iter().flat_map(|other| &other.host_ports);
        others.any(|other| other.conflicts_with(port))
    };
    pod.host_ports.iter().find(taken)
}

/// The resources of which the node has too little. A node without `status.allocatable` has no limits.
fn insufficient_resources(
    rules: &Rules,
    pod: &Pod,
    node: &Node,
    info: &NodeInfo,
) -> Vec<InsufficientResource> {
    let Some(all) = &node.allocatable else {
        return Vec::new();
    };
    let (requests, used) = (&pod.requests, &info.requested);
    let amount =
        |of: &std::collections::BTreeMap<String, i64>, name: &str| of.get(name).copied().unwrap_or(0);
    let named = [
        (PODS, requests.pods, used.pods, all.pods),
        ("cpu", requests.cpu_milli, used.cpu_milli, all.cpu_milli),
        ("memory", requests.memory, used.memory, all.memory),
        (
            "ephemeral-storage",
            requests.ephemeral_storage,
            used.ephemeral_storage,
            all.ephemeral_storage,
        ),
    ];
    let checked = requests
        .scalar
        .iter()
        .filter(|(name, _)| !rules.ignored_resources.contains(*name));
    let scalar = checked.map(|(name, requested)| {
        let (used, all) = (amount(&used.scalar, name), amount(&all.scalar, name));
        (name.as_str(), *requested, used, all)
    });
    // A request of zero always fits, even if other pods request more than the node has.
    let insufficient = named
        .into_iter()
        .chain(scalar)
        .filter(|(_, requested, used, all)| *requested > 0 && *requested > all.saturating_sub(*used));
    insufficient
        .map(|(resource, requested, used, allocatable)| InsufficientResource {
            resource: resource.to_owned(),
            requested,
            used,
            allocatable,
        })
        .collect()
}

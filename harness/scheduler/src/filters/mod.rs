//! Whether pod and node fit each other apart from VolumeBinding: the other filters of kube-scheduler's default profile that depend on API
//! objects alone, in its order. The first that refuses a node gives the reason.
//!
//! Not looked at: what only orders nodes, devices (DynamicResources), groups of pods.

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
use crate::node_pods::OnNode;
use crate::objects::{HostPort, Node, ObjectKey, Pod, Taint};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

pub use self::limits::VolumeLimit;
pub use self::spread::Skew;

/// The number of pods, as a resource.
const PODS: &str = "pods";
/// The taint that a cordon amounts to.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// Why a node is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The pod's affinity names other nodes by `metadata.name`.
    NotNamed,
    /// The node is cordoned.
    Cordoned,
    /// The pod does not tolerate this taint.
    Tainted(Taint),
    /// Its labels do not match `nodeSelector` or the required affinity.
    LabelsDiffer,
    /// A pod there has this port of the node.
    PortTaken(HostPort),
    /// It has too little left of these, in the order in which they are reported.
    Full(Vec<Short>),
    /// A pod there has a disk that the pod names without a claim.
    DiskInUse(String),
    /// Another pod uses the claim, which has access mode ReadWriteOncePod.
    ClaimInUse(ObjectKey),
    /// The driver can attach no more volumes there.
    TooManyVolumes(VolumeLimit),
    /// A label of the volume names another zone or region.
    OtherZone {
        /// The volume.
        volume: String,
        /// The label's key.
        key: String,
    },
    /// It has no label of this key, which a topology spread constraint names.
    NoSpreadLabel(String),
    /// Its domain would have too many more pods than the emptiest one.
    Skewed(Skew),
    /// No pod that the pod has affinity to is in a domain of the node. The key of the first term that is not met.
    NoPodNear(String),
    /// A pod that the pod has anti-affinity to is in the node's domain.
    PodNear {
        /// The pod.
        pod: ObjectKey,
        /// The domain's label.
        key: String,
    },
    /// A pod in the node's domain has anti-affinity to the pod.
    Repelled {
        /// The pod.
        pod: ObjectKey,
        /// The domain's label.
        key: String,
    },
}

/// A resource of which too little is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// Its name, such as `memory`.
    pub resource: String,
    /// What the pod requests: thousandths of a processor, bytes, or a count.
    pub requested: i64,
    /// What other pods have.
    pub used: i64,
    /// What there is.
    pub allocatable: i64,
}

impl Unfit {
    /// The reasons in kube-scheduler's words.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        let reason = match self {
            Self::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::Cordoned => "node(s) were unschedulable",
            Self::Tainted(taint) => return vec![rules.taint_words.reason(taint)],
            Self::LabelsDiffer => "node(s) didn't match Pod's node affinity/selector",
            Self::PortTaken(_) => "node(s) didn't have free ports for the requested pod ports",
            Self::Full(short) => return short.iter().map(Short::reason).collect(),
            Self::DiskInUse(_) => "node(s) had no available disk",
            Self::ClaimInUse(_) => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            Self::TooManyVolumes(_) => "node(s) exceed max volume count",
            Self::OtherZone { .. } => "node(s) had no available volume zone",
            Self::NoSpreadLabel(_) => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::Skewed(_) => "node(s) didn't match pod topology spread constraints",
            Self::NoPodNear(_) => "node(s) didn't match pod affinity rules",
            Self::PodNear { .. } => "node(s) didn't match pod anti-affinity rules",
            Self::Repelled { .. } => "node(s) didn't satisfy existing pods anti-affinity rules",
        };
        vec![reason.into()]
    }

    /// Whether the node would refuse the pod even if other pods made room.
    pub fn is_final(&self) -> bool {
        match self {
            Self::NotNamed
            | Self::Cordoned
            | Self::Tainted(_)
            | Self::LabelsDiffer
            | Self::OtherZone { .. }
            | Self::NoSpreadLabel(_)
            | Self::NoPodNear(_) => true,
            // Upstream tries to make room even on a node that takes no pods at all.
            Self::Full(short) => short
                .iter()
                .any(|short| short.resource != PODS && short.requested > short.allocatable),
            Self::PortTaken(_)
            | Self::DiskInUse(_)
            | Self::ClaimInUse(_)
            | Self::TooManyVolumes(_)
            | Self::Skewed(_)
            | Self::PodNear { .. }
            | Self::Repelled { .. } => false,
        }
    }

    /// Whether it depends on other pods, so that one that comes or goes may change it.
    pub fn depends_on_pods(&self) -> bool {
        !self.is_final() || matches!(self, Self::Full(_) | Self::NoPodNear(_))
    }
}

impl Short {
    /// The reason in kube-scheduler's words.
    fn reason(&self) -> Cow<'static, str> {
        match self.resource.as_str() {
            PODS => "Too many pods".into(),
            resource => format!("Insufficient {resource}").into(),
        }
    }
}

/// What the pods of the cluster mean to one pod, counted once per attempt and kept up as pods are added and removed on trial.
#[derive(Clone, Debug)]
pub struct Counts<'a> {
    affinity: PodAffinityCounts<'a>,
    spread: SpreadCounts<'a>,
    /// How many uses there are of the pod's ReadWriteOncePod claims by other pods.
    claims_in_use: usize,
}

/// A pod's conditions on nodes, prepared once per attempt.
#[derive(Debug)]
pub struct NodeFilters<'a> {
    snapshot: &'a Snapshot,
    rules: &'a Rules,
    pod: &'a Pod,
    named: Option<BTreeSet<&'a str>>,
    /// The pod's claims with access mode ReadWriteOncePod.
    exclusive: Vec<&'a ObjectKey>,
    volumes: limits::PodVolumes,
    zones: Vec<zone::VolumeZone<'a>>,
    /// Pods of no lower priority for which some node is nominated.
    nominated: Vec<&'a Arc<Pod>>,
    counts: Counts<'a>,
}

impl<'a> NodeFilters<'a> {
    /// Prepares the pod's conditions.
    pub fn of(snapshot: &'a Snapshot, rules: &'a Rules, pod: &'a Pod) -> Self {
        let affinity = pod.affinity.as_ref();
        let exclusive = restrictions::exclusive(snapshot, pod);
        let in_use = exclusive.iter().filter(|claim| snapshot.pods.uses(claim));
        let is_ahead = |other: &&Arc<Pod>| other.uid != pod.uid && other.priority >= pod.priority;
        Self {
            snapshot,
            rules,
            pod,
            named: affinity.and_then(|affinity| affinity.named_nodes()),
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

    /// The state of the cluster, to be changed on trial.
    pub fn counts(&self) -> &Counts<'a> {
        &self.counts
    }

    /// Why the node is refused by the filters around VolumeBinding, whose place `volumes` takes: it is called where those before it
    /// have let the node pass. Pods that are nominated to the node count, and must not be needed there.
    pub fn check<T, E: From<Unfit>>(
        &self,
        node: &'a Node,
        volumes: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        let none = OnNode::default();
        let on = self.snapshot.pods.on(node.name()).unwrap_or(&none);
        self.check_with(node, on, &self.counts, volumes)
    }

    /// The same with other pods on the node than there are.
    pub fn check_with<T, E: From<Unfit>>(
        &self,
        node: &'a Node,
        on: &OnNode,
        counts: &Counts<'a>,
        volumes: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        let is_here = |pod: &&&Arc<Pod>| pod.nominated_node.as_deref() == Some(node.name());
        let mut nominated = self.nominated.iter().filter(is_here).peekable();
        if nominated.peek().is_some() {
            let (mut on, mut counts) = (on.clone(), counts.clone());
            for pod in nominated {
                on.add(pod);
                self.add(&mut counts, pod, node);
            }
            self.check_once(node, &on, &counts, &volumes)?;
        }
        self.check_once(node, on, counts, &volumes)
    }

    fn check_once<T, E: From<Unfit>>(
        &self,
        node: &Node,
        on: &OnNode,
        counts: &Counts<'_>,
        volumes: &impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(unfit) = self.before_volumes(node, on, counts) {
            return Err(unfit.into());
        }
        let plan = volumes()?;
        match self.after_volumes(node, counts) {
            Some(unfit) => Err(unfit.into()),
            None => Ok(plan),
        }
    }

    /// Counts a pod as one of the node.
    pub fn add(&self, counts: &mut Counts<'a>, pod: &'a Pod, node: &'a Node) {
        counts.affinity.update(self.snapshot, self.pod, pod, node, 1);
        counts.spread.update(self.pod, pod, node, 1);
        counts.claims_in_use += self.uses(pod);
    }

    /// Counts a pod of the node no longer.
    pub fn remove(&self, counts: &mut Counts<'a>, pod: &'a Pod, node: &'a Node) {
        counts.affinity.update(self.snapshot, self.pod, pod, node, -1);
        counts.spread.update(self.pod, pod, node, -1);
        counts.claims_in_use = counts.claims_in_use.saturating_sub(self.uses(pod));
    }

    fn uses(&self, other: &Pod) -> usize {
        let named = other.volumes.iter().filter(|volume| !volume.ephemeral);
        named
            .filter(|volume| self.exclusive.contains(&&volume.claim))
            .count()
    }

    fn before_volumes(&self, node: &Node, on: &OnNode, counts: &Counts<'_>) -> Option<Unfit> {
        let pod = self.pod;
        if let Some(unfit) = whatever_else(pod, self.named.as_ref(), node) {
            return Some(unfit);
        }
        if let Some(port) = taken_port(pod, on) {
            return Some(Unfit::PortTaken(port.clone()));
        }
        let short = short(self.rules, pod, node, on);
        if !short.is_empty() {
            return Some(Unfit::Full(short));
        }
        if let Some(disk) = restrictions::disk_in_use(pod, on) {
            return Some(Unfit::DiskInUse(disk.to_string()));
        }
        if counts.claims_in_use > 0 {
            let is_used = |claim: &&&ObjectKey| self.snapshot.pods.uses(claim);
            let used = self.exclusive.iter().find(is_used).or(self.exclusive.first());
            return used.map(|claim| Unfit::ClaimInUse((*claim).clone()));
        }
        let limit = self.volumes.beyond_limit(self.snapshot, node, on);
        limit.map(Unfit::TooManyVolumes)
    }

    fn after_volumes(&self, node: &Node, counts: &Counts<'_>) -> Option<Unfit> {
        zone::mismatch(&self.zones, node)
            .or_else(|| counts.spread.check(self.pod, node))
            .or_else(|| counts.affinity.check(self.snapshot, self.pod, node))
    }
}

/// The checks that depend on neither other pods nor volumes: node name, cordon, taints and labels. `named`: the nodes that the pod's
/// affinity names in `matchFields`; none: it names no node.
fn whatever_else(pod: &Pod, named: Option<&BTreeSet<&str>>, node: &Node) -> Option<Unfit> {
    if named.is_some_and(|named| !named.contains(node.name())) {
        return Some(Unfit::NotNamed);
    }
    if node.unschedulable && !Taint::no_schedule(CORDON).is_tolerated(&pod.tolerations) {
        return Some(Unfit::Cordoned);
    }
    if let Some(taint) = untolerated(pod, node) {
        return Some(Unfit::Tainted(taint.clone()));
    }
    (!selects(pod, node)).then_some(Unfit::LabelsDiffer)
}

/// Whether names, cordons, taints and labels allow a pod on one of these nodes.
pub fn may_use_any<'n>(pod: &Pod, nodes: impl IntoIterator<Item = &'n Arc<Node>>) -> bool {
    let named = pod.affinity.as_ref().and_then(|affinity| affinity.named_nodes());
    let mut nodes = nodes.into_iter();
    nodes.any(|node| whatever_else(pod, named.as_ref(), node).is_none())
}

/// The first taint of the node that the pod does not tolerate.
fn untolerated<'n>(pod: &Pod, node: &'n Node) -> Option<&'n Taint> {
    let mut taints = node.taints.iter();
    taints.find(|taint| !taint.is_tolerated(&pod.tolerations))
}

/// Whether the node's labels match `nodeSelector` and the required affinity.
fn selects(pod: &Pod, node: &Node) -> bool {
    let selected = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
    let wanted = pod.affinity.as_ref();
    pod.node_selector.iter().all(selected)
        && wanted.is_none_or(|affinity| affinity.matches(node.name(), &node.labels))
}

fn taken_port<'p>(pod: &'p Pod, on: &OnNode) -> Option<&'p HostPort> {
    let taken = |port: &&HostPort| {
        let mut others = on.pods.iter().flat_map(|other| &other.host_ports);
        others.any(|other| other.conflicts_with(port))
    };
    pod.host_ports.iter().find(taken)
}

/// What the node has too little of. A node without `status.allocatable` has no limits.
fn short(rules: &Rules, pod: &Pod, node: &Node, on: &OnNode) -> Vec<Short> {
    let Some(all) = &node.allocatable else {
        return Vec::new();
    };
    let (requests, used) = (&pod.requests, &on.requested);
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
    let looked_at = requests
        .scalar
        .iter()
        .filter(|(name, _)| !rules.ignored_resources.contains(*name));
    let scalar = looked_at.map(|(name, requested)| {
        let (used, all) = (amount(&used.scalar, name), amount(&all.scalar, name));
        (name.as_str(), *requested, used, all)
    });
    // A request of nothing always fits, even on a node that is overcommitted.
    let short = named
        .into_iter()
        .chain(scalar)
        .filter(|(_, requested, used, all)| *requested > 0 && *requested > all.saturating_sub(*used));
    short
        .map(|(resource, requested, used, allocatable)| Short {
            resource: resource.to_owned(),
            requested,
            used,
            allocatable,
        })
        .collect()
}

//! One iteration of the autoscaler: which nodes are not ready yet, which node group to scale up, and which nodes to remove.
//!
//! Uses labels, capacity objects and the scheduler's filter. Does not know drivers.

use std::collections::BTreeSet;

use capacity_scheduler::objects::Capacity;
use capacity_types::{ByteConversion, Labels};

use super::input_cluster::{InputCluster, Node, Pod};
use super::recipe::{Readiness, Recipe};
use super::state::{State, feasible_nodes};

/// The label whose value the autoscaler makes unique for each template node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Features of the autoscaler, as the KEP describes them. Tests of this crate disable one feature at a time.
#[derive(Clone, Copy, Debug)]
pub struct AutoscalerFeatures {
    /// Rewrites labels of template nodes.
    pub rewrites: bool,
    /// Applies the labels of the pool's configuration to template nodes.
    pub uses_pool_labels: bool,
    /// Treats a new node as ready only if it meets the configured readiness condition.
    pub waits_for_readiness: bool,
    /// Evaluates volumes with the scheduler's filter.
    pub runs_filter: bool,
    /// Subtracts the volumes of simulated pods from the capacity of the template node. The KEP says that an autoscaler cannot do this.
    pub counts_volumes: bool,
    /// Removes unneeded nodes.
    pub scales_down: bool,
}

impl Default for AutoscalerFeatures {
    fn default() -> Self {
        Self {
            rewrites: true,
            uses_pool_labels: true,
            waits_for_readiness: true,
            runs_filter: true,
            counts_volumes: false,
            scales_down: true,
        }
    }
}

pub(super) struct Iteration<'l> {
    pub(super) cluster: &'l InputCluster,
    pub(super) recipe: &'l Recipe,
    pub(super) features: AutoscalerFeatures,
    pub(super) state: &'l State,
    objects: Vec<Capacity>,
}

impl<'l> Iteration<'l> {
    pub(super) fn new(
        cluster: &'l InputCluster,
        recipe: &'l Recipe,
        features: AutoscalerFeatures,
        state: &'l State,
    ) -> Self {
        Self {
            cluster,
            recipe,
            features,
            state,
            objects: state.objects(cluster, recipe),
        }
    }

    /// The labels of the template node of a node group, derived from an existing node, or from the configuration if the group is empty.
    pub(super) fn template_labels(&self, group: usize) -> Labels {
        let of_group = self.state.nodes.iter().filter(|node| node.group == group);
        // The oldest node of the group has all labels, including the labels that drivers add.
        let labels = match of_group.min_by_key(|node| node.since) {
            Some(node) if self.features.rewrites => self.recipe.rewrite_labels(&node.labels),
            Some(node) => node.labels.clone(),
            None => self.configured_labels(group),
        };
        let unique = (HOSTNAME.to_owned(), format!("template-{group}"));
        labels.into_iter().chain([unique]).collect()
    }

    fn configured_labels(&self, group: usize) -> Labels {
        let group = &self.cluster.groups[group];
        let mut labels = group.labels.clone();
        if self.features.uses_pool_labels {
            labels.extend(self.recipe.of_pool(&group.name).cloned().unwrap_or_default());
        }
        labels
    }

    /// Whether a node counts as ready. Until it does, the autoscaler evaluates the template node of the group in its place.
    pub(super) fn is_ready(&self, node: &Node) -> bool {
        let classes = |labels: &Labels| -> BTreeSet<&str> {
            let admitting = self
                .objects
                .iter()
                .filter(|object| object.topology.admits(labels));
            admitting.map(|object| object.class.as_str()).collect()
        };
        let own = classes(&node.labels);
        match self.recipe.readiness {
            _ if !self.features.waits_for_readiness => true,
            Readiness::Kubelet => true,
            Readiness::AnyObject => !own.is_empty(),
            Readiness::Counterparts => classes(&self.template_labels(node.group)).is_subset(&own),
        }
    }

    /// The node group whose template node fits the most pending pods, and the number of nodes to add to the group.
    pub(super) fn scale_up(&self) -> Option<(usize, usize)> {
        let pods = self.unschedulable_pods();
        let groups = (0..self.cluster.groups.len()).filter_map(|group| {
            let of_group = self.state.nodes.iter().filter(|node| node.group == group);
            let room = self.cluster.groups[group].max_size - of_group.count();
            let template = self.template_labels(group);
            let helped = pods.iter().copied().filter(|pod| self.fits(&template, pod));
            let helped: Vec<&Pod> = helped.collect();
            let nodes = self.nodes_for(group, &template, &helped).min(room);
            (nodes > 0).then_some((helped.len(), group, nodes))
        });
        let best = groups.max_by_key(|(helped, group, _)| (*helped, usize::MAX - group));
        best.map(|(_, group, nodes)| (group, nodes))
    }

    /// Pending pods that fit none of the starting nodes (added, but not ready), so that further nodes are needed.
    fn unschedulable_pods(&self) -> Vec<&'l Pod> {
        let unready = self.state.nodes.iter().filter(|node| !self.is_ready(node));
        let slots = |node: &Node| self.cluster.groups[node.group].slots;
        let mut coming: Vec<(Labels, usize)> = unready
            .map(|node| (self.template_labels(node.group), slots(node)))
            .collect();
        let mut unschedulable = Vec::new();
        for number in self.state.pending_pods(self.cluster) {
            let pod = &self.cluster.pods[number];
            let node = coming
                .iter_mut()
                .find(|(labels, slots)| *slots > 0 && self.fits(labels, pod));
            match node {
                Some((_, slots)) => *slots -= 1,
                None => unschedulable.push(pod),
            }
        }
        unschedulable
    }

    pub(super) fn fits(&self, labels: &Labels, pod: &Pod) -> bool {
        let node = ("template".to_owned(), labels.clone());
        !self.features.runs_filter || !feasible_nodes(self.cluster, &[node], &self.objects, pod).is_empty()
    }

    /// Number of nodes that these pods need. Unless `counts_volumes` is set, only the number of pods per node is limited: the storage of
    /// simulated pods is not subtracted from the capacity.
    fn nodes_for(&self, group: usize, template: &Labels, pods: &[&Pod]) -> usize {
        let by_slots = pods.len().div_ceil(self.cluster.groups[group].slots);
        if !self.features.counts_volumes {
            return by_slots;
        }
        let (mut nodes, mut left) = (0, 0);
        for pod in pods {
            if left < pod.bytes {
                nodes += 1;
                left = self.template_capacity(template, pod);
            }
            left = left.saturating_sub(pod.bytes);
        }
        nodes.max(by_slots)
    }

    /// The maximum volume size for the pod's class in the capacity objects that match the template node.
    fn template_capacity(&self, template: &Labels, pod: &Pod) -> u64 {
        let of_class = self.objects.iter().filter(|it| it.class == pod.class);
        let limits = of_class
            .filter(|it| it.topology.admits(template))
            .filter_map(|it| {
                let bytes = it.largest_volume()?.bytes(ByteConversion::Exact);
                u64::try_from(bytes).ok()
            });
        limits.max().unwrap_or_default()
    }
}

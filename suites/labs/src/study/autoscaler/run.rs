//! The loop over rounds: drivers start, the scheduler schedules pods, the autoscaler adds or removes nodes.

use std::collections::BTreeMap;

use super::input_cluster::InputCluster;
use super::iteration::{AutoscalerFeatures, Iteration};
use super::recipe::Recipe;
use super::state::State;

/// Number of rounds that a node must be idle before it is removed.
const IDLE_ROUNDS: usize = 3;
/// Maximum number of rounds, sufficient for every node group to grow to its maximum and to shrink to its minimum.
const ROUNDS: usize = 60;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimulationResult {
    /// Number of nodes and of pending pods at the end of each round.
    pub(super) rounds: Vec<(usize, usize)>,
    /// Number of nodes added in each round.
    pub(super) added: Vec<usize>,
    /// Number of capacity objects that publishers had written at the end.
    pub(super) published: usize,
}

impl SimulationResult {
    pub(super) fn added_nodes(&self) -> usize {
        self.added.iter().sum()
    }

    /// Number of pods that are pending at the end.
    pub(super) fn pending_pods(&self) -> usize {
        self.rounds.last().map_or(0, |(_, waiting)| *waiting)
    }

    /// Number of nodes at the end of the simulation.
    pub(super) fn nodes(&self) -> usize {
        self.rounds.last().map_or(0, |(nodes, _)| *nodes)
    }

    /// Number of rounds with a scale-up.
    pub(super) fn scale_ups(&self) -> usize {
        self.added.iter().filter(|added| **added > 0).count()
    }

    /// Whether the numbers of nodes and pending pods did not change in the last `rounds` rounds.
    fn is_stable(&self, rounds: usize) -> bool {
        let last = self.rounds.iter().rev().take(rounds);
        let same = last.clone().all(|round| Some(round) == self.rounds.last());
        same && last.count() == rounds
    }

    /// Maximum number of nodes added in one round.
    pub(super) fn max_added(&self) -> usize {
        self.added.iter().max().copied().unwrap_or_default()
    }
}

/// Simulates until nothing changes any more, or for the maximum number of rounds. The autoscaler removes no nodes.
pub(super) fn simulate(
    cluster: &InputCluster,
    recipe: &Recipe,
    features: AutoscalerFeatures,
) -> SimulationResult {
    run(cluster, recipe, features, None)
}

/// Like [`simulate`], but deletes all pods in round `deleted_in` and removes idle nodes.
pub(super) fn simulate_with_scale_down(
    cluster: &InputCluster,
    recipe: &Recipe,
    features: AutoscalerFeatures,
    deleted_in: usize,
) -> SimulationResult {
    run(cluster, recipe, features, Some(deleted_in))
}

fn run(
    cluster: &InputCluster,
    recipe: &Recipe,
    features: AutoscalerFeatures,
    deleted_in: Option<usize>,
) -> SimulationResult {
    let mut state = State::new(cluster);
    let mut course = SimulationResult::default();
    let mut idle_since = BTreeMap::new();
    let longest = cluster.drivers.iter().map(|driver| driver.delay).max();
    let stable_rounds = longest.unwrap_or_default().max(IDLE_ROUNDS) + 2;
    for round in 1..=ROUNDS {
        state.start_drivers(cluster, round);
        if deleted_in == Some(round) {
            state.delete_pods(cluster);
        }
        state.schedule(cluster, recipe);
        let mut added = 0;
        let growth = Iteration::new(cluster, recipe, features, &state).scale_up();
        if let Some((group, nodes)) = growth {
            added = nodes;
            (0..nodes).for_each(|_| state.add(cluster, group, round));
        }
        if state.pods_deleted && features.scales_down {
            remove_idle_nodes(cluster, &mut state, &mut idle_since, round);
        }
        course.added.push(added);
        course
            .rounds
            .push((state.nodes.len(), state.pending_pods(cluster).len()));
        course.published = state.published(cluster).len();
        if round > deleted_in.unwrap_or_default() + stable_rounds && course.is_stable(stable_rounds) {
            break;
        }
    }
    course
}

/// Removes nodes that were idle for `IDLE_ROUNDS` rounds, down to the minimum size of their group.
fn remove_idle_nodes(
    cluster: &InputCluster,
    state: &mut State,
    idle_since: &mut BTreeMap<String, usize>,
    round: usize,
) {
    for node in state.idle() {
        let since = *idle_since.entry(node.name.clone()).or_insert(round);
        let of_group = state.nodes.iter().filter(|it| it.group == node.group).count();
        if round - since >= IDLE_ROUNDS && of_group > cluster.groups[node.group].min_size {
            state.remove(cluster, &node.name);
        }
    }
}

//! Round after round: drivers start, the scheduler tries, the autoscaler adds or removes.

use std::collections::BTreeMap;

use super::look::{Abilities, Look};
use super::recipe::Recipe;
use super::state::State;
use super::world::World;

/// Rounds without use after which a node is removed.
const IDLE_ROUNDS: usize = 3;
/// Rounds at most: by then every group has grown to its end and shrunk again.
const ROUNDS: usize = 60;

/// What a run was like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Course {
    /// Nodes and waiting pods at the end of each round.
    pub(super) rounds: Vec<(usize, usize)>,
    /// Nodes that were added in each round.
    pub(super) added: Vec<usize>,
    /// Objects of publishers at the end.
    pub(super) published: usize,
}

impl Course {
    /// All nodes that were added.
    pub(super) fn grown(&self) -> usize {
        self.added.iter().sum()
    }

    /// Pods that never got a node.
    pub(super) fn stuck(&self) -> usize {
        self.rounds.last().map_or(0, |(_, waiting)| *waiting)
    }

    /// Nodes at the end.
    pub(super) fn nodes(&self) -> usize {
        self.rounds.last().map_or(0, |(nodes, _)| *nodes)
    }

    /// The rounds in which it grew.
    pub(super) fn growths(&self) -> usize {
        self.added.iter().filter(|added| **added > 0).count()
    }

    /// Whether nothing has changed for so many rounds.
    fn is_over(&self, rounds: usize) -> bool {
        let last = self.rounds.iter().rev().take(rounds);
        let same = last.clone().all(|round| Some(round) == self.rounds.last());
        same && last.count() == rounds
    }

    /// The most nodes that were added in one round.
    pub(super) fn most(&self) -> usize {
        self.added.iter().max().copied().unwrap_or_default()
    }
}

/// Lets a cluster grow until nothing changes any more, or every round is over. Nodes stay.
pub(super) fn grow(world: &World, recipe: &Recipe, abilities: Abilities) -> Course {
    run(world, recipe, abilities, None)
}

/// Lets it grow, deletes all pods in that round, and lets it shrink.
pub(super) fn grow_and_shrink(
    world: &World,
    recipe: &Recipe,
    abilities: Abilities,
    deleted_in: usize,
) -> Course {
    run(world, recipe, abilities, Some(deleted_in))
}

fn run(world: &World, recipe: &Recipe, abilities: Abilities, deleted_in: Option<usize>) -> Course {
    let mut state = State::new(world);
    let mut course = Course::default();
    let mut idle_since = BTreeMap::new();
    let longest = world.drivers.iter().map(|driver| driver.delay).max();
    let patience = longest.unwrap_or_default().max(IDLE_ROUNDS) + 2;
    for round in 1..=ROUNDS {
        state.start_drivers(world, round);
        if deleted_in == Some(round) {
            state.delete_pods(world);
        }
        state.schedule(world, recipe);
        let mut added = 0;
        let growth = Look::new(world, recipe, abilities, &state).growth();
        if let Some((group, nodes)) = growth {
            added = nodes;
            (0..nodes).for_each(|_| state.add(world, group, round));
        }
        if state.gone && abilities.shrinks {
            shrink(world, &mut state, &mut idle_since, round);
        }
        course.added.push(added);
        course
            .rounds
            .push((state.nodes.len(), state.waiting(world).len()));
        course.published = state.published(world).len();
        if round > deleted_in.unwrap_or_default() + patience && course.is_over(patience) {
            break;
        }
    }
    course
}

/// Removes the nodes that have had no pod for some rounds, down to the least that their group has.
fn shrink(world: &World, state: &mut State, idle_since: &mut BTreeMap<String, usize>, round: usize) {
    for node in state.idle() {
        let since = *idle_since.entry(node.name.clone()).or_insert(round);
        let of_group = state.nodes.iter().filter(|it| it.group == node.group).count();
        if round - since >= IDLE_ROUNDS && of_group > world.groups[node.group].least {
            state.remove(world, &node.name);
        }
    }
}

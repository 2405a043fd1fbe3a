//! The states of the cluster on which a program may have acted: for each kind of object, the state at some moment since the last
//! quiescence. The moments of different kinds may differ.

use std::collections::BTreeMap;

use crate::world::change::ChangeKind;
use crate::world::{Change, Instance, Publisher, World};

/// Maximum number of combined states of different kinds. With more combinations, every action of a program counts as allowed.
const COMBINATIONS_MAX: usize = 1024;

/// The changes of the cluster since the last quiescence.
pub(super) struct RecentStates {
    /// The state of the cluster at the last quiescence.
    settled: World,
    changes: BTreeMap<ChangeKind, Vec<Change>>,
}

impl RecentStates {
    /// Starts the record at quiescence, without changes. `world`: the current state of the cluster.
    pub(super) fn at_quiescence(world: &World) -> Self {
        RecentStates {
            settled: world.clone(),
            changes: BTreeMap::new(),
        }
    }

    /// All settings that a publisher has had since the last quiescence.
    pub(super) fn publishers<'l>(&'l self, instance: &'l Instance) -> impl Iterator<Item = &'l Publisher> {
        let changes = self.changes_of_kind(ChangeKind::Settings).iter();
        let changed = changes.filter_map(move |change| match change {
            Change::Publisher(of, publisher) if of == instance => publisher.as_ref(),
            _ => None,
        });
        self.settled.publishers.get(instance).into_iter().chain(changed)
    }

    pub(super) fn add_change(&mut self, change: Change) {
        self.changes.entry(change.kind()).or_default().push(change);
    }

    fn changes_of_kind(&self, kind: ChangeKind) -> &[Change] {
        self.changes.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Whether a predicate holds in a state that a program may have received. `kinds`: the kinds of objects on which the predicate depends;
    /// other kinds are in their current state.
    pub(super) fn any_state(
        &self,
        now: &World,
        kinds: &[ChangeKind],
        is_so: impl Fn(&World) -> bool,
    ) -> bool {
        if is_so(now) {
            return true;
        }
        let mut histories: Vec<(ChangeKind, &[Change])> =
            kinds.iter().map(|it| (*it, self.changes_of_kind(*it))).collect();
        histories.retain(|(_, changes)| !changes.is_empty());
        let combinations = histories.iter().try_fold(1_usize, |product, (_, changes)| {
            product.checked_mul(changes.len() + 1)
        });
        if combinations.is_none_or(|combinations| combinations > COMBINATIONS_MAX) {
            return true;
        }
        self.any_combination(now, &histories, &is_so)
    }

    fn any_combination(
        &self,
        world: &World,
        histories: &[(ChangeKind, &[Change])],
        is_so: &impl Fn(&World) -> bool,
    ) -> bool {
        let Some(((kind, changes), rest)) = histories.split_first() else {
            return is_so(world);
        };
        let mut combination = world.clone();
        combination.copy_kind(*kind, &self.settled);
        let mut later = changes.iter();
        loop {
            if self.any_combination(&combination, rest, is_so) {
                return true;
            }
            match later.next() {
                Some(change) => combination.apply(change.clone()),
                None => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{CsiDriver, Node};

    fn changed(recent: &mut RecentStates, world: &mut World, change: Change) {
        recent.add_change(change.clone());
        world.apply(change);
    }

    #[test]
    fn a_combination_has_one_moment_per_kind() {
        let mut world = World::default();
        let mut recent = RecentStates::at_quiescence(&world);
        for name in ["a", "b"] {
            changed(
                &mut recent,
                &mut world,
                Change::Node(name.to_owned(), Some(Node::default())),
            );
        }
        let driver = Change::CsiDriver("d".to_owned(), Some(CsiDriver::default()));
        changed(&mut recent, &mut world, driver);
        let kinds = [ChangeKind::Nodes, ChangeKind::CsiDrivers];
        let sees = |nodes: usize, drivers: usize| {
            recent.any_state(&world, &kinds, |world| {
                (world.nodes.len(), world.csi_drivers.len()) == (nodes, drivers)
            })
        };
        assert!(sees(0, 1) && sees(1, 0) && sees(2, 1));
        assert!(!sees(3, 0));
        let only_b = |world: &World| world.nodes.len() == 1 && world.nodes.contains_key("b");
        assert!(!recent.any_state(&world, &kinds, only_b));
    }
}

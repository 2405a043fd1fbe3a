//! The states that a program may have acted on: for each kind of object the state at some moment since the last quiescence, and different
//! moments for different kinds.

use std::collections::BTreeMap;

use crate::world::change::Aspect;
use crate::world::{Change, Instance, Publisher, World};

/// Maximum number of combinations. Above it any action counts as allowed.
const MIXTURES_MAX: usize = 1024;

/// The changes since the last quiescence.
pub(super) struct Lately {
    /// The world at the last quiescence.
    settled: World,
    changes: BTreeMap<Aspect, Vec<Change>>,
}

impl Lately {
    /// Starts at quiescence.
    pub(super) fn since(world: &World) -> Self {
        Lately {
            settled: world.clone(),
            changes: BTreeMap::new(),
        }
    }

    /// The settings of a publisher at each moment at which it ran.
    pub(super) fn publishers<'l>(&'l self, instance: &'l Instance) -> impl Iterator<Item = &'l Publisher> {
        let changes = self.of(Aspect::Settings).iter();
        let changed = changes.filter_map(move |change| match change {
            Change::Publisher(of, publisher) if of == instance => publisher.as_ref(),
            _ => None,
        });
        self.settled.publishers.get(instance).into_iter().chain(changed)
    }

    /// Records a change.
    pub(super) fn add(&mut self, change: Change) {
        self.changes.entry(change.aspect()).or_default().push(change);
    }

    fn of(&self, aspect: Aspect) -> &[Change] {
        self.changes.get(&aspect).map_or(&[], Vec::as_slice)
    }

    /// Whether a predicate holds in a state that a program may have seen. `aspects`: the kinds on which it depends; all others have their
    /// current state.
    pub(super) fn any(&self, now: &World, aspects: &[Aspect], is_so: impl Fn(&World) -> bool) -> bool {
        if is_so(now) {
            return true;
        }
        let mut histories: Vec<(Aspect, &[Change])> = aspects.iter().map(|it| (*it, self.of(*it))).collect();
        histories.retain(|(_, changes)| !changes.is_empty());
        let mixtures = histories.iter().try_fold(1_usize, |product, (_, changes)| {
            product.checked_mul(changes.len() + 1)
        });
        if mixtures.is_none_or(|mixtures| mixtures > MIXTURES_MAX) {
            return true;
        }
        self.mixed(now, &histories, &is_so)
    }

    fn mixed(
        &self,
        world: &World,
        histories: &[(Aspect, &[Change])],
        is_so: &impl Fn(&World) -> bool,
    ) -> bool {
        let Some(((aspect, changes), rest)) = histories.split_first() else {
            return is_so(world);
        };
        let mut mixture = world.clone();
        mixture.take_over(*aspect, &self.settled);
        let mut later = changes.iter();
        loop {
            if self.mixed(&mixture, rest, is_so) {
                return true;
            }
            match later.next() {
                Some(change) => mixture.apply(change.clone()),
                None => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{CsiDriver, Node};

    fn changed(lately: &mut Lately, world: &mut World, change: Change) {
        lately.add(change.clone());
        world.apply(change);
    }

    #[test]
    fn a_view_combines_one_moment_per_kind() {
        let mut world = World::default();
        let mut lately = Lately::since(&world);
        for name in ["a", "b"] {
            changed(
                &mut lately,
                &mut world,
                Change::Node(name.to_owned(), Some(Node::default())),
            );
        }
        let driver = Change::CsiDriver("d".to_owned(), Some(CsiDriver::default()));
        changed(&mut lately, &mut world, driver);
        let aspects = [Aspect::Nodes, Aspect::CsiDrivers];
        let sees = |nodes: usize, drivers: usize| {
            lately.any(&world, &aspects, |world| {
                (world.nodes.len(), world.csi_drivers.len()) == (nodes, drivers)
            })
        };
        assert!(sees(0, 1) && sees(1, 0) && sees(2, 1));
        assert!(!sees(3, 0));
        let only_b = |world: &World| world.nodes.len() == 1 && world.nodes.contains_key("b");
        assert!(!lately.any(&world, &aspects, only_b));
    }
}

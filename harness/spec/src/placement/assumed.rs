//! Existing volumes that the scheduler has given to pods, as far as it has not written that down yet.
//!
//! It places one pod after the other and writes for many at once, so that a choice for one is seen before what the choice before it took.

use super::volumes;
use crate::world::{Claim, NamespacedName, PodVolume, World};

/// So many volumes are tried with and without each other.
const TRIED: usize = 4;

/// The world as it may be for the scheduler, when other pods that wait have taken volumes that suit their claims: without some of these.
pub(crate) fn worlds<'w>(world: &'w World, pod: &NamespacedName) -> impl Iterator<Item = World> + use<'w> {
    let claims: Vec<&Claim> = claims_of_others(world, pod).collect();
    let suits = |name: &&String| {
        let volume = &world.volumes[*name];
        claims.iter().any(|claim| volumes::can_take(claim, volume))
    };
    let names: Vec<&String> = world.volumes.keys().filter(suits).take(TRIED).collect();
    (1..1_usize << names.len()).map(move |taken| {
        let mut without = world.clone();
        let gone = names.iter().enumerate().filter(|(at, _)| taken & (1 << at) != 0);
        gone.for_each(|(_, name)| drop(without.volumes.remove(*name)));
        without
    })
}

/// The claims without a volume of other pods that are on no node.
fn claims_of_others<'w>(world: &'w World, pod: &NamespacedName) -> impl Iterator<Item = &'w Claim> {
    let others = world
        .pods
        .iter()
        .filter(move |(key, other)| *key != pod && other.node.is_none());
    let claims = others.flat_map(|(key, other)| {
        let names = other.volumes.iter().filter_map(|volume| match volume {
            PodVolume::Claim(name) | PodVolume::Ephemeral(name) => Some(name),
            _ => None,
        });
        names.filter_map(|name| world.claims.get(&NamespacedName::new(&key.namespace, name)))
    });
    claims.filter(|claim| claim.volume.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Pod, Volume};

    fn pod(claim: &str) -> Pod {
        Pod {
            volumes: vec![PodVolume::Claim(claim.to_owned())],
            ..Pod::default()
        }
    }

    fn volume(class: &str, size: &str) -> Volume {
        Volume {
            class: class.to_owned(),
            capacity: Some(size.parse().unwrap()),
            is_available: true,
            ..Volume::default()
        }
    }

    #[test]
    fn other_pods_may_have_taken_what_suits_their_claims_and_nothing_else() {
        let key = |name: &str| NamespacedName::new("default", name);
        let claim = Claim {
            class: "fast".to_owned(),
            request: Some("2Gi".parse().unwrap()),
            ..Claim::default()
        };
        let mut world = World::default();
        world.claims.insert(key("data"), claim);
        world.pods.insert(key("one"), pod("data"));
        world.pods.insert(key("two"), pod("gone"));
        for (name, volume) in [
            ("small", volume("fast", "1Gi")),
            ("fits", volume("fast", "2Gi")),
            ("large", volume("fast", "9Gi")),
            ("slow", volume("slow", "9Gi")),
        ] {
            world.volumes.insert(name.to_owned(), volume);
        }
        let left: Vec<Vec<String>> = worlds(&world, &key("two"))
            .map(|world| world.volumes.into_keys().collect())
            .collect();
        assert_eq!(
            left,
            [
                vec!["large", "slow", "small"],
                vec!["fits", "slow", "small"],
                vec!["slow", "small"],
            ]
        );
        assert_eq!(worlds(&world, &key("one")).count(), 0);
        world.pods.get_mut(&key("one")).unwrap().node = Some("n1".to_owned());
        assert_eq!(worlds(&world, &key("two")).count(), 0);
    }
}

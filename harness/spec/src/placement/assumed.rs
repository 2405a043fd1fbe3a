//! PersistentVolumes that the scheduler has assumed for pods, but whose binding it has not written to the API server yet.
//!
//! kube-scheduler schedules one pod after the other and binds many concurrently, so a decision may be visible before the writes of the
//! previous decision.

use super::volumes;
use crate::world::{Claim, ClaimRef, NamespacedName, Pod, PodVolume, World};

/// Maximum number of volumes for which both alternatives, assumed and free, are evaluated.
const VOLUMES_MAX: usize = 4;

/// The possible states of the cluster in which the scheduler has assumed matching volumes for PVCs of other pending pods. For each volume,
/// tries every PVC that the pod shares, but only one other PVC, because it does not matter to which other PVC the volume is lost.
pub(crate) fn assumed_worlds<'w>(
    world: &'w World,
    pod: &NamespacedName,
) -> impl Iterator<Item = World> + use<'w> {
    let claims = claims_of_other_pods(world, pod);
    let own = world
        .pods
        .get(pod)
        .map(|pod| claim_names(pod).collect::<Vec<_>>());
    let is_own = |key: &NamespacedName| {
        key.namespace == pod.namespace && own.iter().flatten().any(|it| **it == key.name)
    };
    let claim_refs = world.volumes.iter().filter_map(|(name, volume)| {
        let matches = |(_, claim): &&(NamespacedName, &Claim)| volumes::can_bind(claim, volume);
        let (own, others): (Vec<_>, Vec<_>) = claims.iter().filter(matches).partition(|(key, _)| is_own(key));
        let claim_refs: Vec<ClaimRef> = own
            .into_iter()
            .chain(others.into_iter().take(1))
            .map(claim_ref)
            .collect();
        (!claim_refs.is_empty()).then_some((name, claim_refs))
    });
    let claim_refs: Vec<(&String, Vec<ClaimRef>)> = claim_refs.take(VOLUMES_MAX).collect();
    let combinations: usize = claim_refs
        .iter()
        .map(|(_, claim_refs)| claim_refs.len() + 1)
        .product();
    (1..combinations).map(move |mut combination| {
        let mut assumed = world.clone();
        for (name, claim_refs) in &claim_refs {
            let chosen = (combination % (claim_refs.len() + 1)).checked_sub(1);
            combination /= claim_refs.len() + 1;
            if let (Some(chosen), Some(volume)) = (chosen, assumed.volumes.get_mut(*name)) {
                volume.claim = Some(claim_refs[chosen].clone());
            }
        }
        assumed
    })
}

/// The unbound PVCs that other pending pods use.
fn claims_of_other_pods<'w>(world: &'w World, pod: &NamespacedName) -> Vec<(NamespacedName, &'w Claim)> {
    let others = world
        .pods
        .iter()
        .filter(|(key, other)| *key != pod && other.node.is_none());
    let mut claims: Vec<(NamespacedName, &Claim)> = others
        .flat_map(|(key, other)| claim_names(other).map(|name| NamespacedName::new(&key.namespace, name)))
        .filter_map(|key| Some((key.clone(), world.claims.get(&key)?)))
        .filter(|(_, claim)| claim.volume.is_empty())
        .collect();
    claims.sort_by(|(one, _), (other, _)| one.cmp(other));
    claims.dedup_by(|(one, _), (other, _)| one == other);
    claims
}

fn claim_names(pod: &Pod) -> impl Iterator<Item = &String> {
    pod.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Claim(name) | PodVolume::Ephemeral(name) => Some(name),
        _ => None,
    })
}

fn claim_ref((key, claim): &(NamespacedName, &Claim)) -> ClaimRef {
    ClaimRef {
        claim: key.clone(),
        uid: claim.uid.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Volume;

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
    fn other_pods_may_have_taken_only_volumes_that_match_their_pvcs() {
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
        let left: Vec<Vec<String>> = assumed_worlds(&world, &key("two"))
            .map(|world| {
                let free = world
                    .volumes
                    .into_iter()
                    .filter(|(_, volume)| volume.claim.is_none());
                free.map(|(name, _)| name).collect()
            })
            .collect();
        assert_eq!(
            left,
            [
                vec!["large", "slow", "small"],
                vec!["fits", "slow", "small"],
                vec!["slow", "small"],
            ]
        );
        assert_eq!(assumed_worlds(&world, &key("one")).count(), 0);
        world.pods.get_mut(&key("one")).unwrap().node = Some("n1".to_owned());
        assert_eq!(assumed_worlds(&world, &key("two")).count(), 0);
    }

    #[test]
    fn a_pvc_shared_by_two_pods_may_have_its_volume() {
        let key = |name: &str| NamespacedName::new("default", name);
        let mut world = World::default();
        let claim = Claim {
            class: "fast".to_owned(),
            request: Some("2Gi".parse().unwrap()),
            ..Claim::default()
        };
        for name in ["data", "other"] {
            world.claims.insert(key(name), claim.clone());
            world.pods.insert(key(&format!("pod-{name}")), pod(name));
        }
        world.pods.insert(key("second"), pod("data"));
        world.volumes.insert("fits".to_owned(), volume("fast", "2Gi"));
        let claim_refs: Vec<NamespacedName> = assumed_worlds(&world, &key("second"))
            .filter_map(|world| Some(world.volumes["fits"].claim.clone()?.claim))
            .collect();
        assert_eq!(claim_refs, [key("data"), key("other")]);
    }
}

//! The sum of static and dynamic score, which KEP-4049 considered, and pairs of nodes to which this sum gives the same score.

use std::sync::Arc;

use capacity_scheduler::filter::{Binding, Provision, VolumePlan};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::score;
use capacity_scheduler::shape::Shape;
use capacity_types::NodeTopology;

use super::rules::DesignRules;
use crate::study::cluster;
use crate::study::result::{Bound, Finding, Setup, Size, findings};
use crate::study::seeded_rng::SeededRng;

const CLASS: &str = "fast";
/// Requested size of each of the two claims, in bytes.
const CLAIM: u64 = 10;

/// What a node provides for a pod with one bound claim and one claim to provision.
#[derive(Clone, Copy, Debug)]
struct NodeStorage {
    /// Size of the existing volume for the bound claim, in bytes.
    volume: u64,
    /// Free capacity for the claim to provision, in bytes.
    free: u64,
}

/// Findings on pairs of nodes with swapped values: the volume size of one node is the free capacity of the other, and vice versa.
pub(super) fn findings(rules: &DesignRules, setup: Setup) -> Vec<Finding> {
    let pairs = match setup.size {
        Size::Small => 100,
        Size::Full => 10_000,
    };
    let mut rng = SeededRng::of(setup.seed);
    let (mut summed, mut chosen) = (0, 0);
    for _ in 0..pairs {
        let (less, more) = (20 + rng.random_below(30), 60 + rng.random_below(400));
        let (left, right) = (
            NodeStorage {
                volume: more,
                free: less,
            },
            NodeStorage {
                volume: less,
                free: more,
            },
        );
        summed += usize::from(weighted_sum(left) == weighted_sum(right));
        let of = |node: NodeStorage| match rules.scores_are_not_summed {
            true => score(&plan(Some(node.volume), Some(node.free))),
            false => weighted_sum(node),
        };
        chosen += usize::from(of(left) == of(right));
    }
    findings![
        new "ALT-37", format!("share of {pairs} pairs of nodes with swapped volume size and free capacity that get the same weighted sum"),
            summed as f64 / f64::from(pairs), Bound::AtLeast(0.9);
        none "ALT-37", "pairs of nodes with swapped volume size and free capacity that get the same score from the scheduler", chosen;
    ]
}

/// The sum of static and dynamic score, weighted by volume size and free capacity.
fn weighted_sum(node: NodeStorage) -> i64 {
    let (volume, free) = (node.volume as f64, node.free as f64);
    let weight = volume / (volume + free);
    let by_volume = score(&plan(Some(node.volume), None)) as f64;
    let by_room = score(&plan(None, Some(node.free))) as f64;
    (weight * by_volume + (1.0 - weight) * by_room).round() as i64
}

fn score(plan: &VolumePlan) -> i64 {
    let rules = Rules {
        shape: Some(Shape::most_free()),
        ..Rules::default()
    };
    score::score(&rules, plan)
}

/// The volume plan of a pod with a bound claim, a claim to provision, or both.
fn plan(volume: Option<u64>, free: Option<u64>) -> VolumePlan {
    let binding = |bytes| Binding {
        claim: cluster::claim("static", CLASS, CLAIM),
        volume: Arc::new(cluster::volume("volume", CLASS, bytes)),
    };
    let provision = |bytes| Provision {
        claim: cluster::claim("dynamic", CLASS, CLAIM),
        capacity: Some(Arc::new(cluster::capacity(
            "object",
            CLASS,
            NodeTopology::Unset,
            Some(bytes),
        ))),
    };
    VolumePlan {
        bindings: volume.map(binding).into_iter().collect(),
        provisions: free.map(provision).into_iter().collect(),
    }
}

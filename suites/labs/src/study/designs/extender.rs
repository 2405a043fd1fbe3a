//! The alternative to capacity tracking: a scheduler extender of the storage vendor, which has access to the free capacity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_scheduler::cycle::{self, Assessment};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;

use super::input_cluster::HOSTNAME;
use crate::study::cluster;
use crate::study::result::{Bound, Finding, Setup, Size, Table, findings};
use crate::study::seeded_rng::SeededRng;

const DRIVER: &str = "disk.example.com";
const CLASS: &str = "fast";

/// Cost of one alternative: an extender, or capacity tracking.
#[derive(Debug, Default)]
struct Alternative {
    requests: usize,
    /// Number of node names sent to the extender.
    sent: usize,
    /// Number of capacity objects in the API server.
    objects: usize,
    feasible: Vec<BTreeSet<String>>,
}

/// Compares an extender with capacity tracking, for pods on nodes with random free capacity.
pub(super) fn study(setup: Setup) -> (Table, Vec<Finding>) {
    let (nodes, pods) = match setup.size {
        Size::Small => (20, 20),
        Size::Full => (200, 500),
    };
    let mut rng = SeededRng::of(setup.seed);
    let free: BTreeMap<String, u64> = (0..nodes)
        .map(|number| (format!("n{number}"), rng.random_below(100)))
        .collect();
    let claims: Vec<u64> = (0..pods).map(|_| rng.random_below(110)).collect();
    let (vendor, tracked) = (by_extender(&free, &claims), by_tracking(&free, &claims));
    let mut table = Table::new(
        format!("{pods} pods on {nodes} nodes, by a vendor's extender and by tracking"),
        &[
            "alternative",
            "requests of the scheduler",
            "names of nodes in them",
            "objects",
        ],
    );
    for (name, alternative) in [("extender, without tracking", &vendor), ("tracking", &tracked)] {
        table.row([
            name.into(),
            alternative.requests.into(),
            alternative.sent.into(),
            alternative.objects.into(),
        ]);
    }
    let differ = vendor
        .feasible
        .iter()
        .zip(&tracked.feasible)
        .filter(|(left, right)| left != right);
    let findings = findings![
        none "ALT-38", format!("pods, of {pods}, for which extender and tracking accept different nodes"),
            differ.count();
        new "ALT-38", "additional requests of the scheduler per pod with an extender, compared with tracking",
            (vendor.requests - tracked.requests.min(vendor.requests)) as f64 / pods as f64, Bound::AtLeast(1.0);
    ];
    (table, findings)
}

fn snapshot(free: &BTreeMap<String, u64>, tracks: bool) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.drivers.put(cluster::driver(DRIVER, tracks));
    snapshot.classes.put(cluster::class(CLASS, DRIVER));
    for (name, bytes) in free {
        let labels = [(HOSTNAME.to_owned(), name.clone())].into();
        if tracks {
            let topology = cluster::topology_with_labels(&labels);
            let object = cluster::capacity(name, CLASS, topology, Some(*bytes));
            snapshot.capacities.put(Arc::new(object));
        }
        snapshot.nodes.put(cluster::node(name, labels));
    }
    snapshot
}

/// The nodes that the filter of the reference scheduler accepts for a pod with a claim of this size.
fn feasible_nodes(snapshot: &mut Snapshot, bytes: u64) -> BTreeSet<String> {
    let claim = cluster::claim("claim", CLASS, bytes);
    snapshot.claims.put(claim);
    let pod = cluster::pod("pod", ["claim"]);
    let assessment = cycle::run_filters(snapshot, &Rules::default(), &pod);
    snapshot.claims.take(&cluster::key("claim"));
    let feasible = |assessment: Assessment| {
        let nodes = assessment.feasible.into_iter();
        nodes.map(|feasible| feasible.node.name().to_owned()).collect()
    };
    assessment.map(feasible).unwrap_or_default()
}

/// Cost with an extender: the scheduler sends all feasible nodes, and the extender returns the nodes with enough capacity.
fn by_extender(free: &BTreeMap<String, u64>, claims: &[u64]) -> Alternative {
    let mut snapshot = snapshot(free, false);
    let mut alternative = Alternative::default();
    for bytes in claims {
        let nodes = feasible_nodes(&mut snapshot, *bytes);
        alternative.requests += 1;
        alternative.sent += nodes.len();
        let has_room = |name: &String| free.get(name).is_some_and(|free| free >= bytes);
        alternative
            .feasible
            .push(nodes.into_iter().filter(has_room).collect());
    }
    alternative.objects = snapshot.capacities.len();
    alternative
}

fn by_tracking(free: &BTreeMap<String, u64>, claims: &[u64]) -> Alternative {
    let mut snapshot = snapshot(free, true);
    let feasible = claims
        .iter()
        .map(|bytes| feasible_nodes(&mut snapshot, *bytes))
        .collect();
    Alternative {
        feasible,
        objects: snapshot.capacities.len(),
        ..Alternative::default()
    }
}

//! Compares the scheduling decisions with each API design to the correct decisions, for random clusters and the examples of the KEP.

use std::collections::BTreeMap;

use super::conversion::{by_hostname, length};
use super::draw;
use super::examples;
use super::filter;
use super::input_cluster::{
    HOSTNAME, InputCluster, Node, NodeAccess, Pool, PoolCapacity, VolumeKind, VolumeRequest,
};
use super::lookup::{self, Entry};
use super::rules::DesignRules;
use super::selector::NodeSelector;
use super::shape::{Objects, Shape};
use crate::study::result::{Bound, Cell, Finding, Setup, Size, Table, findings};
use crate::study::seeded_rng::SeededRng;

/// Results of comparing the scheduling decisions with one API design to the correct decisions.
#[derive(Default)]
struct Counts {
    /// Number of random clusters that the design can express.
    expressible: usize,
    inexpressible: BTreeMap<String, usize>,
    decisions: usize,
    /// Number of decisions that differ from the correct decisions.
    differ: usize,
    /// Number of decisions made by the filter of the reference scheduler, which evaluates the flat design only.
    filtered: usize,
    filter_differs: usize,
}

/// Returns the findings, and a table that counts the clusters that each design cannot express.
pub(super) fn study(rules: &DesignRules, setup: Setup) -> (Table, Vec<Finding>) {
    let clusters = match setup.size {
        Size::Small => 60,
        Size::Full => 2_000,
    };
    let mut rng = SeededRng::of(setup.seed);
    let clusters: Vec<InputCluster> = (0..clusters).map(|_| draw::cluster(&mut rng)).collect();
    let counts = Shape::ALL.map(|shape| {
        let mut counts = Counts::default();
        for cluster in &clusters {
            counts.compare(rules, shape, cluster);
        }
        (shape, counts)
    });
    let mut findings = random_cluster_findings(&counts);
    findings.extend(example_findings(rules));
    findings.extend(node_list_findings(rules, &clusters));
    findings.extend(selector_term_findings(rules));
    (table(&counts), findings)
}

impl Counts {
    fn compare(&mut self, rules: &DesignRules, shape: Shape, cluster: &InputCluster) {
        let objects = match shape.publish(cluster) {
            Ok(objects) => objects,
            Err(inexpressible) => {
                *self.inexpressible.entry(inexpressible.to_string()).or_default() += 1;
                return;
            }
        };
        self.expressible += 1;
        let entries = lookup::entries(rules, &objects, &cluster.classes);
        for volume_request in draw::volume_requests(cluster) {
            let wanted = cluster.feasible_nodes(&volume_request);
            // A design that cannot express inline volumes accepts them on every node, so the decision is not compared.
            if volume_request.class.is_none() && !matches!(shape, Shape::DriverStatus | Shape::PoolOf2019) {
                continue;
            }
            self.decisions += cluster.nodes.len();
            let found = lookup::feasible_nodes(rules, cluster, &entries, &volume_request);
            self.differ += found.symmetric_difference(&wanted).count();
        }
        if let Objects::FlatCapacity(objects) = &objects {
            let snapshot = filter::snapshot(cluster, objects);
            for volume_request in draw::volume_requests(cluster) {
                let wanted = cluster.feasible_nodes(&volume_request);
                for node in &cluster.nodes {
                    if let Some(admitted) = filter::admits(&snapshot, &volume_request, node) {
                        self.filtered += 1;
                        self.filter_differs += usize::from(admitted != wanted.contains(node.name.as_str()));
                    }
                }
            }
        }
    }
}

fn table(counts: &[(Shape, Counts)]) -> Table {
    let columns = [
        "design",
        "clusters expressible",
        "decisions",
        "that differ",
        "not expressible",
    ];
    let mut table = Table::new(
        "Random clusters, published in each design and evaluated",
        &columns,
    );
    for (shape, counts) in counts {
        let inexpressible = counts
            .inexpressible
            .iter()
            .map(|(what, times)| format!("{what} ({times})"));
        table.row([
            shape.name().into(),
            counts.expressible.into(),
            (counts.decisions + counts.filtered).into(),
            (counts.differ + counts.filter_differs).into(),
            Cell::Text(inexpressible.collect::<Vec<_>>().join(", ")),
        ]);
    }
    table
}

fn random_cluster_findings(counts: &[(Shape, Counts)]) -> Vec<Finding> {
    let sum = |of: fn(&Counts) -> usize| counts.iter().map(|(_, counts)| of(counts)).sum::<usize>();
    let decisions = sum(|counts| counts.decisions + counts.filtered);
    let least = counts.iter().map(|(_, counts)| counts.expressible).min();
    findings![
        none "ALT-30", format!("decisions that contradict the true storage, of {decisions} decisions by five designs and by the scheduler's filter for the flat design"),
            sum(|counts| counts.differ + counts.filter_differs);
        count "ALT-30", "random clusters that the least expressive design can express",
            least.unwrap_or_default(), Bound::Above(0.0);
    ]
}

fn differences(rules: &DesignRules, cluster: &InputCluster, entries: &[Entry]) -> usize {
    let differ = |volume_request: &VolumeRequest| {
        let found = lookup::feasible_nodes(rules, cluster, entries, volume_request);
        found != cluster.feasible_nodes(volume_request)
    };
    examples::volume_requests(cluster)
        .iter()
        .filter(|volume_request| differ(volume_request))
        .count()
}

/// Findings on the examples of the KEP in every API design, with current and with deprecated label keys.
fn example_findings(rules: &DesignRules) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, key) in [("ALT-30", examples::REGION), ("ALT-40", examples::OLD_REGION)] {
        let clusters = examples::clusters(key);
        let mut wrong = 0;
        for (cluster, shape) in clusters
            .iter()
            .flat_map(|cluster| Shape::ALL.map(|shape| (cluster, shape)))
        {
            wrong += match shape.publish(cluster) {
                Ok(objects) => {
                    let entries = lookup::entries(rules, &objects, &cluster.classes);
                    differences(rules, cluster, &entries)
                }
                Err(_) => 1,
            };
        }
        let shows = format!("wrong decisions of five designs about the three examples with label {key}");
        findings.push(Finding::none(id, shows, wrong));
    }
    findings.push(Finding::none(
        "ALT-31",
        "decisions about the three examples that differ between the early design with spec and status and the flat design",
        early_differs_from_flat(rules),
    ));
    findings
}

fn early_differs_from_flat(rules: &DesignRules) -> usize {
    let feasible_nodes = |shape: Shape, cluster: &InputCluster, volume_request: &VolumeRequest| {
        let objects = shape.publish(cluster).ok()?;
        let entries = lookup::entries(rules, &objects, &cluster.classes);
        let found = lookup::feasible_nodes(rules, cluster, &entries, volume_request);
        Some(found.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let clusters = examples::clusters(examples::REGION);
    let cases = clusters.iter().flat_map(|cluster| {
        let volume_requests = examples::volume_requests(cluster).into_iter();
        volume_requests.map(move |volume_request| (cluster, volume_request))
    });
    let differs = |(cluster, volume_request): &(&InputCluster, VolumeRequest)| {
        feasible_nodes(Shape::EarlyCapacity, cluster, volume_request)
            != feasible_nodes(Shape::FlatCapacity, cluster, volume_request)
    };
    cases.filter(differs).count()
}

/// Findings on pools with a list of nodes, compared with pools that select the same nodes by host name.
fn node_list_findings(rules: &DesignRules, clusters: &[InputCluster]) -> Vec<Finding> {
    let (mut differ, mut lists, mut selectors) = (0, 0, 0);
    for cluster in clusters {
        let mut rewritten = cluster.clone();
        for pool in &mut rewritten.pools {
            if let NodeAccess::Nodes(names) = &pool.node_access {
                lists += length(names);
                let selector = by_hostname(names);
                selectors += length(&selector);
                pool.node_access = NodeAccess::Terms(selector);
            }
        }
        let Ok(objects) = Shape::DriverStatus.publish(&rewritten) else {
            continue;
        };
        let entries = lookup::entries(rules, &objects, &cluster.classes);
        for volume_request in draw::volume_requests(cluster) {
            let found = lookup::feasible_nodes(rules, cluster, &entries, &volume_request);
            differ += usize::from(found != cluster.feasible_nodes(&volume_request));
        }
    }
    findings![
        none "ALT-07", "decisions that change with a selector by host name instead of a list of nodes", differ;
        new "ALT-07", "ratio of the size of host name selectors to the size of node lists",
            selectors as f64 / lists as f64, Bound::Above(1.0);
    ]
}

/// Findings on a node selector with two terms in the flat design.
fn selector_term_findings(rules: &DesignRules) -> Vec<Finding> {
    let mut cluster = examples::local();
    let names = ["node-1", "node-2"].map(str::to_owned);
    let terms = names
        .iter()
        .flat_map(|name| NodeSelector::of(HOSTNAME, "In", &[name]).node_selector_terms);
    cluster.nodes.push(Node::new("node-3", &[]));
    cluster.pools = vec![Pool {
        name: "both".to_owned(),
        driver: cluster.drivers[0].name.clone(),
        node_access: NodeAccess::Terms(NodeSelector {
            node_selector_terms: terms.collect(),
        }),
        capacities: vec![PoolCapacity::new(VolumeKind::Fallback, 1 << 30)],
    }];
    let Ok(Objects::FlatCapacity(mut objects)) = Shape::FlatCapacity.publish(&cluster) else {
        return Vec::new();
    };
    if !rules.terms_become_objects {
        objects.truncate(1);
    }
    let count = objects.len();
    let entries = lookup::entries(rules, &Objects::FlatCapacity(objects), &cluster.classes);
    findings![
        count "ALT-32", "flat objects for a selector with two terms", count, Bound::Exactly(2.0);
        none "ALT-32", "decisions by flat objects that differ from decisions by a selector with two terms",
            differences(rules, &cluster, &entries);
    ]
}

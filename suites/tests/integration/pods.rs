//! Replays recorded decisions of a real kube-scheduler 1.36 on pods in small clusters: `why` must give the same reasons for each node, and
//! preemption must choose the same victims.
//!
//! Each line of `fixtures/pods` is a case: the objects before the decision, the reason for each node, the pod's condition if it was not
//! scheduled, and the victims if it preempted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::cycle::{self, AssessError, Decision};
use capacity_scheduler::objects::{ObjectKey, Pod};
use capacity_scheduler::rules::Rules;
use flate2::read::GzDecoder;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde::Deserialize;
use serde_json::Value;

/// A recorded scheduling decision on a pod.
#[derive(Deserialize)]
struct Case {
    name: String,
    objects: Vec<Value>,
    /// Namespace and name of the pod.
    pod: String,
    /// The message of the pod condition PodScheduled=False.
    condition: Option<String>,
    /// The node that the pod was bound to.
    placed: Option<String>,
    /// The node for which pods are preempted (`nominatedNodeName`).
    nominated: Option<String>,
    /// Namespace and name of each evicted pod.
    victims: Vec<String>,
    /// The reason against each node, or `fits`.
    nodes: BTreeMap<String, String>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pods");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let mut text = String::new();
        let packed = std::fs::read(entry.unwrap().path()).unwrap();
        GzDecoder::new(&*packed).read_to_string(&mut text).unwrap();
        cases.extend(
            text.lines()
                .map(|line| serde_json::from_str::<Case>(line).unwrap()),
        );
    }
    assert!(cases.len() >= 450, "{} cases", cases.len());
    cases
}

/// Sorts the parts of a reason, and removes the text that a second plugin appends to a reason common to all nodes.
fn reason(text: &str) -> String {
    let text = text.strip_suffix(". not found").unwrap_or(text);
    let mut parts: Vec<&str> = text.split(", ").collect();
    parts.sort_unstable();
    parts.join(", ")
}

fn nodes(inventory: &Inventory, pod: &Pod) -> BTreeMap<String, String> {
    let snapshot = &inventory.snapshot;
    let assessment = match cycle::assess(snapshot, &Rules::default(), pod) {
        Ok(assessment) => assessment,
        Err(AssessError::PreFilter(why)) => {
            let nodes = snapshot.nodes.iter();
            return nodes
                .map(|node| (node.name().to_owned(), reason(&why.to_string())))
                .collect();
        }
        Err(error) => panic!("{}: {error}", pod.key),
    };
    let feasible = assessment.feasible.iter();
    let feasible = feasible.map(|it| (it.node.name().to_owned(), "fits".to_owned()));
    let refused = assessment.rejected.iter();
    let refused = refused.map(|it| {
        let reasons = it.cause.reasons(&Rules::default());
        (it.node.name().to_owned(), reason(&reasons.join(", ")))
    });
    feasible.chain(refused).collect()
}

#[test]
fn decisions_on_pods_match_kube_scheduler() {
    let (mut placed, mut preempted, mut waiting) = (0, 0, 0);
    for case in cases() {
        let name = &case.name;
        let mut inventory = Inventory::default();
        for object in &case.objects {
            inventory.add(object.clone()).unwrap();
        }
        let (namespace, pod) = case.pod.split_once('/').unwrap();
        let pod = &inventory.pods[&ObjectKey::namespaced(namespace, pod)];
        if pod.node.is_some() {
            continue;
        }
        let recorded: BTreeMap<_, _> = case
            .nodes
            .iter()
            .map(|(node, why)| (node.clone(), reason(why)))
            .collect();
        assert_eq!(nodes(&inventory, pod), recorded, "{name}");
        // A pod with scheduling gates is not scheduled. The recorded reasons are those of copies of the pod without gates.
        if pod.gated {
            continue;
        }
        let mut random = StdRng::seed_from_u64(1);
        match cycle::decide(&inventory.snapshot, &Rules::default(), pod, &mut random) {
            Decision::Place(_) => {
                placed += 1;
                assert_eq!(case.condition, None, "{name}");
                if let Some(node) = &case.placed {
                    assert_eq!(case.nodes[node], "fits", "{name}");
                }
            }
            Decision::Unschedulable {
                message, eviction, ..
            } => {
                assert_eq!(case.condition.as_deref(), Some(message.as_str()), "{name}");
                let victims: Option<BTreeSet<String>> = eviction.as_ref().map(|candidate| {
                    let victims = candidate.victims.iter();
                    victims.map(|victim| victim.key.to_string()).collect()
                });
                let recorded: BTreeSet<String> = case.victims.into_iter().collect();
                assert_eq!(victims.unwrap_or_default(), recorded, "{name}");
                let node = eviction.map(|candidate| candidate.node.name().to_owned());
                assert_eq!(node, case.nominated, "{name}");
                waiting += 1;
                preempted += usize::from(!recorded.is_empty());
            }
            Decision::Failed { message } => panic!("{name}: {message}"),
        }
    }
    assert!(
        placed > 100 && waiting > 100 && preempted > 4,
        "{placed} {waiting} {preempted}"
    );
}

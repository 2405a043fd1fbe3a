//! Tests of preemption with PodDisruptionBudgets: the chosen node and the pods that are evicted there.

use capacity_diagnose::explain::{self, ExplainOptions};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::Rules;

/// Two nodes that each have capacity for two pods: n1 has two pods of priority 1, n2 two pods of priority 2. Pod `ns/app` has priority 9.
const FULL: &str = "
- {kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '2', memory: 9Gi, pods: '9'}}}
- {kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: '2', memory: 9Gi, pods: '9'}}}
- {kind: Pod, metadata: {name: a, namespace: ns, labels: {app: low, which: a}}, spec: {nodeName: n1, priority: 1, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
- {kind: Pod, metadata: {name: b, namespace: ns, labels: {app: low, which: b}}, spec: {nodeName: n1, priority: 1, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
- {kind: Pod, metadata: {name: c, namespace: ns, labels: {app: high}}, spec: {nodeName: n2, priority: 2, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
- {kind: Pod, metadata: {name: d, namespace: ns}, spec: {nodeName: n2, priority: 2, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
- {kind: Pod, metadata: {name: app, namespace: ns}, spec: {priority: 9, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
";

fn evicted(more: &str) -> String {
    let mut inventory = Inventory::default();
    let text = format!("kind: List\nitems:{FULL}{more}");
    inventory.add_text(text.as_bytes()).unwrap();
    let pod = &inventory.pods[&ObjectKey::namespaced("ns", "app")];
    let explained = explain::pod(
        &inventory.snapshot,
        &Rules::default(),
        pod,
        &ExplainOptions::default(),
    );
    let text = explained.unwrap().preemption.unwrap();
    text.strip_prefix("preemption is possible on node ")
        .unwrap()
        .to_owned()
}

fn budget(selector: &str, status: &str) -> String {
    format!(
        "- {{kind: PodDisruptionBudget, metadata: {{name: budget, namespace: ns}}, spec: {{{selector}}}, status: {{{status}}}}}\n"
    )
}

#[test]
fn fewest_budget_violations_win_over_lowest_priority() {
    let n1 = "n1: it evicts ns/b (priority 1)";
    assert_eq!(evicted(""), format!("{n1}; no PodDisruptionBudget is known"));
    let low = "selector: {matchLabels: {app: low}}";
    assert_eq!(evicted(&budget(low, "disruptionsAllowed: 2")), n1);
    assert_eq!(
        evicted(&budget(low, "disruptionsAllowed: 0")),
        "n2: it evicts ns/d (priority 2)"
    );
    // Only the eviction of the second pod violates the budget, so kube-scheduler reprieves that pod.
    assert_eq!(
        evicted(&budget(low, "disruptionsAllowed: 1")),
        "n1: it evicts ns/a (priority 1)"
    );
}

#[test]
fn a_budget_counts_selected_pods_that_were_not_already_evicted() {
    let n1 = "n1: it evicts ns/b (priority 1)";
    let a = "selector: {matchLabels: {which: a}}";
    // kube-scheduler reprieves pod a first, so pod b is evicted.
    assert_eq!(evicted(&budget(a, "disruptionsAllowed: 0")), n1);
    let b = "selector: {matchLabels: {which: b}}";
    assert_eq!(
        evicted(&budget(b, "disruptionsAllowed: 0")),
        "n1: it evicts ns/a (priority 1)"
    );
    assert_eq!(
        evicted(&budget(
            b,
            "disruptionsAllowed: 0, disruptedPods: {b: '2026-01-01T00:00:00Z'}"
        )),
        n1
    );
    // kube-scheduler treats an empty selector as one that selects no pod.
    for selector in [
        "selector: {}",
        "minAvailable: 1",
        "selector: {matchExpressions: [{key: x, operator: Near}]}",
    ] {
        assert_eq!(
            evicted(&budget(selector, "disruptionsAllowed: 0")),
            n1,
            "{selector}"
        );
    }
}

#[test]
fn with_protected_pods_on_every_node_violations_are_counted() {
    let all = budget(
        "selector: {matchExpressions: [{key: none, operator: DoesNotExist}]}",
        "disruptionsAllowed: 0",
    );
    // Pod d has no labels, so no PodDisruptionBudget selects it.
    assert_eq!(evicted(&all), "n2: it evicts ns/d (priority 2)");
    let labelled = all
        + "- {kind: Pod, metadata: {name: d, namespace: ns, labels: {app: high}}, spec: {nodeName: n2, priority: 2, containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}\n";
    assert_eq!(
        evicted(&labelled),
        "n1: it evicts ns/b (priority 1); 1 of them in violation of their PodDisruptionBudgets, because no node has better victims"
    );
}

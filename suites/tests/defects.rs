//! The suites bite: each named defect of a reference makes a case fail, with the first missing link that leads to it.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::sync::Arc;

use suites::harness::judge::{Verdict, verdict};
use suites::harness::{RunOptions, run};
use suites::{cases_folder, plan};

/// Defect, a case that must fail with it, and words of the link that the failure must name.
const CAUGHT: &[(&str, &str, &str)] = &[
    (
        "publisher-ignores-maximum",
        "publisher/value/maximum",
        "it says 10Gi (maximum 4Gi)",
    ),
    (
        "publisher-deletes-manual",
        "publisher/prior/manual/without-labels",
        "no delete of csistoragecapacities",
    ),
    (
        "publisher-never-refreshes",
        "publisher/refresh/poll/central",
        "GetCapacity",
    ),
    (
        "publisher-never-refreshes",
        "story/volumes/freed",
        "never since CreateVolume changed what is left",
    ),
    (
        "publisher-ignores-new-nodes",
        "publisher/topology/new-node-gains-object/central",
        "GetCapacity for class fast at n3",
    ),
    (
        "publisher-keeps-obsolete",
        "publisher/class/lifecycle/central",
        "the obsolete object is deleted",
    ),
    (
        "publisher-rewrites-unchanged",
        "publisher/refresh/poll/central",
        "no request to update csistoragecapacities",
    ),
    (
        "publisher-merges-topology-nil",
        "publisher/objects/shape",
        "is as wanted",
    ),
    (
        "publisher-keeps-selected-node",
        "story/volumes/exhausted",
        "update of persistentvolumeclaims named app-0 by the publisher",
    ),
    (
        "publisher-flaps-without-topology",
        "publisher/topology/without-keys",
        "no delete of csistoragecapacities",
    ),
    (
        "publisher-awaits-node-always",
        "story/volumes/immediate",
        "CreateVolume for claim data",
    ),
    (
        "publisher-ignores-lease",
        "publisher/replicas/leader",
        "at most 2 × create of csistoragecapacities",
    ),
    (
        "publisher-ignores-asking-limit",
        "publisher/refresh/limited/central",
        "at most 80 × GetCapacity",
    ),
    (
        "publisher-watches-everything",
        "publisher/objects/filtered/distributed",
        "delivery of create csistoragecapacities",
    ),
    (
        "publisher-passes-reserved-parameters",
        "publisher/class/sidecar-parameters",
        "GetCapacity",
    ),
    (
        "cleaner-idle",
        "cleaner/orphans/vanished/node-gone",
        "exists: got 2",
    ),
    (
        "cleaner-forgets-return",
        "cleaner/orphans/back-in-time",
        "the object of class fast at n2",
    ),
    (
        "cleaner-takes-others",
        "cleaner/orphans/vanished/unregistered",
        "by cleaner",
    ),
    (
        "publisher-publishes-unasked",
        "publisher/driver/off/unpublished",
        "csistoragecapacities",
    ),
    (
        "publisher-forgets-sources",
        "story/volumes/sources",
        "CreateVolume",
    ),
    (
        "scheduler-ignores-maximum",
        "scheduler/filter/limit/maximum-refuses",
        "pod p is refused",
    ),
    (
        "scheduler-ignores-flag",
        "scheduler/filter/tracking/switched-off",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-sums-objects",
        "scheduler/filter/lookup/two-halves",
        "pod p is refused",
    ),
    (
        "scheduler-nil-topology-everywhere",
        "scheduler/filter/topology/unset",
        "pod p is refused",
    ),
    (
        "scheduler-off-by-one",
        "scheduler/filter/limit/exactly",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-never-wakes",
        "scheduler/wake/capacity/capacity-grows",
        "a node is chosen for pod p: not tried again",
    ),
    (
        "scheduler-skips-capacity",
        "scheduler/filter/limit/one-byte-more",
        "pod p is refused",
    ),
    (
        "scheduler-prefers-fullest",
        "scheduler/score/policy/default-prefers-room",
        "n3 is chosen for pod p",
    ),
    (
        "scheduler-refuses-tracked",
        "scheduler/filter/limit/one-byte-less",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-forgets-plain-pods",
        "scheduler/claims/kinds/without-volumes",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-ignores-volumes",
        "scheduler/claims/kinds/existing-volume",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-sums-pools",
        "scheduler/score/classes/capacity-counts-once",
        "n2 is chosen for pod p",
    ),
    (
        "scheduler-forgets-claims",
        "scheduler/score/classes/requests-are-added",
        "n2 is chosen for pod p",
    ),
    (
        "scheduler-mixes-static",
        "scheduler/score/static/dynamic-beside-static",
        "n1 is chosen for pod p",
    ),
    (
        "scheduler-scores-maximum",
        "scheduler/score/figures/roomier-though-smaller-maximum",
        "n1 is chosen for pod p",
    ),
    (
        "scheduler-wakes-for-capacity-only",
        "scheduler/wake/node/label-of-the-topology",
        "a node is chosen for pod p: not tried again",
    ),
    (
        "scheduler-wakes-for-capacity-only",
        "fail/scheduler/late/volumes-cut",
        "a node is chosen for pod p: not tried again",
    ),
    (
        "scheduler-forgets-lists",
        "fail/scheduler/late/nodes-expired",
        "a node is chosen for pod p: not tried again",
    ),
    (
        "scheduler-assumes-absence",
        "fail/scheduler/blind/drivers-unavailable",
        "pods (number) exists: got 3",
    ),
    (
        "scheduler-ignores-release",
        "scheduler/release/messages/with-two-periods",
        "a refusal of pod p that says",
    ),
    (
        "scheduler-ignores-release",
        "scheduler/filter/compared/alpha-knows-no-maximum",
        "a node is chosen for pod p",
    ),
    (
        "scheduler-skips-capacity",
        "story/volumes/hops/publisher",
        "no CreateVolume",
    ),
    (
        "scheduler-prefers-fullest",
        "gate/scheduler/scoring",
        "n2 is chosen for pod a1",
    ),
];

async fn check(defect: &str, case: &str, words: &str) {
    let defect = xtask::Defect::named(defect).unwrap();
    let plan = Arc::new(
        plan(&cases_folder(), case)
            .unwrap()
            .unwrap_or_else(|| panic!("no case {case}")),
    );
    let systems = xtask::built_in(Some(defect));
    let outcome = run(plan.clone(), &systems, RunOptions::default()).await.unwrap();
    let Verdict::Fail(failure) = &outcome.verdict else {
        panic!("{defect} is not caught by {case}")
    };
    let link = failure.chain.first_missing();
    let text = link
        .map(|link| format!("{}: {}", link.text, link.note))
        .unwrap_or_default();
    assert!(
        text.contains(words),
        "{defect}: first missing link is “{text}”, not “{words}”"
    );
    // The stored facts alone lead to the same verdict.
    let Verdict::Fail(again) = verdict(&plan, outcome.journal.since(0)) else {
        panic!("judged again, it passes")
    };
    assert_eq!(
        (again.step, again.expect, &again.summary),
        (failure.step, failure.expect, &failure.summary)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_defect_is_caught_with_its_link() {
    // They mostly wait for bounds, so all at once.
    let checks = CAUGHT
        .iter()
        .map(|(defect, case, words)| tokio::spawn(check(defect, case, words)));
    for (check, (defect, ..)) in checks.collect::<Vec<_>>().into_iter().zip(CAUGHT) {
        check.await.unwrap_or_else(|error| panic!("{defect}: {error}"));
    }
}

#[test]
fn every_defect_has_a_case() {
    for defect in xtask::defects() {
        let name = defect.to_string();
        assert!(
            CAUGHT.iter().any(|(caught, ..)| *caught == name),
            "no case claims to catch {name}"
        );
    }
}

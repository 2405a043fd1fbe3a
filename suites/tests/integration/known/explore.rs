//! Exploration with known failures in a manifest: entries excuse findings in generated clusters in the same way as failures of cases.

use std::sync::Arc;

use serde_json::json;
use suites::explore::{Exploration, Explorer, ShrinkLimits, Until};
use suites::harness::interposer::WireRule;
use suites::harness::manifest::Manifest;
use suites::{Defects, Session};

use super::systems::{manifest, simulated, with_wire_rules};

/// Number of generated clusters in which a publisher sends an invalid list request.
const WORLDS: u64 = 40;

/// Traffic rules that make the publisher send an invalid list request with every list of StorageClasses.
fn invalid_list_requests() -> Vec<WireRule> {
    let path = "/apis/storage.k8s.io/v1/storageclasses?labelSelector=%21%21";
    let besides = json!([{"method": "GET", "path": path}]);
    let request = json!({"verbs": ["list"], "resource": "storageclasses", "besides": besides});
    serde_json::from_value(json!([{"request": request}])).unwrap()
}

/// Explores generated clusters with a publisher whose traffic these rules change.
async fn explored(wire: &[WireRule], manifest: Option<Manifest>, clusters: u64) -> Exploration {
    let session = Session::new(with_wire_rules(wire), simulated(), manifest, 1, String::new());
    let explorer = Arc::new(Explorer {
        session: Arc::new(session),
        focuses: vec!["publisher".parse().unwrap()],
        seed: 1,
        shard: None,
        jobs: 1,
        is_simulated: true,
        limits: ShrinkLimits {
            max: 1,
            concurrency: 1,
            deadline: None,
        },
        output: None,
    });
    let mut exploration = Exploration::default();
    explorer
        .explore(Until::Clusters(clusters), &mut exploration, &mut |_| {})
        .await
        .unwrap();
    exploration
}

async fn unexcused_signatures(manifest: Manifest) -> Vec<String> {
    let exploration = explored(&invalid_list_requests(), Some(manifest), WORLDS).await;
    let findings = exploration.findings.iter();
    findings.map(|finding| finding.signature.to_string()).collect()
}

#[tokio::test]
async fn a_rule_violated_in_every_cluster_does_not_hide_other_rules() {
    let defects = Defects::load();
    let wire = |name: &str| defects.get(name).unwrap().wire.clone();
    let both = [
        wire("publisher-watches-everything"),
        wire("publisher-ignores-maximum"),
    ]
    .concat();
    let exploration = explored(&both, None, 12).await;
    let hidden = exploration.findings.iter().find(|it| !it.excused.is_empty());
    let hidden = hidden.expect("a finding of another rule");
    assert!(
        hidden.excused.contains("always/watch-without-selector"),
        "{hidden:?}"
    );
    let systematic = &exploration.findings[0];
    assert!(systematic.clusters > 4, "{systematic:?}");
}

#[tokio::test]
async fn an_entry_for_findings_excuses_them_in_exploration() {
    let refused = "list storageclasses is refused with 400";
    for (case, is_found) in [("finding/api-invalid", false), ("finding/object-labels", true)] {
        let found = unexcused_signatures(manifest("publisher.central", &[(case, refused)])).await;
        assert_eq!(
            found
                .iter()
                .any(|it| it == &format!("finding/api-invalid: {refused}")),
            is_found,
            "{case}: {found:?}"
        );
    }
}

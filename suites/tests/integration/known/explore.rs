//! Exploration and the known failures of a manifest: what goes wrong beside the point of a world is excused like that of a case.

use std::sync::Arc;

use serde_json::json;
use suites::explore::{Exploration, Explorer, Tries, Until};
use suites::harness::interposer::WireRule;
use suites::harness::manifest::Manifest;
use suites::{Session, Turns};

use super::{manifest, simulated, spoilt_by};

/// In so many worlds a publisher asks for what the API server cannot read.
const WORLDS: u64 = 40;

/// A list with a selector that is none, beside each list of classes.
fn asking_nonsense() -> Vec<WireRule> {
    let path = "/apis/storage.k8s.io/v1/storageclasses?labelSelector=%21%21";
    let besides = json!([{"method": "GET", "path": path}]);
    let request = json!({"verbs": ["list"], "resource": "storageclasses", "besides": besides});
    serde_json::from_value(json!([{"request": request}])).unwrap()
}

/// What is found in these worlds.
async fn found(manifest: Manifest) -> Vec<String> {
    let session = Session {
        systems: spoilt_by(&asking_nonsense()),
        manifest: Some(manifest),
        options: simulated(),
        turns: Arc::new(Turns::of(1)),
        attempts: 1,
        keep: None,
        keep_passed: false,
        rerun: String::new(),
    };
    let explorer = Arc::new(Explorer {
        session: Arc::new(session),
        focuses: vec!["publisher".parse().unwrap()],
        seed: 1,
        shard: None,
        jobs: 1,
        is_simulated: true,
        tries: Tries { max: 1, together: 1 },
    });
    let mut exploration = Exploration::default();
    explorer
        .explore(Until::Worlds(WORLDS), &mut exploration, &mut |_| {})
        .await;
    let findings = exploration.findings.iter();
    findings.map(|finding| finding.signature.to_string()).collect()
}

#[tokio::test]
async fn an_entry_for_findings_excuses_them_in_worlds_too() {
    let refused = "list storageclasses is refused with 400";
    for (case, is_found) in [("finding/api-invalid", false), ("finding/object-labels", true)] {
        let found = found(manifest("publisher.central", &[(case, refused)])).await;
        assert_eq!(
            found.iter().any(|it| it == "finding/api-invalid"),
            is_found,
            "{case}: {found:?}"
        );
    }
}

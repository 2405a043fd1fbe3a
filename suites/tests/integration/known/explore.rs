//! Exploration and the known failures of a manifest: what goes wrong beside the point of a world is excused like that of a case.

use std::sync::Arc;

use suites::explore::{Exploration, Explorer, Tries, Until};
use suites::harness::manifest::Manifest;
use suites::{Session, Turns};

use super::{manifest, simulated, spoilt};

/// Among so many worlds some show that a publisher makes each object twice.
const WORLDS: u64 = 40;

/// What is found in these worlds.
async fn found(manifest: Manifest) -> Vec<String> {
    let session = Session {
        systems: spoilt("publisher-makes-duplicates"),
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
    let twice = "an object is made again";
    for (case, is_found) in [("finding/object-twice", false), ("finding/object-labels", true)] {
        let found = found(manifest("publisher.central", &[(case, twice)])).await;
        assert_eq!(
            found.iter().any(|it| it == "finding/object-twice"),
            is_found,
            "{case}: {found:?}"
        );
    }
}

//! Sweeps with known failures in a manifest: an entry excuses only the cells that it matches.

use std::path::Path;

use labs::sweep::{Cell, CellResult, Sweep, SweepError};
use suites::harness::manifest::Manifest;
use suites::harness::scenario::{Role, load_case};
use suites::{Defects, case_files};

use crate::systems::{manifest, simulated, with_wire_rules};

/// Features in the manifest of a publisher that survives a closed CSI connection.
const RECONNECTS: &str = "publisher.central, publisher.reconnect";
const CASE: &str = "publisher/value/maximum";
/// Name of the cell that closes the connection at the first GetCapacity call, which fails if the publisher does not reconnect.
const CELL: &str = "publisher-getcapacity-1-cut";
const UNANSWERED: &str = "it answered UNAVAILABLE a fault rule cut the connection";

fn sweep(defect: &str, manifest: Manifest) -> Sweep {
    Sweep {
        systems: with_wire_rules(&Defects::load().get(defect).unwrap().wire),
        options: simulated(),
        jobs: 1,
        rerun: String::new(),
        manifest: Some(manifest),
    }
}

async fn cells(sweep: &Sweep) -> Result<Vec<Cell>, SweepError> {
    let case = load_case(&case_files(), CASE).unwrap().unwrap();
    sweep.cells(&case, &[Role::Publisher]).await
}

/// Runs `CELL` with these known failures (case or cell, and pattern) in the manifest, and returns the result.
async fn run_cell(entries: &[(&str, &str)]) -> CellResult {
    let sweep = sweep("publisher-connects-once", manifest(RECONNECTS, entries));
    let mut cells = cells(&sweep).await.unwrap();
    cells.retain(|cell| cell.name() == CELL);
    let mut ended = sweep.run(cells, |_, _| {}).await;
    ended.pop().unwrap().1
}

fn is_in_manifest(place: &str) -> bool {
    Path::new(place.split(':').next().unwrap()).ends_with("sut.yaml")
}

#[tokio::test]
async fn an_entry_for_sweeps_or_for_the_case_excuses_a_cell_with_its_pattern() {
    for case in ["sweep", "sweep/publisher/value", CASE, "publisher"] {
        let held = run_cell(&[(case, UNANSWERED)]).await;
        assert!(
            matches!(&held, CellResult::Known(place) if is_in_manifest(place)),
            "{case}: {held:?}"
        );
    }
}

#[tokio::test]
async fn entries_with_another_pattern_or_case_excuse_no_cell() {
    for entry in [
        ("sweep", "something that never happens"),
        ("sweep/publisher/class", UNANSWERED),
        ("publisher/class", UNANSWERED),
        ("explore", UNANSWERED),
    ] {
        let held = run_cell(&[entry]).await;
        assert!(matches!(held, CellResult::Failed { .. }), "{entry:?}: {held:?}");
    }
}

#[tokio::test]
async fn known_failing_and_skipped_cases_are_not_swept() {
    let ignores = "publisher-ignores-maximum";
    let known = sweep(
        ignores,
        manifest("publisher.central", &[(CASE, "the object has 10Gi")]),
    );
    let Err(SweepError::Known(place)) = cells(&known).await else {
        panic!("it is swept");
    };
    assert!(is_in_manifest(&place), "{place}");
    let unknown = sweep(ignores, manifest("publisher.central", &[]));
    assert!(matches!(cells(&unknown).await, Err(SweepError::Fails { .. })));
    let other = sweep(ignores, manifest("publisher.provisioning", &[]));
    assert!(matches!(cells(&other).await, Err(SweepError::Skipped(_))));
}

#[tokio::test]
async fn faults_that_a_program_need_not_survive_are_no_cells() {
    for (features, is_cell) in [("publisher.central", false), (RECONNECTS, true)] {
        let sweep = sweep("publisher-connects-once", manifest(features, &[]));
        let cells = cells(&sweep).await.unwrap();
        assert_eq!(
            cells.iter().any(|cell| cell.name() == CELL),
            is_cell,
            "{features}"
        );
    }
}

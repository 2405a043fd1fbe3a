//! `sweep`: the references pass in every cell; a defect that only a fault reveals is found, and the failing cell can be run alone.

use tempfile::TempDir;

use crate::program::run_expecting;

const CASE: &str = "publisher/value/maximum";
const DEFECT: &str = "--defect=publisher-connects-once";

#[test]
fn the_references_pass_in_every_cell() {
    let (messages, _) = run_expecting(0, &["sweep", "scheduler/filter/tracking/class-of-another-driver"]);
    assert!(messages.contains(" 0 fail"), "{messages}");
    for row in [
        "scheduler patch pods/status",
        "scheduler list pods",
        "scheduler event of pods",
    ] {
        assert!(messages.contains(row), "{row} is no row of\n{messages}");
    }
}

#[test]
fn a_defect_that_needs_a_fault_is_found_stored_and_run_alone() {
    let folder = TempDir::new().unwrap();
    let output = format!("--output={}", folder.path().display());
    run_expecting(0, &["e2e", "--simulate", DEFECT, CASE]);
    let (messages, _) = run_expecting(1, &["sweep", DEFECT, CASE, &output]);
    let cell = "publisher-getcapacity-1-cut";
    assert!(messages.contains(&format!("FAIL  {cell}")), "{messages}");
    let page = std::fs::read_to_string(folder.path().join("publisher.value.maximum.html")).unwrap();
    roxmltree::Document::parse_with_options(
        &page,
        roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        },
    )
    .unwrap();
    let case = folder.path().join(format!("publisher.value.maximum.{cell}.yaml"));
    let case = case.display().to_string();
    run_expecting(1, &["repro", DEFECT, &case]);
    run_expecting(0, &["repro", &case]);
    let (alone, _) = run_expecting(1, &["sweep", DEFECT, CASE, &format!("--cell={cell}")]);
    assert!(alone.contains("1 cells, 0 hold, 1 fail"), "{alone}");
}

#[test]
fn an_unknown_cell_is_a_usage_error_and_unmodelled_cases_are_skipped() {
    let (_, messages) = run_expecting(2, &["sweep", CASE, "--cell=publisher-flies-1-cut"]);
    assert!(messages.contains("has no such cell"), "{messages}");
    let (messages, _) = run_expecting(0, &["sweep", "scheduler/extender/bind"]);
    assert!(
        messages.contains("skip") && messages.contains("has no rule for an extender with `binds`"),
        "{messages}"
    );
    let (messages, _) = run_expecting(0, &["sweep", "gate/driver/immutable/on-in-beta"]);
    assert!(
        messages.contains("skip") && messages.contains("no program under test takes part"),
        "{messages}"
    );
}

#[test]
fn a_row_of_axes_with_a_release_can_be_swept() {
    let case = "matrix/publisher/central+recreated+joining+exact+flipping+1.20-on";
    // The fault affects a request before the class is recreated, and has ended before the cluster is idle.
    for cell in ["publisher-list-nodes-1-cut", "publisher-getcapacity-1-hangs"] {
        let (messages, _) = run_expecting(0, &["sweep", case, &format!("--cell={cell}")]);
        assert!(messages.contains("1 cells, 1 hold"), "{messages}");
    }
}

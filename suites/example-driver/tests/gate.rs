//! Runs conformance cases against a driver that stores its pools in API objects and needs a second process, with the manifest that the
//! manual contains: driver cases, and cases in which the harness sets the storage.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use suites::harness::judge::{Verdict, verdict};
use suites::harness::manifest::Manifest;
use suites::harness::{RunOptions, record, run};
use suites::{case_files, plan, plans};

/// The example manifest of the manual, with the path of the program filled in.
fn example() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manifest.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks = page.split("```").skip(1).step_by(2);
    let example = blocks
        .find(|block| block.starts_with("yaml\nname: pools"))
        .unwrap();
    let example = example.trim_start_matches("yaml\n");
    example.replace(
        "example-driver,",
        concat!(env!("CARGO_BIN_EXE_example-driver"), ","),
    )
}

fn manifest(text: &str) -> Manifest {
    let folder = tempfile::tempdir().unwrap();
    Manifest::parse(&folder.path().join("sut.yaml"), text).unwrap()
}

/// Runs a case, evaluates the stored run again, and returns the failure; `None` if the case passed.
async fn failure(manifest: &Manifest, case: &str) -> Option<String> {
    let mut systems = references::built_in(None);
    manifest.install(&mut systems);
    let plan = plan(&case_files(), case).unwrap().unwrap();
    assert_eq!(manifest.skip_reason(&plan), None, "{case}");
    let plan = Arc::new(manifest.adapt(&plan).unwrap());
    let outcome = run(plan.clone(), &systems, RunOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let saved = record::save(folder.path(), &plan, &outcome.journal, &outcome.logs).unwrap();
    let (again, facts) = record::load(&saved).unwrap();
    assert_eq!(
        verdict(&again, facts)
            .failure()
            .map(|failure| failure.summary.clone()),
        outcome.verdict.failure().map(|failure| failure.summary.clone()),
        "{case} judged again"
    );
    match &outcome.verdict {
        Verdict::Pass => None,
        other => Some(other.failure().map_or_else(
            || format!("{other:?}"),
            |it| {
                format!(
                    "{}: {:?}",
                    it.summary,
                    it.chain.first_missing().map(|link| &link.text)
                )
            },
        )),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn driver_and_storage_cases_pass() {
    let manifest = manifest(&example());
    for case in [
        "driver/identity/topology",
        "driver/capacity/unknown-segment",
        "driver/volumes/capacity-accounting",
        "driver/story/pod",
        "driver/story/second-node",
        "story/volumes/limit/one-byte-more",
        "publisher/refresh/poll/central",
        "publisher/refresh/poll/distributed",
        "gate/publisher/versions/newest",
    ] {
        assert_eq!(failure(&manifest, case).await, None, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn classes_and_expected_calls_get_the_required_parameters() {
    let text = example();
    let keys = "topologyKeys: [topology.pools.example.org/node]";
    let with_parameters = text.replace(keys, &format!("{keys}, parameters: {{tier: gold}}"));
    assert_ne!(with_parameters, text);
    let manifest = manifest(&with_parameters);
    for case in ["publisher/class/alike", "publisher/class/sidecar-parameters"] {
        assert_eq!(failure(&manifest, case).await, None, "{case}");
    }
    let later = plan(&case_files(), "publisher/class/lifecycle/central")
        .unwrap()
        .unwrap();
    let later = manifest.adapt(&later).unwrap();
    for class in ["fast", "slow"] {
        assert_eq!(later.class_parameters[class]["tier"], "gold", "{class}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_of_the_second_process_ends_the_driver() {
    let text = example();
    let without = text.replace("permit, --at, \"127.0.0.1:{ports.permit}\"", "permit");
    assert_ne!(without, text);
    let failure = failure(&manifest(&without), "driver/identity/ready")
        .await
        .unwrap();
    assert!(
        failure.contains("ended by itself") && failure.contains("--at is missing"),
        "{failure}"
    );
}

/// Skipped on hosts where unprivileged users cannot create mount namespaces, which this test needs.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_only_reads_the_pod_configuration_passes() {
    let can = Command::new("unshare")
        .args(["--map-root-user", "--mount", "true"])
        .status();
    if !can.is_ok_and(|status| status.success()) {
        return;
    }
    let text = example();
    let inside = text.replace("env: {KUBECONFIG: \"{kubeconfig}\"}", "inCluster: true");
    assert_ne!(inside, text);
    assert_eq!(
        failure(&manifest(&inside), "driver/story/second-node").await,
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_with_a_wrong_pool_size_fails_the_capacity_check() {
    let text = example();
    let wrong = text.replace("capacity: {available}", "capacity: 1 # not {available}");
    assert_ne!(wrong, text);
    let manifest = manifest(&wrong);
    let failure = failure(&manifest, "story/volumes/limit/one-byte-more")
        .await
        .unwrap();
    assert!(failure.contains("has the expected fields"), "{failure}");
}

#[test]
fn unsupported_backend_features_are_reported() {
    let with_maximum = manifest(&example());
    let without = manifest(&example().replace("largest: {maximum}", "other: 0"));
    let without_volumes = manifest(&example().replace("    ports:", "    volumes: false\n    ports:"));
    let why =
        |manifest: &Manifest, case: &str| manifest.skip_reason(&plan(&case_files(), case).unwrap().unwrap());
    for (manifest, case, words) in [
        (
            &without,
            "story/volumes/limit/one-byte-more",
            "no `backend` of the manifest contains {maximum}",
        ),
        (
            &without_volumes,
            "driver/volumes/capacity-accounting",
            "the case provisions volumes",
        ),
        (
            &with_maximum,
            "publisher/objects/shape",
            "the case contains the driver name `disk.example.com`",
        ),
        (
            &with_maximum,
            "publisher/topology/granularity",
            "the case sets the driver's `topologyKeys`",
        ),
        (
            &with_maximum,
            "publisher/topology/new-node-gains-object/central",
            "calls GetCapacity once after a change of storage",
        ),
        (
            &with_maximum,
            "scheduler/filter/limit/exactly",
            "the case has no driver",
        ),
    ] {
        let why = why(manifest, case).unwrap();
        assert!(why.contains(words), "{case}: {why}");
    }
    let all = plans(&case_files()).unwrap();
    let own = all
        .iter()
        .filter(|plan| with_maximum.skip_reason(plan).is_none())
        .count();
    assert!(own > 200, "only {own} cases apply to the driver");
}

#[test]
fn invalid_objects_of_the_manifest_are_reported_with_their_position() {
    for (from, to, words) in [
        (
            "file: volume-pools.yaml",
            "file: elsewhere.yaml",
            "elsewhere.yaml cannot be read",
        ),
        (
            "metadata: {name: \"{node}\"}",
            "metadata: {}",
            "document 1 has no metadata.name",
        ),
        (
            "{available}",
            "{bytes}",
            "unknown placeholder `{bytes}`; write one of node, available, maximum",
        ),
        (
            "capacity: {available}",
            "capacity: 5",
            "the patch does not contain `{available}`",
        ),
    ] {
        let text = example().replace("# - file", "- file").replace(from, to);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("volume-pools.yaml"), "").unwrap();
        let error = Manifest::parse(&folder.path().join("sut.yaml"), &text)
            .unwrap_err()
            .to_string();
        let position = error.split("sut.yaml:").nth(1).unwrap_or_default();
        let has_position = position.starts_with(|first: char| first.is_ascii_digit());
        assert!(error.contains(words) && has_position, "{to}: {error}");
    }
}

//! Driver cases with a third-party driver, whose socket the harness did not create. The cases must run with the driver's own names, and
//! evaluating the stored runs must give the same verdict.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fake_csi::{DriverSpec, Effect, FakeDriver, Method, NodeIdentity, Pool, Rule, Running};
use suites::harness::journal::Observation;
use suites::harness::judge::{Verdict, verdict};
use suites::harness::manifest::Manifest;
use suites::harness::{Outcome, RunOptions, record, run};
use suites::{case_files, plan, plans};

const NAME: &str = "other.example.org";
const KEY: &str = "topology.other.example.org/host";
const ZONE: &str = "topology.other.example.org/zone";
const GIB: u64 = 1 << 30;

/// A third-party driver with 10Gi on node n1 for classes with a driver-specific parameter, and a manifest that contains the driver's
/// socket.
struct ThirdPartyDriver {
    driver: FakeDriver,
    /// The driver's topology keys, as listed in the manifest.
    topology: String,
    _running: Running,
    folder: tempfile::TempDir,
}

impl ThirdPartyDriver {
    async fn new() -> ThirdPartyDriver {
        let segment = BTreeMap::from([(KEY.to_owned(), "n1".to_owned())]);
        Self::at(segment, format!("topologyKeys: [{KEY}]")).await
    }

    /// A driver with two topology keys: a zone key, and a node key whose values have the form `host-n1`.
    async fn with_zone() -> ThirdPartyDriver {
        let segment = [(KEY, "host-n1"), (ZONE, "east")];
        let segment = segment.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let topology =
            format!("topologyKeys: [{ZONE}, {KEY}], topology: {{{KEY}: \"host-{{node}}\", {ZONE}: east}}");
        Self::at(segment.into(), topology).await
    }

    async fn at(segment: BTreeMap<String, String>, topology: String) -> ThirdPartyDriver {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriverSpec {
            topology_keys: segment.keys().cloned().collect(),
            ..DriverSpec::new(NAME)
        };
        let driver = FakeDriver::new(spec, None);
        driver.set_pool(Pool::linear(segment.clone(), 10 * GIB, Some(10 * GIB)));
        let identity = NodeIdentity {
            node_id: "n1".to_owned(),
            segment,
        };
        let socket = folder.path().join("csi.sock");
        let running = driver.listen(&socket, Some(identity)).await.unwrap();
        ThirdPartyDriver {
            driver,
            topology,
            _running: running,
            folder,
        }
    }

    fn manifest(&self) -> Manifest {
        let path = self.folder.path().join("sut.yaml");
        let names = format!("{{name: {NAME}, {}, parameters: {{tier: gold}}}}", self.topology);
        let text = format!(
            "name: other\nfeatures: [driver.maximum]\nroles:\n  driver: {{socket: csi.sock, names: {names}}}\n"
        );
        std::fs::write(&path, text).unwrap();
        Manifest::load(&path).unwrap()
    }

    /// Runs a case, stores the run, and evaluates the stored journal.
    async fn run(&self, case: &str) -> Outcome {
        let manifest = self.manifest();
        let mut systems = references::built_in(None);
        manifest.install(&mut systems);
        let plan = plan(&case_files(), case).unwrap().unwrap();
        assert_eq!(manifest.skip_reason(&plan), None, "{case}");
        let plan = Arc::new(manifest.adapt(&plan).unwrap());
        let outcome = run(plan.clone(), &systems, RunOptions::default()).await.unwrap();
        let saved = record::save(self.folder.path(), &plan, &outcome.journal, &outcome.logs).unwrap();
        let (again, facts) = record::load(&saved).unwrap();
        let again = verdict(&again, facts);
        assert_eq!(
            again.failure().map(|failure| &failure.summary),
            outcome.verdict.failure().map(|failure| &failure.summary),
            "{case} judged again"
        );
        outcome
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_all_applicable_driver_cases() {
    passes(ThirdPartyDriver::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_with_several_topology_keys_passes() {
    passes(ThirdPartyDriver::with_zone().await).await;
}

async fn passes(other: ThirdPartyDriver) {
    let manifest = other.manifest();
    let all = plans(&case_files()).unwrap();
    let own = all.iter().filter(|plan| manifest.skip_reason(plan).is_none());
    let mut ran = 0;
    for plan in own {
        let outcome = other.run(plan.id()).await;
        let why = outcome.verdict.failure().map(|failure| failure.summary.clone());
        assert!(matches!(outcome.verdict, Verdict::Pass), "{}: {why:?}", plan.id());
        ran += 1;
    }
    assert!(ran >= 13, "only {ran} driver cases ran");
    assert!(
        other.driver.volumes().is_empty(),
        "the cases delete their volumes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_recorded_under_the_drivers_own_names() {
    let other = ThirdPartyDriver::new().await;
    let outcome = other.run("driver/story/pod").await;
    assert!(matches!(outcome.verdict, Verdict::Pass));
    let facts = outcome.journal.since(0);
    let made = facts.iter().find_map(|fact| match &fact.what {
        Observation::Call(call) if call.method == Method::CreateVolume => Some(call.clone()),
        _ => None,
    });
    let made = made.unwrap();
    assert_eq!((made.code.as_str(), made.segment.as_deref()), ("OK", Some("n1")));
    assert_eq!(
        made.parameters,
        BTreeMap::from([("tier".to_owned(), "gold".to_owned())])
    );
    let object = facts.iter().find_map(|fact| match &fact.what {
        Observation::Commit(commit) if &*commit.resource == "csistoragecapacities" => {
            Some(commit.object.clone())
        }
        _ => None,
    });
    assert_eq!(object.unwrap()["nodeTopology"]["matchLabels"][KEY], "n1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_capacity_is_detected() {
    let other = ThirdPartyDriver::new().await;
    let rule = Rule {
        method: Method::GetCapacity,
        segment: None,
        parameters: BTreeMap::new(),
        skip: 0,
        times: None,
        effect: Effect::Capacity {
            available: 20 << 30,
            maximum: Some(20 << 30),
            minimum: None,
        },
    };
    other.driver.add_rule(rule).unwrap();
    let outcome = other.run("driver/volumes/largest").await;
    let failure = outcome.verdict.failure().unwrap();
    assert_eq!(failure.summary, "the driver returned a different response");
    let link = failure.chain.first_missing().unwrap();
    assert!(
        link.text.starts_with("made.bytes is >= before.maximum, 20Gi"),
        "{}",
        link.text
    );
    assert!(link.note.contains("RESOURCE_EXHAUSTED"), "{}", link.note);
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_that_configure_the_driver_are_skipped_with_a_reason() {
    let manifest = ThirdPartyDriver::new().await.manifest();
    for (case, why) in [
        (
            "driver/capacity/offered/not-advertised",
            "the case sets capabilities of the driver (`driver`), which only the built-in driver supports",
        ),
        (
            "publisher/value/maximum",
            "the case sets its storage (`backend`), which only the built-in driver supports",
        ),
        (
            "driver/story/second-node",
            "the case has the driver on several nodes, and a driver with a `socket` runs on one",
        ),
        ("scheduler/filter/limit/exactly", "the case has no driver"),
    ] {
        let plan = plan(&case_files(), case).unwrap().unwrap();
        assert_eq!(manifest.skip_reason(&plan).as_deref(), Some(why), "{case}");
    }
}

#[test]
fn an_invalid_manifest_is_reported_with_position_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("sut.yaml");
    let names = "names: {name: a.example.org, topologyKeys: [a/b]}";
    for (roles, words) in [
        ("driver: {socket: a.sock}", "the driver needs `names"),
        (
            "driver: {names: {name: a.example.org, topologyKeys: []}}",
            "the driver needs either `argv`, or the `socket`",
        ),
        (
            &format!("driver: {{socket: a.sock, argv: [\"true\"], {names}}}"),
            "the driver needs either `argv`, or the `socket`",
        ),
        (
            "driver: {socket: a.sock, names: {name: a, topologyKeys: [b, c]}}",
            "with several `topologyKeys`, add the values that NodeGetInfo returns",
        ),
        (
            "driver: {socket: a.sock, names: {name: a, topologyKeys: [b], topology: {c: d}}}",
            "`topology` has `c`, which `topologyKeys` does not contain",
        ),
        (
            "driver: {socket: a.sock, names: {name: a, topologyKeys: [b], topology: {b: d}}}",
            "no key of `topology` distinguishes the nodes",
        ),
        (
            "publisher: {socket: a.sock, argv: [\"true\"]}",
            "`socket` is a key of the driver; remove it from the publisher",
        ),
        (
            "publisher: {argv: [\"true\"], volumes: false}",
            "`volumes` is a key of the driver; remove it from the publisher",
        ),
        (
            "scheduler: {argv: [\"true\"], objects: [{text: \"{kind: A, apiVersion: v1, metadata: {name: {pod}}}\"}]}",
            "`{pod}`",
        ),
        (
            &format!("driver: {{socket: a.sock, {names}, objects: [{{text: \"\"}}]}}"),
            "a driver with a `socket` uses another API server",
        ),
        (
            &format!("driver: {{argv: [\"true\"], {names}, objects: [{{}}]}}"),
            "an entry of `objects` needs `file` or `text`",
        ),
        (
            "driver: {argv: [\"true\"], names: {name: a, topologyKeys: [b], takesBackend: true}}",
            "`takesBackend` and `tellsMaximum` follow from `backend` and `features`",
        ),
    ] {
        std::fs::write(&path, format!("name: a\nfeatures: []\nroles:\n  {roles}\n")).unwrap();
        let error = Manifest::load(&path).unwrap_err().to_string();
        assert!(
            error.contains(words) && error.contains("sut.yaml:4:"),
            "{roles}: {error}"
        );
    }
}

#[test]
fn the_old_name_of_three_features_is_an_error_with_the_new_names() {
    let text = "name: a\nfeatures: [publisher.old-releases]\nroles: {publisher: {argv: [\"true\"]}}\n";
    let error = Manifest::parse(Path::new("sut.yaml"), text)
        .unwrap_err()
        .to_string();
    for words in [
        "sut.yaml:2:",
        "publisher.v1beta1, publisher.v1alpha1 and publisher.wait-for-capacity-api",
    ] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn each_api_version_is_a_separate_feature() {
    let all = plans(&case_files()).unwrap();
    let of = |id: &str| {
        let plan = all.iter().find(|plan| plan.id() == id).unwrap();
        let served = [
            "publisher.v1beta1",
            "publisher.v1alpha1",
            "publisher.wait-for-capacity-api",
        ];
        let needed = plan.features();
        served
            .into_iter()
            .filter(|name| needed.contains(name))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("gate/publisher/restart-on-alpha"), ["publisher.v1alpha1"]);
    assert_eq!(
        of("gate/publisher/maximum-after-upgrade/beta"),
        ["publisher.v1beta1", "publisher.v1alpha1"]
    );
    assert_eq!(
        of("gate/publisher/hidden/gate"),
        ["publisher.v1alpha1", "publisher.wait-for-capacity-api"]
    );
    assert!(of("publisher/value/error/internal").is_empty());
}

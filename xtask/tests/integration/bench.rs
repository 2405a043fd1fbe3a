//! `bench` with a minimal load: every phase has a result, and all created objects are removed.

use std::path::Path;
use std::time::Instant;

use crate::program::{Serving, run_expecting};
use hyper::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

const TINY: [&str; 14] = [
    "bench",
    "apiserver",
    "--as-built",
    "--clients=2",
    "--objects=12",
    "--listed=5",
    "--lists=3",
    "--watchers=3",
    "--changes=20",
    "--few=2",
    "--held=30",
    "--idle-watches=4",
    "--against",
    "KUBECONFIG",
];

/// Runs `bench` with a minimal load on a server, and returns the output.
fn bench(kubeconfig: &Path, more: &[&str]) -> String {
    let kubeconfig = [kubeconfig.to_str().unwrap()];
    run_expecting(0, &[&TINY[..TINY.len() - 1], &kubeconfig, more].concat()).0
}

fn run_and_parse(part: &[&str]) -> Value {
    let (printed, _) = run_expecting(0, &[&["bench"], part, &["--as-built", "--json"]].concat());
    serde_json::from_str(&printed).unwrap()
}

fn counts(measurements: &[Value]) -> Vec<u64> {
    measurements
        .iter()
        .map(|it| it["count"].as_u64().unwrap())
        .collect()
}

/// Checks that the percentiles are ordered and within the elapsed time.
fn assert_percentiles(measurement: &Value) {
    let value = |name: &str| measurement[name].as_f64().unwrap();
    let all = value("count") / value("perSecond") * 1e6;
    let (p50, p99) = (value("p50Microseconds"), value("p99Microseconds"));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= all, "{measurement}");
}

fn get_path(kubeconfig: &Path, path: &str) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let request = Request::get(path).body(Vec::new()).unwrap();
        client.request(request).await.unwrap()
    })
}

fn namespaces(kubeconfig: &Path) -> Vec<Value> {
    let list = get_path(kubeconfig, "/api/v1/namespaces");
    let items = list["items"].as_array().unwrap();
    items.iter().map(|it| it["metadata"]["name"].clone()).collect()
}

#[test]
fn every_phase_has_results_for_both_servers_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let _other = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    let before = namespaces(&kubeconfig);
    let began = Instant::now();
    let output = bench(&kubeconfig, &["--json"]);
    let whole = began.elapsed();
    let measured: Value = serde_json::from_str(&output).unwrap();
    for server in ["server", "against"] {
        let measurements = measured[server]["figures"].as_array().unwrap();
        let names: Vec<&str> = measurements
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "creates of 1 KB",
                "gets",
                "merge patches",
                "lists of 5 objects",
                "events to 3 watches",
                "deletes"
            ]
        );
        // The fifth number is events: each of the 3 watches receives each of the 20 changes.
        assert_eq!(counts(measurements), [12, 12, 12, 3, 3 * 20, 12], "{server}");
        measurements.iter().for_each(assert_percentiles);
    }
    let held = measured["server"]["held"].as_array().unwrap();
    let names: Vec<&str> = held.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "events among 2 objects",
            "events among 30 objects",
            "events beside 4 watches"
        ]
    );
    assert_eq!(counts(held), [10 * 20; 3]);
    held.iter().for_each(assert_percentiles);
    let ready = measured["server"]["readyMilliseconds"].as_f64().unwrap();
    assert!(
        ready > 0.0 && ready < whole.as_secs_f64() * 1e3,
        "{ready} ms of {whole:?}"
    );
    assert_eq!(namespaces(&kubeconfig), before);
}

#[test]
fn custom_resources_are_measured_the_same_way_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let _other = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    let before = namespaces(&kubeconfig);
    let output = bench(&kubeconfig, &["--json", "--definitions=3", "--each=2"]);
    let measured: Value = serde_json::from_str(&output).unwrap();
    for server in ["server", "against"] {
        let measurements = measured[server]["figures"].as_array().unwrap();
        assert_eq!(counts(measurements), [12, 12, 12, 3, 3 * 20, 12], "{server}");
    }
    assert_eq!(namespaces(&kubeconfig), before);
    let definitions = get_path(
        &kubeconfig,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    );
    assert_eq!(definitions["items"], json!([]));
}

#[test]
fn the_table_has_a_ratio_for_each_phase() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let _other = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    let table = bench(&kubeconfig, &[]);
    for phase in ["creates", "gets", "merge patches", "lists", "events", "deletes"] {
        let line = table.lines().find(|line| line.starts_with(phase)).unwrap();
        assert!(line.ends_with('×'), "{line}");
    }
    let of_other = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_once("   other: ").unwrap().1.to_owned()
    };
    assert_eq!(of_other("ready"), "unknown: it ran before");
    // Without a PID, `bench` has found the process that listens at the kubeconfig's address.
    assert!(of_other("memory at rest").ends_with(" MB"), "{table}");
    assert!(of_other("memory after the load").ends_with(" MB"), "{table}");
}

#[test]
fn the_scheduler_has_a_row_per_size_and_storage_with_the_scan() {
    let began = Instant::now();
    let measured = run_and_parse(&[
        "scheduler",
        "--nodes=3,9",
        "--attempts=3",
        "--scanned-nodes=2",
        "--held=50",
    ]);
    let milliseconds = began.elapsed().as_secs_f64() * 1e3;
    let rows = measured["rows"].as_array().unwrap();
    let printed: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["nodes"].as_u64().unwrap(),
                row["storage"].as_str().unwrap(),
                row["feasible"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        printed,
        [
            (3, "here", 3),
            (3, "elsewhere", 0),
            (3, "full", 0),
            (9, "here", 9),
            (9, "elsewhere", 0),
            (9, "full", 0)
        ]
    );
    for row in rows {
        assert_eq!(
            row["objects"].as_u64().unwrap(),
            2 * row["nodes"].as_u64().unwrap()
        );
        assert_eq!(row["attempts"], 3, "{row}");
        // The output shows the median of three attempts, so at least two attempts took at least the median time.
        let (attempt, scan) = (&row["attemptMilliseconds"], &row["scanMilliseconds"]);
        let least = 2.0 * attempt.as_f64().unwrap();
        assert!(least > 0.0 && least < milliseconds, "{row}");
        assert!(scan.as_f64().unwrap() > 0.0, "{row}");
    }
    let held: Vec<_> = measured["held"]
        .as_array()
        .unwrap()
        .iter()
        .map(|held| held["objects"].as_u64().unwrap())
        .collect();
    assert_eq!(held, [5, 50]);
}

#[test]
fn publisher_costs_count_exactly_the_expected_writes() {
    let costs = run_and_parse(&["publisher", "--objects=3,20", "--changes=3"]);
    let counts = |cost: &Value| {
        ["objects", "publishedWrites", "changeWrites", "pollWrites"].map(|name| cost[name].as_u64().unwrap())
    };
    let counted: Vec<_> = costs.as_array().unwrap().iter().map(counts).collect();
    // Objects are rounded up to two per node, so 3 becomes 4. A changed node causes two creations and two deletions. A poll writes nothing.
    assert_eq!(counted, [[4, 4, 12, 0], [20, 20, 12, 0]]);
}

#[test]
fn the_size_of_an_object_is_independent_of_their_number() {
    let costs = run_and_parse(&["publisher", "--objects=20,80", "--changes=2"]);
    let bytes = |row: usize, field: &str| costs[row][field].as_u64().unwrap();
    // The lengths of names and resource versions may differ by one digit.
    assert!(
        bytes(0, "objectBytes").abs_diff(bytes(1, "objectBytes")) <= 4,
        "{costs}"
    );
    for (row, objects) in [(0, 20), (1, 80)] {
        let largest = bytes(row, "objectBytes") * objects;
        let all = bytes(row, "listBytes");
        assert!(all <= largest && all * 10 > largest * 9, "{costs}");
    }
}

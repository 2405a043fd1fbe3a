//! `why` for a pending pod: with a case, with files, and with a running cluster.

use std::process::{Command, Output};

use crate::program::{Serving, run_expecting};
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::{Value, json};

const CASE: &str = "scheduler/filter/limit/maximum-refuses";

fn xtask(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command.arg("why").args(args).env("NO_COLOR", "1");
    command.output().unwrap()
}

fn explained(args: &[&str]) -> String {
    let output = xtask(args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_case_is_run_and_its_pending_pod_explained() {
    let text = explained(&["pod", "p", "--scenario", CASE]);
    for part in [
        "0/1 nodes are available: 1 node(s) did not have enough free storage",
        "waits for its first consumer; disk.example.com tracks capacity",
        "no capacity object that this node can access is large enough",
        "maximumVolumeSize 5Gi is less than 10Gi",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn json_has_the_same_content() {
    let text = explained(&[
        "claim",
        "--class",
        "fast",
        "--size",
        "6Gi",
        "--node",
        "n1",
        "--json",
        "--scenario",
        CASE,
    ]);
    let found: Value = serde_json::from_str(&text).unwrap();
    let node = &found["nodes"][0];
    assert_eq!((&node["node"], &node["fits"]), (&json!("n1"), &json!(false)));
    let object = &node["claims"][0]["objects"][0];
    assert_eq!(object["seen"], "too-small");
    assert_eq!(object["maximumVolumeSize"], "5Gi");
    assert_eq!(object["capacity"], "100Gi");
}

#[test]
fn files_are_linted_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cluster = file(
        "cluster.yaml",
        "{kind: Node, metadata: {name: n1, labels: {node: n1}}}
---
{kind: StorageClass, metadata: {name: fast}, provisioner: d, volumeBindingMode: WaitForFirstConsumer}
---
{kind: CSIDriver, metadata: {name: d}, spec: {storageCapacity: true}}
",
    );
    let objects = file(
        "objects.yaml",
        "{kind: CSIStorageCapacity, metadata: {name: c, namespace: d}, storageClassName: fast, capacity: 5Gi}\n",
    );
    let text = explained(&["objects", "--file", &cluster, &objects]);
    assert!(
        text.contains("csistoragecapacity d/c: nodeTopology is unset"),
        "{text}"
    );
    let text = explained(&[
        "claim", "--class", "fast", "--size", "1Gi", "--file", &cluster, &objects,
    ]);
    assert!(
        text.contains("nodeTopology is unset, so it matches no node"),
        "{text}"
    );
    assert!(
        text.contains("[topology-unset]"),
        "the lint reports it too: {text}"
    );
}

#[test]
fn unknown_objects_are_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.yaml");
    std::fs::write(&path, "kind: Node\nmetadata: 7\n").unwrap();
    let bad = path.to_str().unwrap();
    for (args, words) in [
        (vec!["pod", "q", "--scenario", CASE], "no pod is named default/q"),
        (
            vec!["pod", "p", "--scenario", "no/case"],
            "no case is named no/case",
        ),
        (
            vec!["claim", "--class", "x", "--size", "1", "--scenario", CASE],
            "no StorageClass is named",
        ),
        (
            vec!["claim", "--class", "fast", "--size", "x", "--scenario", CASE],
            "is not a size",
        ),
        (vec!["objects", "--file", bad], "bad.yaml: Node"),
        (vec!["objects", "--file", "missing.yaml"], "missing.yaml"),
        (
            vec!["objects", "--file", bad, "--scenario", CASE],
            "cannot be used with",
        ),
        (vec!["objects", "--run", "missing"], "missing"),
    ] {
        let output = xtask(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn without_a_cluster_the_error_names_kubeconfig() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
    command.args(["why", "pod", "p"]).env("HOME", home.path());
    for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("set KUBECONFIG, or name a file with --kubeconfig"),
        "{error}"
    );
}

#[test]
fn an_unreachable_cluster_is_an_environment_error() {
    // No server listens on a port that was just released.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    let text = format!(
        "{{current-context: a, clusters: [{{name: a, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}], \
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}], users: [{{name: a, user: {{}}}}]}}"
    );
    std::fs::write(&file, text).unwrap();
    for args in [&["why", "pod", "p"][..], &["capture"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_csi-capacity"));
        let output = command
            .args(args)
            .arg("--kubeconfig")
            .arg(&file)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains("/api/v1/nodes"), "{error}");
    }
}

#[test]
fn a_running_cluster_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let _up = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = Kubeconfig::read_from(&kubeconfig).unwrap();
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let class = json!({"metadata": {"name": "fast"}, "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer"});
        let class = serde_json::from_value(class).unwrap();
        let classes: Api<k8s_openapi::api::storage::v1::StorageClass> = Api::all(client.clone());
        classes.create(&PostParams::default(), &class).await.unwrap();
        // More nodes than fit on one page of a list response.
        let nodes: Api<Node> = Api::all(client);
        for number in 0..501 {
            let node = serde_json::from_value(json!({"metadata": {"name": format!("n{number}")}})).unwrap();
            nodes.create(&PostParams::default(), &node).await.unwrap();
        }
    });
    let text = explained(&[
        "claim",
        "--class",
        "fast",
        "--size",
        "1Gi",
        "--node",
        "n500",
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
    ]);
    assert!(text.contains("fits 501 of 501 nodes"), "{text}");
    assert!(text.contains("no CSIDriver is named d"), "{text}");
}

/// The last example in the 2019 version of KEP-1472 contains `status` twice, so it is invalid.
#[test]
fn a_duplicate_field_is_an_error_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pools.yaml");
    let text = "kind: CSIStoragePool\nmetadata: {name: east}\nstatus: {classes: []}\nspec: {}\nstatus: {classes: []}\n";
    std::fs::write(&file, text).unwrap();
    let (_, error) = run_expecting(2, &["why", "objects", "--file", file.to_str().unwrap()]);
    for words in ["pools.yaml", "line 5 column 1", "duplicate mapping key: status"] {
        assert!(error.contains(words), "no “{words}” in {error}");
    }
}

/// Metrics of a publisher and an API server whose start time is 0.
const METRICS: &str = "\
csistoragecapacities_desired_goal{driver_name=\"disk.example.com\"} 1
csi_sidecar_operations_seconds_count{method_name=\"/csi.v1.Controller/GetCapacity\",grpc_status_code=\"OK\"} 6
csi_sidecar_operations_seconds_count{method_name=\"/csi.v1.Controller/GetCapacity\",grpc_status_code=\"Unavailable\"} 4
csi_sidecar_operations_seconds_count{method_name=\"/csi.v1.Identity/Probe\",grpc_status_code=\"Unavailable\"} 90
process_start_time_seconds 0
apiserver_request_total{resource=\"csistoragecapacities\",verb=\"PATCH\",code=\"200\"} 90
apiserver_request_total{resource=\"csistoragecapacities\",verb=\"LIST\",code=\"503\"} 10
apiserver_request_total{resource=\"pods\",verb=\"POST\",code=\"500\"} 1000
";

#[test]
fn a_report_has_the_health_indicators_at_the_end_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let case = "fail/publisher/one-verb/create";
    let defect = "--defect=publisher-never-refreshes";
    run_expecting(1, &["e2e", case, defect, "--simulate", "--output", output]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    let health = report["cases"][0]["health"].as_array().unwrap();
    let bad = health.iter().find(|it| it["state"] == "bad");
    let printed = bad.expect("a class has no objects")["told"].as_str().unwrap();
    assert_eq!(printed, "class new: 0 of 2 nodes have an object; not n1, n2");
    let page = read("report.html");
    assert!(page.contains("Health indicators of the cluster at the end"));
    assert!(page.contains("Does storage capacity tracking overload the API server?"));
}

#[test]
fn health_is_reported_for_runs_files_and_clusters() {
    let text = explained(&["health", "--scenario", "publisher/refresh/poll/central"]);
    for line in [
        "  good     driver disk.example.com: in use: storageCapacity is true, 2 capacity objects",
        "  good     driver disk.example.com: class fast: 2 of 2 nodes have an object",
        "  good     pods: no pod is unschedulable for lack of storage",
    ] {
        assert!(text.contains(line), "no “{line}” in {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let driver = "kind: CSIDriver\nmetadata: {name: disk.example.com}\nspec: {storageCapacity: true}\n---\n\
                  {kind: StorageClass, metadata: {name: fast}, provisioner: disk.example.com, volumeBindingMode: WaitForFirstConsumer}\n";
    let (dump, metrics) = (file("dump.yaml", driver), file("metrics.txt", METRICS));
    let (text, _) = run_expecting(1, &["why", "health", "--file", &dump, "--metrics", &metrics]);
    for line in [
        "  BAD      driver disk.example.com: storageCapacity is true, but there are no objects",
        "  good     publisher: 1 capacity objects are desired, and 0 exist",
        "  BAD      publisher: 4 of 10 GetCapacity calls failed",
        "  good     API server: 0.00 changes per object and minute (0 objects)",
        "  BAD      API server: 10 of 100 requests failed with status 429 or 5xx",
    ] {
        assert!(text.contains(line), "no “{line}” in {text}");
    }
    let (text, _) = run_expecting(1, &["why", "health", "--json", "--file", &dump]);
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let unknown = all.iter().filter(|it| it["state"] == "unknown").count();
    assert_eq!(unknown, 5, "{text}");
    let kubeconfig = folder.path().join("kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let _up = Serving::start(&["up", "--kubeconfig", kubeconfig]);
    let text = explained(&["health", "--kubeconfig", kubeconfig]);
    assert!(
        text.contains("  good     cluster: there is no CSIDriver object"),
        "{text}"
    );
    assert!(
        text.contains("API server: 0 of "),
        "the server's own metrics are read: {text}"
    );
}

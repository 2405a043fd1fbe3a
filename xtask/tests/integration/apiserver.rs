//! `--apiserver`, tested with the in-memory server as a separate process, reached over TLS with a kubeconfig, instead of a real cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::program::{Serving, run_expecting};
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

/// API group, kind and resource of the objects that cases and systems under test create.
const KINDS: [(&str, &str, &str); 15] = [
    ("", "Node", "nodes"),
    ("", "Namespace", "namespaces"),
    ("", "Pod", "pods"),
    ("", "PersistentVolume", "persistentvolumes"),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("", "Event", "events"),
    ("", "Secret", "secrets"),
    ("", "ConfigMap", "configmaps"),
    ("", "ServiceAccount", "serviceaccounts"),
    ("apps", "ReplicaSet", "replicasets"),
    ("coordination.k8s.io", "Lease", "leases"),
    ("storage.k8s.io", "StorageClass", "storageclasses"),
    ("storage.k8s.io", "CSIDriver", "csidrivers"),
    ("storage.k8s.io", "CSINode", "csinodes"),
    ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
];

struct ExternalServer {
    _serving: Serving,
    folder: tempfile::TempDir,
}

impl ExternalServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let serving = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
        ExternalServer {
            _serving: serving,
            folder,
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    async fn client(&self) -> Client {
        let file = Kubeconfig::read_from(self.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .unwrap();
        Client::try_from(config).unwrap()
    }

    /// Runs cases on the server and checks the exit code. Returns the output.
    fn run(&self, code: i32, words: &[&str]) -> (String, String) {
        let kubeconfig = self.kubeconfig();
        run_expecting(
            code,
            &[words, &["--apiserver", kubeconfig.to_str().unwrap()]].concat(),
        )
    }
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
}

/// All objects of `KINDS` on the server: name, uid and resourceVersion.
async fn existing_objects(client: &Client) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (group, kind, plural) in KINDS {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(group, kind, plural));
        for object in api.list(&ListParams::default()).await.unwrap() {
            let metadata = object.metadata;
            let name = format!(
                "{plural} {} {}",
                metadata.namespace.unwrap_or_default(),
                metadata.name.unwrap_or_default()
            );
            let state = format!("{:?} {:?}", metadata.uid, metadata.resource_version);
            found.insert(name, state);
        }
    }
    found
}

async fn create(client: &Client, group: &str, kind: &str, plural: &str, object: Value) {
    let resource = resource(group, kind, plural);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let mut object = object;
    object["apiVersion"] = match group {
        "" => "v1".into(),
        group => format!("{group}/v1").into(),
    };
    object["kind"] = kind.into();
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
}

/// Creates objects whose names also occur in cases.
async fn create_existing_objects(client: &Client) {
    let named = |name: &str| json!({"metadata": {"name": name}});
    create(client, "", "Node", "nodes", named("n1")).await;
    create(client, "", "Node", "nodes", named("n2")).await;
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"});
    create(client, "storage.k8s.io", "StorageClass", "storageclasses", class).await;
    let driver = json!({"metadata": {"name": "disk.example.com"}, "spec": {"storageCapacity": true}});
    create(client, "storage.k8s.io", "CSIDriver", "csidrivers", driver).await;
    let csi_node = json!({"metadata": {"name": "n1"}, "spec": {"drivers": [
        {"name": "disk.example.com", "nodeID": "n1", "topologyKeys": ["disk.example.com/node"]}]}});
    create(client, "storage.k8s.io", "CSINode", "csinodes", csi_node).await;
    // Capacity objects of a different driver, which the cases must ignore.
    let capacity = json!({
        "metadata": {"name": "theirs", "namespace": "default", "labels": {
            "csi.storage.k8s.io/drivername": "disk.example.com",
            "csi.storage.k8s.io/managed-by": "external-provisioner"}},
        "storageClassName": "fast", "capacity": "100Ti", "nodeTopology": {},
    });
    let kind = ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities");
    create(client, kind.0, kind.1, kind.2, capacity).await;
    let claim = json!({"metadata": {"name": "p-0", "namespace": "default"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}});
    create(
        client,
        "",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        claim,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_pass_beside_other_objects_and_leave_none_behind() {
    let server_under_test = ExternalServer::start();
    let client = server_under_test.client().await;
    create_existing_objects(&client).await;
    let before = existing_objects(&client).await;
    let cases = [
        "e2e",
        "scheduler/filter/limit",
        "publisher/value/maximum",
        "publisher/objects/third-parties",
        "story/volumes/sources",
        "fail/publisher/outage",
    ];
    let (out, _) = server_under_test.run(0, &cases);
    assert!(out.contains("API server v1.36"), "{out}");
    assert!(!out.contains("skipped"), "{out}");
    assert_eq!(existing_objects(&client).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_names_its_first_missing_link_and_is_cleaned_up() {
    let server_under_test = ExternalServer::start();
    let client = server_under_test.client().await;
    let before = existing_objects(&client).await;
    let case = "publisher/value/maximum";
    let (out, _) = server_under_test.run(1, &["e2e", case, "--defect", "publisher-ignores-maximum"]);
    assert!(
        out.contains("[ ] the object has 10Gi (maximum 4Gi): it has 10Gi  <-- first missing link"),
        "{out}"
    );
    assert!(out.contains("create by publisher: csistoragecapacities"), "{out}");
    // Messages contain the names in the case file, without the suffix that the run adds on the server.
    assert!(!out.contains("n1-x"), "{out}");
    assert!(out.contains("--apiserver="), "{out}");
    assert_eq!(existing_objects(&client).await, before);
}

#[test]
fn cases_that_a_proxy_cannot_support_are_skipped_with_a_reason() {
    let server_under_test = ExternalServer::start();
    let (out, _) = server_under_test.run(0, &["list", "gate/api"]);
    assert!(
        out.contains("skip: the case requires an API server of release 1.2"),
        "{out}"
    );
    let (out, _) = server_under_test.run(4, &["e2e", "gate/api/matrix", "-v"]);
    assert!(out.contains("skip  gate/api/matrix"), "{out}");
}

#[test]
fn an_interrupted_run_leaves_no_objects() {
    let server_under_test = ExternalServer::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(server_under_test.client());
    let before = runtime.block_on(existing_objects(&client));
    let mut run = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args([
            "e2e",
            "publisher/refresh",
            "story/volumes",
            "scheduler/requeue",
            "--apiserver",
        ])
        .arg(server_under_test.kubeconfig())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The run has started once its nodes exist.
    while runtime.block_on(existing_objects(&client)).len() < before.len() + 10 {
        assert!(
            run.try_wait().unwrap().is_none(),
            "the run ended before it was interrupted"
        );
    }
    let interrupt = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(runtime.block_on(existing_objects(&client)), before);
}

#[test]
fn invalid_kubeconfigs_and_unreachable_servers_have_different_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let run = |code: i32, text: Option<&str>| {
        let file = folder.path().join("kubeconfig");
        std::fs::remove_file(&file).ok();
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        run_expecting(
            code,
            &[
                "e2e",
                "scheduler/filter/limit",
                "--apiserver",
                file.to_str().unwrap(),
            ],
        )
        .1
    };
    let config = |server: &str, user: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: a, cluster: {{server: '{server}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        )
    };
    let printed = run(2, None);
    assert!(printed.contains("kubeconfig"), "{printed}");
    let printed = run(2, Some("clusters: 7\n"));
    assert!(printed.contains("kubeconfig"), "{printed}");
    let program = "exec: {apiVersion: client.authentication.k8s.io/v1, command: login}";
    let printed = run(2, Some(&config("http://127.0.0.1:1", program)));
    assert!(printed.contains("from a program"), "{printed}");
    // Port 1 is privileged, and no server listens there.
    let printed = run(3, Some(&config("http://127.0.0.1:1", "token: t")));
    assert!(printed.contains("cannot be reached"), "{printed}");
    let server_under_test = ExternalServer::start();
    let good = std::fs::read_to_string(server_under_test.kubeconfig()).unwrap();
    let printed = run(3, Some(&with_token(&good, "wrong")));
    assert!(printed.contains("rejects the credentials"), "{printed}");
}

/// The kubeconfig with the token replaced.
fn with_token(text: &str, token: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("token:") {
        Some((before, _)) => format!("{before}token: {token}"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_its_own_controllers_is_rejected() {
    let server_under_test = ExternalServer::start();
    let client = server_under_test.client().await;
    let lease = json!({
        "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
        "spec": {"holderIdentity": "control-plane_1", "leaseDurationSeconds": 3600,
            "renewTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()},
    });
    create(&client, "coordination.k8s.io", "Lease", "leases", lease).await;
    let (_, printed) = server_under_test.run(3, &["e2e", "scheduler/filter/limit"]);
    assert!(
        printed.contains("kube-controller-manager is active") && printed.contains("control-plane_1"),
        "{printed}"
    );
}

#[test]
fn reports_name_the_server() {
    let server_under_test = ExternalServer::start();
    let output = server_under_test.folder.path().join("report");
    let words = [
        "e2e",
        "scheduler/filter/limit/exactly",
        "--output",
        output.to_str().unwrap(),
    ];
    server_under_test.run(0, &words);
    let record = std::fs::read(output.join("report.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let printed = record["settings"]["apiServer"].as_str().unwrap();
    assert!(printed.starts_with("v1.36"), "{record}");
    let mut words = record["command"].as_array().unwrap().iter();
    assert!(
        words.any(|word| word.as_str().unwrap().starts_with("--apiserver=")),
        "{record}"
    );
    let page = std::fs::read_to_string(output.join("report.html")).unwrap();
    assert!(
        page.contains("API server v1.36"),
        "the page does not name the server"
    );
}

//! `up`: output, written files, authentication, and termination.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};

use crate::program::{Serving, run_expecting};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, ServiceAccount};
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::WatchStreamExt;
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;

fn up(args: &[&str], kubeconfig: &Path) -> Serving {
    let kubeconfig_flag = ["--kubeconfig", kubeconfig.to_str().unwrap()];
    Serving::start(&[&["up"], args, &kubeconfig_flag].concat())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

async fn client(kubeconfig: &Path, token: Option<&str>) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    if let Some(token) = token {
        config.auth_info.token = Some(token.to_owned().into());
    }
    Client::try_from(config).unwrap()
}

fn printed_kubeconfig(up: &Serving) -> PathBuf {
    let mut lines = up
        .messages
        .iter()
        .filter_map(|line| line.strip_prefix("kubeconfig"));
    PathBuf::from(lines.next().unwrap().trim())
}

#[test]
fn clusters_served_at_the_same_time_have_separate_temporary_kubeconfigs() {
    let (one, other) = (Serving::start(&["up"]), Serving::start(&["up"]));
    let (first, second) = (printed_kubeconfig(&one), printed_kubeconfig(&other));
    assert_ne!(first, second);
    let server = |path: &Path| {
        Kubeconfig::read_from(path).unwrap().clusters[0]
            .cluster
            .clone()
            .unwrap()
            .server
    };
    assert_ne!(server(&first), server(&second));
    assert_eq!(one.end("-TERM").code(), Some(0));
    assert!(!first.exists() && second.exists());
    assert_eq!(other.end("-TERM").code(), Some(0));
    assert!(!second.exists());
}

#[test]
fn the_api_server_is_served_until_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("up/kubeconfig");
    let up = up(&[], &path);
    assert!(up.messages[0].contains("https://127.0.0.1:"), "{:?}", up.messages);
    assert!(
        up.messages[1].contains(path.to_str().unwrap()),
        "{:?}",
        up.messages
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    block_on(async {
        let client = client(&path, None).await;
        let accounts: Api<ServiceAccount> = Api::all(client.clone());
        let found = accounts.list(&Default::default()).await.unwrap();
        let mut namespaces: Vec<String> = found
            .into_iter()
            .filter_map(|account| account.metadata.namespace)
            .collect();
        namespaces.sort();
        assert_eq!(
            namespaces,
            ["default", "kube-node-lease", "kube-public", "kube-system"]
        );
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("mine".to_owned());
        Api::all(client.clone())
            .create(&Default::default(), &namespace)
            .await
            .unwrap();
        let own: Api<ServiceAccount> = Api::namespaced(client, "mine");
        assert!(
            own.get("default").await.is_ok(),
            "every namespace has a default service account"
        );
    });
    assert_eq!(up.end("-TERM").code(), Some(0));
}

#[test]
fn tokens_from_a_file_authenticate_but_have_no_rights() {
    let folder = tempfile::tempdir().unwrap();
    let (path, tokens) = (folder.path().join("kubeconfig"), folder.path().join("tokens.csv"));
    std::fs::write(&tokens, "secret,bob,1\nroot,eve,2,\"system:masters\"\n").unwrap();
    let up = up(&["--token-file", tokens.to_str().unwrap()], &path);
    block_on(async {
        for (token, code) in [("secret", Some(403)), ("root", None), ("wrong", Some(401))] {
            let namespaces: Api<Namespace> = Api::all(client(&path, Some(token)).await);
            let refused = match namespaces.list(&Default::default()).await {
                Err(kube::Error::Api(status)) => Some(status.code),
                other => other.map(|_| None).unwrap(),
            };
            assert_eq!(refused, code, "{token}");
        }
    });
    assert_eq!(up.end("-INT").code(), Some(0));
}

#[test]
fn without_tls_every_client_is_administrator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let up = up(&["--plain-http"], &path);
    let url = up.messages[0].split_whitespace().nth(1).unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    block_on(async {
        let anonymous = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
        let namespaces: Api<Namespace> = Api::all(anonymous);
        assert!(namespaces.get("default").await.is_ok());
    });
    assert_eq!(up.end("-TERM").code(), Some(0));
}

#[test]
fn invalid_arguments_exit_with_2_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.csv");
    std::fs::write(&wrong, "token\n").unwrap();
    let wrong = wrong.to_str().unwrap();
    for (args, words) in [
        (&["--listen", "0.0.0.0:0"][..], "--allow-remote"),
        (
            &["--listen", "0.0.0.0:0", "--allow-remote", "--plain-http"],
            "--plain-http",
        ),
        (&["--token-file", "/nowhere/tokens"], "/nowhere/tokens"),
        (&["--token-file", wrong], "line 1"),
        (&["--listen", "here"], "--listen"),
    ] {
        let kubeconfig = folder.path().join("kubeconfig");
        let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .arg("up")
            .args(args)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .output()
            .unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{messages}");
        assert!(messages.contains(words), "{messages}");
        assert!(!kubeconfig.exists(), "no kubeconfig is written on an error");
    }
}

#[test]
fn an_address_in_use_exits_with_3() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["up", "--listen", &address])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A scenario of two nodes with storage.
const SCENARIO: &str = "
id: mine/two-nodes
title: two nodes
cluster: {nodes: [n1, n2], classes: [fast], backend: {n1: 10Gi, n2: 20Gi}}
steps:
  - id: never-taken
    do: [{node: {leave: n1}}]
    expect: [{capacities: {fast: {n2: 20Gi}}, why: it has left}]
";

#[test]
fn a_scenario_is_served_before_its_steps_with_its_programs_running() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("kubeconfig"), folder.path().join("two.yaml"));
    std::fs::write(&file, SCENARIO).unwrap();
    let up = up(&[file.to_str().unwrap(), "--refresh=50ms"], &path);
    let socket = up.messages[0].split_whitespace().nth(1).unwrap().to_owned();
    assert!(
        up.messages[0].starts_with("csi ") && Path::new(&socket).exists(),
        "{:?}",
        up.messages
    );
    let published = block_on(async {
        let capacities: Api<CSIStorageCapacity> = Api::all(client(&path, None).await);
        let mut seen = std::collections::BTreeSet::new();
        let mut watch = pin!(kube::runtime::watcher(capacities, Default::default()).applied_objects());
        while seen.len() < 2 {
            let object = watch.next().await.unwrap().unwrap();
            seen.insert(object.capacity.unwrap().0);
        }
        seen
    });
    assert_eq!(
        published,
        ["10Gi".to_owned(), "20Gi".to_owned()].into(),
        "by the publisher"
    );
    assert!(up.end("-TERM").success());
    assert!(!Path::new(&socket).exists(), "the socket is removed");
}

#[test]
fn a_file_with_only_a_cluster_is_served_but_is_no_case() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("kubeconfig"), folder.path().join("two.yaml"));
    let file = file.to_str().unwrap();
    for text in [
        "cluster: {nodes: [n1], classes: [fast], backend: {n1: 10Gi}}\n",
        r#"{"cluster": {"nodes": ["n1"], "classes": ["fast"], "backend": {"n1": "10Gi"}}}"#,
    ] {
        std::fs::write(file, text).unwrap();
        let up = up(&[file, "--refresh=50ms"], &path);
        assert!(
            up.messages
                .iter()
                .any(|line| line.starts_with("runs        publisher, scheduler, and ")),
            "{:?}",
            up.messages
        );
        assert!(up.end("-TERM").success());
        let (_, error) = run_expecting(2, &["repro", file]);
        assert!(error.contains("missing field `"), "{error}");
    }
}

#[test]
fn an_invalid_scenario_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.yaml");
    for (text, expected) in [
        (
            SCENARIO.replace("nodes:", "noods:"),
            "two.yaml:4:11: unknown field `noods`",
        ),
        (SCENARIO.replace("20Gi}}", "20Gib}}"), "two.yaml:4:"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .arg("up")
            .arg(&file)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// A running `up FILE`, with the lines of its standard output and standard error.
struct Up {
    /// Path of the kubeconfig that the process writes.
    path: PathBuf,
    file: PathBuf,
    up: Serving,
    messages: Lines<BufReader<ChildStdout>>,
    errors: Lines<BufReader<ChildStderr>>,
}

/// Starts `up` with the scenario of two nodes in a folder.
fn up_file(folder: &TempDir) -> Up {
    let (path, file) = (folder.path().join("kubeconfig"), folder.path().join("two.yaml"));
    std::fs::write(&file, SCENARIO).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
        .args(["up", file.to_str().unwrap(), "--refresh=50ms", "--kubeconfig"])
        .arg(&path)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let messages = BufReader::new(child.stdout.take().unwrap()).lines();
    let errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let up = Serving {
        child,
        messages: Vec::new(),
    };
    Up {
        path,
        file,
        up,
        messages,
        errors,
    }
}

/// Waits for a line with this prefix, and returns it.
fn line_of(lines: &mut impl Iterator<Item = std::io::Result<String>>, beginning: &str) -> String {
    lines
        .map(Result::unwrap)
        .find(|line| line.starts_with(beginning))
        .unwrap_or_else(|| panic!("the program ended without a line “{beginning}…”"))
}

#[test]
fn an_edit_of_the_file_is_applied_and_an_invalid_one_is_reported_and_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let Up {
        path,
        file,
        up,
        mut messages,
        mut errors,
    } = up_file(&folder);
    line_of(&mut messages, "ready");
    // The edit adds a third node, and storage on the second node.
    let edited = SCENARIO
        .replace("[n1, n2]", "[n1, n2, n3]")
        .replace("n2: 20Gi}}", "n2: 25Gi, n3: 30Gi}}");
    std::fs::write(&file, &edited).unwrap();
    line_of(&mut messages, "  create nodes n3");
    line_of(&mut messages, "applied     5 changes of");
    let published = block_on(async {
        let capacities: Api<CSIStorageCapacity> = Api::all(client(&path, None).await);
        let mut watch = pin!(kube::runtime::watcher(capacities, Default::default()).applied_objects());
        let mut seen = std::collections::BTreeSet::new();
        while !["25Gi", "30Gi"].iter().all(|size| seen.contains(*size)) {
            seen.insert(watch.next().await.unwrap().unwrap().capacity.unwrap().0);
        }
        seen
    });
    assert!(published.contains("30Gi"), "the publisher has seen the new node");
    std::fs::write(&file, edited.replace("nodes:", "noods:")).unwrap();
    let error = line_of(&mut errors, "error: ");
    assert!(error.contains("two.yaml:4:11: unknown field `noods`"), "{error}");
    line_of(&mut errors, "the cluster is unchanged");
    // An edit of settings that programs read only at their start is reported but not applied; all other changes in the edit are applied.
    let restart = edited
        .replace("cluster: {", "cluster: {mode: distributed, ")
        .replace("[n1, n2, n3]", "[n1, n2]");
    std::fs::write(&file, restart).unwrap();
    line_of(&mut errors, "mode cannot change while the cluster is up");
    line_of(&mut messages, "  delete nodes n3");
    assert_eq!(up.end("-TERM").code(), Some(0));
}

/// Creates these objects, each in the namespace that it specifies.
async fn create(client: &Client, objects: &[serde_json::Value]) {
    for object in objects {
        let (group, version) = match object["apiVersion"].as_str().unwrap().split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", object["apiVersion"].as_str().unwrap()),
        };
        let kind = kube::core::GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
        let resource = kube::core::ApiResource::from_gvk(&kind);
        let api: Api<kube::core::DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let object = serde_json::from_value(object.clone()).unwrap();
        api.create(&Default::default(), &object).await.unwrap();
    }
}

#[test]
fn claims_are_bound_in_every_namespace_and_objects_without_a_controller_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Up {
        path,
        up,
        mut messages,
        mut errors,
        ..
    } = up_file(&folder);
    let runs = line_of(&mut messages, "runs ");
    assert!(
        runs.contains("publisher, scheduler, and the controllers that create claims"),
        "{runs}"
    );
    let not = line_of(&mut messages, "not run");
    assert!(not.contains("Deployment") && not.contains("StatefulSet"), "{not}");
    line_of(&mut messages, "ready");
    let claim = json!({"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let bound = block_on(async {
        let client = client(&path, None).await;
        let containers = json!([{"name": "c", "image": "i"}]);
        let volumes = json!([
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
        ]);
        create(&client, &[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "payments"}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "payments"}, "spec": claim}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app", "namespace": "payments"},
                "spec": {"containers": containers, "volumes": volumes}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "payments"},
                "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}}}),
        ])
        .await;
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client, "payments");
        let mut watch = pin!(kube::runtime::watcher(claims, Default::default()).applied_objects());
        let mut bound = std::collections::BTreeSet::new();
        while bound.len() < 2 {
            let claim = watch.next().await.unwrap().unwrap();
            if claim.status.and_then(|status| status.phase).as_deref() == Some("Bound") {
                bound.insert(claim.metadata.name.unwrap());
            }
        }
        bound
    });
    assert_eq!(bound, ["app-scratch".to_owned(), "data".to_owned()].into());
    let note = line_of(&mut errors, "note: ");
    assert!(
        note.contains(
            "Deployment payments/web was created, but no Deployment controller runs in this cluster"
        ),
        "{note}"
    );
    assert_eq!(up.end("-TERM").code(), Some(0));
}

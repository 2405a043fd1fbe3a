//! `kubectl capacity`: the program installed as a kubectl plugin, with kubectl's flags and exit codes, against a server.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Serving, text};

/// A cluster with a pod in namespace `payments` that fits no node.
const CLUSTER: &str = "{kind: Node, metadata: {name: n1, labels: {node: n1}}, apiVersion: v1}
---
{kind: StorageClass, metadata: {name: fast}, provisioner: d, volumeBindingMode: WaitForFirstConsumer}
---
{kind: CSIDriver, metadata: {name: d}, spec: {storageCapacity: true}}
---
{kind: CSIStorageCapacity, metadata: {name: c, namespace: d}, storageClassName: fast, capacity: 5Gi, nodeTopology: {matchLabels: {node: n1}}}
---
{kind: CSIStorageCapacity, metadata: {name: nowhere, namespace: d}, storageClassName: fast, capacity: 5Gi}
---
{kind: PersistentVolumeClaim, metadata: {name: data, namespace: payments}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}
---
{kind: Pod, metadata: {name: ledger-0, namespace: payments}, spec: {containers: [], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}
";

struct Plugin {
    folder: tempfile::TempDir,
}

impl Plugin {
    fn installed() -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(
            env!("CARGO_BIN_EXE_csi-capacity"),
            folder.path().join("kubectl-capacity"),
        )
        .unwrap();
        std::fs::write(folder.path().join("dump.yaml"), CLUSTER).unwrap();
        Plugin { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run_expecting(&self, code: i32, args: &[&str]) -> (String, String) {
        let mut command = Command::new(self.path().join("kubectl-capacity"));
        let output = command
            .args(args)
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let messages = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}:\n{}{}",
            messages.0,
            messages.1
        );
        messages
    }
}

#[test]
fn why_and_objects_support_kubectls_output_formats() {
    let plugin = Plugin::installed();
    let (out, _) = plugin.run_expecting(
        0,
        &["why", "pod", "ledger-0", "-n", "payments", "--file", "dump.yaml"],
    );
    assert!(out.contains("did not have enough free storage"), "{out}");
    let (out, _) = plugin.run_expecting(
        0,
        &[
            "why",
            "pod",
            "pod/ledger-0",
            "-n",
            "payments",
            "--file",
            "dump.yaml",
            "-o",
            "json",
        ],
    );
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["nodes"][0]["fits"], false);
    let (out, _) = plugin.run_expecting(
        0,
        &[
            "why",
            "claim",
            "--class=fast",
            "--size=4Gi",
            "--file=dump.yaml",
            "-o",
            "yaml",
        ],
    );
    assert!(out.contains("fits: true"), "{out}");
    let (out, _) = plugin.run_expecting(0, &["objects", "--file", "dump.yaml", "-o", "wide"]);
    assert!(
        out.contains("csistoragecapacity d/nowhere: nodeTopology is unset"),
        "{out}"
    );
}

#[test]
fn capture_writes_to_standard_output() {
    let plugin = Plugin::installed();
    let (out, _) = plugin.run_expecting(
        0,
        &[
            "capture",
            "--pod",
            "ledger-0",
            "-n",
            "payments",
            "--file",
            "dump.yaml",
        ],
    );
    assert!(out.contains("id: captured/ledger-0"), "{out}");
}

#[test]
fn every_error_exits_with_1_as_with_kubectl() {
    let plugin = Plugin::installed();
    let (_, error) = plugin.run_expecting(1, &["why", "pod", "none", "--file", "dump.yaml"]);
    assert!(error.contains("no pod is named default/none"), "{error}");
    let (_, error) = plugin.run_expecting(1, &["whi"]);
    assert!(error.contains("kubectl capacity"), "{error}");
    plugin.run_expecting(
        1,
        &["why", "pod", "p", "--context", "none", "--kubeconfig", "no-file"],
    );
    let (help, _) = plugin.run_expecting(0, &["--help"]);
    assert!(
        help.contains("kubectl capacity capture --pod ledger-0 -n payments --scrub > bug.yaml"),
        "{help}"
    );
}

#[test]
fn cluster_and_namespace_come_from_the_context() {
    let plugin = Plugin::installed();
    let kubeconfig = plugin.path().join("kubeconfig");
    let serving = Serving::start(&["up", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let (out, _) = plugin.run_expecting(0, &["objects", "--kubeconfig", kubeconfig]);
    assert!(
        out.contains("nothing is wrong with the 0 capacity objects"),
        "{out}"
    );
    let (_, error) = plugin.run_expecting(1, &["objects", "--kubeconfig", kubeconfig, "--context", "other"]);
    assert!(error.contains("other"), "{error}");
    // The context of the kubeconfig sets the namespace.
    let context = text.replace("  context:\n", "  context:\n    namespace: payments\n");
    assert_ne!(context, text, "{text}");
    std::fs::write(kubeconfig, context).unwrap();
    let (_, error) = plugin.run_expecting(1, &["why", "pod", "p", "--kubeconfig", kubeconfig]);
    assert!(error.contains("no pod is named payments/p"), "{error}");
    assert!(serving.end("-INT").success());
}

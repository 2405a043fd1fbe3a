//! `capture`: the scenario made from a cluster or a dump runs with the same result, and contains no secrets.

use crate::program::{Serving, run_expecting};

/// A cluster with confidential names and secrets, and a pod that waits for 20Gi, which no node has.
const DUMP: &str = r#"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: acme-db-7, labels: {acme.corp/rack: r12, kubernetes.io/hostname: acme-db-7, team: payments}, annotations: {owner: bob}}}
- {apiVersion: v1, kind: Node, metadata: {name: acme-db-8, labels: {acme.corp/rack: r13, kubernetes.io/hostname: acme-db-8}}, spec: {taints: [{key: acme.corp/reserved, value: payments, effect: NoSchedule}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: acme-db-7}, spec: {drivers: [{name: csi.acme.corp, nodeID: i-0123, topologyKeys: [acme.corp/rack]}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: acme-db-8}, spec: {drivers: [{name: csi.acme.corp, nodeID: i-0456, topologyKeys: [acme.corp/rack]}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.acme.corp}, spec: {storageCapacity: true, attachRequired: false}}
- apiVersion: storage.k8s.io/v1
  kind: StorageClass
  metadata: {name: acme-gold}
  provisioner: csi.acme.corp
  volumeBindingMode: WaitForFirstConsumer
  parameters: {pool: payments-ssd, csi.storage.k8s.io/provisioner-secret-name: vault-key, csi.storage.k8s.io/provisioner-secret-namespace: vault}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: acme-other}, provisioner: other.acme.corp, volumeBindingMode: WaitForFirstConsumer}
- {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: csisc-a, namespace: acme-csi}, storageClassName: acme-gold, nodeTopology: {matchLabels: {acme.corp/rack: r12}}, capacity: 10Gi}
- {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: csisc-b, namespace: acme-csi}, storageClassName: acme-gold, nodeTopology: {matchLabels: {acme.corp/rack: r13}}, capacity: 100Gi, maximumVolumeSize: 50Gi}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ledger, namespace: payments, annotations: {acme.corp/cost-centre: "4711"}}, spec: {storageClassName: acme-gold, accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}, status: {phase: Pending}}
- apiVersion: v1
  kind: Pod
  metadata: {name: ledger-0, namespace: payments, labels: {app: ledger}}
  spec:
    containers:
    - {name: db, image: registry.acme.corp/ledger:v7, env: [{name: PASSWORD, value: hunter2}], resources: {requests: {cpu: 500m}}}
    volumes:
    - {name: data, persistentVolumeClaim: {claimName: ledger}}
    - {name: key, secret: {secretName: vault-key}}
  status:
    phase: Pending
    conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/2 nodes are available"}]
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn with_file(name: &str, text: &str) -> (Self, String) {
        let folder = Folder(tempfile::tempdir().unwrap());
        let path = folder.path(name);
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }
}

/// The result of `why`: the verdict, and each node without its name.
fn verdict(args: &[&str]) -> (String, Vec<(bool, serde_json::Value)>) {
    let (out, _) = run_expecting(0, args);
    let printed: serde_json::Value = serde_json::from_str(&out).unwrap();
    let nodes = printed["nodes"].as_array().unwrap().iter();
    let nodes = nodes.map(|node| (node["fits"].as_bool().unwrap(), node["reasons"].clone()));
    (printed["verdict"].as_str().unwrap().to_owned(), nodes.collect())
}

#[test]
fn a_captured_dump_runs_with_the_same_result() {
    let (folder, dump) = Folder::with_file("dump.yaml", DUMP);
    let before = verdict(&[
        "why", "pod", "ledger-0", "-n", "payments", "--json", "--file", &dump,
    ]);
    assert_eq!(before.1.len(), 2);
    for scrub in [None, Some("--scrub")] {
        let file = folder.path("captured.yaml");
        let mut args = vec![
            "capture",
            "--file",
            &dump,
            "--pod",
            "payments/ledger-0",
            "-o",
            &file,
            "--force",
        ];
        args.extend(scrub);
        let (_, error) = run_expecting(0, &args);
        assert!(
            error.contains(&format!("run it: cargo xtask repro {file}")),
            "{error}"
        );
        let (out, _) = run_expecting(0, &["repro", &file, "-v"]);
        assert!(out.contains("1 passed, 0 failed"), "{out}");
        let pod = if scrub.is_some() { "pod-1" } else { "ledger-0" };
        let after = verdict(&["why", "pod", pod, "--json", "--scenario", &file]);
        assert_eq!(after, before, "{scrub:?}");
    }
}

#[test]
fn scrubbed_captures_contain_no_confidential_text() {
    let (_folder, dump) = Folder::with_file("dump.yaml", DUMP);
    let (text, _) = run_expecting(0, &["capture", "--file", &dump]);
    for part in [
        "hunter2",
        "PASSWORD",
        "registry",
        "vault",
        "secret",
        "bob",
        "team",
        "i-0123",
        "4711",
        "acme-other",
    ] {
        assert!(!text.contains(part), "{part} in:\n{text}");
    }
    assert!(
        text.contains("acme-gold") && text.contains("ledger-0"),
        "names stay: {text}"
    );
    let (text, _) = run_expecting(0, &["capture", "--file", &dump, "--scrub"]);
    for part in ["acme", "payments", "ledger", "gold", "r12", "csisc"] {
        assert!(!text.contains(part), "{part} in:\n{text}");
    }
    let (again, _) = run_expecting(0, &["capture", "--file", &dump, "--scrub"]);
    assert_eq!(text, again, "the same names every time");
}

#[test]
fn with_a_publisher_capacity_objects_become_storage() {
    let (folder, dump) = Folder::with_file("dump.yaml", &DUMP.replace("kind: Pod\n", "kind: Nothing\n"));
    let file = folder.path("captured.yaml");
    run_expecting(0, &["capture", "--file", &dump, "--publisher", "-o", &file]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("r13: {capacity: \"107374182400\", maximum: \"53687091200\"}"),
        "{text}"
    );
    let (out, _) = run_expecting(0, &["repro", &file, "-v"]);
    assert!(out.contains("1 passed, 0 failed"), "{out}");
    // The captured scenario requires the publisher to publish the capacity of the cluster, so a defective publisher fails.
    let (out, _) = run_expecting(1, &["repro", &file, "--defect=publisher-ignores-maximum"]);
    assert!(out.contains("100Gi (maximum 50Gi)  100Gi"), "{out}");
}

#[test]
fn a_running_cluster_is_captured_and_served_again() {
    let (folder, dump) = Folder::with_file("dump.yaml", DUMP);
    let (file, config) = (folder.path("first.yaml"), folder.path("kubeconfig"));
    run_expecting(0, &["capture", "--file", &dump, "-o", &file]);
    let kubeconfig_flag = format!("--kubeconfig={config}");
    let text = {
        let _up = Serving::start(&["up", &file, &kubeconfig_flag]);
        let before = verdict(&["why", "pod", "ledger-0", "--json", &kubeconfig_flag]);
        let (text, _) = run_expecting(0, &["capture", &kubeconfig_flag, "--pod", "ledger-0"]);
        let second = folder.path("second.yaml");
        std::fs::write(&second, &text).unwrap();
        run_expecting(0, &["repro", &second]);
        assert_eq!(
            verdict(&["why", "pod", "ledger-0", "--json", "--scenario", &second]),
            before
        );
        text
    };
    let first = std::fs::read_to_string(&file).unwrap();
    let cluster = |text: &str| text[text.find("cluster:").unwrap()..text.find("steps:").unwrap()].to_owned();
    assert_eq!(
        cluster(&text),
        cluster(&first),
        "capturing twice gives the same text"
    );
}

#[test]
fn invalid_arguments_exit_with_2_and_a_remedy() {
    let two = DUMP.replace("name: acme-other}, provisioner", "name: zz}, provisioner");
    let two = two
        .replace("kind: Pod\n", "kind: Nothing\n")
        .replace("storageCapacity: true, ", "");
    let (folder, dump) = Folder::with_file("dump.yaml", DUMP);
    let path = |name: &str, text: &str| {
        let path = folder.path(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let two = path("two.yaml", &two);
    let bad = path("bad.yaml", "kind: Node\nmetadata: 7\n");
    let none = path("none.yaml", "{kind: Node, metadata: {name: n1}}\n");
    for (args, words) in [
        (
            vec!["--file", &dump, "--pod", "payments/x"],
            "no pod is named payments/x",
        ),
        (
            vec!["--file", &dump, "--pod", "a/b/c"],
            "write NAME or NAMESPACE/NAME",
        ),
        (
            vec!["--file", &dump, "--driver", "nobody"],
            "use another --driver",
        ),
        (
            vec!["--file", &two],
            "choose one with --driver, or a pod with --pod: csi.acme.corp, other.acme.corp",
        ),
        (vec!["--file", &bad], "bad.yaml: Node"),
        (vec!["--file", &none], "there is no StorageClass of a CSI driver"),
        (vec!["--file", "/nowhere.yaml"], "/nowhere.yaml"),
        (vec!["--kubeconfig", "/nowhere"], "/nowhere"),
        (vec!["--kubeconfig", "x", "--file", &dump], "cannot be used with"),
    ] {
        let args: Vec<&str> = std::iter::once("capture").chain(args).collect();
        let (_, error) = run_expecting(2, &args);
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn a_pending_pod_stays_pending_and_parameter_keys_are_scrubbed() {
    let dump = DUMP.replace(
        "{pool: payments-ssd,",
        "{pool: payments-ssd, acme.corp/tenant-acme-payments: \"7\",",
    );
    let dump = dump.replace("storage: 20Gi", "storage: 200Gi");
    let (folder, dump) = Folder::with_file("dump.yaml", &dump);
    let (text, _) = run_expecting(0, &["capture", "--file", &dump]);
    assert!(
        text.contains("placement: {ledger-0: none}\n        stays: 1s\n"),
        "{text}"
    );
    assert!(text.contains("acme.corp/tenant-acme-payments"), "{text}");
    let file = folder.path("captured.yaml");
    run_expecting(0, &["capture", "--file", &dump, "--scrub", "-o", &file]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("tenant") && !text.contains("pool"), "{text}");
    assert!(text.contains("example.com/key-"), "{text}");
    let (out, _) = run_expecting(0, &["repro", &file, "-v"]);
    assert!(out.contains("1 passed, 0 failed"), "{out}");
}

#[test]
fn an_incomplete_dump_causes_warnings() {
    let lines = |without: &[&str]| -> String {
        let kept = DUMP
            .lines()
            .filter(|line| !without.iter().any(|kind| line.contains(kind)));
        kept.map(|line| format!("{line}\n")).collect()
    };
    let (folder, whole) = Folder::with_file("dump.yaml", DUMP);
    let (_, error) = run_expecting(0, &["capture", "--file", &whole]);
    assert!(!error.contains("warning"), "{error}");
    let without_csi_nodes = folder.path("without-csinodes.yaml");
    std::fs::write(&without_csi_nodes, lines(&["CSINode"])).unwrap();
    let (_, error) = run_expecting(0, &["capture", "--file", &without_csi_nodes]);
    assert!(
        error.contains("warning: no CSINode objects: are csinodes missing in the dump?"),
        "{error}"
    );
    let one = folder.path("one-namespace.yaml");
    std::fs::write(&one, lines(&["CSIStorageCapacity", "PersistentVolumeClaim"])).unwrap();
    let (_, error) = run_expecting(0, &["capture", "--file", &one]);
    for words in [
        "no CSIStorageCapacity objects, although a CSIDriver has storageCapacity: true: was the dump made with -A?",
        "no PersistentVolumeClaim objects in namespace payments, although pods there use some",
        "kubectl get nodes,csinodes,csidrivers,storageclasses,csistoragecapacities,pvc,pv,pods,volumeattachments,namespaces,pdb,leases -A -o yaml",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let (out, error) = run_expecting(
        0,
        &[
            "why",
            "claim",
            "--class",
            "acme-gold",
            "--size",
            "1Gi",
            "--file",
            &one,
        ],
    );
    assert!(error.contains("was the dump made with -A?"), "{error}");
    assert!(
        !out.contains("storageCapacity: false"),
        "no advice from an incomplete dump: {out}"
    );
    let (_, error) = run_expecting(2, &["why", "pod", "x", "-n", "other", "--file", &one]);
    assert!(
        error.contains(
            "name one of payments/ledger-0; the dump has no object of namespace other: was it made with -A?"
        ),
        "{error}"
    );
    let cut = folder.path("cut.yaml");
    std::fs::write(
        &cut,
        "apiVersion: v1\nitems:\n- {kind: Node, metadata: {name: n1}}\n- {kind: No",
    )
    .unwrap();
    run_expecting(2, &["capture", "--file", &cut]);
    std::fs::write(
        &cut,
        "apiVersion: v1\nitems:\n- {kind: Node, metadata: {name: n1}}\n",
    )
    .unwrap();
    let (_, error) = run_expecting(2, &["capture", "--file", &cut]);
    assert!(
        error.contains("the list has 1 items and no `kind: List` after them, so the file is truncated"),
        "{error}"
    );
    std::fs::write(&cut, "{apiVersion: v1, metadata: {name: n1}}\n").unwrap();
    let (_, error) = run_expecting(2, &["capture", "--file", &cut]);
    assert!(
        error.contains("not a Kubernetes object: `kind` is missing"),
        "{error}"
    );
}

/// A node with free capacity, classes of both binding modes, and pods of each kind that the scheduler does not try to schedule.
const UNTRIED: &str = r#"
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {d.example.com/node: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "9"}}}
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: d.example.com, nodeID: n1, topologyKeys: [d.example.com/node]}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d.example.com}, spec: {storageCapacity: true}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: d.example.com, volumeBindingMode: Immediate}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {storageClassName: now, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
- {apiVersion: v1, kind: Pod, metadata: {name: immediate, namespace: default}, spec: {containers: [], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: gated, namespace: default}, spec: {schedulingGates: [{name: corp.example/quota}], containers: [], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: others, namespace: default}, spec: {schedulerName: corp-scheduler, containers: [], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}
"#;

#[test]
fn pods_that_the_scheduler_does_not_try_are_captured_unchanged() {
    let (folder, dump) = Folder::with_file("dump.yaml", UNTRIED);
    for (pod, printed, expected) in [
        (
            "immediate",
            "volumeBindingMode is Immediate, so d.example.com must create its volume",
            "placement: {immediate: any}",
        ),
        (
            "gated",
            "has scheduling gates: no scheduler attempts it",
            "fields: {spec: {nodeName: null}}",
        ),
        (
            "others",
            "has spec.schedulerName corp-scheduler",
            "fields: {spec: {nodeName: null}}",
        ),
    ] {
        let (out, _) = run_expecting(0, &["why", "pod", pod, "--file", &dump]);
        assert!(out.contains(printed), "{out}");
        let case = folder.path(&format!("{pod}.yaml"));
        run_expecting(0, &["capture", "--file", &dump, "--pod", pod, "--output", &case]);
        let text = std::fs::read_to_string(&case).unwrap();
        assert!(text.contains(expected) && !text.contains("corp"), "{text}");
        run_expecting(0, &["repro", "--simulate=1", &case]);
    }
}

#[test]
fn an_existing_file_is_not_overwritten_without_force() {
    let (folder, dump) = Folder::with_file("dump.yaml", UNTRIED);
    let case = folder.path("case.yaml");
    std::fs::write(&case, "mine").unwrap();
    let args = ["capture", "--file", &dump, "--pod", "gated", "--output", &case];
    let (_, error) = run_expecting(2, &args);
    assert!(error.contains("overwrite it with --force"), "{error}");
    assert_eq!(std::fs::read_to_string(&case).unwrap(), "mine");
    let forced: Vec<&str> = args.into_iter().chain(["--force"]).collect();
    run_expecting(0, &forced);
    assert!(
        std::fs::read_to_string(&case)
            .unwrap()
            .contains("id: captured/gated")
    );
}

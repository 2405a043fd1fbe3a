//! Explains why a new PVC fits on no node of a cluster whose objects are given as YAML: `cargo run -p capacity-diagnose --example explain`.

use std::io::Write;

use capacity_diagnose::explain::{ExplainOptions, claim};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::Options;

const CLUSTER: &str = r#"
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {host: n1}}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: disk.example.com}, spec: {storageCapacity: true}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: fast-n1, namespace: csi}
storageClassName: fast
nodeTopology: {matchLabels: {host: n1}}
capacity: 10Gi
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut inventory = Inventory::default();
    inventory.add_text(CLUSTER.as_bytes())?;
    let rules = Options::default().rules()?;
    let explanation = claim(
        &inventory.snapshot,
        &rules,
        "fast",
        "20Gi",
        &ExplainOptions::default(),
    )?;
    write!(std::io::stdout(), "{explanation}")?;
    Ok(())
}

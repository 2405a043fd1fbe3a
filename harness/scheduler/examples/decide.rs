//! Makes one scheduling decision without a cluster: `cargo run -p capacity-scheduler --example decide`.

use std::io::Write;
use std::sync::Arc;

use capacity_scheduler::cycle::{Decision, decide};
use capacity_scheduler::objects::{Node, Object, Pod};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = json!({"metadata": {"name": "n1", "labels": {"zone": "a"}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}});
    let pod = json!({
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"containers": [], "nodeSelector": {"zone": "a"}},
    });
    let mut snapshot = Snapshot::default();
    snapshot
        .nodes
        .put(Arc::new(Node::read(&serde_json::from_value(node)?)?));
    let pod = Pod::read(&serde_json::from_value(pod)?)?;
    let decision = match decide(&snapshot, &Rules::default(), &pod, &mut rand::rng()) {
        Decision::Place(feasible) => format!("bind to node {}", feasible.node.key.name),
        Decision::Unschedulable { message, .. } | Decision::Failed { message } => message,
    };
    writeln!(std::io::stdout(), "{decision}")?;
    Ok(())
}

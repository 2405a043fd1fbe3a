//! Runs one case from a string against a publisher that publishes nothing: `cargo run -p harness --example run`.

use std::io::Write;
use std::sync::Arc;

use harness::RunOptions;
use harness::plan::resolve;
use harness::scenario::{Role, parse_one};
use harness::system::{System, Systems};

const CASE: &str = "
id: publisher/example
title: an object for the only node
requirements: [PUB-01]
cluster: {nodes: [n1], classes: [fast], backend: {n1: 10Gi}}
steps:
  - id: start
    expect:
      - capacities: {fast: {n1: 10Gi}}
        why: the driver reports 10Gi for n1
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let idle = System {
        name: "idle".to_owned(),
        run: Arc::new(|_access, stop| {
            Box::pin(async move {
                stop.cancelled_owned().await;
                Ok(())
            })
        }),
        metrics_url: None,
        is_child: false,
    };
    let mut systems = Systems::default();
    systems.by_role.insert(Role::Publisher, idle);
    let plan = Arc::new(resolve(&parse_one("example", CASE)?)?);
    let outcome = harness::simulate(plan, &systems, RunOptions::default())?;
    let verdict = outcome
        .verdict
        .failure()
        .map_or("pass", |failure| &failure.summary);
    writeln!(std::io::stdout(), "{verdict}")?;
    Ok(())
}

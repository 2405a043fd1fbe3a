//! Determines the identity of a driver for its manifest: starts the driver as a case does, and calls GetPluginInfo and NodeGetInfo.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use suites::harness::RunOptions;
use suites::harness::journal::{HarnessCallFact, Observation};
use suites::harness::manifest::Manifest;
use suites::harness::plan::resolve;
use suites::harness::scenario;

use super::draft::{Draft, Names};
use crate::config_flags::BoxError;
use references::built_in;

/// Name of the node for which the driver is started.
const NODE: &str = "n1";

const IDENTITY_CASE: &str = "id: driver/init/identity
title: the identity of the driver
requirements: [CSI-30]
cluster: {mode: distributed, nodes: [n1], classes: [fast], backend: {n1: 100Gi}}
steps:
  - id: call
    do:
      - callDriver: {call: GetPluginInfo, as: info}
      - callDriver: {call: NodeGetInfo, as: node}
      - callDriver: {call: ControllerGetCapabilities, as: controller}
    expect:
      - responses: {info: {code: OK}, node: {code: OK}, controller: {code: OK}}
        why: a driver whose name and node are unknown cannot be tested
";

pub(super) struct DriverIdentity {
    /// Driver name and topology for the manifest; placeholders if the driver reported no name.
    pub(super) names: Names,
    /// Whether the driver has the GET_CAPACITY capability; `None` if unknown.
    pub(super) has_capacity: Option<bool>,
    /// The error, if the driver could not be called.
    pub(super) failure: Option<String>,
}

pub(super) fn placeholder_names() -> Names {
    Names {
        name: "driver.example.com".to_owned(),
        topology_keys: Vec::new(),
        topology: BTreeMap::new(),
    }
}

/// Starts the driver, and calls GetPluginInfo, NodeGetInfo and ControllerGetCapabilities.
pub(super) async fn identify(draft: &Draft, path: &Path) -> Result<DriverIdentity, BoxError> {
    let manifest = Manifest::parse(path, &draft.text(&draft.features)?)?;
    let plan = manifest.adapt(&resolve(&scenario::parse_one("init.yaml", IDENTITY_CASE)?)?)?;
    let mut systems = built_in(None);
    manifest.install(&mut systems);
    let outcome = suites::harness::run(Arc::new(plan), &systems, RunOptions::default()).await?;
    let facts = outcome.journal.since(0);
    let answer = |name: &str| {
        facts.iter().find_map(|fact| match &fact.what {
            Observation::Answer(answer) if answer.name == name => Some(answer),
            _ => None,
        })
    };
    let failure = outcome.verdict.failure();
    Ok(DriverIdentity {
        names: names(answer("info"), answer("node")).unwrap_or_else(placeholder_names),
        has_capacity: answer("controller")
            .and_then(|answer| answer.values.get("getCapacity")?.as_i64())
            .map(|it| it == 1),
        failure: failure.map(|failure| failure.summary.clone()),
    })
}

/// Driver name and topology, from the responses to GetPluginInfo (`info`) and NodeGetInfo (`node`).
fn names(info: Option<&HarnessCallFact>, node: Option<&HarnessCallFact>) -> Option<Names> {
    let text = |answer: Option<&HarnessCallFact>, name: &str| {
        let value = answer?.values.get(name)?.as_str()?;
        Some(value.to_owned()).filter(|text| !text.is_empty())
    };
    let segment = text(node, "segment").unwrap_or_default();
    let pairs = segment.split(',').filter_map(|pair| pair.split_once('='));
    let pairs: BTreeMap<String, String> = pairs
        .map(|(key, value)| (key.to_owned(), value.replace(NODE, "{node}")))
        .collect();
    let is_plain = pairs.values().all(|value| value == "{node}") && pairs.len() < 2;
    Some(Names {
        name: text(info, "name")?,
        topology_keys: pairs.keys().cloned().collect(),
        topology: if is_plain { BTreeMap::new() } else { pairs },
    })
}

//! An external driver in the place of the scripted one: its name and topology, and how they replace those of a case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outline::Outline;
use super::{ClusterSpec, Mode, Scenario, ScenarioError, read};
use crate::segment::NODE;

/// What a case must know of a driver under test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDriver {
    /// What GetPluginInfo answers; the provisioner of all classes.
    pub name: String,
    /// Keys of its topology.
    pub topology_keys: Vec<String>,
    /// What NodeGetInfo answers for them, with `{node}` for the name of the node; without an entry, that name.
    #[serde(default)]
    pub topology: BTreeMap<String, String>,
    /// Parameters that every class needs with it.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// How it is deployed, whatever a case says of that; none: as the case says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether it can be told what storage there is, so that it plays its part where a case says that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_backend: bool,
    /// Whether it tells a maximum_volume_size where a case has none in mind: then that is all that there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_maximum: bool,
}

impl ExternalDriver {
    /// What is wrong with its topology, if anything.
    pub(crate) fn wrong_topology(&self) -> Option<String> {
        let keys = &self.topology_keys;
        if let Some(stranger) = self.topology.keys().find(|key| !keys.contains(key)) {
            return Some(format!(
                "`topology` has `{stranger}`, which is none of `topologyKeys`"
            ));
        }
        if keys.len() > 1 && self.topology.is_empty() {
            return Some(format!(
                "with several `topologyKeys` say what NodeGetInfo answers for them: `topology: {{{}: …}}`, with {NODE} for the node",
                keys[0]
            ));
        }
        let tells_the_node = |key: &String| self.topology.get(key).is_none_or(|value| value.contains(NODE));
        if !keys.is_empty() && !keys.iter().any(tells_the_node) {
            return Some(format!(
                "no key of `topology` distinguishes the nodes; use {NODE} in one"
            ));
        }
        None
    }

    /// Whether it can stand in for the built-in driver in a case that is not about drivers; the error says what is in the way.
    pub(crate) fn stands_in(&self, cluster: &ClusterSpec, text: &str) -> Result<(), String> {
        let built_in = &cluster.driver.name;
        if self.mode.is_some_and(|mode| mode != cluster.mode) {
            let way = match cluster.mode {
                Mode::Central => "once for all nodes",
                Mode::Distributed => "on each node",
            };
            return Err(format!("its driver and publisher run {way}"));
        }
        if cluster.driver.topology_keys.is_some() {
            return Err("it chooses the driver's `topologyKeys`".to_owned());
        }
        if text.contains(built_in.as_str()) {
            return Err(format!("it speaks of `{built_in}` by name"));
        }
        Ok(())
    }

    /// Puts its names in the place of those that a case has chosen.
    pub(crate) fn rename(&self, cluster: &mut ClusterSpec) {
        cluster.driver.name.clone_from(&self.name);
        cluster.driver.topology_keys = Some(self.topology_keys.clone());
        if !self.takes_backend {
            // What the storage is, only the driver knows.
            cluster.backend.clear();
        }
        cluster.mode = self.mode.unwrap_or(cluster.mode);
    }
}

impl Scenario {
    /// The same case with an external driver. Its text says so as well, and its lines stay where they are.
    pub fn with_driver(&self, driver: &ExternalDriver) -> Result<Scenario, ScenarioError> {
        let outline: Outline = read(&self.source, &self.text)?;
        // Texts, lists and maps of texts can always be written as JSON, which is YAML.
        let value = serde_json::to_string(driver).unwrap_or_default();
        let mut scenario = self.clone();
        scenario.file.external_driver = Some(driver.clone());
        scenario.text = outline.with(&self.text, "externalDriver", &value);
        Ok(scenario)
    }
}

//! A driver of somebody else's in the place of the scripted one: what cases have to call it, and how its names replace theirs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ClusterSpec, Scenario};
use crate::segment::NODE;

/// What a case must know of a driver that it did not choose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDriver {
    /// What GetPluginInfo answers; the provisioner of all classes.
    pub name: String,
    /// Keys of its topology.
    pub topology_keys: Vec<String>,
    /// What NodeGetInfo answers for them, with `{node}` for the name of the node; where nothing is said, that name.
    #[serde(default)]
    pub topology: BTreeMap<String, String>,
    /// Parameters that every class needs with it.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
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
                "no key of `topology` tells one node from another; use {NODE} in one"
            ));
        }
        None
    }

    /// Puts its names in the place of those that a case has chosen.
    pub(crate) fn rename(&self, cluster: &mut ClusterSpec) {
        cluster.driver.name.clone_from(&self.name);
        cluster.driver.topology_keys = Some(self.topology_keys.clone());
        // What the storage is, only the driver knows.
        cluster.backend.clear();
        for class in &mut cluster.classes {
            class.0.parameters.extend(self.parameters.clone());
        }
    }
}

impl Scenario {
    /// The same case with a driver of somebody else's. Its text says so at the end, so that places stay the same.
    pub fn with_driver(&self, driver: &ExternalDriver) -> Scenario {
        let mut scenario = self.clone();
        scenario.file.external_driver = Some(driver.clone());
        // JSON is YAML; plain texts can always be written so.
        let line = serde_json::to_string(driver).unwrap_or_default();
        scenario.text = format!("{}\nexternalDriver: {line}\n", self.text.trim_end());
        scenario
    }
}

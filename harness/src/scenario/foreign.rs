//! A driver of somebody else's in the place of the scripted one: what cases have to call it, and how its names replace theirs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ClusterSpec, Scenario};

/// What a case must know of a driver that it did not choose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForeignDriver {
    /// What GetPluginInfo answers; the provisioner of all classes.
    pub name: String,
    /// Keys of its topology; the value of the only one is the name of the node.
    pub topology_keys: Vec<String>,
    /// Parameters that every class needs with it.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

impl ForeignDriver {
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
    pub fn with_driver(&self, driver: &ForeignDriver) -> Scenario {
        let mut scenario = self.clone();
        scenario.file.foreign_driver = Some(driver.clone());
        // JSON is YAML; plain texts can always be written so.
        let line = serde_json::to_string(driver).unwrap_or_default();
        scenario.text = format!("{}\nforeignDriver: {line}\n", self.text.trim_end());
        scenario
    }
}

//! An external driver under test, whose name and topology replace the built-in driver's in a case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outline::Outline;
use super::{ClusterSpec, Mode, Scenario, ScenarioError, parse_yaml};
use crate::segment::NODE;

/// Properties of an external driver.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDriver {
    /// Name of the driver, which GetPluginInfo returns. It becomes the provisioner of all classes.
    pub name: String,
    /// Topology keys of the driver.
    pub topology_keys: Vec<String>,
    /// Topology values that NodeGetInfo returns, by key. `{node}` stands for the name of the node and is the default.
    #[serde(default)]
    pub topology: BTreeMap<String, String>,
    /// Parameters that every StorageClass must have for this driver.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Deployment mode of the publisher. Unset: the mode of the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether the storage of the driver can be set from `backend` of a case.
    #[serde(default, rename = "takesBackend", skip_serializing_if = "std::ops::Not::not")]
    pub accepts_backend: bool,
    /// Whether the driver returns a maximum_volume_size, equal to the capacity, even if the case sets no maximum.
    #[serde(default, rename = "tellsMaximum", skip_serializing_if = "std::ops::Not::not")]
    pub reports_maximum: bool,
}

impl ExternalDriver {
    /// Checks the topology keys and values. Returns an error message, or None.
    pub(crate) fn topology_error(&self) -> Option<String> {
        let keys = &self.topology_keys;
        if let Some(unknown) = self.topology.keys().find(|key| !keys.contains(key)) {
            return Some(format!(
                "`topology` has `{unknown}`, which `topologyKeys` does not contain"
            ));
        }
        if keys.len() > 1 && self.topology.is_empty() {
            return Some(format!(
                "with several `topologyKeys`, add the values that NodeGetInfo returns for them: `topology: {{{}: …}}`, with {NODE} for the node",
                keys[0]
            ));
        }
        let contains_node = |key: &String| self.topology.get(key).is_none_or(|value| value.contains(NODE));
        if !keys.is_empty() && !keys.iter().any(contains_node) {
            return Some(format!(
                "no key of `topology` distinguishes the nodes; use {NODE} in one"
            ));
        }
        None
    }

    /// Checks that the driver can replace the built-in driver in a case that does not test drivers. The error names the part of the case
    /// that prevents this.
    pub(crate) fn check_replacement(&self, cluster: &ClusterSpec, text: &str) -> Result<(), String> {
        let built_in = &cluster.driver.name;
        if self.mode.is_some_and(|mode| mode != cluster.mode) {
            let way = match cluster.mode {
                Mode::Central => "once for all nodes",
                Mode::Distributed => "on each node",
            };
            return Err(format!("the case runs driver and publisher {way}"));
        }
        if cluster.driver.topology_keys.is_some() {
            return Err("the case sets the driver's `topologyKeys`".to_owned());
        }
        if text.contains(built_in.as_str()) {
            return Err(format!("the case contains the driver name `{built_in}`"));
        }
        Ok(())
    }

    /// Replaces driver name, topology keys and deployment mode in a case. Removes the case's storage unless the driver accepts it.
    pub(crate) fn replace_built_in_driver(&self, cluster: &mut ClusterSpec) {
        cluster.driver.name.clone_from(&self.name);
        cluster.driver.topology_keys = Some(self.topology_keys.clone());
        if !self.accepts_backend {
            // The driver has its own storage, so the case's storage does not apply.
            cluster.backend.clear();
        }
        cluster.mode = self.mode.unwrap_or(cluster.mode);
    }
}

impl Scenario {
    /// A copy of the case that uses an external driver. The case's text gets the key `externalDriver`; other lines keep their numbers.
    pub fn with_driver(&self, driver: &ExternalDriver) -> Result<Scenario, ScenarioError> {
        let outline: Outline = parse_yaml(&self.source, &self.text)?;
        // Serialization cannot fail: the value contains only strings, lists and maps. JSON is valid YAML.
        let value = serde_json::to_string(driver).unwrap_or_default();
        let mut scenario = self.clone();
        scenario.file.external_driver = Some(driver.clone());
        scenario.text = outline.add_key(&self.text, "externalDriver", &value);
        Ok(scenario)
    }
}

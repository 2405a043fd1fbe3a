//! StorageClasses.

use std::collections::BTreeMap;

use capacity_types::{Labels, SIDECAR_PREFIX};
use serde::Deserialize;

use super::metadata::Metadata;

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// The fields of a StorageClass that rules use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// `provisioner`.
    pub provisioner: String,
    /// `parameters`.
    pub parameters: BTreeMap<String, String>,
    /// `volumeBindingMode`.
    pub binding: VolumeBindingMode,
    /// `allowedTopologies`, of which one term must match. A term contains keys with their allowed values; all keys must match. Empty: no
    /// restriction.
    pub allowed_topologies: Vec<Vec<(String, Vec<String>)>>,
}

/// `volumeBindingMode`: when a PVC is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum VolumeBindingMode {
    /// The PVC is bound immediately after its creation.
    #[default]
    Immediate,
    /// The PVC is bound after a node was selected for a pod that uses the PVC.
    WaitForFirstConsumer,
}

impl StorageClass {
    /// The parameters of the StorageClass that the driver receives.
    pub fn driver_parameters(&self) -> BTreeMap<String, String> {
        without_sidecars(self.parameters.clone())
    }

    /// Whether the StorageClass has a provisioner that creates volumes.
    pub fn can_provision(&self) -> bool {
        !self.provisioner.is_empty() && self.provisioner != NO_PROVISIONER
    }

    /// Whether `allowedTopologies` allows a node with these labels.
    pub fn allows(&self, labels: &Labels) -> bool {
        self.allowed_topologies.is_empty()
            || self
                .allowed_topologies
                .iter()
                .any(|term| term_matches(term, labels))
    }

    /// Whether a term of `allowedTopologies` has exactly these labels as keys and allows their values.
    pub fn has_term_with_keys(&self, labels: &Labels) -> bool {
        let mut terms = self.allowed_topologies.iter();
        terms.any(|term| term.len() == labels.len() && term_matches(term, labels))
    }
}

/// Whether labels match a term of `allowedTopologies`. A term without expressions matches no node.
fn term_matches(term: &[(String, Vec<String>)], labels: &Labels) -> bool {
    let mut conditions = term.iter();
    let is_met =
        |(key, values): &(String, Vec<String>)| labels.get(key).is_some_and(|own| values.contains(own));
    !term.is_empty() && conditions.all(is_met)
}

/// The fields of a StorageClass that rules use, as JSON in the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClassJson {
    metadata: Metadata,
    provisioner: String,
    parameters: Option<BTreeMap<String, String>>,
    volume_binding_mode: Option<VolumeBindingMode>,
    allowed_topologies: Option<Vec<Term>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    match_label_expressions: Option<Vec<Expression>>,
}

#[derive(Deserialize)]
struct Expression {
    key: String,
    values: Vec<String>,
}

impl From<ClassJson> for (String, StorageClass) {
    fn from(json: ClassJson) -> Self {
        let condition = |it: Expression| (it.key, it.values);
        let term = |it: Term| {
            let conditions = it.match_label_expressions.unwrap_or_default();
            conditions.into_iter().map(condition).collect()
        };
        let terms = json.allowed_topologies.unwrap_or_default();
        let class = StorageClass {
            provisioner: json.provisioner,
            parameters: json.parameters.unwrap_or_default(),
            binding: json.volume_binding_mode.unwrap_or_default(),
            allowed_topologies: terms.into_iter().map(term).collect(),
        };
        (json.metadata.name, class)
    }
}

/// Removes the parameters for sidecars (`csi.storage.k8s.io/`).
pub(crate) fn without_sidecars(mut parameters: BTreeMap<String, String>) -> BTreeMap<String, String> {
    parameters.retain(|key, _| !key.starts_with(SIDECAR_PREFIX));
    parameters
}

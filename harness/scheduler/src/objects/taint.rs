//! Taints of nodes, and the tolerations of pods that let them pass.

use k8s_openapi::api::core::v1::{Taint as ApiTaint, Toleration as ApiToleration};

/// Effects that keep a new pod away. `PreferNoSchedule` only orders nodes, and is not looked at.
const REPELLING: [&str; 2] = ["NoSchedule", "NoExecute"];

/// A taint that keeps pods away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value, empty for none.
    pub value: String,
    /// `NoSchedule` or `NoExecute`.
    pub effect: String,
}

/// What a pod tolerates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's key; empty for every key.
    key: String,
    /// The taint's value; none for every value.
    value: Option<String>,
    /// The taint's effect; empty for every effect.
    effect: String,
}

impl Taint {
    /// A taint without a value that forbids scheduling.
    pub fn no_schedule(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: String::new(),
            effect: REPELLING[0].to_owned(),
        }
    }

    /// Reads a taint, if it keeps pods away.
    pub fn read(source: &ApiTaint) -> Option<Self> {
        REPELLING.contains(&source.effect.as_str()).then(|| Self {
            key: source.key.clone(),
            value: source.value.clone().unwrap_or_default(),
            effect: source.effect.clone(),
        })
    }

    /// Whether one of these lets the pod pass.
    pub fn is_tolerated(&self, tolerations: &[Toleration]) -> bool {
        tolerations.iter().any(|toleration| toleration.covers(self))
    }
}

impl Toleration {
    /// Reads a toleration. One with an operator that is unknown here tolerates nothing.
    pub fn read(source: &ApiToleration) -> Option<Self> {
        let value = source.value.clone().unwrap_or_default();
        Some(Self {
            key: source.key.clone().unwrap_or_default(),
            value: match source.operator.as_deref() {
                Some("Exists") => None,
                None | Some("" | "Equal") => Some(value),
                Some(_) => return None,
            },
            effect: source.effect.clone().unwrap_or_default(),
        })
    }

    fn covers(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
    }
}

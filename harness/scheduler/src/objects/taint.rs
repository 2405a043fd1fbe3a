//! Node taints and pod tolerations.

use k8s_openapi::api::core::v1::{Taint as ApiTaint, Toleration as ApiToleration};

/// Taint effects that exclude new pods. `PreferNoSchedule` only affects scores and is ignored.
const EXCLUDING_EFFECTS: [&str; 2] = ["NoSchedule", "NoExecute"];

/// A taint with effect NoSchedule or NoExecute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Key of the taint.
    pub key: String,
    /// Value of the taint. Empty if unset.
    pub value: String,
    /// Effect of the taint: `NoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// Key of the tolerated taints. Empty: every key.
    key: String,
    /// Value of the tolerated taints. `None`: every value.
    value: Option<String>,
    /// Effect of the tolerated taints. Empty: every effect.
    effect: String,
}

impl Taint {
    /// Creates a NoSchedule taint without a value.
    pub fn no_schedule(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: String::new(),
            effect: EXCLUDING_EFFECTS[0].to_owned(),
        }
    }

    /// Parses a taint. `None` if its effect is not NoSchedule or NoExecute.
    pub fn read(source: &ApiTaint) -> Option<Self> {
        EXCLUDING_EFFECTS.contains(&source.effect.as_str()).then(|| Self {
            key: source.key.clone(),
            value: source.value.clone().unwrap_or_default(),
            effect: source.effect.clone(),
        })
    }

    /// Whether one of the tolerations matches the taint.
    pub fn is_tolerated(&self, tolerations: &[Toleration]) -> bool {
        tolerations.iter().any(|toleration| toleration.covers(self))
    }
}

impl Toleration {
    /// Parses a toleration. A toleration with an unknown operator tolerates nothing.
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

//! The settings of the roles: program options that a case can choose. The entry of a setting in `table` defines its key in a case and in a
//! manifest, the values that a manifest maps to arguments, and the feature that a program claims if it supports the setting.
//!
//! Knows values; does not know programs.

mod table;

use std::time::Duration;

use crate::scenario::{Mode, PublisherSpec, Role, SchedulerSpec};

pub use table::SETTINGS;

/// The settings of a case, for all roles.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Deployment mode of the publisher.
    pub mode: Mode,
    /// Poll interval of the publisher.
    pub refresh: Duration,
    /// Settings of the publisher.
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    pub scheduler: SchedulerSpec,
    /// Extenders that the scheduler must call: the value of `KubeSchedulerConfiguration.extenders` as JSON.
    pub extenders: Option<String>,
    /// Name of the driver. Needed by the cleaner, which has no socket to call GetPluginInfo.
    pub driver: String,
    /// How long the driver must be absent from a node before the cleaner deletes the CSIStorageCapacity objects of that node.
    pub orphan_after: Duration,
}

/// A setting of the programs of a role.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Role whose programs have the setting.
    pub role: Role,
    /// Key of the setting below `settings` of the role in a manifest.
    pub name: &'static str,
    /// Key of the setting below `cluster` in a case.
    pub case_key: &'static str,
    /// Possible values of the setting, spelled as in manifests.
    pub values: &'static str,
    pub(crate) claim: FeatureClaim,
    value: fn(&Settings) -> Value,
}

/// Which feature a program claims if the program supports a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FeatureClaim {
    /// No feature: every program of the role must support the setting.
    Nothing,
    /// A feature that also covers further settings or behaviour.
    Other(&'static str),
    /// A feature that covers only this setting.
    Feature {
        name: &'static str,
        /// What a program with the feature can do, in one sentence.
        text: &'static str,
        is_needed: fn(&Settings) -> bool,
    },
}

/// The value of a setting in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// The value of the setting, spelled as in manifests; `none` for an unset value whose default has no name.
    pub(crate) text: String,
    /// Whether the case sets the value, so that the arguments under the key `any` of a manifest apply.
    pub(crate) is_set: bool,
    /// Whether the value is the default of programs, so that a manifest need not map the value to arguments.
    pub(crate) is_usual: bool,
}

impl Setting {
    pub(crate) fn value(&self, settings: &Settings) -> Value {
        (self.value)(settings)
    }

    /// The feature that a program claims if it supports the setting; `None` if every program of the role must support the setting.
    pub fn feature(&self) -> Option<&'static str> {
        match self.claim {
            FeatureClaim::Nothing => None,
            FeatureClaim::Other(name) | FeatureClaim::Feature { name, .. } => Some(name),
        }
    }
}

/// All settings that programs of a role have.
pub fn of_role(role: Role) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| setting.role == role)
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mode: Mode::Central,
            refresh: Duration::from_millis(100),
            publisher: PublisherSpec::default(),
            scheduler: SchedulerSpec::default(),
            extenders: None,
            driver: String::new(),
            orphan_after: Duration::from_millis(200),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::scenario::parse;

    #[test]
    fn setting_names_are_unique_within_a_role() {
        for role in Role::ALL {
            let names: BTreeSet<&str> = of_role(role).map(|setting| setting.name).collect();
            assert_eq!(names.len(), of_role(role).count(), "{}", role.as_str());
        }
    }

    #[test]
    fn every_case_key_of_a_setting_exists() {
        for setting in SETTINGS {
            let mut value = serde_json::json!([]);
            for key in setting.case_key.split('.').rev() {
                value = serde_json::json!({key: value});
            }
            let case = serde_json::json!({"id": "a/b/c", "title": "t", "cluster": value, "steps": []});
            // Some YAML keys accept no list, so an error about the type is allowed; an error about an unknown key is not allowed.
            let error = parse("case.yaml", &case.to_string())
                .err()
                .map(|error| error.message);
            let is_unknown = error.as_ref().is_some_and(|text| text.contains("unknown field"));
            assert!(!is_unknown, "{}: {error:?}", setting.case_key);
        }
        let case =
            r#"{"id": "a/b/c", "title": "t", "cluster": {"publisher": {"nonsense": []}}, "steps": []}"#;
        let error = parse("case.yaml", case).unwrap_err().message;
        assert!(error.contains("unknown field"), "{error}");
    }

    #[test]
    fn default_settings_have_the_default_values() {
        let usual = Settings::default();
        for role in [Role::Publisher, Role::Scheduler] {
            for setting in of_role(role) {
                assert!(setting.value(&usual).is_usual, "{}", setting.name);
            }
        }
    }
}

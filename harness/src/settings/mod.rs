//! The settings of the roles: options of a program that a case can choose. The row of a setting in `table` determines its key in a case and
//! in a manifest, the values that a manifest maps to arguments, and the feature that a program claims with it.
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
    /// Extenders that the scheduler must call: a JSON list for `KubeSchedulerConfiguration.extenders`.
    pub extenders: Option<String>,
    /// Name of the driver; the cleaner has no socket from which to read it.
    pub driver: String,
    /// Time for which the driver must be absent before the cleaner acts.
    pub orphan_after: Duration,
}

/// A setting of a role.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Role that the setting belongs to.
    pub role: Role,
    /// Key below `settings` of the role in a manifest.
    pub name: &'static str,
    /// Key below `cluster` in a case.
    pub case_key: &'static str,
    /// Possible values, as manifests write them.
    pub values: &'static str,
    /// Feature that a program with this setting claims.
    pub(crate) claim: Claim,
    value: fn(&Settings) -> Value,
}

/// Feature that a program with a setting claims.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Claim {
    /// None: every program of the role needs the setting.
    Nothing,
    /// A feature that covers more than the setting.
    Other(&'static str),
    /// A feature for this setting.
    Feature {
        /// Name of the feature.
        name: &'static str,
        /// Description of the feature, in one sentence.
        text: &'static str,
        /// Whether a case with these settings needs it.
        is_needed: fn(&Settings) -> bool,
    },
}

/// Value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// The value as manifests write it; `none` if the case does not set it and there is no named default.
    pub(crate) text: String,
    /// Whether the case sets it, so that `any` of a manifest applies.
    pub(crate) is_set: bool,
    /// Whether it is the default of programs, so that a manifest need not map it.
    pub(crate) is_usual: bool,
}

impl Setting {
    /// The value of this setting.
    pub(crate) fn value(&self, settings: &Settings) -> Value {
        (self.value)(settings)
    }

    /// The feature that a program claims with it; `None`: every program of the role needs it.
    pub fn feature(&self) -> Option<&'static str> {
        match self.claim {
            Claim::Nothing => None,
            Claim::Other(name) | Claim::Feature { name, .. } => Some(name),
        }
    }
}

/// The settings of a role.
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
        for setting in &SETTINGS {
            let mut value = serde_json::json!([]);
            for key in setting.case_key.split('.').rev() {
                value = serde_json::json!({key: value});
            }
            let case = serde_json::json!({"id": "a/b/c", "title": "t", "cluster": value, "steps": []});
            // Few keys accept a list, but none of them is unknown.
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

//! The settings of the roles: what a case may choose about a program. From the row of a setting in `table` follow the key in a case and in a
//! manifest, what a manifest has to map to arguments, and the feature that a program claims with it.
//!
//! Knows values, and no program.

mod table;

use std::time::Duration;

use crate::scenario::{Mode, PublisherSpec, Role, SchedulerSpec};

pub use table::SETTINGS;

/// The settings of a case, for all roles.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How the publisher is deployed.
    pub mode: Mode,
    /// The publisher's poll interval.
    pub refresh: Duration,
    /// How the publisher is set.
    pub publisher: PublisherSpec,
    /// How the scheduler is set.
    pub scheduler: SchedulerSpec,
    /// The extenders that the scheduler has to call: a JSON list as `KubeSchedulerConfiguration.extenders` has it.
    pub extenders: Option<String>,
    /// Name of the driver; the cleaner has no socket from which to read it.
    pub driver: String,
    /// How long the driver must be absent before the cleaner acts.
    pub orphan_after: Duration,
}

/// A setting of a role.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The role.
    pub role: Role,
    /// Its key below `settings` of the role in a manifest.
    pub name: &'static str,
    /// Its key below `cluster` in a case.
    pub case_key: &'static str,
    /// Its values, as manifests write them.
    pub values: &'static str,
    /// What a program with it claims.
    pub(crate) claim: Claim,
    value: fn(&Settings) -> Value,
}

/// What a program with a setting claims.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Claim {
    /// Nothing: every program of the role needs it.
    Nothing,
    /// A feature that is about more than the setting.
    Other(&'static str),
    /// This feature.
    Feature {
        /// Its name.
        name: &'static str,
        /// What it means to have it, in one sentence.
        text: &'static str,
        /// Whether a case with these settings needs it.
        is_needed: fn(&Settings) -> bool,
    },
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// As manifests write it; `none`: the case does not set it, and there is no other word for that.
    pub(crate) text: String,
    /// Whether the case sets it, so that `any` of a manifest is meant.
    pub(crate) is_set: bool,
    /// Whether a program has that value by default, so that a manifest need not map it.
    pub(crate) is_usual: bool,
}

impl Setting {
    /// Its value.
    pub(crate) fn value(&self, settings: &Settings) -> Value {
        (self.value)(settings)
    }

    /// The feature that a program claims with it; none: every program of the role needs it.
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
    fn names_are_told_apart_within_a_role() {
        for role in Role::ALL {
            let names: BTreeSet<&str> = of_role(role).map(|setting| setting.name).collect();
            assert_eq!(names.len(), of_role(role).count(), "{}", role.as_str());
        }
    }

    #[test]
    fn each_key_of_a_case_is_one_that_cases_have() {
        for setting in &SETTINGS {
            let mut value = serde_json::json!([]);
            for key in setting.case_key.split('.').rev() {
                value = serde_json::json!({key: value});
            }
            let case = serde_json::json!({"id": "a/b/c", "title": "t", "cluster": value, "steps": []});
            // A list is the value of few of them, but no key is unknown.
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
    fn a_program_has_the_usual_values_by_itself() {
        let usual = Settings::default();
        for role in [Role::Publisher, Role::Scheduler] {
            for setting in of_role(role) {
                assert!(setting.value(&usual).is_usual, "{}", setting.name);
            }
        }
    }
}

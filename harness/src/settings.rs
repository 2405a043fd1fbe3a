//! What a case may ask of a program, one row for each setting: from it follow the key in a case and in a manifest, what a manifest has to
//! map to arguments, and the feature that a program claims with it.
//!
//! Knows values, and no program.

use std::time::Duration;

use crate::scenario::{Deviation, Mode, PublisherSpec, Role, SchedulerSpec};

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
    /// The extenders that the scheduler is to ask: a JSON list as `KubeSchedulerConfiguration.extenders` has it.
    pub extenders: Option<String>,
    /// Name of the driver; the cleaner has no socket to ask.
    pub driver: String,
    /// How long the driver must be absent before the cleaner acts.
    pub orphan_after: Duration,
}

/// A setting of a role.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Whose it is.
    pub role: Role,
    /// Its key below `settings` of the role in a manifest.
    pub name: &'static str,
    /// Its key below `cluster` in a case.
    pub case_key: &'static str,
    /// What a program claims that has it.
    pub(crate) claim: Claim,
    value: fn(&Settings) -> Value,
}

/// What a program claims that has a setting.
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
    /// As manifests write it; `none`: it is unset.
    pub(crate) text: String,
    /// Whether a program has that value by itself, so that a manifest need not say how it gets it.
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

const fn publisher(
    name: &'static str,
    case_key: &'static str,
    claim: Claim,
    value: fn(&Settings) -> Value,
) -> Setting {
    Setting {
        role: Role::Publisher,
        name,
        case_key,
        claim,
        value,
    }
}

const fn scheduler(
    name: &'static str,
    case_key: &'static str,
    claim: Claim,
    value: fn(&Settings) -> Value,
) -> Setting {
    Setting {
        role: Role::Scheduler,
        name,
        case_key,
        claim,
        value,
    }
}

const fn feature(name: &'static str, text: &'static str, is_needed: fn(&Settings) -> bool) -> Claim {
    Claim::Feature {
        name,
        text,
        is_needed,
    }
}

/// All settings.
pub const SETTINGS: [Setting; 21] = [
    publisher("mode", "mode", Claim::Other("publisher.distributed"), |it| {
        Value {
            text: it.mode.as_str().to_owned(),
            is_usual: it.mode == Mode::Central,
        }
    }),
    publisher(
        "ownerLevel",
        "publisher.ownerLevel",
        feature(
            "publisher.owner",
            "its objects are owned by its pod or an owner of that",
            |it| it.publisher.owner_level.is_some(),
        ),
        |it| optional(it.publisher.owner_level),
    ),
    publisher(
        "publish",
        "publisher.publish",
        feature(
            "publisher.off",
            "it can be told not to publish, and provisions all the same",
            |it| !it.publisher.publish,
        ),
        |it| switch(it.publisher.publish, true),
    ),
    publisher(
        "byOwner",
        "publisher.byOwner",
        feature(
            "publisher.by-owner",
            "it can know its objects by their owner instead of by their labels, as external-provisioner 2.0.0 did",
            |it| it.publisher.by_owner,
        ),
        |it| switch(it.publisher.by_owner, false),
    ),
    publisher(
        "metadata",
        "publisher.metadata",
        feature(
            "publisher.metadata",
            "it can tell the driver the names of claim and volume (--extra-create-metadata)",
            |it| it.publisher.metadata,
        ),
        |it| switch(it.publisher.metadata, false),
    ),
    publisher(
        "asksPerSecond",
        "publisher.asksPerSecond",
        feature(
            "publisher.asking-limit",
            "it can be told how many GetCapacity calls per second it may make",
            |it| it.publisher.asks_per_second.is_some(),
        ),
        |it| optional(it.publisher.asks_per_second),
    ),
    publisher(
        "immediate",
        "publisher.immediate",
        feature(
            "publisher.immediate",
            "it can publish for classes with immediate binding",
            |it| it.publisher.immediate,
        ),
        |it| switch(it.publisher.immediate, false),
    ),
    publisher(
        "zero",
        "publisher.zero",
        feature(
            "publisher.zero",
            "it can publish zero as an object instead of leaving it out",
            |it| it.publisher.zero,
        ),
        |it| switch(it.publisher.zero, false),
    ),
    publisher(
        "strictTopology",
        "publisher.strictTopology",
        feature(
            "publisher.strict-topology",
            "it can ask for the selected node's topology only",
            |it| it.publisher.strict_topology,
        ),
        |it| switch(it.publisher.strict_topology, false),
    ),
    publisher(
        "withdraw",
        "publisher.withdraw",
        feature(
            "publisher.withdraw",
            "it can remove an object whose figure the driver does not report any more",
            |it| it.publisher.withdraw,
        ),
        |it| switch(it.publisher.withdraw, false),
    ),
    publisher(
        "election",
        "publisher.replicas",
        feature(
            "publisher.election",
            "of several instances of it, one works",
            |it| it.publisher.has_election(),
        ),
        |it| switch(it.publisher.has_election(), false),
    ),
    Setting {
        role: Role::Cleaner,
        name: "driver",
        case_key: "driver.name",
        claim: Claim::Nothing,
        value: |it| always(it.driver.clone()),
    },
    Setting {
        role: Role::Cleaner,
        name: "orphanAfter",
        case_key: "orphanAfter",
        claim: Claim::Nothing,
        value: |it| always(format!("{}ms", it.orphan_after.as_millis())),
    },
    scheduler(
        "release",
        "scheduler.release",
        feature(
            "scheduler.release",
            "it can be like another Kubernetes release",
            |it| it.scheduler.release.is_some(),
        ),
        |it| optional(it.scheduler.release),
    ),
    scheduler(
        "capacity",
        "scheduler.capacity",
        feature(
            "scheduler.gate",
            "it can ignore capacity, as with the feature gate CSIStorageCapacity switched off",
            |it| it.scheduler.capacity.is_some(),
        ),
        |it| gate(&it.scheduler, it.scheduler.capacity, true),
    ),
    scheduler(
        "priority",
        "scheduler.priority",
        feature(
            "scheduler.priority",
            "it has the feature gate VolumeCapacityPriority of 1.21 to 1.32 (KEP-1845)",
            |it| it.scheduler.priority.is_some(),
        ),
        |it| gate(&it.scheduler, it.scheduler.priority, false),
    ),
    scheduler(
        "scoring",
        "scheduler.scoring",
        feature(
            "scheduler.scoring",
            "it scores nodes by capacity (KEP-4049)",
            |it| it.scheduler.scoring == Some(true),
        ),
        |it| gate(&it.scheduler, it.scheduler.scoring, false),
    ),
    scheduler(
        "shape",
        "scheduler.shape",
        feature(
            "scheduler.shape",
            "the shape of its score can be set (VolumeBindingArgs.shape)",
            |it| it.scheduler.shape.is_some(),
        ),
        |it| {
            let shape = it.scheduler.shape.as_ref();
            // Numbers can always be written.
            optional(shape.map(|shape| serde_json::to_string(shape).unwrap_or_default()))
        },
    ),
    scheduler(
        "bugCompatible",
        "scheduler.bugCompatible",
        feature(
            "scheduler.bug-compatible",
            "it can be told to deviate as upstream does, and is right otherwise",
            |it| !it.scheduler.bug_compatible.is_empty(),
        ),
        |it| {
            let deviations: Vec<&str> = it
                .scheduler
                .bug_compatible
                .iter()
                .map(|it| Deviation::as_str(*it))
                .collect();
            optional((!deviations.is_empty()).then(|| deviations.join(",")))
        },
    ),
    scheduler(
        "kepText",
        "scheduler.kepText",
        feature(
            "scheduler.kep-text",
            "it can add up capacities in scores, as the text of KEP-4049 has it",
            |it| it.scheduler.kep_text,
        ),
        |it| switch(it.scheduler.kep_text, false),
    ),
    scheduler(
        "extenders",
        "extenders",
        Claim::Other("scheduler.extenders"),
        |it| optional(it.extenders.as_ref()),
    ),
];

fn switch(on: bool, usual: bool) -> Value {
    Value {
        text: on.to_string(),
        is_usual: on == usual,
    }
}

fn optional(value: Option<impl ToString>) -> Value {
    Value {
        is_usual: value.is_none(),
        text: value.map_or_else(|| "none".to_owned(), |value| value.to_string()),
    }
}

/// No program can guess it.
fn always(text: String) -> Value {
    Value {
        text,
        is_usual: false,
    }
}

/// A feature gate. Of another release it is not known what is usual.
fn gate(scheduler: &SchedulerSpec, on: Option<bool>, usual: bool) -> Value {
    Value {
        is_usual: on.is_none_or(|on| on == usual && scheduler.release.is_none()),
        ..optional(on)
    }
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

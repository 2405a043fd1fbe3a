//! The rules for the status of owners of pods: counts that are not below zero, and not above what they are part of.
//!
//! Jobs have rules of their own, in `job_status`.

use super::strategy_rules::numbers;
use crate::machinery::faults::Faults;
use serde_json::Value;

/// What a status of one kind counts.
pub(super) struct StatusRules {
    /// What may not be below zero.
    counts: &'static [&'static str],
    /// What is a part of all replicas.
    parts: &'static [&'static str],
    /// How a refusal calls the replicas that are ready, of which those available are a part; none where the kind does not say so.
    ready: Option<&'static str>,
}

pub(super) const DEPLOYMENT: StatusRules = StatusRules {
    counts: &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ],
    parts: &["updatedReplicas", "readyReplicas", "availableReplicas"],
    ready: Some("readyReplicas"),
};

pub(super) const REPLICA_SET: StatusRules = StatusRules {
    counts: &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ],
    parts: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    ready: Some("readyReplicas"),
};

pub(super) const STATEFUL_SET: StatusRules = StatusRules {
    counts: &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ],
    parts: &[
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ],
    ready: Some("status.readyReplicas"),
};

pub(super) const DAEMON_SET: StatusRules = StatusRules {
    counts: &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ],
    parts: &[],
    ready: None,
};

impl StatusRules {
    pub(super) fn validate(&self, new: &Value, old: &Value, faults: &mut Faults) {
        let (new, old) = (&new["status"], &old["status"]);
        let count = |name: &str| new[name].as_i64().unwrap_or_default();
        numbers(new, self.counts, "status", faults);
        let mut within = |part: &str, whole: &str, called: &str| {
            if count(part) > count(whole) {
                let why = format!("cannot be greater than {called}");
                faults.invalid(format!("status.{part}"), count(part), &why);
            }
        };
        for part in self.parts {
            within(part, "replicas", "status.replicas");
        }
        if let Some(called) = self.ready {
            within("availableReplicas", "readyReplicas", called);
        }
        // Names of pods and revisions are made of it: the same must not come again.
        let collisions = "collisionCount";
        if old[collisions].as_i64() > new[collisions].as_i64() && self.counts.contains(&collisions) {
            faults.invalid(
                format!("status.{collisions}"),
                count(collisions),
                "cannot be decremented",
            );
        }
    }
}

//! Warnings about what pods are made of: templates, and the names that pods get from what makes them.
//!
//! What is odd about a pod is in `pod::warn`.

use super::pod::warn;
use super::template_rules::Workload;
use serde_json::Value;

/// From so many completions and pods at once on an Indexed Job is warned of.
const COMPLETIONS: i64 = 100_000;
const PARALLELISM: i64 = 10_000;

impl Workload {
    /// Warnings about a new workload, and about a change that makes a new generation.
    pub(super) fn warn(&self, new: &Value, old: &Value) -> Vec<String> {
        match is_news(new, old) {
            true => self.warn_of_template(new),
            false => Vec::new(),
        }
    }

    /// Warnings about a template.
    pub(super) fn warn_of_template(&self, new: &Value) -> Vec<String> {
        let at = format!("{}.template", self.spec.join("."));
        let spec = self.spec.iter().fold(new, |inside, name| &inside[*name]);
        warn::template(&spec["template"], &format!("{at}."))
    }

    /// The same of what gives pods its name.
    pub(super) fn warn_of_name(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut warnings = Vec::from_iter(warn::name(new, old, "Pod names and hostnames"));
        warnings.extend(large(new).filter(|_| is_news(new, old)));
        warnings.extend(self.warn(new, old));
        warnings
    }
}

/// Whether an object is new, or of a new generation.
fn is_news(new: &Value, old: &Value) -> bool {
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    old.is_null() || generation(new) != generation(old)
}

/// The warning about an Indexed Job that is too large.
fn large(job: &Value) -> Option<String> {
    let spec = &job["spec"];
    let number = |name: &str| spec[name].as_i64().unwrap_or_default();
    let is_large = spec["completionMode"] == "Indexed"
        && number("completions") > COMPLETIONS
        && number("parallelism") > PARALLELISM;
    is_large.then(|| {
        "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not \
         be able to track completedIndexes when a big number of indexes fail"
            .to_owned()
    })
}

/// Warnings about a stateful set, which may also keep too much.
pub(super) fn stateful_set(of: &Workload, new: &Value, old: &Value) -> Vec<String> {
    let mut warnings = of.warn(new, old);
    // A write of the status warns of nothing.
    let is_told = old.is_null() || new["status"] == old["status"];
    let limit = new["spec"]["revisionHistoryLimit"].as_i64();
    if is_told && limit.is_some_and(|limit| limit < 0) {
        warnings.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned(),
        );
    }
    warnings
}

/// Warnings about a template that is an object of its own.
pub(super) fn pod_template(new: &Value, old: &Value) -> Vec<String> {
    match new["template"] == old["template"] {
        true => Vec::new(),
        false => warn::template(&new["template"], "template."),
    }
}

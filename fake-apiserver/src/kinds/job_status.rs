//! The rules for the status of a job: whoever manages jobs may not contradict itself, nor take back what is final.
//!
//! As the real server does, a rule is asked only where something that it is about has changed, so that a job whose status is wrong already
//! can be mended step by step.

use super::job_rules::INDEXED;
use super::strategy_rules::numbers;
use super::{internal_form, job_indexes};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use serde_json::Value;
use std::collections::HashSet;

/// A job with what is asked for again and again.
struct Job<'a> {
    spec: &'a Value,
    status: &'a Value,
    is_complete: bool,
    is_failed: bool,
    is_to_fail: bool,
    is_met: bool,
}

impl<'a> Job<'a> {
    fn of(object: &'a Value) -> Self {
        let status = &object["status"];
        Self {
            spec: &object["spec"],
            status,
            is_complete: has(status, "Complete", "True"),
            is_failed: has(status, "Failed", "True"),
            is_to_fail: has(status, "FailureTarget", "True"),
            is_met: has(status, "SuccessCriteriaMet", "True"),
        }
    }

    fn is_finished(&self) -> bool {
        self.is_complete || self.is_failed
    }

    fn count(&self, name: &str) -> i64 {
        self.status[name].as_i64().unwrap_or_default()
    }

    fn is_indexed(&self) -> bool {
        self.spec["completionMode"] == INDEXED
    }
}

fn has(status: &Value, kind: &str, state: &str) -> bool {
    let is_it = |one: &Value| one["type"] == kind && one["status"] == state;
    list(&status["conditions"]).iter().any(is_it)
}

/// What differs between two statuses of a job.
struct Changes<'a> {
    new: &'a Job<'a>,
    old: &'a Job<'a>,
}

impl Changes<'_> {
    fn of(&self, name: &str) -> bool {
        self.new.status[name] != self.old.status[name]
    }

    fn of_count(&self, name: &str) -> bool {
        self.new.count(name) != self.old.count(name)
    }

    fn of_completed_indexes(&self) -> bool {
        string(self.new.status, "completedIndexes") != string(self.old.status, "completedIndexes")
    }

    fn of_state(&self, state: fn(&Job<'_>) -> bool) -> bool {
        state(self.new) != state(self.old)
    }
}

pub(super) fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    let (new, old) = (&Job::of(new), &Job::of(old));
    let changes = Changes { new, old };
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    numbers(new.status, &counts, "status", faults);
    uncounted(new, faults);
    ends(new, &changes, faults);
    indexes(new, &changes, faults);
    pods(new, &changes, faults);
    success(new, faults);
    kept(new, old, &changes, faults);
}

/// Pods that have ended and are not counted yet: each is there once.
fn uncounted(job: &Job<'_>, faults: &mut Faults) {
    let uncounted = &job.status["uncountedTerminatedPods"];
    let mut seen = HashSet::new();
    for how in ["succeeded", "failed"] {
        for (i, uid) in json::texts(&uncounted[how]).into_iter().enumerate() {
            let field = format!("status.uncountedTerminatedPods.{how}[{i}]");
            if uid.is_empty() {
                faults.invalid(field, uid, "must not be empty");
            } else if !seen.insert(uid) {
                faults.duplicate(field, uid);
            }
        }
    }
}

/// What a job that has ended says, and one that has not does not.
fn ends(job: &Job<'_>, changes: &Changes<'_>, faults: &mut Faults) {
    let (started, ended) = (&job.status["startTime"], &job.status["completionTime"]);
    let complete_changed = changes.of_state(|job| job.is_complete);
    let failed_changed = changes.of_state(|job| job.is_failed);
    let finished_changed = changes.of_state(|job| job.is_finished());
    let ended_changed = complete_changed || changes.of("completionTime");
    let mut contradiction = |is_asked: bool, is_wrong: bool, why: &str| {
        if is_asked && is_wrong {
            faults.broken("status.conditions", why);
        }
    };
    contradiction(
        complete_changed || failed_changed,
        job.is_complete && job.is_failed,
        "cannot set Complete=True and Failed=true conditions",
    );
    contradiction(
        complete_changed || changes.of_state(|job| job.is_to_fail),
        job.is_complete && job.is_to_fail,
        "cannot set Complete=True and FailureTarget=true conditions",
    );
    let field = "status.completionTime";
    if ended_changed && !ended.is_null() && !job.is_complete {
        let why = "cannot set completionTime when there is no Complete=True condition";
        faults.invalid(field, ended.clone(), why);
    }
    if ended_changed && ended.is_null() && job.is_complete {
        faults.required(field, "completionTime is required for Complete jobs");
    }
    if (changes.of("startTime") || changes.of("completionTime")) && is_before(ended, started) {
        faults.invalid(field, ended.clone(), "must be equal to or after `startTime`");
    }
    if (failed_changed || changes.of("failedIndexes")) && job.is_failed && !job.is_to_fail {
        let why = "cannot set Failed=True condition without the FailureTarget=true condition";
        faults.broken("status.conditions", why);
    }
    if (complete_changed || changes.of_state(|job| job.is_met)) && job.is_complete && !job.is_met {
        let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        faults.broken("status.conditions", why);
    }
    if !job.is_finished() {
        return;
    }
    if (finished_changed || changes.of_count("active")) && job.count("active") > 0 {
        let why = "active>0 is invalid for finished job";
        faults.invalid("status.active", job.count("active"), why);
    }
    let never_runs = job.spec["suspend"] == true && job.spec["completions"] == 0;
    if (finished_changed || changes.of("startTime")) && !never_runs && started.is_null() {
        faults.required("status.startTime", "startTime is required for finished job");
    }
    let uncounted = &job.status["uncountedTerminatedPods"];
    let has_some = ["succeeded", "failed"]
        .iter()
        .any(|how| !list(&uncounted[*how]).is_empty());
    if (finished_changed || changes.of("uncountedTerminatedPods")) && has_some {
        let shown = internal_form::shown("UncountedTerminatedPods", uncounted);
        faults.invalid_as(
            "status.uncountedTerminatedPods",
            &shown,
            "must be empty for finished job",
        );
    }
}

/// Times as they are stored, to the second and in UTC, stand in the order of their texts.
fn is_before(one: &Value, other: &Value) -> bool {
    matches!((one.as_str(), other.as_str()), (Some(one), Some(other)) if one < other)
}

/// The indexes of pods that have succeeded and failed.
fn indexes(job: &Job<'_>, changes: &Changes<'_>, faults: &mut Faults) {
    let completed = string(job.status, "completedIndexes");
    let failed = job.status["failedIndexes"].as_str();
    let count = job.spec["completions"].as_i64();
    let by_index = !job.spec["backoffLimitPerIndex"].is_null();
    let (completed_changed, failed_changed) = (changes.of_completed_indexes(), changes.of("failedIndexes"));
    let mut format = |name: &str, text: &str| {
        if let Some(Err(why)) = count.map(|count| job_indexes::read(text, count)) {
            faults.invalid(
                format!("status.{name}"),
                text,
                &format!("error parsing {name}: {why}"),
            );
        }
    };
    if completed_changed {
        format("completedIndexes", completed);
    }
    if let Some(failed) = failed.filter(|_| failed_changed && by_index) {
        format("failedIndexes", failed);
    }
    if completed_changed && !completed.is_empty() && !job.is_indexed() {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        faults.invalid("status.completedIndexes", completed, why);
    }
    let Some(failed) = failed else { return };
    if failed_changed && !by_index {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        faults.invalid("status.failedIndexes", failed, why);
    }
    let count = count.filter(|_| completed_changed || failed_changed);
    if let Some(index) = count.and_then(|count| job_indexes::overlap(completed, failed, count)) {
        let why = format!("failedIndexes and completedIndexes overlap at index: {index}");
        faults.invalid("status.failedIndexes", failed, &why);
    }
}

fn pods(job: &Job<'_>, changes: &Changes<'_>, faults: &mut Faults) {
    let finished_changed = changes.of_state(|job| job.is_finished());
    if (finished_changed || changes.of("terminating")) && job.is_finished() && job.count("terminating") > 0 {
        let why = "terminating>0 is invalid for finished job";
        faults.invalid("status.terminating", job.count("terminating"), why);
    }
    let may_differ = changes.of("ready") || changes.of_count("active");
    if may_differ && !job.status["ready"].is_null() && job.count("ready") > job.count("active") {
        let why = "cannot set more ready pods than active";
        faults.invalid("status.ready", job.count("ready"), why);
    }
}

fn success(job: &Job<'_>, faults: &mut Faults) {
    let mut never = |is_so: bool, why: &str| {
        if is_so {
            faults.broken("status.conditions", why);
        }
    };
    never(
        job.is_met && job.is_failed,
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    );
    never(
        job.is_met && job.is_to_fail,
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    never(
        !job.spec["successPolicy"].is_null() && !job.is_met && job.is_complete,
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
    );
}

/// What is said once stays.
fn kept(new: &Job<'_>, old: &Job<'_>, changes: &Changes<'_>, faults: &mut Faults) {
    for (kind, is_lost) in [
        ("Failed", old.is_failed && !new.is_failed),
        ("Complete", old.is_complete && !new.is_complete),
        ("FailureTarget", old.is_to_fail && !new.is_to_fail),
    ] {
        if is_lost {
            let why = format!("cannot disable the terminal {kind}=True condition");
            faults.broken("status.conditions", &why);
        }
    }
    // An indexed job that is as wide as it is long can be made smaller.
    let shrinks = new.is_indexed() && new.spec["completions"] == new.spec["parallelism"];
    for name in ["failed", "succeeded"] {
        let is_open = name == "succeeded" && shrinks;
        if !is_open && new.count(name) < old.count(name) {
            let why = format!("cannot decrease the {name} counter");
            faults.invalid(format!("status.{name}"), new.count(name), &why);
        }
    }
    let time = |job: &Job<'_>, name: &str| job.status[name].clone();
    let (ended, had_ended) = (time(new, "completionTime"), time(old, "completionTime"));
    if !ended.is_null() && !had_ended.is_null() && ended != had_ended {
        faults.invalid("status.completionTime", ended, "field is immutable");
    }
    let resumes = has(old.status, "Suspended", "True") && has(new.status, "Suspended", "False");
    let has_started = !old.status["startTime"].is_null() && new.spec["suspend"] != true;
    if changes.of("startTime") && has_started && !resumes {
        let why = "field is immutable for unsuspended job once set";
        faults.invalid("status.startTime", time(new, "startTime"), why);
    }
    if old.is_met && !new.is_met {
        let why = "cannot disable the SuccessCriteriaMet=True condition";
        faults.broken("status.conditions", why);
    }
    if old.is_complete && !old.is_met && new.is_met {
        let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        faults.broken("status.conditions", why);
    }
}

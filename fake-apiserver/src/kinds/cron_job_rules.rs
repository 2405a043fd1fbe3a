//! The rules for cron jobs, and for what may change of one.

use super::strategy_rules::numbers;
use super::{internal_form, template_rules};
use crate::machinery::faults::Faults;
use crate::machinery::{cron, json, metadata};
use serde_json::Value;

const NAME_BYTES_MAX: usize = 52;

/// The rules for a new cron job, and for one that was another before.
pub(super) fn validate(new: &Value, old: Option<&Value>, faults: &mut Faults) {
    let (now, before) = (&new["spec"], old.map(|old| &old["spec"]));
    schedule(now, before, faults);
    numbers(now, &["startingDeadlineSeconds"], "spec", faults);
    if before.is_none_or(|before| before["timeZone"] != now["timeZone"]) {
        time_zone(now, faults);
    }
    match json::string(now, "concurrencyPolicy") {
        "" => faults.required("spec.concurrencyPolicy", ""),
        policy => faults.one_of("spec.concurrencyPolicy", policy, &["Allow", "Forbid", "Replace"]),
    }
    template_rules::CRON_JOB.validate(new, faults);
    let job = &now["jobTemplate"]["spec"];
    if !job["selector"].is_null() {
        let why = "`selector` will be auto-generated";
        let shown = internal_form::shown("LabelSelector", &job["selector"]);
        faults.invalid_as("spec.jobTemplate.spec.selector", &shown, why);
    }
    if job["manualSelector"] == true {
        faults.not_supported("spec.jobTemplate.spec.manualSelector", true, &["nil", "false"]);
    }
    numbers(
        now,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
        "spec",
        faults,
    );
    // Jobs are called after it, with the time at the end.
    let name = metadata::text(new, "name");
    if old.is_none() && name.len() > NAME_BYTES_MAX {
        let why = format!("must be no more than {NAME_BYTES_MAX} characters");
        faults.invalid("metadata.name", name, &why);
    }
}

fn schedule(now: &Value, before: Option<&Value>, faults: &mut Faults) {
    let (field, schedule) = ("spec.schedule", json::string(now, "schedule"));
    if schedule.is_empty() {
        return faults.required(field, "");
    }
    if let Some(why) = cron::fault(schedule) {
        faults.invalid(field, schedule, &why);
    }
    // Those that had a zone in their schedule may keep one there.
    let had_zone = before.is_some_and(|before| json::string(before, "schedule").contains("TZ"));
    match (schedule.contains("TZ"), had_zone) {
        (true, true) if !now["timeZone"].is_null() => {
            let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            faults.invalid(field, schedule, why);
        }
        (true, false) => {
            let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            faults.invalid(field, schedule, why);
        }
        _ => {}
    }
}

/// A time zone: how it is named, and whether there is one.
fn time_zone(spec: &Value, faults: &mut Faults) {
    let (field, Some(zone)) = ("spec.timeZone", spec["timeZone"].as_str()) else {
        return;
    };
    let is_legal = |part: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        (1..=14).contains(&part.len())
            && ![".", ".."].contains(&part)
            && !part.starts_with('-')
            && part.chars().all(fits)
    };
    if zone.is_empty() {
        return faults.invalid(field, zone, "timeZone must be nil or non-empty string");
    }
    let is_named = zone.split('/').all(is_legal);
    let is_local = zone.eq_ignore_ascii_case("local");
    if is_named && is_local {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        faults.invalid(field, zone, why);
    }
    if !is_named || !cron::has_zone(zone) {
        faults.invalid(field, zone, &format!("unknown time zone {zone}"));
    }
}

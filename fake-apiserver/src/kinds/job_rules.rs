//! The rules for jobs, but for their selectors and templates. What may change of one is in `job_changes`.

use super::conditions::STATES;
use super::ingress_rules::domain_path;
use super::strategy_rules::numbers;
use super::{internal_form, selectors};
use crate::machinery::faults::Faults;
use crate::machinery::selector::LabelSelector;
use crate::machinery::{json, names};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The labels by which jobs know their pods; the second one of each is from before labels had prefixes.
pub(super) const CONTROLLER: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
pub(super) const NAME: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

pub(super) const INDEXED: &str = "Indexed";
const NON_INDEXED: &str = "NonIndexed";

/// Bounds of indexed jobs.
const INDEXES_MAX: i64 = 100_000;
const AT_ONCE_OF_MANY_MAX: i64 = 10_000;

const MANAGER_BYTES_MAX: usize = 63;
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const INDEXES_BYTES_MAX: usize = 64 * 1024;

/// A job's labels and selector, where the server has made them.
pub(super) fn generated(object: &Value, faults: &mut Faults) {
    let (spec, metadata) = (&object["spec"], &object["metadata"]);
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (json::string(metadata, "uid"), json::string(metadata, "name"));
    let labels = &spec["template"]["metadata"]["labels"];
    let expected = [
        (CONTROLLER[1], uid),
        (NAME[1], name),
        (CONTROLLER[0], uid),
        (NAME[0], name),
    ];
    for (label, value) in expected {
        let (field, why) = (
            format!("spec.template.metadata.labels[{label}]"),
            format!("must be '{value}'"),
        );
        match labels[label].as_str() {
            None => faults.required(field, &why),
            Some(found) if found == value => {}
            Some(_) => faults.invalid(field, labels.clone(), &why),
        }
    }
    let expected: Value = expected
        .into_iter()
        .map(|(label, value)| (label.to_owned(), value.into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let (mut unread, selector) = (Faults::default(), &spec["selector"]);
    selectors::labels(selector, "", &mut unread);
    let selector = LabelSelector::from_object(selector).filter(|_| unread.is_empty());
    if selector.is_some_and(|it| !it.matches(&json!({"metadata": {"labels": expected}}))) {
        let why = "`selector` not auto-generated";
        faults.invalid("spec.selector", spec["selector"].clone(), why);
    }
}

/// What the spec of a job says beside its selector and template.
pub(super) fn spec(spec: &Value, at: &str, faults: &mut Faults) {
    let counts = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    numbers(spec, &counts, at, faults);
    let by_index = &spec["backoffLimitPerIndex"];
    if !spec["maxFailedIndexes"].is_null() && by_index.is_null() {
        let why = "when maxFailedIndexes is specified";
        faults.required(format!("{at}.backoffLimitPerIndex"), why);
    }
    if let Some(manager) = spec["managedBy"].as_str() {
        let field = format!("{at}.managedBy");
        domain_path(manager, &field, faults);
        if manager.len() > MANAGER_BYTES_MAX {
            faults.too_long(field, MANAGER_BYTES_MAX);
        }
    }
    let mode = json::string(spec, "completionMode");
    if !spec["completionMode"].is_null() {
        faults.one_of(&format!("{at}.completionMode"), mode, &[NON_INDEXED, INDEXED]);
    }
    match mode {
        INDEXED => indexed(spec, at, faults),
        _ if spec["completionMode"].is_null() || mode == NON_INDEXED => {
            for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(count) = spec[name].as_i64() {
                    faults.invalid(format!("{at}.{name}"), count, "requires indexed completion mode");
                }
            }
        }
        _ => {}
    }
    policies(spec, mode, at, faults);
}

fn indexed(spec: &Value, at: &str, faults: &mut Faults) {
    let number = |name: &str| spec[name].as_i64();
    let (completions, parallelism, failed) = (
        number("completions"),
        number("parallelism"),
        number("maxFailedIndexes"),
    );
    let (parallelism_at, failed_at) = (format!("{at}.parallelism"), format!("{at}.maxFailedIndexes"));
    if completions.is_none() {
        let why = format!("when completion mode is {INDEXED}");
        faults.required(format!("{at}.completions"), &why);
    }
    let why = format!("{INDEXES_MAX} when completion mode is {INDEXED}");
    at_most(&parallelism_at, parallelism, INDEXES_MAX, &why, faults);
    if let Some(completions) = completions {
        at_most(&failed_at, failed, completions, "completions", faults);
    }
    at_most(&failed_at, failed, INDEXES_MAX, &INDEXES_MAX.to_string(), faults);
    let is_many = completions.is_some_and(|count| count > INDEXES_MAX);
    if !is_many || spec["backoffLimitPerIndex"].is_null() {
        return;
    }
    if failed.is_none() {
        let why = format!("must be specified when completions is above {INDEXES_MAX}");
        faults.required(&failed_at, &why);
    }
    let why = format!(
        "{AT_ONCE_OF_MANY_MAX} when completions are above {INDEXES_MAX} and used with backoff limit per index"
    );
    at_most(&parallelism_at, parallelism, AT_ONCE_OF_MANY_MAX, &why, faults);
    at_most(&failed_at, failed, AT_ONCE_OF_MANY_MAX, &why, faults);
}

fn at_most(field: &str, found: Option<i64>, most: i64, named: &str, faults: &mut Faults) {
    if let Some(found) = found.filter(|found| *found > most) {
        faults.invalid(field, found, &format!("must be less than or equal to {named}"));
    }
}

/// When a job has failed or succeeded, and when pods are replaced.
fn policies(spec: &Value, mode: &str, at: &str, faults: &mut Faults) {
    let (failure, success) = (&spec["podFailurePolicy"], &spec["successPolicy"]);
    if !failure.is_null() {
        failure_policy(spec, &format!("{at}.podFailurePolicy.rules"), faults);
    }
    if !success.is_null() && mode == INDEXED {
        success_policy(spec, &format!("{at}.successPolicy.rules"), faults);
    } else if !success.is_null() {
        let shown = internal_form::shown("SuccessPolicy", success);
        faults.invalid_as(
            format!("{at}.successPolicy"),
            &shown,
            "requires indexed completion mode",
        );
    }
    if let Some(replacement) = spec["podReplacementPolicy"].as_str() {
        let known: &[&str] = match failure {
            Value::Null => &["Failed", "TerminatingOrFailed"],
            _ => &["Failed"],
        };
        faults.one_of(&format!("{at}.podReplacementPolicy"), replacement, known);
    }
}

fn failure_policy(spec: &Value, at: &str, faults: &mut Faults) {
    let rules = json::list(&spec["podFailurePolicy"]["rules"]);
    if rules.len() > RULES_MAX {
        faults.too_many(at, rules.len(), RULES_MAX);
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let action = format!("{at}.action");
        match json::string(rule, "action") {
            "FailIndex" if spec["backoffLimitPerIndex"].is_null() => {
                faults.invalid(action, "FailIndex", "requires the backoffLimitPerIndex to be set");
            }
            found => chosen(
                &action,
                found,
                &["Count", "FailIndex", "FailJob", "Ignore"],
                faults,
            ),
        }
        let conditions = json::list(&rule["onPodConditions"]);
        let has_codes = !rule["onExitCodes"].is_null();
        if has_codes {
            exit_codes(spec, &rule["onExitCodes"], &format!("{at}.onExitCodes"), faults);
        }
        pod_conditions(conditions, &format!("{at}.onPodConditions"), faults);
        match (has_codes, !conditions.is_empty()) {
            (true, true) => faults.broken(
                at,
                "specifying both OnExitCodes and OnPodConditions is not supported",
            ),
            (false, false) => faults.broken(
                at,
                "specifying one of OnExitCodes and OnPodConditions is required",
            ),
            _ => {}
        }
    }
}

/// One of the texts, which may not be left out.
fn chosen(field: &str, found: &str, known: &[&str], faults: &mut Faults) {
    match found {
        "" => {
            let quoted: Vec<String> = known.iter().map(|text| format!("{text:?}")).collect();
            faults.required(field, &format!("valid values: [{}]", quoted.join(" ")));
        }
        found => faults.one_of(field, found, known),
    }
}

fn exit_codes(spec: &Value, codes: &Value, at: &str, faults: &mut Faults) {
    let operator = json::string(codes, "operator");
    chosen(&format!("{at}.operator"), operator, &["In", "NotIn"], faults);
    let pod = &spec["template"]["spec"];
    let containers = ["containers", "initContainers"].into_iter();
    let mut containers = containers.flat_map(|name| json::list(&pod[name]));
    if let Some(name) = codes["containerName"].as_str()
        && !containers.any(|container| container["name"] == name)
    {
        let why = "must be one of the container or initContainer names in the pod template";
        faults.invalid(format!("{at}.containerName"), name, why);
    }
    let at = format!("{at}.values");
    let values = json::list(&codes["values"]);
    if values.is_empty() {
        faults.invalid(&at, codes["values"].clone(), "at least one value is required");
    } else if values.len() > EXIT_CODES_MAX {
        faults.too_many(&at, values.len(), EXIT_CODES_MAX);
    }
    let mut seen = HashSet::new();
    for (index, value) in values.iter().enumerate() {
        let field = format!("{at}[{index}]");
        if operator == "In" && *value == 0 {
            faults.invalid(&field, 0, "must not be 0 for the In operator");
        }
        if !seen.insert(value.as_i64()) {
            faults.duplicate(field, value.clone());
        }
    }
    if !values.is_sorted_by_key(Value::as_i64) {
        faults.invalid(at, json!(values), "must be ordered");
    }
}

fn pod_conditions(conditions: &[Value], at: &str, faults: &mut Faults) {
    if conditions.len() > RULES_MAX {
        faults.too_many(at, conditions.len(), RULES_MAX);
    }
    for (index, condition) in conditions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let kind = json::string(condition, "type");
        faults.complain(&format!("{at}.type"), kind, names::qualified(kind));
        chosen(
            &format!("{at}.status"),
            json::string(condition, "status"),
            &STATES,
            faults,
        );
    }
}

fn success_policy(spec: &Value, at: &str, faults: &mut Faults) {
    let rules = json::list(&spec["successPolicy"]["rules"]);
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        faults.required(at, why);
    }
    if rules.len() > RULES_MAX {
        faults.too_many(at, rules.len(), RULES_MAX);
    }
    let completions = spec["completions"].as_i64().unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        success_rule(rule, completions, &format!("{at}[{index}]"), faults);
    }
}

fn success_rule(rule: &Value, completions: i64, at: &str, faults: &mut Faults) {
    let (indexes, count) = (rule["succeededIndexes"].as_str(), rule["succeededCount"].as_i64());
    if indexes.is_none() && count.is_none() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        faults.required(at, why);
    }
    let mut total = 0;
    if let Some(indexes) = indexes {
        let field = format!("{at}.succeededIndexes");
        if indexes.len() > INDEXES_BYTES_MAX {
            faults.too_long(&field, INDEXES_BYTES_MAX);
        }
        match total_of(indexes, completions) {
            Ok(found) => total = found,
            Err(why) => faults.invalid(field, indexes, &format!("error parsing succeededIndexes: {why}")),
        }
    }
    let Some(count) = count else { return };
    let field = format!("{at}.succeededCount");
    faults.not_negative(&field, &rule["succeededCount"]);
    let named = format!("{completions} (the number of specified completions)");
    at_most(&field, Some(count), completions, &named, faults);
    if indexes.is_some() {
        let named = format!("{total} (the number of indexes in the specified succeededIndexes field)");
        at_most(&field, Some(count), total, &named, faults);
    }
}

/// How many indexes a list such as `0,2-4` names.
fn total_of(indexes: &str, completions: i64) -> Result<i64, String> {
    let (mut last, mut total) = (None, 0);
    for interval in indexes.split(',').filter(|_| !indexes.is_empty()) {
        let (from, to) = interval_of(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

fn interval_of(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = interval.split('-').collect();
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    match limits.as_slice() {
        [only] => index(only).map(|only| (only, only)),
        [from, to] => {
            let (from, to) = (index(from)?, index(to)?);
            match from < to {
                true => Ok((from, to)),
                false => Err(format!("non-increasing order, previous: {from}, current: {to}")),
            }
        }
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

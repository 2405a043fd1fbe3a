//! The rules for how workloads replace their pods, and for the numbers beside that.
//!
//! Does not know templates and selectors, which are in `template_rules`.

use super::volume::claim_validate;
use super::{internal_form, share};
use crate::machinery::faults::Faults;
use crate::machinery::{json, names};
use serde_json::Value;

/// Strategies of deployments, daemon sets and stateful sets.
const ROLLING: &str = "RollingUpdate";
const RECREATE: &str = "Recreate";
const ON_DELETE: &str = "OnDelete";

/// What a deployment says beside its replicas, selector and template.
pub(super) fn deployment(spec: &Value, at: &str, faults: &mut Faults) {
    let strategy = &spec["strategy"];
    let (field, rolling) = (format!("{at}.strategy"), &strategy["rollingUpdate"]);
    match json::string(strategy, "type") {
        RECREATE if rolling.is_null() => {}
        RECREATE => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            faults.forbidden(format!("{field}.rollingUpdate"), why);
        }
        ROLLING => rolling_deployment(rolling, &format!("{field}.rollingUpdate"), faults),
        _ => {
            let shown = internal_form::shown("DeploymentStrategy", strategy);
            faults.not_supported_as(field, &shown, &[RECREATE, ROLLING]);
        }
    }
    numbers(spec, &["minReadySeconds", "revisionHistoryLimit"], at, faults);
    let (deadline, field) = (
        &spec["progressDeadlineSeconds"],
        format!("{at}.progressDeadlineSeconds"),
    );
    if let Some(seconds) = deadline.as_i64() {
        faults.not_negative(&field, deadline);
        if seconds <= spec["minReadySeconds"].as_i64().unwrap_or_default() {
            faults.invalid(field, seconds, "must be greater than minReadySeconds");
        }
    }
}

fn rolling_deployment(rolling: &Value, at: &str, faults: &mut Faults) {
    let [unavailable, surge] = shares(rolling, at, faults);
    if share::is_none(unavailable) && share::is_none(surge) {
        let why = "may not be 0 when `maxSurge` is 0";
        faults.invalid(format!("{at}.maxUnavailable"), unavailable.clone(), why);
    }
    share::at_most_all(unavailable, &format!("{at}.maxUnavailable"), faults);
}

/// The two shares of pods that an update may cost, each judged by itself.
fn shares<'a>(rolling: &'a Value, at: &str, faults: &mut Faults) -> [&'a Value; 2] {
    ["maxUnavailable", "maxSurge"].map(|name| {
        share::legal(&rolling[name], &format!("{at}.{name}"), faults);
        &rolling[name]
    })
}

/// What a daemon set says beside its selector and template.
pub(super) fn daemon_set(spec: &Value, at: &str, faults: &mut Faults) {
    numbers(spec, &["minReadySeconds"], at, faults);
    let (strategy, field) = (&spec["updateStrategy"], format!("{at}.updateStrategy"));
    match json::string(strategy, "type") {
        ON_DELETE => {}
        ROLLING => rolling_daemon_set(
            &strategy["rollingUpdate"],
            &format!("{field}.rollingUpdate"),
            faults,
        ),
        _ => {
            let shown = internal_form::shown("DaemonSetUpdateStrategy", strategy);
            faults.not_supported_as(field, &shown, &[ROLLING, ON_DELETE]);
        }
    }
    numbers(spec, &["revisionHistoryLimit"], at, faults);
}

fn rolling_daemon_set(rolling: &Value, at: &str, faults: &mut Faults) {
    let [unavailable, surge] = shares(rolling, at, faults);
    share::at_most_all(unavailable, &format!("{at}.maxUnavailable"), faults);
    share::at_most_all(surge, &format!("{at}.maxSurge"), faults);
    match (share::is_none(unavailable), share::is_none(surge)) {
        (false, false) => {
            let why = "may not be set when maxUnavailable is non-zero";
            faults.invalid(format!("{at}.maxSurge"), surge.clone(), why);
        }
        (true, true) => faults.required(format!("{at}.maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// What a stateful set says beside its selector and template.
pub(super) fn stateful_set(spec: &Value, at: &str, faults: &mut Faults) {
    behaviour(spec, at, faults);
    sizes(spec, at, faults);
}

/// The same with what cannot be changed any more, and is judged of a new one only.
pub(super) fn new_stateful_set(spec: &Value, at: &str, faults: &mut Faults) {
    behaviour(spec, at, faults);
    for (index, claim) in json::list(&spec["volumeClaimTemplates"]).iter().enumerate() {
        claim_validate(
            &claim["spec"],
            &format!("{at}.volumeClaimTemplates[{index}].spec"),
            faults,
        );
    }
    sizes(spec, at, faults);
    let service = json::string(spec, "serviceName");
    if !service.is_empty() {
        faults.complain(&format!("{at}.serviceName"), service, names::label(service));
    }
}

fn behaviour(spec: &Value, at: &str, faults: &mut Faults) {
    let field = format!("{at}.podManagementPolicy");
    match json::string(spec, "podManagementPolicy") {
        "" => faults.required(field, ""),
        "OrderedReady" | "Parallel" => {}
        other => faults.invalid(field, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_set_strategy(&spec["updateStrategy"], &format!("{at}.updateStrategy"), faults);
    let kept = &spec["persistentVolumeClaimRetentionPolicy"];
    for when in ["whenDeleted", "whenScaled"]
        .into_iter()
        .filter(|_| !kept.is_null())
    {
        let field = format!("{at}.persistentVolumeClaimRetentionPolicy.{when}");
        faults.one_of(&field, json::string(kept, when), &["Retain", "Delete"]);
    }
}

fn sizes(spec: &Value, at: &str, faults: &mut Faults) {
    numbers(spec, &["replicas", "minReadySeconds"], at, faults);
    faults.not_negative(format!("{at}.ordinals.start"), &spec["ordinals"]["start"]);
}

fn stateful_set_strategy(strategy: &Value, at: &str, faults: &mut Faults) {
    let (rolling, field) = (&strategy["rollingUpdate"], format!("{at}.rollingUpdate"));
    match json::string(strategy, "type") {
        "" => faults.required(at, ""),
        ON_DELETE if rolling.is_null() => {}
        ON_DELETE => {
            let shown = internal_form::shown("RollingUpdateStatefulSetStrategy", rolling);
            faults.invalid_as(field, &shown, "only allowed for updateStrategy 'RollingUpdate'");
        }
        ROLLING => faults.not_negative(format!("{field}.partition"), &rolling["partition"]),
        _ => {
            let shown = internal_form::shown("StatefulSetUpdateStrategy", strategy);
            faults.invalid_as(at, &shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// The numbers of that name, which may not be below zero.
pub(super) fn numbers(spec: &Value, names: &[&str], at: &str, faults: &mut Faults) {
    for name in names {
        faults.not_negative(format!("{at}.{name}"), &spec[*name]);
    }
}

//! What autoscalers are filled in with, and the rules for them. All are in the form of autoscaling/v2.

use super::autoscaler_metrics;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::quantity::Quantity;
use serde_json::{Value, json};

/// The longest that an autoscaler may look back, and the longest time that a policy may be about.
const WINDOW_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;

const CHOICES: [&str; 3] = ["Disabled", "Max", "Min"];
const POLICIES: [&str; 2] = ["Percent", "Pods"];

pub(super) fn default(object: &mut Value) {
    let spec = json::slot(object, "spec");
    json::default_member(spec, "minReplicas", 1);
    if list(&spec["metrics"]).is_empty() {
        json::assign(
            spec,
            "metrics",
            json!([{
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }]),
        );
    }
    if !spec["behavior"].is_object() {
        // Reading what is not there has left a trace.
        return json::assign(spec, "behavior", Value::Null);
    }
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let behavior = &mut spec["behavior"];
    scaling_default(behavior, "scaleUp", json!([pods, percent]));
    json::default_member(&mut behavior["scaleUp"], "stabilizationWindowSeconds", 0);
    scaling_default(behavior, "scaleDown", json!([percent]));
}

fn scaling_default(behavior: &mut Value, direction: &str, policies: Value) {
    json::default_member(behavior, direction, json!({}));
    json::default_member(&mut behavior[direction], "selectPolicy", "Max");
    json::default_member(&mut behavior[direction], "policies", policies);
}

pub(super) fn validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    for name in ["currentReplicas", "desiredReplicas"] {
        let number = new["status"][name].as_i64().unwrap_or_default();
        if number < 0 {
            let text = "must be greater than or equal to 0";
            faults.invalid(format!("status.{name}"), number, text);
        }
    }
}

/// The rules for an autoscaler; what was wrong with the old one, which may be null, may stay as it is.
pub(super) fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    let (spec, before) = (&new["spec"], &old["spec"]);
    replicas(spec, before, faults);
    let target = &spec["scaleTargetRef"];
    autoscaler_metrics::reference(
        target,
        "spec.scaleTargetRef",
        target_version(spec, before),
        faults,
    );
    autoscaler_metrics::validate(spec, before, faults);
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &spec["behavior"][direction];
        if rules.is_object() {
            scaling(rules, &format!("spec.behavior.{direction}"), faults);
        }
    }
}

fn replicas(spec: &Value, before: &Value, faults: &mut Faults) {
    let least = spec["minReplicas"].as_i64();
    let most = spec["maxReplicas"].as_i64().unwrap_or_default();
    let bound = if before["minReplicas"] == 0 { 0 } else { 1 };
    if let Some(least) = least.filter(|least| *least < bound) {
        let text = format!("must be greater than or equal to {bound}");
        faults.invalid("spec.minReplicas", least, &text);
    }
    let field = "spec.maxReplicas";
    match most {
        0 => faults.required(field, "must be set and greater than 0"),
        ..0 => faults.invalid(field, most, "must be greater than or equal to 1"),
        _ => {}
    }
    if least.is_some_and(|least| most < least) {
        faults.invalid(field, most, "must be greater than or equal to `minReplicas`");
    }
}

/// Which versions what is scaled may be of: that of replication controllers has no group.
fn target_version(spec: &Value, before: &Value) -> autoscaler_metrics::Version {
    let (now, then) = (&spec["scaleTargetRef"], &before["scaleTargetRef"]);
    let same = |name: &str| string(now, name) == string(then, name);
    if !before.is_null() && same("apiVersion") && same("kind") {
        return autoscaler_metrics::Version::Any;
    }
    match string(now, "kind") {
        "ReplicationController" => autoscaler_metrics::Version::WellFormed,
        _ => autoscaler_metrics::Version::WithGroup,
    }
}

fn scaling(rules: &Value, at: &str, faults: &mut Faults) {
    let window = rules["stabilizationWindowSeconds"].as_i64().unwrap_or_default();
    let field = format!("{at}.stabilizationWindowSeconds");
    if window < 0 {
        faults.invalid(field, window, "must be greater than or equal to zero");
    } else if window > WINDOW_SECONDS_MAX {
        let text = format!("must be less than or equal to {WINDOW_SECONDS_MAX}");
        faults.invalid(field, window, &text);
    }
    if let Some(choice) = rules["selectPolicy"].as_str() {
        faults.one_of(&format!("{at}.selectPolicy"), choice, &CHOICES);
    }
    let policies = list(&rules["policies"]);
    if policies.is_empty() {
        faults.required(format!("{at}.policies"), "must specify at least one Policy");
    }
    for (i, policy) in policies.iter().enumerate() {
        scaling_policy(policy, &format!("{at}.policies[{i}]"), faults);
    }
    let tolerance = rules["tolerance"].as_str();
    let quantity = tolerance.and_then(|text| text.parse::<Quantity>().ok());
    if let Some(negative) = quantity.filter(Quantity::is_negative) {
        let text = "must be greater than or equal to 0";
        faults.invalid(format!("{at}.tolerance"), negative.to_string(), text);
    }
}

fn scaling_policy(policy: &Value, at: &str, faults: &mut Faults) {
    faults.one_of(&format!("{at}.type"), string(policy, "type"), &POLICIES);
    for name in ["value", "periodSeconds"] {
        let number = policy[name].as_i64().unwrap_or_default();
        if number <= 0 {
            faults.invalid(format!("{at}.{name}"), number, "must be greater than zero");
        }
    }
    let period = policy["periodSeconds"].as_i64().unwrap_or_default();
    if period > PERIOD_SECONDS_MAX {
        let text = format!("must be less than or equal to {PERIOD_SECONDS_MAX}");
        faults.invalid(format!("{at}.periodSeconds"), period, &text);
    }
}

//! The rules for priority levels.

use super::internal_form;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, string};
use crate::machinery::metadata;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

const QUEUES_MAX: i64 = 10_000_000;
/// How many bits a hash has from which the queues of a flow are dealt.
const HASH_BITS: i64 = 60;

/// The annotation by which an older version kept what it could not say.
const PRESERVED: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

pub(super) fn validate(level: &Value, faults: &mut Faults) {
    if level["metadata"]["annotations"].get(PRESERVED).is_some() {
        let text = format!("annotation '{PRESERVED}' is forbidden");
        faults.forbidden("metadata.annotations", &text);
    }
    let (name, spec) = (metadata::text(level, "name"), &level["spec"]);
    spec_rules(name, spec, faults);
    fixed(name, spec, faults);
}

/// The levels that every server needs, and what they are made as.
pub(crate) fn mandatory() -> [(&'static str, Value); 2] {
    let exempt = json!({
        "type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    });
    let catch_all = json!({"type": "Limited", "limited": {
        "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"},
    }});
    [("exempt", exempt), ("catch-all", catch_all)]
}

/// They stay so, but what the level that is never bounded lends is up to the cluster.
fn fixed(name: &str, spec: &Value, faults: &mut Faults) {
    let Some((_, mut wanted)) = mandatory().into_iter().find(|(of, _)| *of == name) else {
        return;
    };
    let mut compared = spec.clone();
    let mut but_for = "";
    if name == "exempt" {
        but_for = " except the 'spec.exempt' field";
        for spec in [&mut wanted, &mut compared] {
            json::assign(spec, "exempt", Value::Null);
        }
    }
    if compared != wanted {
        let text = format!("spec of '{name}'{but_for} must equal the fixed value");
        let shown = internal_form::shown("PriorityLevelConfigurationSpec", spec);
        faults.invalid_as("spec", &shown, &text);
    }
}

fn spec_rules(name: &str, spec: &Value, faults: &mut Faults) {
    let (of, limited, exempt) = (string(spec, "type"), &spec["limited"], &spec["exempt"]);
    if (name == "exempt") != (of == "Exempt") {
        let text = "must be 'Exempt' if and only if `name` is 'exempt'";
        faults.invalid("spec.type", of, text);
    }
    match of {
        "Exempt" => {
            if !limited.is_null() {
                faults.forbidden("spec.limited", "must be nil if the type is not Limited");
            }
            shares(exempt, "spec.exempt", faults);
            percent(exempt, "lendablePercent", 0..=100, "spec.exempt", faults);
        }
        "Limited" => {
            if !exempt.is_null() {
                faults.forbidden("spec.exempt", "must be nil if the type is Limited");
            }
            match limited {
                Value::Null => faults.required("spec.limited", "must not be empty when type is Limited"),
                limited => limits(limited, faults),
            }
        }
        of => faults.not_supported("spec.type", of, &["Exempt", "Limited"]),
    }
}

fn limits(limited: &Value, faults: &mut Faults) {
    let at = "spec.limited";
    shares(limited, at, faults);
    response(&limited["limitResponse"], faults);
    percent(limited, "lendablePercent", 0..=100, at, faults);
    percent(limited, "borrowingLimitPercent", 0..=i64::MAX, at, faults);
}

fn shares(level: &Value, at: &str, faults: &mut Faults) {
    let name = "nominalConcurrencyShares";
    if let Some(negative) = level[name].as_i64().filter(|shares| *shares < 0) {
        faults.invalid(format!("{at}.{name}"), negative, "must be a non-negative integer");
    }
}

fn percent(level: &Value, name: &str, legal: RangeInclusive<i64>, at: &str, faults: &mut Faults) {
    let text = if *legal.end() == 100 {
        "must be between 0 and 100, inclusive"
    } else {
        "if specified, must be a non-negative integer"
    };
    if let Some(percent) = level[name].as_i64().filter(|percent| !legal.contains(percent)) {
        faults.invalid(format!("{at}.{name}"), percent, text);
    }
}

fn response(response: &Value, faults: &mut Faults) {
    let at = "spec.limited.limitResponse";
    let field = format!("{at}.queuing");
    let queuing = &response["queuing"];
    match string(response, "type") {
        "Reject" if !queuing.is_null() => {
            let text = "must be nil if limited.limitResponse.type is not Limited";
            faults.forbidden(field, text);
        }
        "Queue" if queuing.is_null() => {
            let text = "must not be empty if limited.limitResponse.type is Limited";
            faults.required(field, text);
        }
        "Queue" => queues(queuing, &field, faults),
        "Reject" => {}
        of => faults.not_supported(format!("{at}.type"), of, &["Queue", "Reject"]),
    }
}

fn queues(queuing: &Value, at: &str, faults: &mut Faults) {
    let number = |name: &str| queuing[name].as_i64().unwrap_or_default();
    let [length, queues, hand] = ["queueLengthLimit", "queues", "handSize"].map(number);
    let mut complain = |name: &str, text: &str| faults.invalid(format!("{at}.{name}"), number(name), text);
    if length <= 0 {
        complain("queueLengthLimit", "must be positive");
    }
    if queues <= 0 {
        complain("queues", "must be positive");
    } else if queues > QUEUES_MAX {
        complain("queues", &format!("must not be greater than {QUEUES_MAX}"));
    }
    if hand <= 0 {
        complain("handSize", "must be positive");
    } else if hand > queues {
        complain(
            "handSize",
            &format!("should not be greater than queues ({queues})"),
        );
    } else if ((queues as f64).log2() * hand as f64).ceil() > HASH_BITS as f64 {
        let text = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        complain("handSize", &text);
    }
}

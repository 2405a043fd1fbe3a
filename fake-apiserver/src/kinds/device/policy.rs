//! The rules for how much of a shared capacity one request may take (KEP-5075).

use super::lists::set;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::quantity::Quantity;
use serde_json::Value;

/// Amounts that a policy may list.
const OPTIONS_MAX: usize = 10;

/// The rules for a policy about a capacity of `most`.
pub(super) fn validate(policy: &Value, most: &str, at: &str, faults: &mut Faults) {
    let (options, range) = (&policy["validValues"], &policy["validRange"]);
    let has_options = !list(options).is_empty();
    if has_options && !range.is_null() {
        let text = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
        faults.forbidden(at, text);
        return;
    }
    let name = match (has_options, range.is_null()) {
        (true, _) => "validValues",
        (false, false) => "validRange",
        (false, true) => return,
    };
    let Some(default) = policy["default"].as_str() else {
        faults.required(
            format!("{at}.default"),
            &format!("required when {name} is defined"),
        );
        return;
    };
    let at = format!("{at}.{name}");
    match has_options {
        true => within_options(options, default, most, &at, faults),
        false => within_range(range, default, most, &at, faults),
    }
}

/// An amount; nothing for what is none, which no object has.
fn amount(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|_| Quantity::from_integer(0))
}

fn within_options(options: &Value, default: &str, most: &str, at: &str, faults: &mut Faults) {
    let all: Vec<&str> = list(options).iter().filter_map(Value::as_str).collect();
    for (i, pair) in all.windows(2).enumerate() {
        if amount(pair[0]) > amount(pair[1]) {
            let text = "values must be sorted in ascending order";
            faults.invalid(format!("{at}[{}]", i + 1), pair[1], text);
        }
    }
    set(
        options,
        OPTIONS_MAX,
        |one| one.as_str().unwrap_or_default(),
        at,
        faults,
        |one, at, faults| {
            let text = one.as_str().unwrap_or_default();
            if amount(text) > amount(most) {
                faults.invalid(at, text, &format!("option is larger than capacity value: {most}"));
            }
        },
    );
    if all.len() > OPTIONS_MAX || !all.iter().any(|one| amount(one) == amount(default)) {
        let text = "default value is not valid according to the requestPolicy";
        faults.invalid(at, default, text);
    }
}

fn within_range(range: &Value, default: &str, most: &str, at: &str, faults: &mut Faults) {
    let Some(min) = range["min"].as_str() else {
        faults.required(format!("{at}.min"), "required when validRange is defined");
        return;
    };
    let is_more = |one: &str, other: &str| amount(one) > amount(other);
    let mut bound = |broken: bool, name: &str, value: &str, text: String| {
        if broken {
            faults.invalid(format!("{at}.{name}"), value, &text);
        }
    };
    bound(
        is_more(min, most),
        "min",
        min,
        format!("min is larger than capacity value: {most}"),
    );
    bound(
        is_more(min, default),
        "min",
        default,
        format!("default is less than min: {min}"),
    );
    let max = range["max"].as_str();
    if let Some(max) = max {
        bound(
            is_more(min, max),
            "max",
            min,
            format!("min is larger than max: {max}"),
        );
        bound(
            is_more(max, most),
            "max",
            max,
            format!("max is larger than capacity value: {most}"),
        );
        bound(
            is_more(default, max),
            "max",
            default,
            format!("default is more than max: {max}"),
        );
    }
    let step = string(range, "step");
    if step.is_empty() {
        return;
    }
    let one = amount(min).plus(&amount(step));
    bound(
        one > amount(most),
        "step",
        step,
        format!("one step {one} is larger than capacity value: {most}"),
    );
    for value in [Some(default), max].into_iter().flatten() {
        let (distance, step_value) = (amount(value).value() - amount(min).value(), amount(step).value());
        let text = format!("value is not a multiple of a given step ({step}) from ({min})");
        bound(
            distance.checked_rem(step_value).is_some_and(|rest| rest != 0),
            "step",
            value,
            text,
        );
    }
}

//! The rules for limit ranges: bounds that can be kept together.

use super::resource_names;
use crate::machinery::amounts::Amounts;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::names;
use crate::machinery::quantity::Quantity;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

const TYPES: [&str; 3] = ["Container", "Pod", "PersistentVolumeClaim"];

/// The rules for a new limit range and a changed one.
pub(super) fn validate(range: &Value, faults: &mut Faults) {
    let mut types = HashSet::new();
    for (i, limit) in list(&range["spec"]["limits"]).iter().enumerate() {
        let at = format!("spec.limits[{i}]");
        let of = string(limit, "type");
        let field = format!("{at}.type");
        let complaints = names::qualified(of);
        if complaints.is_empty() && !of.contains('/') && !TYPES.contains(&of) {
            faults.invalid(
                field.as_str(),
                of,
                "must be a standard limit type or fully qualified",
            );
        }
        faults.complain(&field, of, complaints);
        if !types.insert(of) {
            faults.duplicate(field, of);
        }
        resources(limit, of, &at, faults);
        bounds(limit, of, &at, faults);
    }
}

/// The names of the resources that are bounded.
fn resources(limit: &Value, of: &str, at: &str, faults: &mut Faults) {
    let rule = match of {
        "Pod" | "Container" => resource_names::of_container,
        _ => resource_names::any,
    };
    let names = |part: &str, faults: &mut Faults| {
        json::pairs(&limit[part]).for_each(|(name, _)| rule(name, &format!("{at}.{part}[{name}]"), faults));
    };
    for part in ["max", "min"] {
        names(part, faults);
    }
    for part in ["default", "defaultRequest"] {
        if of != "Pod" {
            names(part, faults);
        } else if json::pairs(&limit[part]).next().is_some() {
            faults.forbidden(
                format!("{at}.{part}"),
                "may not be specified when `type` is 'Pod'",
            );
        }
    }
    let is_bounded = ["min", "max"]
        .iter()
        .any(|part| limit[*part]["storage"].is_string());
    if of == "PersistentVolumeClaim" && !is_bounded {
        let text = "either minimum or maximum storage value is required, but neither was provided";
        faults.required(format!("{at}.limits"), text);
    }
    names("maxLimitRequestRatio", faults);
}

/// Two bounds of which the first may not be above the second: where the fault is, which of the two is shown there, and
/// how the text calls them.
struct Order {
    bounds: [&'static str; 2],
    field: &'static str,
    shown: usize,
    text: fn(&Quantity, &Quantity) -> String,
}

const ORDERS: [Order; 6] = [
    Order {
        bounds: ["min", "max"],
        field: "min",
        shown: 0,
        text: |min, max| format!("min value {min} is greater than max value {max}"),
    },
    Order {
        bounds: ["min", "defaultRequest"],
        field: "defaultRequest",
        shown: 1,
        text: |min, request| format!("min value {min} is greater than default request value {request}"),
    },
    Order {
        bounds: ["defaultRequest", "max"],
        field: "defaultRequest",
        shown: 0,
        text: |request, max| format!("default request value {request} is greater than max value {max}"),
    },
    Order {
        bounds: ["defaultRequest", "default"],
        field: "defaultRequest",
        shown: 0,
        text: |request, limit| {
            format!("default request value {request} is greater than default limit value {limit}")
        },
    },
    Order {
        bounds: ["min", "default"],
        field: "default",
        shown: 0,
        text: |min, limit| format!("min value {min} is greater than default value {limit}"),
    },
    Order {
        bounds: ["default", "max"],
        field: "default",
        shown: 1,
        text: |limit, max| format!("default value {limit} is greater than max value {max}"),
    },
];

/// The bounds by their names. Pods have no defaults, whatever is said of them.
struct Bounds([(&'static str, Amounts); 5]);

impl Bounds {
    fn of(limit: &Value, of: &str) -> Self {
        let names = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
        Self(names.map(|name| {
            let counts = of != "Pod" || !name.starts_with("default");
            let amounts = if counts { &limit[name] } else { &Value::Null };
            (name, Amounts::read(amounts))
        }))
    }

    fn get(&self, name: &str, resource: &str) -> Option<&Quantity> {
        let (_, amounts) = self.0.iter().find(|(known, _)| *known == name)?;
        amounts.get(resource)
    }

    fn resources(&self) -> BTreeSet<&str> {
        let all = self.0.iter().flat_map(|(_, amounts)| amounts.0.keys());
        all.map(String::as_str).collect()
    }
}

fn bounds(limit: &Value, of: &str, at: &str, faults: &mut Faults) {
    let bounds = Bounds::of(limit, of);
    for resource in bounds.resources() {
        for order in &ORDERS {
            let pair = order.bounds.map(|name| bounds.get(name, resource));
            let [Some(low), Some(high)] = pair else { continue };
            if low > high {
                let shown = [low, high][order.shown].to_string();
                let field = format!("{at}.{}[{resource}]", order.field);
                faults.invalid(field, shown, &(order.text)(low, high));
            }
        }
        ratio(&bounds, resource, at, faults);
        let defaults = ["default", "defaultRequest"].map(|name| bounds.get(name, resource));
        if let [Some(limit), Some(request)] = defaults
            && limit != request
            && !resource_names::is_overcommitted(resource)
        {
            let text =
                format!("default value {limit} must equal to defaultRequest value {request} in {resource}");
            faults.invalid(
                format!("{at}.defaultRequest[{resource}]"),
                request.to_string(),
                &text,
            );
        }
    }
}

/// The ratio of limit and request can be kept where the bounds are that far apart.
fn ratio(bounds: &Bounds, resource: &str, at: &str, faults: &mut Faults) {
    let Some(ratio) = bounds.get("maxLimitRequestRatio", resource) else {
        return;
    };
    let mut complain = |text: &str| {
        let field = format!("{at}.maxLimitRequestRatio[{resource}]");
        faults.invalid(field, ratio.to_string(), text);
    };
    if *ratio < Quantity::from_integer(1) {
        complain(&format!("ratio {ratio} is less than 1"));
    }
    let (Some(max), Some(min)) = (bounds.get("max", resource), bounds.get("min", resource)) else {
        return;
    };
    let most = max.milli() as f64 / min.milli() as f64;
    if ratio.milli() as f64 / 1000.0 > most {
        complain(&format!("ratio {ratio} is greater than max/min = {most:.6}"));
    }
}

//! Label and field selectors in access reviews.
//!
//! Owns the validation of selectors and the error for unparsable selectors. Authorization in this server ignores selectors.

use crate::kinds::{is_label_operator, label_requirement, requirement_values};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::selector::{FieldSelector, LabelSelector};
use serde_json::Value;

/// One of the two selector types in an access review: labels or fields.
struct Selectors {
    field: &'static str,
    /// Validates one requirement of the selector. Unknown operators are valid, because newer clients may send them.
    rule: fn(&Value, &str, &mut ErrorList),
    /// Whether a requirement has a supported operator and number of values.
    is_meant: fn(&Value) -> bool,
    is_text: fn(&str) -> bool,
}

const ALL: [Selectors; 2] = [
    Selectors {
        field: "fieldSelector",
        rule: |requirement, at, errors| {
            if string(requirement, "key").is_empty() {
                errors.required(format!("{at}.key"), "must be specified");
            }
            requirement_values(requirement, at, errors);
        },
        is_meant: |requirement| {
            let is_one = list(&requirement["values"]).len() == 1;
            is_one && ["In", "NotIn"].contains(&string(requirement, "operator"))
        },
        is_text: |text| FieldSelector::read(text).is_ok(),
    },
    Selectors {
        field: "labelSelector",
        rule: label_requirement,
        is_meant: |requirement| is_label_operator(string(requirement, "operator")),
        is_text: |text| LabelSelector::parse(text).is_ok(),
    },
];

pub(super) fn validate(attributes: &Value, at: &str, errors: &mut ErrorList) {
    for selectors in &ALL {
        let (selector, at) = (&attributes[selectors.field], format!("{at}.{}", selectors.field));
        if selector.is_null() {
            continue;
        }
        let (text, requirements) = (string(selector, "rawSelector"), list(&selector["requirements"]));
        match (text.is_empty(), requirements.is_empty()) {
            (false, false) => {
                let why = "may not specified at the same time as requirements";
                errors.invalid(format!("{at}.rawSelector"), text, why);
            }
            (true, true) => {
                let why = format!("when {at} is specified, requirements or rawSelector is required");
                errors.required(format!("{at}.requirements"), &why);
            }
            _ => {}
        }
        for (i, requirement) in requirements.iter().enumerate() {
            (selectors.rule)(requirement, &format!("{at}.requirements[{i}]"), errors);
        }
    }
}

/// The `evaluationError` of an access review with selectors that cannot be parsed, in part or at all. `None` if all are valid.
pub(super) fn selector_error(attributes: &Value, at: &str) -> Option<String> {
    let errors = ALL.iter().filter_map(|selectors| {
        let selector = &attributes[selectors.field];
        let (text, requirements) = (string(selector, "rawSelector"), list(&selector["requirements"]));
        let valid = requirements
            .iter()
            .filter(|requirement| (selectors.is_meant)(requirement))
            .count();
        let is_read = match requirements.is_empty() {
            true => text.is_empty() || (selectors.is_text)(text),
            false => valid == requirements.len(),
        };
        let how = match valid {
            0 => "ignored",
            _ => "partially ignored",
        };
        let field = selectors.field;
        (!is_read).then(|| format!("{at}.{field} {how} due to parse error"))
    });
    let errors: Vec<String> = errors.collect();
    (!errors.is_empty()).then(|| errors.join("; "))
}

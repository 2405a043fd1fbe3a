//! What claims and classes say of the devices that they want: expressions, and parameters for drivers.

use super::lists::each;
use crate::kinds::volume::driver_name;
use crate::machinery::faults::Faults;
use crate::machinery::json::string;
use crate::rules::Expression;
use serde_json::Value;

/// Selectors that stand together.
const SELECTORS_MAX: usize = 32;
const EXPRESSION_BYTES_MAX: usize = 10 * 1024;
const PARAMETERS_BYTES_MAX: usize = 10 * 1024;

/// The rules for `selectors`.
pub(super) fn selectors(all: &Value, at: &str, faults: &mut Faults) {
    each(all, SELECTORS_MAX, at, faults, |selector, at, faults| {
        let cel = &selector["cel"];
        if cel.is_null() {
            faults.required(format!("{at}.cel"), "");
            return;
        }
        let (text, field) = (string(cel, "expression"), format!("{at}.cel.expression"));
        if text.len() > EXPRESSION_BYTES_MAX {
            faults.too_long(field, EXPRESSION_BYTES_MAX);
            return;
        }
        let judged = Expression::read(text).and_then(|expression| expression.check_of_device());
        if let Err(why) = judged {
            faults.invalid(field, text, &why);
        }
    });
}

/// The rules for what is said to a driver.
pub(super) fn configuration(config: &Value, at: &str, faults: &mut Faults) {
    let (opaque, at) = (&config["opaque"], format!("{at}.opaque"));
    if opaque.is_null() {
        faults.required(at, "");
        return;
    }
    driver_name(string(opaque, "driver"), &format!("{at}.driver"), faults);
    let (parameters, field) = (&opaque["parameters"], format!("{at}.parameters"));
    if parameters.is_null() {
        faults.required(field, "");
    } else {
        driver_object(parameters, PARAMETERS_BYTES_MAX, field, faults);
    }
}

/// The rules for an object that only a driver knows the meaning of.
pub(super) fn driver_object(object: &Value, bytes_max: usize, field: String, faults: &mut Faults) {
    if object.to_string().len() > bytes_max {
        faults.too_long(field, bytes_max);
    } else if !object.is_object() {
        faults.invalid(field, "<value omitted>", "must be a valid JSON object");
    }
}

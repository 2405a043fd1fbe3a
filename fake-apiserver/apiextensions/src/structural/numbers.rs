//! Validation of numbers: bounds, multiples and formats.

use super::failure::{Failure, FailureKind};
use super::trail::Trail;
use fake_apiserver::extension::schema::{Checks, Schema};
use serde_json::{Number, Value};

/// Validation errors of a number, except type errors.
pub(super) fn validate(number: &Number, schema: &Schema, checks: &Checks, trail: &Trail) -> Vec<Failure> {
    let mut found: Vec<Failure> = out_of_range(number, schema, checks, trail).into_iter().collect();
    let mut fail = |text: String| {
        let text = format!("{} in body should be {text}", trail.as_str());
        found.push(Failure::at(
            trail.as_str(),
            FailureKind::Rule(number.clone().into(), text),
        ));
    };
    if let Some(factor) = checks.multiple_of.filter(|factor| !is_multiple(number, *factor)) {
        fail(format!("a multiple of {}", format_bound(number, factor)));
    }
    if let Some(most) = checks.maximum {
        match (compare(number, most), checks.exclusive_maximum) {
            (1.., false) => fail(format!("less than or equal to {}", format_bound(number, most))),
            (0.., true) => fail(format!("less than {}", format_bound(number, most))),
            _ => {}
        }
    }
    if let Some(least) = checks.minimum {
        match (compare(number, least), checks.exclusive_minimum) {
            (..=-1, false) => fail(format!(
                "greater than or equal to {}",
                format_bound(number, least)
            )),
            (..=0, true) => fail(format!("greater than {}", format_bound(number, least))),
            _ => {}
        }
    }
    found
}

/// An error if the number does not fit its integer or float format.
fn out_of_range(number: &Number, schema: &Schema, checks: &Checks, trail: &Trail) -> Option<Failure> {
    if schema.int_or_string {
        return None;
    }
    let fits = match (schema.of, checks.format) {
        ("integer", "int32") => to_integer(number).is_some_and(|whole| i32::try_from(whole).is_ok()),
        ("integer", _) => to_integer(number).is_some(),
        ("number", "float") => number
            .as_f64()
            .is_none_or(|number| number.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    if fits {
        return None;
    }
    let format = match checks.format {
        "" => " (default format)".to_owned(),
        format => format!(" with format {format}"),
    };
    Some(Failure::without_path(format!(
        "Checked value must be of type {}{format} in {}",
        schema.of,
        trail.as_str()
    )))
}

/// The number as an integer, also if written as `1.0`; None if the number is not integral.
pub(super) fn to_integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        is_whole(float).then_some(float as i64)
    })
}

/// Whether a float is integral and within the range in which floats represent integers exactly.
fn is_whole(float: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    float.fract() == 0.0 && float.abs() <= MOST
}

/// Compares a number with a bound. An integer is compared with the integer part of the bound.
fn compare(number: &Number, bound: f64) -> i32 {
    let ordering = match number.as_i64() {
        Some(whole) => whole.cmp(&(bound as i64)),
        None => number.as_f64().unwrap_or_default().total_cmp(&bound),
    };
    ordering as i32
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    match (number.as_i64(), factor as i64) {
        (Some(whole), factor) if factor != 0 => whole % factor == 0,
        _ => {
            let number = number.as_f64().unwrap_or_default();
            let times = if factor < 1.0 {
                1.0 / factor * number
            } else {
                number / factor
            };
            (times - times.round()).abs() < 1e-9 && is_whole(times.round())
        }
    }
}

/// The bound as shown in error messages: an integer if the number is an integer.
fn format_bound(number: &Number, bound: f64) -> String {
    match number.as_i64() {
        Some(_) => (bound as i64).to_string(),
        None => Value::from(bound).to_string().trim_end_matches(".0").to_owned(),
    }
}

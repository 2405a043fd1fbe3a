//! Which nodes reach what a slice tells of: one by its name, those that a selector finds, or all.

use crate::kinds::selectors::{self, Values};
use crate::machinery::faults::Faults;
use crate::machinery::names;
use serde_json::Value;

/// Judges `nodeName` and `nodeSelector`, and returns which is set.
pub(super) fn nodes(of: &Value, at: &str, empty: &str, faults: &mut Faults) -> Vec<&'static str> {
    let mut chosen = Vec::new();
    match of["nodeName"].as_str() {
        None => {}
        Some("") => faults.invalid(format!("{at}.nodeName"), "", empty),
        Some(name) => {
            chosen.push("nodeName");
            faults.complain(&format!("{at}.nodeName"), name, names::subdomain(name));
        }
    }
    if !of["nodeSelector"].is_null() {
        chosen.push("nodeSelector");
        let field = format!("{at}.nodeSelector");
        selectors::nodes(&of["nodeSelector"], &field, Values::Labels, faults);
    }
    chosen
}

/// A flag that is set or not there: which, if it is set.
pub(super) fn flag(of: &Value, name: &'static str, at: &str, faults: &mut Faults) -> Option<&'static str> {
    match of[name].as_bool()? {
        true => Some(name),
        false => {
            faults.invalid(
                format!("{at}.{name}"),
                false,
                "must be either unset or set to true",
            );
            None
        }
    }
}

pub(super) fn braced(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{{{}}}", names.join(", "))
}

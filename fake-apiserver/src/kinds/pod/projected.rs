//! The rules for projected volumes: several sources whose files lie in one folder (`validateProjectionSources` of core/v1).
//!
//! Does not know sources of features that are off: they are dropped before.

use super::files::{inner_path, item, mode, shown};
use crate::kinds::token_lifetime;
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use serde_json::Value;
use std::collections::HashSet;

/// What a projected volume may consist of.
const SOURCES: [&str; 4] = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];

/// The rules for a projected volume.
pub(super) fn validate<'a>(volume: &'a Value, at: &str, faults: &mut Faults) {
    let mut taken: HashSet<&'a str> = HashSet::new();
    // The path of a file is its own once; what the value is that is told of depends on the source.
    let mut place = |path: &'a str, told: &str, faults: &mut Faults| {
        if !path.is_empty() && !taken.insert(path) {
            faults.invalid(at, told, "conflicting duplicate paths");
        }
    };
    for (i, source) in list(&volume["sources"]).iter().enumerate() {
        let here = format!("{at}.sources[{i}]");
        for kind in ["secret", "configMap"] {
            let (part, inner) = (&source[kind], format!("{here}.{kind}"));
            let name = string(part, "name");
            if !part.is_null() && name.is_empty() {
                faults.required(format!("{inner}.name"), "");
            }
            for (j, one) in list(&part["items"]).iter().enumerate() {
                item(one, &format!("{inner}.items[{j}]"), faults);
                place(string(one, "path"), name, faults);
            }
        }
        for one in list(&source["downwardAPI"]["items"]) {
            let path = string(one, "path");
            shown(one, &format!("{here}.downwardAPI"), faults);
            place(path, path, faults);
        }
        token(&source["serviceAccountToken"], at, &here, faults);
        if SOURCES.iter().filter(|name| !source[**name].is_null()).count() > 1 {
            faults.forbidden(here, "may not specify more than 1 volume type per source");
        }
    }
    mode(&volume["defaultMode"], &format!("{at}.defaultMode"), faults);
}

/// The rules for a token of the pod's service account. Its path is told of as the volume's.
fn token(token: &Value, at: &str, here: &str, faults: &mut Faults) {
    if token.is_null() {
        return;
    }
    let seconds = token["expirationSeconds"].as_i64().unwrap_or_default();
    let field = format!("{here}.serviceAccountToken.expirationSeconds");
    token_lifetime::check(&field, seconds, faults);
    match string(token, "path") {
        "" => faults.required(format!("{at}.path"), ""),
        path => inner_path(path, &format!("{at}.path"), faults),
    }
}

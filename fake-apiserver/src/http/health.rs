//! `/healthz`, `/livez` and `/readyz`: the health of the server, in one word or check by check.
//!
//! Owns the checks and their texts. Does not know who may ask.

use super::respond::{self, Plain};
use crate::store::Store;
use crate::verbs::call::Params;
use tokio_util::sync::CancellationToken;

/// A check: its name, where it counts, and whether all is well.
struct Check {
    name: &'static str,
    endpoints: &'static [&'static str],
    is_well: fn(&Store, &CancellationToken) -> bool,
}

const CHECKS: [Check; 3] = [
    Check {
        name: "ping",
        endpoints: &["healthz", "livez", "readyz"],
        is_well: |_, _| true,
    },
    Check {
        // The store can be locked and has what every cluster has: the namespaces were written.
        name: "storage",
        endpoints: &["healthz", "livez", "readyz"],
        is_well: |store, _| store.revision() > 1,
    },
    Check {
        name: "shutdown",
        endpoints: &["readyz"],
        is_well: |_, stop| !stop.is_cancelled(),
    },
];

/// Answers a path below one of the three endpoints; `None` where there is no such check.
pub(super) fn answer(
    endpoint: &str,
    rest: &[String],
    params: &Params,
    store: &Store,
    stop: &CancellationToken,
) -> Option<Plain> {
    let all = CHECKS.iter().filter(|check| check.endpoints.contains(&endpoint));
    let chosen: Vec<&Check> = match rest {
        [] => all.collect(),
        [name] => vec![all.into_iter().find(|check| check.name == name)?],
        _ => return None,
    };
    let excluded = params.all("exclude");
    let mut lines = String::new();
    let mut failed = Vec::new();
    for check in chosen {
        let line = match (excluded.contains(&check.name), (check.is_well)(store, stop)) {
            (true, _) => format!("[+]{} excluded: ok\n", check.name),
            (false, true) => format!("[+]{} ok\n", check.name),
            (false, false) => {
                failed.push(check.name);
                format!("[-]{} failed: reason withheld\n", check.name)
            }
        };
        lines.push_str(&line);
    }
    let unknown: Vec<&str> = excluded
        .into_iter()
        .filter(|name| CHECKS.iter().all(|check| check.name != *name))
        .collect();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
        lines.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            names.join(", ")
        ));
    }
    Some(if !failed.is_empty() {
        respond::text(500, format!("{lines}{endpoint} check failed\n"))
    } else if params.flag("verbose").unwrap_or_default() {
        respond::text(200, format!("{lines}{endpoint} check passed\n"))
    } else {
        respond::text(200, "ok")
    })
}

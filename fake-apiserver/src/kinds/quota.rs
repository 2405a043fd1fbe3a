//! LimitRange and ResourceQuota: stored and shown; nothing enforces them.

use super::{PLAIN, Row};
use crate::kinds::columns;
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::json;
use serde_json::Value;

pub(super) static LIMIT_RANGE: Row = Row {
    kind: "LimitRange",
    plural: "limitranges",
    singular: "limitrange",
    short_names: &["limits"],
    create_on_update: true,
    columns: columns::NAME_AND_CREATION,
    caveat: Some("limits are stored here, and not enforced"),
    ..PLAIN
};

pub(super) static RESOURCE_QUOTA: Row = Row {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    singular: "resourcequota",
    short_names: &["quota"],
    status: true,
    returns_deleted: true,
    columns: &[
        NAME,
        text("Request", Of(|o| quota(o, false))),
        text("Limit", Of(|o| quota(o, true))),
        AGE,
    ],
    caveat: Some("quotas are stored here, and not enforced"),
    ..PLAIN
};

/// What is used and what is there, of limits or of requests.
fn quota(quota: &Value, of_limits: bool) -> Value {
    let all = json::pairs(&quota["status"]["hard"]);
    let meant = all.filter(|(resource, _)| resource.starts_with("limits.") == of_limits);
    let shown = meant.map(|(resource, hard)| {
        let used = quota["status"]["used"][resource].as_str().unwrap_or("0");
        format!("{resource}: {used}/{hard}")
    });
    shown.collect::<Vec<_>>().join(", ").into()
}

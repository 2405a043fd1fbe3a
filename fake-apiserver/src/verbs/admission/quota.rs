//! ResourceQuota: refuses what a quota of the namespace has no room for.
//!
//! What is used is counted with every commit, by the store.

use super::refusal::forbidden;
use crate::kinds::{Kind, RESOURCE_QUOTA, usage};
use crate::machinery::amounts::Amounts;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::store::Txn;
use serde_json::Value;

/// Checks a new object, or a changed one.
pub(super) fn check(txn: &Txn<'_>, kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let kind = &kind.stored();
    if old.is_some_and(|old| !usage::may_grow(kind, new, old)) {
        return Ok(());
    }
    for quota in txn.in_namespace(&RESOURCE_QUOTA, metadata::text(new, "namespace")) {
        one(quota.value(), kind, new, old).map_err(|why| forbidden(kind, new, &why))?;
    }
    Ok(())
}

fn one(quota: &Value, kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), String> {
    if !usage::matches(quota, kind, new) {
        return Ok(());
    }
    let name = metadata::text(quota, "name");
    let lacking = usage::lacking(quota, kind, new);
    if !lacking.is_empty() {
        let texts: Vec<String> = lacking
            .iter()
            .map(|(resource, containers)| format!("{resource} for: {}", containers.join(",")))
            .collect();
        return Err(format!("failed quota: {name}: must specify {}", texts.join("; ")));
    }
    let mut requested = usage::counted(quota, kind, new);
    if let Some(old) = old {
        requested.subtract(&usage::counted(quota, kind, old));
    }
    let requested = requested.filtered(|_, amount| !amount.is_zero() && !amount.is_negative());
    let used = Amounts::read(&quota["status"]["used"]);
    let hard = Amounts::read(&quota["status"]["hard"]);
    let mut after = used.clone();
    after.add(&requested);
    let exceeded = |resource: &str| after.get(resource) > hard.get(resource);
    let failed = requested.filtered(|resource, _| exceeded(resource));
    if failed.is_empty() {
        return Ok(());
    }
    let of_failed = |amounts: &Amounts| {
        amounts
            .filtered(|resource, _| failed.get(resource).is_some())
            .text()
    };
    Err(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        failed.text(),
        of_failed(&used),
        of_failed(&hard)
    ))
}

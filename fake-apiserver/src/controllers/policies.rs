//! The status of policies that refuse: whether their expressions fit the types that they are about.
//!
//! Plays a controller of the real controller manager; it is done when the request is answered.

use crate::admission::type_warnings;
use crate::kinds::{Part, VALIDATING_ADMISSION_POLICY as POLICY};
use crate::machinery::metadata;
use crate::patch::managed::{self, FieldManager};
use crate::store::Txn;
use serde_json::json;

/// Who writes the status.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Judges a policy that was written, unless it is judged already.
pub(super) fn settle(txn: &mut Txn<'_>, name: &str) {
    let Some(found) = txn.get(&POLICY, name) else {
        return;
    };
    let generation = found.value()["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default();
    let observed = found.value()["status"]["observedGeneration"]
        .as_i64()
        .unwrap_or_default();
    if generation <= observed || metadata::is_deleting(found.value()) {
        return;
    }
    let mut checking = json!({});
    let warnings = type_warnings(found.value(), &txn.api());
    if !warnings.is_empty() {
        checking["expressionWarnings"] = warnings.into();
    }
    let wanted = json!({
        "apiVersion": POLICY.api_version(), "kind": POLICY.kind, "metadata": {"name": name},
        "status": {"observedGeneration": generation, "typeChecking": checking},
    });
    let writer = FieldManager {
        kind: &POLICY,
        manager: MANAGER,
        part: Part::Status,
    };
    match writer.apply(&txn.now, Some(&found), &wanted, true) {
        Ok((mut object, owners)) => {
            managed::mark(&mut object, owners);
            txn.put(&POLICY, name, object);
        }
        Err(why) => tracing::warn!(policy = name, %why, "the status of a policy could not be written"),
    }
}

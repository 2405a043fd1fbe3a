//! The status of ValidatingAdmissionPolicies, for which clients wait. CEL expressions are not type-checked, so it has no warnings.
//!
//! Written by kube-controller-manager in a real cluster; here, within the request.

use crate::kinds::{Part, VALIDATING_ADMISSION_POLICY as POLICY};
use crate::machinery::metadata;
use crate::patch::managed::{self, FieldManager};
use crate::store::Txn;
use serde_json::json;

/// The field manager of the status.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Writes the status for the current generation of a policy.
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
    let wanted = json!({
        "apiVersion": POLICY.api_version(), "kind": POLICY.kind, "metadata": {"name": name},
        "status": {"observedGeneration": generation, "typeChecking": {}},
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

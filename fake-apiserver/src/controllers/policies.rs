//! The status of validating policies, which clients wait for: expressions have no types here, so their check finds nothing.
//!
//! A controller of kube-controller-manager writes it; here it is written with the request.

use crate::kinds::{Part, VALIDATING_ADMISSION_POLICY as POLICY};
use crate::machinery::metadata;
use crate::patch::managed::{self, FieldManager};
use crate::store::Txn;
use serde_json::json;

/// Who writes the status.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Writes the status of a policy for its generation.
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

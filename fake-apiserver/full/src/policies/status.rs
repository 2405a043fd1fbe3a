//! The status of ValidatingAdmissionPolicies, for which clients wait. It contains no warnings, since CEL expressions are not type-checked.
//!
//! In a real cluster kube-controller-manager writes this status. This server writes the status together with each write of a policy.

use fake_apiserver::extension::{Controller, ControllerTransaction, Kind, metadata};
use serde_json::json;

use super::resources::VALIDATING_ADMISSION_POLICY as POLICY;

const MANAGER: &str = "validatingadmissionpolicy-status";

/// Sets `observedGeneration` in the status of a policy.
pub(super) struct PolicyStatus;

impl Controller for PolicyStatus {
    fn watches(&self, kind: &Kind) -> bool {
        kind.is_resource(POLICY.group, POLICY.plural)
    }

    fn reconcile(&self, txn: &mut dyn ControllerTransaction, kind: &Kind, key: &str, _: bool) {
        let Some(found) = txn.object(kind, None, key) else {
            return;
        };
        let policy = found.value();
        let generation = policy["metadata"]["generation"].as_i64().unwrap_or_default();
        let observed = policy["status"]["observedGeneration"]
            .as_i64()
            .unwrap_or_default();
        if generation <= observed || metadata::is_deleting(policy) {
            return;
        }
        let status = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": POLICY.kind,
            "metadata": {"name": key},
            "status": {"observedGeneration": generation, "typeChecking": {}},
        });
        txn.apply_status(&kind.in_storage_version(), key, MANAGER, &status);
    }
}

//! The status of ValidatingAdmissionPolicies, for which clients wait. CEL expressions are not type-checked, so it has no warnings.
//!
//! Written by kube-controller-manager in a real cluster; here, with each write of a policy.

use fake_apiserver::extension::{AdmissionPlugin, Kind, Transaction, metadata};
use serde_json::{Value, json};

/// The field manager of the status, and the name of the plugin.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Writes the status for the current generation of a policy.
pub(super) struct PolicyStatus;

impl AdmissionPlugin for PolicyStatus {
    fn name(&self) -> &'static str {
        MANAGER
    }

    fn committed(&self, txn: &mut dyn Transaction, kind: &Kind, _: Option<&Value>, new: Option<&Value>) {
        let Some(policy) =
            new.filter(|_| kind.is("admissionregistration.k8s.io", "validatingadmissionpolicies"))
        else {
            return;
        };
        let generation = policy["metadata"]["generation"].as_i64().unwrap_or_default();
        let observed = policy["status"]["observedGeneration"]
            .as_i64()
            .unwrap_or_default();
        if generation <= observed || metadata::is_deleting(policy) {
            return;
        }
        let name = metadata::text(policy, "name");
        let status = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "status": {"observedGeneration": generation, "typeChecking": {}},
        });
        txn.apply_status(kind, None, name, MANAGER, &status);
    }
}

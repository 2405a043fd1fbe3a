//! NetworkPolicy: stored with defaults; not enforced, because there is no network.

use super::NETWORKING;
use fake_apiserver::extension::json::{self, list};
use fake_apiserver::extension::resource::Cell::Labels;
use fake_apiserver::extension::resource::{AGE, NAME, text};
use fake_apiserver::extension::resource::{Generation, Hooks, NO_HOOKS, ResourceDefinition};
use serde_json::{Value, json};

pub(super) static NETWORK_POLICY: ResourceDefinition = ResourceDefinition {
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    short_names: &["netpol"],
    generation: Generation::FromCreation,
    hooks: Hooks { default, ..NO_HOOKS },
    columns: &[NAME, text("Pod-Selector", Labels("/spec/podSelector")), AGE],
    ..NETWORKING
};

const TYPES: [&str; 2] = ["Ingress", "Egress"];

/// Defaults `policyTypes` to Ingress, and to Ingress and Egress if the policy has egress rules.
fn default(policy: &mut Value) {
    let spec = &policy["spec"];
    if list(&spec["policyTypes"]).is_empty() {
        let out = !list(&spec["egress"]).is_empty();
        policy["spec"]["policyTypes"] = if out { json!(TYPES) } else { json!([TYPES[0]]) };
    }
    for way in ["ingress", "egress"] {
        for rule in json::entries(policy, &format!("/spec/{way}")) {
            for port in json::entries(rule, "/ports") {
                json::default_member(port, "protocol", "TCP");
            }
        }
    }
}

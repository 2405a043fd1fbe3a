//! CSIStorageCapacity (KEP-1472).
//!
//! Rules and texts follow kube-apiserver 1.36.

use super::{Hooks, Kind, NO_HOOKS, PLAIN};
use crate::faults::Faults;
use crate::meta;
use crate::names;
use crate::printer;
use crate::quantity::Quantity;
use serde_json::Value;

/// KEP-1472: absent, empty and set `nodeTopology` are three different things.
pub(super) static CSI_STORAGE_CAPACITY: Kind = Kind {
    group: "storage.k8s.io",
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    singular: "csistoragecapacity",
    unconditional_update: false,
    meta_checked_twice: false,
    hooks: Hooks {
        validate: capacity_validate,
        validate_update: |new, old, faults| {
            faults.members_unchanged(new, old, &["nodeTopology", "storageClassName"]);
        },
        ..NO_HOOKS
    },
    printer: &printer::NAME_AND_CREATION,
    ..PLAIN
};

/// `maximumVolumeSize` is not checked, as in the real server.
fn capacity_validate(object: &Value, faults: &mut Faults) {
    selector(&object["nodeTopology"], "nodeTopology", faults);
    let class = object["storageClassName"].as_str().unwrap_or_default();
    meta::complain(faults, "storageClassName", class, names::subdomain(class));
    if let Some(text) = object["capacity"].as_str()
        && text.parse::<Quantity>().is_ok_and(|q| q.is_negative())
    {
        faults.invalid("capacity", text, "must be greater than or equal to 0");
    }
}

/// The rules for a label selector (`ValidateLabelSelector`).
pub(super) fn selector(selector: &Value, field: &str, faults: &mut Faults) {
    meta::labels(&selector["matchLabels"], &format!("{field}.matchLabels"), faults);
    for (i, term) in selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let at = format!("{field}.matchExpressions[{i}]");
        let values = meta::texts(&term["values"]);
        let operator = term["operator"].as_str().unwrap_or_default();
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                faults.required(
                    format!("{at}.values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(format!("{at}.values"), text);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => faults.invalid(
                format!("{at}.operator"),
                operator,
                "not a valid selector operator",
            ),
        }
        let key = term["key"].as_str().unwrap_or_default();
        meta::complain(faults, &format!("{at}.key"), key, names::qualified(key));
        for (j, value) in values.into_iter().enumerate() {
            meta::complain(
                faults,
                &format!("{at}.values[{j}]"),
                value,
                names::label_value(value),
            );
        }
    }
}

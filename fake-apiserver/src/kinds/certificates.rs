//! certificates.k8s.io: requests are stored and shown; nothing signs them.

use super::core::not_supported;
use super::{Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Subresource};
use crate::printer;
use crate::release::Life;
use serde_json::json;

pub(super) static CERTIFICATE_SIGNING_REQUEST: Kind = Kind {
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    singular: "certificatesigningrequest",
    group: "certificates.k8s.io",
    short_names: &["csr"],
    namespaced: false,
    status: true,
    subresources: &[Subresource::Approval],
    selectable: &[Selectable {
        label: "spec.signerName",
        pointers: &["/spec/signerName"],
    }],
    unknown_label: not_supported,
    hooks: Hooks {
        // Who asks is never taken from the request, and here it is nobody.
        default: |object| {
            if object["spec"]["usages"].is_null() {
                object["spec"]["usages"] = json!(["digital signature", "key encipherment"]);
            }
        },
        ..NO_HOOKS
    },
    printer: &printer::SIGNING_REQUEST,
    life: Life::since(19),
    ..PLAIN
};

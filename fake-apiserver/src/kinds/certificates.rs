//! certificates.k8s.io: requests are stored and shown; nothing signs them.

use super::core::not_supported;
use super::{Hooks, Kind, NO_HOOKS, PLAIN, Selectable, Subresource};
use crate::config::release::Life;
use crate::kinds::columns;
use crate::machinery::json;

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
        create: |object, _| {
            // Who asks is never taken from the request. Hooks do not know who does, so it stays empty.
            for field in ["username", "uid", "groups", "extra"] {
                json::member(object, "spec").remove(field);
            }
        },
        ..NO_HOOKS
    },
    printer: &columns::SIGNING_REQUEST,
    life: Life::since(19),
    ..PLAIN
};

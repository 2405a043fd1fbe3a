//! CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who decides about requests for certificates, who answers
//! them, and which group none of them may name.

use super::refusal::forbidden;
use crate::access::auth::MASTERS;
use crate::access::rbac::{Attributes, ResourceOrPath};
use crate::kinds::Kind;
use crate::machinery::json::string;
use crate::machinery::status::Status;
use crate::machinery::{x509, x509_request};
use crate::store::Txn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;

/// Whose certificates the API server takes for users.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Refuses a decision of a user who has no right to decide for the signer.
pub(super) fn approval(txn: &Txn<'_>, kind: &Kind, new: &Value) -> Result<(), Status> {
    let signer = string(&new["spec"], "signerName");
    if may(txn, "approve", signer) {
        return Ok(());
    }
    let why = format!("user not permitted to approve requests with signerName {signer:?}");
    Err(forbidden(kind, new, &why))
}

/// Refuses a certificate, or the failure to make one, of a user who has no right to sign as the signer.
pub(super) fn signing(txn: &Txn<'_>, kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let is_same = |field: &str| old.is_some_and(|old| new["status"][field] == old["status"][field]);
    let signer = string(&new["spec"], "signerName");
    if is_same("certificate") && is_same("conditions") || may(txn, "sign", signer) {
        return Ok(());
    }
    let why = format!("user not permitted to sign requests with signerName {signer:?}");
    Err(forbidden(kind, new, &why))
}

/// Refuses to ask for a certificate that would make its holder a master of the cluster.
pub(super) fn subject(kind: &Kind, new: &Value) -> Result<(), Status> {
    let spec = &new["spec"];
    let names_masters = || {
        let pem = STANDARD.decode(string(spec, "request")).unwrap_or_default();
        let request = CertificateSigningRequestDer::from_pem_slice(&pem).ok();
        let request = request.and_then(|request| x509_request::read(&request).ok());
        request.is_some_and(|request| {
            let mut groups = x509::texts(&request.subject, x509::ORGANIZATION);
            groups.any(|group| group == MASTERS)
        })
    };
    if string(spec, "signerName") != CLIENT_SIGNER || !names_masters() {
        return Ok(());
    }
    let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
    Err(forbidden(kind, new, &why))
}

/// Whether the user has a verb for a signer, by its name or for all of its domain. What the server itself writes has no user.
fn may(txn: &Txn<'_>, verb: &str, signer: &str) -> bool {
    let Some(user) = &txn.user else {
        return true;
    };
    let domain = signer.split('/').next().unwrap_or_default();
    [signer, &format!("{domain}/*")].into_iter().any(|name| {
        let asked = ResourceOrPath::Resource {
            group: "certificates.k8s.io",
            resource: "signers",
            subresource: "",
            namespace: "",
            name,
        };
        txn.authorize(user, Attributes { verb, asked }).allowed
    })
}

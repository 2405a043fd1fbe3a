//! Signs the certificates that were asked for and granted, where there is an authority to do so.
//!
//! Plays the signing controller of the controller manager, for the signers of client certificates that Kubernetes has. Asks for no
//! proof that whoever sent a request has the key.

use crate::config::signer::Signer;
use crate::kinds::CERTIFICATE_SIGNING_REQUEST;
use crate::machinery::json::{self, list, string};
use crate::machinery::x509::{self, Attribute, P256, P384, RSA};
use crate::machinery::x509_request;
use crate::store::Txn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SignatureAlgorithm,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use yasna::ASN1Result;

/// The signers that are played.
const SIGNERS: [&str; 2] = [
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kube-apiserver-client-kubelet",
];
/// How long a certificate is good for that does not ask for less.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
/// By how much the clocks of two machines may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// Signs what a request asks for, if it is granted and was not signed yet.
pub(super) fn settle(txn: &mut Txn<'_>, key: &str) {
    let Some(signer) = txn.options().signer.clone() else {
        return;
    };
    let Some(request) = txn.get(&CERTIFICATE_SIGNING_REQUEST, key) else {
        return;
    };
    let (spec, status) = (&request.value()["spec"], &request.value()["status"]);
    let has = |of: &str| {
        list(&status["conditions"])
            .iter()
            .any(|one| one["type"] == of && one["status"] == "True")
    };
    let is_due = SIGNERS.contains(&string(spec, "signerName"))
        && has("Approved")
        && !has("Failed")
        && status["certificate"].is_null();
    if !is_due {
        return;
    }
    let mut changed = request.value().clone();
    let status = json::slot(&mut changed, "status");
    match sign(&signer, spec) {
        Ok(pem) => json::assign(status, "certificate", STANDARD.encode(pem).into()),
        Err(why) => {
            let mut conditions = list(&status["conditions"]).to_vec();
            conditions.push(json!({
                "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
                "lastUpdateTime": txn.now, "lastTransitionTime": txn.now,
            }));
            json::assign(status, "conditions", conditions.into());
        }
    }
    txn.put(&CERTIFICATE_SIGNING_REQUEST, key, changed);
}

fn sign(signer: &Signer, spec: &Value) -> Result<String, String> {
    let request = STANDARD.decode(string(spec, "request")).map_err(told)?;
    let request = CertificateSigningRequestDer::from_pem_slice(&request).map_err(told)?;
    let x509_request::Request { subject, key, .. } = x509_request::read(&request).map_err(told)?;
    let key = signed_key(key).map_err(told)?;
    let asked = spec["expirationSeconds"].as_u64().map(Duration::from_secs);
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.distinguished_name = written(subject);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + asked.unwrap_or(LONGEST).min(LONGEST)).into();
    let authority = CertificateDer::from_pem_slice(signer.certificate_pem.as_bytes()).map_err(told)?;
    let mut issuer = CertificateParams::default();
    issuer.distinguished_name = written(x509::certificate(&authority).map_err(told)?.subject);
    issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let issuer = Issuer::new(issuer, KeyPair::from_pem(&signer.key_pem).map_err(told)?);
    params
        .signed_by(&key, &issuer)
        .map(|made| made.pem())
        .map_err(told)
}

fn told(why: impl std::fmt::Display) -> String {
    why.to_string()
}

/// The key that a certificate is for.
struct PublicKey {
    algorithm: &'static SignatureAlgorithm,
    bytes: Vec<u8>,
}

impl PublicKeyData for PublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

fn signed_key(key: x509::PublicKey) -> ASN1Result<PublicKey> {
    let algorithm = if key.is_of(RSA) {
        &rcgen::PKCS_RSA_SHA256
    } else if key.is_of(&[1, 3, 101, 112]) {
        &rcgen::PKCS_ED25519
    } else if key.is_on(P256) {
        &rcgen::PKCS_ECDSA_P256_SHA256
    } else if key.is_on(P384) {
        &rcgen::PKCS_ECDSA_P384_SHA384
    } else {
        return Err(yasna::ASN1Error::new(yasna::ASN1ErrorKind::Invalid));
    };
    let bytes = key.bytes;
    Ok(PublicKey { algorithm, bytes })
}

/// A name as it was written: certificates name who has signed them so.
fn written(attributes: Vec<Attribute>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for Attribute {
        kind,
        text,
        is_printable,
    } in attributes
    {
        let printable = is_printable.then(|| text.clone().try_into().ok());
        let printable = printable.flatten().map(DnValue::PrintableString);
        let text = printable.unwrap_or(DnValue::Utf8String(text));
        name.push(DnType::from_oid(kind.components()), text);
    }
    name
}

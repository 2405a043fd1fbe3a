//! Verification of server certificates: a certificate must be signed by a certificate authority in the bundle or be itself in the bundle,
//! as in Go.
//!
//! With an empty bundle, no server is trusted: the certificate authorities of the host are not used.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::verify_server_name,
};
use std::io;
use std::sync::Arc;

const UNKNOWN: &str = "tls: failed to verify certificate: x509: certificate signed by unknown authority";

pub(super) fn config(bundle: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let trust = Trust::of(bundle, provider.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The error of a failed TLS handshake, with Go's message.
pub(super) fn handshake_error(why: &io::Error, name: &str) -> String {
    let inner = why.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => UNKNOWN.to_owned(),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
                    .to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("tls: failed to verify certificate: x509: certificate is not valid for {name}")
            }
            other => format!("tls: failed to verify certificate: x509: {other}"),
        },
        Some(Error::InvalidMessage(_)) => "tls: first record does not look like a TLS handshake".to_owned(),
        Some(other) => format!("tls: {other}"),
        None if why.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => why.to_string(),
    }
}

#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    /// Verifies certificates signed by a certificate authority; `None` if the bundle contains no certificate authority.
    signed: Option<Arc<WebPkiServerVerifier>>,
    listed: Vec<CertificateDer<'static>>,
}

impl Trust {
    fn of(bundle: &[u8], provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let listed = CertificateDer::pem_slice_iter(bundle).collect::<Result<Vec<_>, _>>();
        let listed = listed.map_err(|why| format!("unable to load root certificates: {why}"))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(listed.iter().cloned());
        let signed = match roots.is_empty() {
            true => None,
            false => WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .ok(),
        };
        Ok(Self {
            provider,
            signed,
            listed,
        })
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.listed.iter().any(|listed| listed == certificate) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        match &self.signed {
            Some(signed) => signed.verify_server_cert(certificate, others, name, ocsp, now),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

//! Server certificates: generates a certificate authority and a certificate signed by it.
//!
//! Owns the generation of certificates and the TLS settings. Writes nothing to disk.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// Subject alternative names: names of the local host, and names by which clients in a cluster address the API server.
const NAMES: [&str; 7] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

const CLOCK_SKEW: Duration = Duration::from_secs(3600);
/// Lifetime of generated certificates: longer than any server runs.
const LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A certificate authority and the TLS settings of a server.
#[derive(Clone)]
pub struct Tls {
    authority_pem: Arc<str>,
    acceptor: TlsAcceptor,
    /// Verifies client certificates; `None` if clients cannot authenticate with certificates.
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

/// Why TLS certificates cannot be generated or used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Generation failed: the random source or the clock of the system does not work.
    #[error("the server certificate could not be generated: {0}; check the clock of this host")]
    Generation(String),
    /// The PEM text contains no certificate or key, or the key does not belong to the certificate.
    #[error("{what} cannot be used: {why}; it must be in PEM format")]
    Unusable {
        /// What the PEM text should contain, such as `the key of the server certificate`.
        what: &'static str,
        /// The parse error, or the error that certificate and key do not match.
        why: String,
    },
}

/// A certificate with its private key, in PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate, followed by its intermediate certificates.
    pub chain_pem: String,
    /// The private key of the certificate, as PKCS #8.
    pub key_pem: String,
}

impl Certificate {
    /// Generates a certificate authority and a certificate for the loopback addresses, the usual in-cluster names of an API server, and the
    /// given address. The chain ends with the authority.
    pub fn generate(address: IpAddr) -> Result<Self, TlsError> {
        let mut names: Vec<String> = NAMES.map(str::to_owned).to_vec();
        let address = address.to_string();
        if !names.contains(&address) {
            names.push(address);
        }
        generate_certificate(names).map_err(|error| TlsError::Generation(error.to_string()))
    }
}

impl Tls {
    /// Generates a certificate authority and a certificate for the loopback addresses, the usual in-cluster names of an API server, and the
    /// given address.
    ///
    /// Offers HTTP/1.1 and HTTP/2 by ALPN.
    pub fn generate(address: IpAddr) -> Result<Self, TlsError> {
        Self::of(&Certificate::generate(address)?, None)
    }

    /// Uses an existing certificate. Clients may authenticate with certificates signed by `client_authority` (PEM): the common name is
    /// the user name, the organizations are the groups.
    pub fn of(certificate: &Certificate, client_authority: Option<&str>) -> Result<Self, TlsError> {
        let unusable = |what| move |why: String| TlsError::Unusable { what, why };
        let chain = certificates_of(&certificate.chain_pem).map_err(unusable("the server certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes());
        let key = key.map_err(|error| unusable("the key of the server certificate")(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Generation(error.to_string()))?;
        let clients: Option<Arc<dyn ClientCertVerifier>> = match client_authority {
            None => None,
            Some(pem) => {
                let roots =
                    root_certificates(pem).map_err(unusable("the certificate authority of clients"))?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
                let unusable = unusable("the certificate authority of clients");
                Some(verifier.map_err(|error| unusable(error.to_string()))?)
            }
        };
        let builder = match clients.clone() {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(Arc::new(DeferredClientCertVerifier(clients))),
        };
        let config = builder.with_single_cert(chain, key);
        let unusable = unusable("the server certificate");
        let mut config = config.map_err(|error| unusable(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            authority_pem: last_certificate(&certificate.chain_pem).into(),
            acceptor: Arc::new(config).into(),
            clients,
        })
    }

    /// The certificate authority that clients must trust, in PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// Performs the server side of a TLS handshake, for listeners in other crates.
    ///
    /// Errors if the handshake fails.
    pub async fn accept<S>(&self, stream: S) -> std::io::Result<impl AsyncRead + AsyncWrite + Unpin + use<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.acceptor.accept(stream).await
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    pub(crate) fn trusts(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((clients, (first, rest))) = self.clients.as_ref().zip(chain.split_first()) else {
            return false;
        };
        clients.verify_client_cert(first, rest, UnixTime::now()).is_ok()
    }
}

/// Accepts any client certificate, or none, in the handshake. If the certificate is invalid, the requests are rejected instead. Clients
/// must prove possession of the private key.
#[derive(Debug)]
struct DeferredClientCertVerifier(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for DeferredClientCertVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The certificates in a PEM text; an error if there is none.
fn certificates_of(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all {
        Ok(all) if all.is_empty() => Err("it contains no certificate".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}

fn root_certificates(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates_of(pem)? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(roots)
}

fn last_certificate(chain: &str) -> &str {
    let begin = chain.rfind("-----BEGIN CERTIFICATE-----");
    &chain[begin.unwrap_or_default()..]
}

fn generate_certificate(names: Vec<String>) -> Result<Certificate, rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name = distinguished_name("fake-apiserver authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut authority);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name = distinguished_name("fake-apiserver");
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    set_validity(&mut server);
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &authority)?;
    Ok(Certificate {
        chain_pem: format!("{}{}", certificate.pem(), authority.pem()),
        key_pem: key.serialize_pem(),
    })
}

fn distinguished_name(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// Sets the validity period of a certificate, which starts in the past in case the clock of a client is slow.
fn set_validity(params: &mut CertificateParams) {
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + LIFETIME).into();
}

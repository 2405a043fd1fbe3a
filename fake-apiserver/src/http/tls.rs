//! The certificates of a server: an authority made for it, and a certificate that the authority has signed.
//!
//! Owns their making and the TLS parameters. Nothing is kept on disk: every server has an authority of its own.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// The names under which a server is reached from its own machine, and those that clients in a cluster use.
const NAMES: [&str; 7] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// By how much the clocks of two machines may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);
/// How long a certificate is good for: longer than any server lives.
const LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// A certificate authority and the certificate of one server.
#[derive(Clone)]
pub struct Tls {
    authority_pem: Arc<str>,
    acceptor: TlsAcceptor,
}

/// No certificates could be made; the source of randomness or the clock of the system is out of order.
#[derive(Debug, thiserror::Error)]
#[error("the server certificate could not be made: {0}; check the clock of this machine")]
pub struct TlsError(String);

impl Tls {
    /// Makes an authority and a certificate for the loopback addresses, the usual names within a cluster and the
    /// address given, if it is another one.
    ///
    /// HTTP/1.1 and HTTP/2 are offered by ALPN.
    pub fn generate(address: IpAddr) -> Result<Self, TlsError> {
        let mut names: Vec<String> = NAMES.map(str::to_owned).to_vec();
        let address = address.to_string();
        if !names.contains(&address) {
            names.push(address);
        }
        let made = certificates(names).map_err(|error| TlsError(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let refused = |error: rustls::Error| TlsError(error.to_string());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_no_client_auth()
            .with_single_cert(vec![made.certificate], made.key)
            .map_err(refused)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            authority_pem: made.authority_pem.into(),
            acceptor: Arc::new(config).into(),
        })
    }

    /// The certificate of the authority, in PEM: what clients have to trust.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// Shakes hands as the server, for listeners of somebody else's.
    ///
    /// Fails when the peer does not.
    pub async fn accept<S>(&self, stream: S) -> std::io::Result<impl AsyncRead + AsyncWrite + Unpin + use<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.acceptor.accept(stream).await
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }
}

struct Made {
    authority_pem: String,
    certificate: rustls::pki_types::CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn certificates(names: Vec<String>) -> Result<Made, rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name = named("fake-apiserver authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    limit(&mut authority);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name = named("fake-apiserver");
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    limit(&mut server);
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &authority)?;
    Ok(Made {
        authority_pem: authority.pem(),
        certificate: certificate.der().clone(),
        key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    })
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// Makes a certificate good from a little before now on: the clock of a client may be behind.
fn limit(params: &mut CertificateParams) {
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + LIFETIME).into();
}

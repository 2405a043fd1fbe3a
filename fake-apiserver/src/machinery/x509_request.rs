//! What a request for a certificate says, and whether it is signed with the key that it is about (RFC 2986).

use super::x509::{self, Attribute, P256, P384, PublicKey};
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use yasna::models::ObjectIdentifier;
use yasna::{ASN1Result, BERReader};

/// A request, as far as it is looked at.
pub(crate) struct Request {
    /// Whom the certificate is for.
    pub(crate) subject: Vec<Attribute>,
    /// The key that it is for.
    pub(crate) key: PublicKey,
    /// What is signed.
    content: Vec<u8>,
    algorithm: ObjectIdentifier,
    signature: Vec<u8>,
}

const RSA: &str = "crypto/rsa: verification error";
const ECDSA: &str = "x509: ECDSA verification failure";
const ED25519: &str = "x509: Ed25519 verification failure";

/// Algorithms of signatures, the curve that goes with each where there is one, and what is said of a wrong signature.
type Algorithm = (
    &'static [u64],
    Option<&'static [u64]>,
    &'static dyn VerificationAlgorithm,
    &'static str,
);
static ALGORITHMS: [Algorithm; 8] = [
    (
        &[1, 2, 840, 113_549, 1, 1, 11],
        None,
        &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        RSA,
    ),
    (
        &[1, 2, 840, 113_549, 1, 1, 12],
        None,
        &signature::RSA_PKCS1_2048_8192_SHA384,
        RSA,
    ),
    (
        &[1, 2, 840, 113_549, 1, 1, 13],
        None,
        &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        RSA,
    ),
    (&[1, 3, 101, 112], None, &signature::ED25519, ED25519),
    (
        &[1, 2, 840, 10_045, 4, 3, 2],
        Some(P256),
        &signature::ECDSA_P256_SHA256_ASN1,
        ECDSA,
    ),
    (
        &[1, 2, 840, 10_045, 4, 3, 2],
        Some(P384),
        &signature::ECDSA_P384_SHA256_ASN1,
        ECDSA,
    ),
    (
        &[1, 2, 840, 10_045, 4, 3, 3],
        Some(P256),
        &signature::ECDSA_P256_SHA384_ASN1,
        ECDSA,
    ),
    (
        &[1, 2, 840, 10_045, 4, 3, 3],
        Some(P384),
        &signature::ECDSA_P384_SHA384_ASN1,
        ECDSA,
    ),
];

/// What is wrong with a request. Signatures by other algorithms than the usual ones are taken for good.
pub(crate) fn fault(request: &[u8]) -> Option<&'static str> {
    // The real server says where in the bytes it could not go on.
    let Ok(signed) = read(request) else {
        return Some("asn1: syntax error: data truncated");
    };
    let known = ALGORITHMS.iter().find(|(oid, on, _, _)| {
        **oid == **signed.algorithm.components() && on.is_none_or(|on| signed.key.is_on(on))
    });
    let (_, _, algorithm, fault) = known?;
    let key = UnparsedPublicKey::new(*algorithm, &signed.key.bytes);
    let is_good = key.verify(&signed.content, &signed.signature).is_ok();
    (!is_good).then_some(*fault)
}

/// Reads a request.
pub(crate) fn read(request: &[u8]) -> ASN1Result<Request> {
    yasna::parse_der(request, |reader| {
        reader.read_sequence(|request| {
            let content = request.next().read_der()?;
            let algorithm = request.next().read_sequence(|algorithm| {
                let oid = algorithm.next().read_oid()?;
                x509::rest(algorithm)?;
                Ok(oid)
            })?;
            let (signature, _) = request.next().read_bitvec_bytes()?;
            let (subject, key) = yasna::parse_der(&content, subject_and_key)?;
            Ok(Request {
                subject,
                key,
                content,
                algorithm,
                signature,
            })
        })
    })
}

fn subject_and_key(reader: BERReader<'_, '_>) -> ASN1Result<(Vec<Attribute>, PublicKey)> {
    reader.read_sequence(|content| {
        // Its version.
        content.next().read_der()?;
        let subject = x509::name(content.next())?;
        let key = x509::public_key(content.next())?;
        x509::rest(content)?;
        Ok((subject, key))
    })
}

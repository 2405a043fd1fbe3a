//! Signing and verification of JSON Web Signatures (RFC 7515, 7518).
//!
//! Owns the formats of signatures and keys. Does not interpret claims.

use super::x509::{self, P256, P384, RSA};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::{PemObject, SectionKind};
use serde_json::{Value, json};
use std::sync::Arc;
use yasna::ASN1Result;

/// A signature algorithm: its JWS name, key type and verification.
struct Algorithm {
    name: &'static str,
    scheme: SignatureScheme,
    verification: &'static dyn VerificationAlgorithm,
    /// Object identifier of the elliptic curve, and the bytes of a coordinate; `None` for RSA.
    curve: Option<(&'static [u64], usize)>,
}

static ALGORITHMS: [Algorithm; 3] = [
    Algorithm {
        name: "RS256",
        scheme: SignatureScheme::RSA_PKCS1_SHA256,
        verification: &RSA_PKCS1_2048_8192_SHA256,
        curve: None,
    },
    Algorithm {
        name: "ES256",
        scheme: SignatureScheme::ECDSA_NISTP256_SHA256,
        verification: &ECDSA_P256_SHA256_FIXED,
        curve: Some((P256, 32)),
    },
    Algorithm {
        name: "ES384",
        scheme: SignatureScheme::ECDSA_NISTP384_SHA384,
        verification: &ECDSA_P384_SHA384_FIXED,
        curve: Some((P384, 48)),
    },
];

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not PEM or contains no key.
    #[error("no key in PEM format: {0}; use an RSA or ECDSA key")]
    Form(String),
    /// The key is neither RSA with at least 2048 bits, nor ECDSA on P-256 or P-384.
    #[error("the key is not supported; use RSA with at least 2048 bits, or ECDSA on P-256 or P-384")]
    Unsupported,
}

/// A private key, for signing service account tokens.
#[derive(Clone, Debug)]
pub struct SigningKey {
    key: Arc<dyn rustls::sign::SigningKey>,
    public: PublicKey,
}

/// A public key, for verifying service account tokens.
#[derive(Clone)]
pub struct PublicKey {
    algorithm: &'static Algorithm,
    id: String,
    /// The public key: a curve point, or the RSA modulus and exponent in DER.
    bytes: Vec<u8>,
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.algorithm.name, self.id)
    }
}

impl SigningKey {
    /// Reads a private key from PEM: PKCS #8, PKCS #1 (`RSA PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`).
    ///
    /// # Errors
    ///
    /// The text has no key, or its key type is not supported.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let key =
            PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|why| KeyError::Form(why.to_string()))?;
        Self::of(&key)
    }

    pub(crate) fn generate() -> Self {
        let key_pair = rcgen::KeyPair::generate().expect("the system's random source works");
        let key =
            PrivateKeyDer::try_from(key_pair.serialize_der()).expect("rcgen serializes keys as PKCS #8");
        Self::of(&key).expect("P-256 keys are supported")
    }

    fn of(key: &PrivateKeyDer<'_>) -> Result<Self, KeyError> {
        let key = any_supported_type(key).map_err(|_| KeyError::Unsupported)?;
        let info = key.public_key().ok_or(KeyError::Unsupported)?;
        let public = PublicKey::of(&info)?;
        Ok(Self { key, public })
    }

    pub(crate) fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs claims and returns a JWS in compact serialization.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let PublicKey { algorithm, id, .. } = &self.public;
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": algorithm.name, "kid": id});
        let signed = format!("{}.{}", part(&header), part(claims));
        let signer = self.key.choose_scheme(&[algorithm.scheme]);
        let signature = signer
            .and_then(|signer| signer.sign(signed.as_bytes()).ok())
            .expect("the key supports its own algorithm");
        let signature = match algorithm.curve {
            Some((_, size)) => {
                der_to_fixed_signature(&signature, size).expect("the signer encodes signatures as DER")
            }
            None => signature,
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl PublicKey {
    /// Reads all keys of a PEM file: public keys, the public halves of private keys, and keys of certificates. Other sections are ignored
    /// if the file has a key.
    ///
    /// # Errors
    ///
    /// The file has no key, or only unsupported ones.
    pub fn all_from_pem(text: &str) -> Result<Vec<Self>, KeyError> {
        let (mut keys, mut fault) = (Vec::new(), KeyError::Form("no items found".to_owned()));
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text.as_bytes()) {
            let (kind, der) = section.map_err(|why| KeyError::Form(why.to_string()))?;
            match Self::of_section(kind, der) {
                Some(Ok(key)) => keys.push(key),
                Some(Err(why)) => fault = why,
                None => {}
            }
        }
        if keys.is_empty() { Err(fault) } else { Ok(keys) }
    }

    /// The key in a PEM section; `None` if sections of this kind contain no key.
    fn of_section(kind: SectionKind, der: Vec<u8>) -> Option<Result<Self, KeyError>> {
        Some(match kind {
            SectionKind::PublicKey => Self::of(&der),
            SectionKind::Certificate => x509::certificate(&der)
                .map_err(|why| KeyError::Form(why.to_string()))
                .and_then(|certificate| Self::of(&certificate.key)),
            kind => {
                let key = PrivateKeyDer::from_pem(kind, der)?;
                SigningKey::of(&key).map(|key| key.public)
            }
        })
    }

    /// Reads a public key from a DER `SubjectPublicKeyInfo`.
    fn of(info: &[u8]) -> Result<Self, KeyError> {
        let key = yasna::parse_der(info, x509::public_key).map_err(|_| KeyError::Unsupported)?;
        let is_it = |algorithm: &&Algorithm| match algorithm.curve {
            Some((curve, _)) => key.is_on_curve(curve),
            None => key.has_algorithm(RSA),
        };
        let algorithm = ALGORITHMS.iter().find(is_it).ok_or(KeyError::Unsupported)?;
        Ok(Self {
            algorithm,
            id: URL_SAFE_NO_PAD.encode(digest(&SHA256, info)),
            bytes: key.bytes,
        })
    }

    /// Verifies a compact JWS and returns its claims; `None` if this key did not sign it.
    pub(crate) fn verify(&self, statement: &str) -> Option<Value> {
        let (signed, signature) = statement.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = decoded(header)?;
        if header["alg"] != self.algorithm.name {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(self.algorithm.verification, &self.bytes);
        key.verify(signed.as_bytes(), &signature).ok()?;
        decoded(claims)
    }
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Reads a non-negative DER integer as bytes without leading zeros.
fn number(reader: yasna::BERReader<'_, '_>) -> ASN1Result<Vec<u8>> {
    let (bytes, _) = reader.read_bigint_bytes()?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Ok(bytes[zeros..].to_vec())
}

/// Converts a DER-encoded ECDSA signature to two integers of `size` bytes each.
fn der_to_fixed_signature(signature: &[u8], size: usize) -> ASN1Result<Vec<u8>> {
    let numbers = yasna::parse_der(signature, |reader| {
        reader.read_sequence(|pair| Ok([number(pair.next())?, number(pair.next())?]))
    })?;
    let mut out = Vec::with_capacity(2 * size);
    for number in numbers {
        out.resize(out.len() + size.saturating_sub(number.len()), 0);
        out.extend_from_slice(&number);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(algorithm: &'static rcgen::SignatureAlgorithm) -> String {
        let key_pair = rcgen::KeyPair::generate_for(algorithm).unwrap();
        key_pair.serialize_pem()
    }

    #[test]
    fn a_signature_is_valid_for_its_own_key_only() {
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
            let text = pem(algorithm);
            let key = SigningKey::from_pem(&text).unwrap();
            // Some ECDSA signatures contain integers with leading zero bytes, so this test signs many times.
            for n in 0..300 {
                let claims = json!({ "n": n });
                assert_eq!(key.public().verify(&key.sign(&claims)), Some(claims));
            }
            let other = SigningKey::from_pem(&pem(algorithm)).unwrap();
            assert_eq!(other.public().verify(&key.sign(&json!({}))), None);
            let known = PublicKey::all_from_pem(&text).unwrap();
            assert_eq!(known[0].bytes, key.public().bytes);
        }
    }

    /// A token that kube-apiserver 1.36 issued, and the public half of its key.
    #[test]
    fn tokens_of_kube_apiserver_are_verified() {
        let keys = PublicKey::all_from_pem(include_str!("../../tests/keys/recorded.pub")).unwrap();
        let claims = keys[0]
            .verify(include_str!("../../tests/keys/recorded.token"))
            .unwrap();
        assert_eq!(claims["sub"], "system:serviceaccount:default:rob");
    }

    #[test]
    fn rsa_keys_in_pkcs1_format_sign() {
        let key = SigningKey::from_pem(include_str!("../../tests/keys/rsa.key")).unwrap();
        let claims = json!({"sub": "robot"});
        let mut token = key.sign(&claims);
        assert_eq!(key.public().verify(&token), Some(claims));
        token.truncate(token.len() - 1);
        assert_eq!(key.public().verify(&token), None);
    }

    #[test]
    fn the_public_key_of_a_certificate_is_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["accounts".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let other = pem(&rcgen::PKCS_ED25519);
        let known = PublicKey::all_from_pem(&format!("{other}{certificate}")).unwrap();
        let own = SigningKey::from_pem(&key.serialize_pem()).unwrap();
        assert_eq!(known[0].bytes, own.public().bytes);
        assert!(PublicKey::all_from_pem(&other).is_err());
        let broken = certificate.replace("MII", "MAA");
        assert!(PublicKey::all_from_pem(&broken).is_err());
    }

    #[test]
    fn unsupported_keys_and_invalid_pem_are_reported() {
        let of = |text: &str| SigningKey::from_pem(text).unwrap_err().to_string();
        assert!(of("").starts_with("no key in PEM format"), "{}", of(""));
        let other = pem(&rcgen::PKCS_ED25519);
        assert!(
            of(&other).starts_with("the key is not supported"),
            "{}",
            of(&other)
        );
        assert!(PublicKey::all_from_pem("-----").is_err());
    }
}

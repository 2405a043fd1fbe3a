//! Reads subject and public key of certificates and signing requests (RFC 5280, RFC 2986).
//!
//! Does not verify signatures.

use yasna::models::ObjectIdentifier;
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag};

/// One attribute of a distinguished name.
pub(crate) struct Attribute {
    pub(crate) kind: ObjectIdentifier,
    pub(crate) text: String,
}

/// Object identifiers of attributes of a distinguished name.
pub(crate) const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
pub(crate) const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

pub(crate) fn texts(name: &[Attribute], kind: &'static [u64]) -> impl Iterator<Item = String> {
    let found = name
        .iter()
        .filter(move |attribute| **attribute.kind.components() == *kind);
    found.map(|attribute| attribute.text.clone())
}

/// What this server reads from a certificate: subject and public key.
pub(crate) struct Certificate {
    pub(crate) subject: Vec<Attribute>,
    /// `SubjectPublicKeyInfo` in DER.
    pub(crate) key: Vec<u8>,
}

pub(crate) fn certificate(der: &[u8]) -> ASN1Result<Certificate> {
    yasna::parse_der(der, |reader| {
        reader.read_sequence(|certificate| {
            let read = certificate.next().read_sequence(|content| {
                content.read_optional(|version| {
                    version.read_tagged(Tag::context(0), |number| number.read_u8())
                })?;
                // Skips serial number, signature algorithm, issuer and validity.
                for _ in 0..4 {
                    content.next().read_der()?;
                }
                let subject = read_distinguished_name(content.next())?;
                let key = content.next().read_der()?;
                skip_rest(content)?;
                Ok(Certificate { subject, key })
            })?;
            skip_rest(certificate)?;
            Ok(read)
        })
    })
}

pub(crate) struct PublicKey {
    pub(crate) algorithm: ObjectIdentifier,
    pub(crate) curve: Option<ObjectIdentifier>,
    pub(crate) bytes: Vec<u8>,
}

/// Object identifier of the RSA algorithm.
pub(crate) const RSA: &[u64] = &[1, 2, 840, 113_549, 1, 1, 1];
/// Object identifiers of elliptic curves.
pub(crate) const P256: &[u64] = &[1, 2, 840, 10_045, 3, 1, 7];
pub(crate) const P384: &[u64] = &[1, 3, 132, 0, 34];

impl PublicKey {
    /// Whether the key has the algorithm with this object identifier.
    pub(crate) fn has_algorithm(&self, algorithm: &[u64]) -> bool {
        **self.algorithm.components() == *algorithm
    }

    /// Whether the key is on the elliptic curve with this object identifier.
    pub(crate) fn is_on_curve(&self, curve: &[u64]) -> bool {
        let own = self.curve.as_ref();
        own.is_some_and(|own| **own.components() == *curve)
    }
}

/// Reads a `SubjectPublicKeyInfo`.
pub(crate) fn public_key(reader: BERReader<'_, '_>) -> ASN1Result<PublicKey> {
    reader.read_sequence(|key| {
        let (algorithm, parameters) = key.next().read_sequence(|algorithm| {
            let of = algorithm.next().read_oid()?;
            Ok((of, algorithm.read_optional(|parameters| parameters.read_der())?))
        })?;
        let (bytes, _) = key.next().read_bitvec_bytes()?;
        Ok(PublicKey {
            algorithm,
            curve: parameters.and_then(|der| yasna::parse_der(&der, |curve| curve.read_oid()).ok()),
            bytes,
        })
    })
}

pub(crate) fn skip_rest(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while reader.read_optional(|part| part.read_der())?.is_some() {}
    Ok(())
}

pub(crate) fn read_distinguished_name(reader: BERReader<'_, '_>) -> ASN1Result<Vec<Attribute>> {
    let mut attributes = Vec::new();
    reader.read_sequence_of(|set| {
        set.read_set_of(|attribute| {
            attribute.read_sequence(|attribute| {
                let kind = attribute.next().read_oid()?;
                let value = attribute.next().read_tagged_der()?;
                attributes.push(Attribute {
                    kind,
                    text: String::from_utf8_lossy(value.value()).into_owned(),
                });
                Ok(())
            })
        })
    })?;
    Ok(attributes)
}

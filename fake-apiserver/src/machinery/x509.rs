//! What certificates and requests for them say of their subject and their key (RFC 5280, RFC 2986).
//!
//! Does not know whether they are good.

use yasna::models::ObjectIdentifier;
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag};

/// One attribute of a name.
pub(crate) struct Attribute {
    pub(crate) kind: ObjectIdentifier,
    pub(crate) text: String,
}

/// Attributes by their numbers.
pub(crate) const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
pub(crate) const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

/// What a name has of one attribute.
pub(crate) fn texts(name: &[Attribute], kind: &'static [u64]) -> impl Iterator<Item = String> {
    let found = name
        .iter()
        .filter(move |attribute| **attribute.kind.components() == *kind);
    found.map(|attribute| attribute.text.clone())
}

/// Whom a certificate is for.
pub(crate) struct Certificate {
    pub(crate) subject: Vec<Attribute>,
    /// The key with its algorithm, in DER.
    pub(crate) key: Vec<u8>,
}

/// Reads a certificate in DER.
pub(crate) fn certificate(der: &[u8]) -> ASN1Result<Certificate> {
    yasna::parse_der(der, |reader| {
        reader.read_sequence(|certificate| {
            let read = certificate.next().read_sequence(|content| {
                content.read_optional(|version| {
                    version.read_tagged(Tag::context(0), |number| number.read_u8())
                })?;
                // Its number, the signature's algorithm, the issuer and the validity.
                for _ in 0..4 {
                    content.next().read_der()?;
                }
                let subject = name(content.next())?;
                let key = content.next().read_der()?;
                rest(content)?;
                Ok(Certificate { subject, key })
            })?;
            rest(certificate)?;
            Ok(read)
        })
    })
}

/// A key that a certificate is for.
pub(crate) struct PublicKey {
    pub(crate) algorithm: ObjectIdentifier,
    pub(crate) curve: Option<ObjectIdentifier>,
    pub(crate) bytes: Vec<u8>,
}

/// The algorithm of keys of RSA, by its number.
pub(crate) const RSA: &[u64] = &[1, 2, 840, 113_549, 1, 1, 1];
/// Curves by their numbers.
pub(crate) const P256: &[u64] = &[1, 2, 840, 10_045, 3, 1, 7];
pub(crate) const P384: &[u64] = &[1, 3, 132, 0, 34];

impl PublicKey {
    /// Whether it is of that algorithm.
    pub(crate) fn is_of(&self, algorithm: &[u64]) -> bool {
        **self.algorithm.components() == *algorithm
    }

    /// Whether it is on that curve.
    pub(crate) fn is_on(&self, curve: &[u64]) -> bool {
        let own = self.curve.as_ref();
        own.is_some_and(|own| **own.components() == *curve)
    }
}

/// A key with its algorithm.
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

/// Reads over what comes after.
pub(crate) fn rest(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while reader.read_optional(|part| part.read_der())?.is_some() {}
    Ok(())
}

/// A name: its attributes, in their order.
pub(crate) fn name(reader: BERReader<'_, '_>) -> ASN1Result<Vec<Attribute>> {
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

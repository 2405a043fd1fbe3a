//! Maps a client certificate to a user: the common name is the user name, the organizations are the groups.
//!
//! The TLS handshake has already verified the certificate.

use crate::access::auth::User;
use crate::machinery::x509;
use std::sync::Arc;

/// The user in a client certificate; `None` if the certificate has no common name.
pub(super) fn user(certificate: &[u8]) -> Option<Arc<User>> {
    let subject = x509::certificate(certificate).ok()?.subject;
    let user = User {
        groups: x509::texts(&subject, x509::ORGANIZATION).collect(),
        ..User::new(&x509::texts(&subject, x509::COMMON_NAME).next()?)
    };
    Some(user.authenticated())
}

#[cfg(test)]
mod tests {
    use super::user;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    #[test]
    fn the_common_name_is_the_user_and_the_organizations_are_its_groups() {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "system:masters");
        params.distinguished_name.push(DnType::CommonName, "admin");
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let user = user(made.der()).expect("the certificate has a common name");
        assert_eq!(
            (&*user.name, user.groups.as_slice()),
            (
                "admin",
                &["system:masters".to_owned(), "system:authenticated".to_owned()][..]
            )
        );
        assert!(super::user(b"nonsense").is_none());
    }
}

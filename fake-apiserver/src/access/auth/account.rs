//! Service account tokens: signed JWTs, so the server stores no issued tokens.
//!
//! Owns the claims, which equal those of kube-apiserver. A token is invalid after its expiry, and after the deletion of its service account
//! or bound object.

use super::user::{Authenticated, Lookup, User};
use crate::config::account_tokens::AccountTokens;
use crate::kinds::{Catalogue, Kind, SERVICE_ACCOUNT};
use crate::machinery::jws::{PublicKey, SigningKey};
use crate::machinery::{json, metadata, names};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// Size limit of a token, in bytes; longer tokens are invalid.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of cached tokens with verified signatures.
const KNOWN_MAX: usize = 1024;

/// The content of a service account token: service account, bound object, audiences, and times of issue and expiry.
pub(crate) struct Claim {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) audiences: Vec<String>,
    /// Times of issue and expiry as Unix seconds.
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) bound: Option<Bound>,
}

/// The object to which a token is bound: deleting the object invalidates the token.
pub(crate) struct Bound {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Keys and options for signing and verifying service account tokens.
pub(super) struct Signatures {
    options: AccountTokens,
    /// The signing key used if the options contain none; generated on first use.
    own: OnceLock<SigningKey>,
    /// Claims of verified tokens. Verification is slow, and a client sends the same token with all requests.
    known: Mutex<HashMap<Box<str>, Arc<Value>>>,
}

impl Signatures {
    pub(super) fn new(options: AccountTokens) -> Self {
        Self {
            options,
            own: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    pub(super) fn options(&self) -> &AccountTokens {
        &self.options
    }

    pub(super) fn keys(&self) -> &[PublicKey] {
        match self.options.keys.is_empty() {
            true => std::slice::from_ref(self.key().public()),
            false => &self.options.keys,
        }
    }

    fn key(&self) -> &SigningKey {
        let given = self.options.signing_key.as_ref();
        given.unwrap_or_else(|| self.own.get_or_init(SigningKey::generate))
    }

    pub(super) fn issue(&self, claim: &Claim) -> String {
        let mut private = json!({
            "namespace": claim.namespace,
            "serviceaccount": {"name": claim.name, "uid": claim.uid},
        });
        if let Some(bound) = &claim.bound {
            private[&*bound.kind.singular()] = json!({"name": bound.name, "uid": bound.uid});
        }
        self.key().sign(&json!({
            "aud": claim.audiences,
            "exp": claim.until,
            "iat": claim.from,
            "iss": self.options.issuer(),
            "jti": uuid::Uuid::new_v4().to_string(),
            "kubernetes.io": private,
            "nbf": claim.from,
            "sub": user_name(&claim.namespace, &claim.name),
        }))
    }

    pub(super) fn verify(
        &self,
        token: &str,
        audiences: &[String],
        lookup: &Lookup<'_>,
    ) -> Option<Authenticated> {
        let claims = self.claims(token)?;
        if claims["exp"].as_i64()? <= Timestamp::now().as_second() {
            return None;
        }
        let own = json::texts(&claims["aud"]);
        let matching: Vec<String> = audiences
            .iter()
            .filter(|wanted| own.contains(&wanted.as_str()))
            .cloned()
            .collect();
        let user = account_user(&claims, lookup)?;
        (!matching.is_empty()).then(|| Authenticated {
            user: user.authenticated(),
            audiences: matching,
        })
    }

    /// The claims of a token, if its signature and issuer are valid.
    fn claims(&self, token: &str) -> Option<Arc<Value>> {
        if token.len() > TOKEN_BYTES_MAX || token.matches('.').count() != 2 {
            return None;
        }
        let known = self.known.lock().get(token).cloned();
        if known.is_some() {
            return known;
        }
        let claims = self.keys().iter().find_map(|key| key.verify(token))?;
        let is_own = |issuer: &String| claims["iss"].as_str() == Some(issuer);
        if !self.options.issuers.iter().any(is_own) {
            return None;
        }
        let claims = Arc::new(claims);
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(token.into(), claims.clone());
        Some(claims)
    }
}

const USER_PREFIX: &str = "system:serviceaccount:";

/// Formats `system:serviceaccount:NAMESPACE:NAME`.
pub(crate) fn user_name(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

/// Splits the user name of a service account into namespace and name (`SplitUsername`).
pub(crate) fn split_user_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
    let is_valid = names::dns_label(namespace).is_empty() && names::subdomain(name).is_empty();
    is_valid.then_some((namespace, name))
}

/// The groups of a service account: one of all service accounts, and one of those in its namespace.
pub(crate) fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// The user as whom a token of the service account authenticates, for callers that know the account but have no token.
pub fn service_account_user(namespace: &str, name: &str) -> Arc<User> {
    let user = User {
        groups: groups(namespace),
        ..User::new(&user_name(namespace, name))
    };
    user.authenticated()
}

/// The user of a service account token. `None` if the service account or the bound object was deleted.
fn account_user(claims: &Value, lookup: &Lookup<'_>) -> Option<User> {
    let private = &claims["kubernetes.io"];
    let namespace = private["namespace"].as_str()?;
    let alive = |kind: &Kind, named: &Value| {
        let key = kind.key(Some(namespace), named["name"].as_str()?);
        let found = lookup(kind, &key)?;
        (named["uid"].as_str() == Some(metadata::text(found.value(), "uid"))).then_some(())
    };
    let account = &private["serviceaccount"];
    alive(&SERVICE_ACCOUNT, account)?;
    let mut extra = BTreeMap::new();
    let id = format!("JTI={}", claims["jti"].as_str()?);
    extra.insert("authentication.kubernetes.io/credential-id".to_owned(), vec![id]);
    for kind in BINDABLE
        .iter()
        .filter_map(|plural| Catalogue::built_in().find_resource("", plural))
    {
        let singular = kind.singular();
        let Some(bound) = private.get(&*singular) else {
            continue;
        };
        alive(kind, bound)?;
        // As in `ServiceAccountInfo` of kube-apiserver, a bound secret is not listed in the user info.
        for part in ["name", "uid"].into_iter().filter(|_| singular != "secret") {
            let key = format!("authentication.kubernetes.io/{singular}-{part}");
            extra.insert(key, vec![bound[part].as_str()?.to_owned()]);
        }
    }
    Some(User {
        uid: account["uid"].as_str()?.to_owned(),
        groups: groups(namespace),
        extra,
        ..User::new(&user_name(namespace, account["name"].as_str()?))
    })
}

/// Resources of the core group to which a token can be bound.
pub(crate) const BINDABLE: [&str; 3] = ["nodes", "pods", "secrets"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use proptest::prelude::*;

    fn signatures() -> Signatures {
        Signatures::new(AccountTokens::default())
    }

    fn account(kind: &Kind, key: &str) -> Option<Arc<Object>> {
        let found = *kind == SERVICE_ACCOUNT && key == "ns/robot";
        found.then(|| {
            Object::new(
                json!({"metadata": {"name": "robot", "namespace": "ns", "uid": "u"}}),
                1,
            )
        })
    }

    fn claim(until: i64) -> Claim {
        Claim {
            namespace: "ns".to_owned(),
            name: "robot".to_owned(),
            uid: "u".to_owned(),
            audiences: AccountTokens::default().issuers,
            from: 0,
            until,
            bound: None,
        }
    }

    fn user(tokens: &Signatures, token: &str) -> Option<String> {
        let found = tokens.verify(token, &AccountTokens::default().issuers, &account)?;
        Some(found.user.name.to_string())
    }

    #[test]
    fn an_expired_token_is_invalid() {
        let (tokens, now) = (signatures(), Timestamp::now().as_second());
        assert_eq!(
            user(&tokens, &tokens.issue(&claim(now + 600))).as_deref(),
            Some("system:serviceaccount:ns:robot")
        );
        assert_eq!(user(&tokens, &tokens.issue(&claim(now - 1))), None);
    }

    #[test]
    fn a_token_of_another_server_is_invalid() {
        let token = signatures().issue(&claim(i64::MAX));
        assert_eq!(user(&signatures(), &token), None);
    }

    proptest! {
        #[test]
        fn a_modified_token_is_invalid(at in 0_usize..400, with in "[A-Za-z0-9_.-]") {
            let tokens = signatures();
            let token = tokens.issue(&claim(i64::MAX));
            let at = at % (token.len() - 1);
            let changed = format!("{}{with}{}", &token[..at], &token[at + 1..]);
            prop_assume!(changed != token);
            prop_assert_eq!(user(&tokens, &changed), None);
        }
    }
}

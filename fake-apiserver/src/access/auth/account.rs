//! Tokens of service accounts: signed statements that need no table.
//!
//! Owns their form (a JWT with the claims of the real server, signed with HMAC-SHA256 by a key of this server's own) and
//! what ends them: time, and the end of the account or of the object that they are bound to.

use super::user::{Authenticated, Lookup, User};
use crate::kinds::{Catalogue, Kind, SERVICE_ACCOUNT};
use crate::machinery::{json, metadata};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rand::RngExt;
use ring::hmac;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Whom tokens are for unless they say something else: this API server.
pub(crate) const API_AUDIENCE: &str = "https://kubernetes.default.svc";

/// Bytes that a token may have; longer ones are not looked at.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// What a token states.
pub(crate) struct Claim {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) audiences: Vec<String>,
    /// When it is issued and when it ends, in seconds of Unix time.
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) bound: Option<Bound>,
}

/// The object that a token lives and dies with.
pub(crate) struct Bound {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// The key of one server.
pub(super) struct AccountTokens(hmac::Key);

impl AccountTokens {
    pub(super) fn new() -> Self {
        let secret: [u8; 32] = rand::rng().random();
        Self(hmac::Key::new(hmac::HMAC_SHA256, &secret))
    }

    pub(super) fn issue(&self, claim: &Claim) -> String {
        let mut private = json!({
            "namespace": claim.namespace,
            "serviceaccount": {"name": claim.name, "uid": claim.uid},
        });
        if let Some(bound) = &claim.bound {
            private[bound.kind.singular] = json!({"name": bound.name, "uid": bound.uid});
        }
        let claims = json!({
            "aud": claim.audiences,
            "exp": claim.until,
            "iat": claim.from,
            "iss": API_AUDIENCE,
            "jti": uuid::Uuid::new_v4().to_string(),
            "kubernetes.io": private,
            "nbf": claim.from,
            "sub": user_name(&claim.namespace, &claim.name),
        });
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(json!({"alg": "HS256", "typ": "JWT"})), part(claims));
        let signature = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    pub(super) fn verify(
        &self,
        token: &str,
        audiences: &[String],
        lookup: &Lookup<'_>,
    ) -> Option<Authenticated> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.0, signed.as_bytes(), &signature).ok()?;
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.')?.1).ok()?;
        let claims: Value = serde_json::from_slice(&claims).ok()?;
        let now = Timestamp::now().as_second();
        if claims["exp"].as_i64()? <= now {
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
}

fn user_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The groups that every service account of a namespace is in.
pub(crate) fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// The user of a token, as long as everything that it names is still there.
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
        let Some(bound) = private.get(kind.singular) else {
            continue;
        };
        alive(kind, bound)?;
        for part in ["name", "uid"] {
            let key = format!("authentication.kubernetes.io/{}-{part}", kind.singular);
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

/// Resources of the core group that a token can be bound to.
pub(crate) const BINDABLE: [&str; 3] = ["nodes", "pods", "secrets"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use proptest::prelude::*;
    use std::sync::Arc;

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
            audiences: vec![API_AUDIENCE.to_owned()],
            from: 0,
            until,
            bound: None,
        }
    }

    fn user(tokens: &AccountTokens, token: &str) -> Option<String> {
        let found = tokens.verify(token, &[API_AUDIENCE.to_owned()], &account)?;
        Some(found.user.name.to_string())
    }

    #[test]
    fn a_token_ends_when_its_time_is_up() {
        let (tokens, now) = (AccountTokens::new(), Timestamp::now().as_second());
        assert_eq!(
            user(&tokens, &tokens.issue(&claim(now + 600))).as_deref(),
            Some("system:serviceaccount:ns:robot")
        );
        assert_eq!(user(&tokens, &tokens.issue(&claim(now - 1))), None);
    }

    #[test]
    fn a_token_of_another_server_is_worth_nothing() {
        let token = AccountTokens::new().issue(&claim(i64::MAX));
        assert_eq!(user(&AccountTokens::new(), &token), None);
    }

    proptest! {
        #[test]
        fn no_change_of_a_token_goes_unnoticed(at in 0_usize..400, with in "[A-Za-z0-9_.-]") {
            let tokens = AccountTokens::new();
            let token = tokens.issue(&claim(i64::MAX));
            let at = at % (token.len() - 1);
            let changed = format!("{}{with}{}", &token[..at], &token[at + 1..]);
            prop_assume!(changed != token);
            prop_assert_eq!(user(&tokens, &changed), None);
        }
    }
}

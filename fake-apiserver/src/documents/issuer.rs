//! What others need to judge tokens of service accounts: the provider's configuration and keys of OpenID Connect Discovery.

use crate::config::account_tokens::AccountTokens;
use crate::machinery::jws::PublicKey;
use serde::Serialize;
use std::collections::BTreeSet;

/// Where the configuration is at this server.
pub(crate) const CONFIGURATION: &str = ".well-known/openid-configuration";
/// Where the keys are.
pub(crate) const KEYS: &str = "openid/v1/jwks";
/// The media type of the keys.
pub(crate) const KEYS_MEDIA: &str = "application/jwk-set+json";

#[derive(Serialize)]
struct Configuration<'a> {
    issuer: &'a str,
    jwks_uri: String,
    response_types_supported: [&'static str; 1],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: BTreeSet<&'static str>,
}

#[derive(Serialize)]
struct Keys<'a> {
    keys: &'a [PublicKey],
}

/// `/.well-known/openid-configuration`; `address` is how clients reach this server.
pub(crate) fn configuration(tokens: &AccountTokens, keys: &[PublicKey], address: &str) -> String {
    let here = || format!("https://{address}/{KEYS}");
    text(&Configuration {
        issuer: tokens.issuer(),
        jwks_uri: tokens.keys_url.clone().unwrap_or_else(here),
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: keys.iter().map(PublicKey::algorithm).collect(),
    })
}

/// `/openid/v1/jwks`.
pub(crate) fn keys(keys: &[PublicKey]) -> String {
    text(&Keys { keys })
}

fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("texts are JSON")
}

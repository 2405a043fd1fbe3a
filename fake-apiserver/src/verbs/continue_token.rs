//! Continue tokens of paged lists.
//!
//! Owns the encoding, which is that of kube-apiserver, and the errors for invalid and expired tokens.

use crate::machinery::document::Document;
use crate::machinery::go;
use crate::machinery::status::Status;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Serialize;

/// The API version in kube-apiserver's continue tokens.
const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// Base64 decoder that, like Go's, ignores padding and stray bits at the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The position in a paged list where the next page starts.
#[derive(Debug, Serialize)]
pub(super) struct ContinueToken {
    v: String,
    /// Revision of the list; -1 continues with the current state.
    pub(super) rv: i64,
    /// First storage key of the next page, inclusive; without the namespace if only one namespace is listed.
    pub(super) start: String,
}

impl ContinueToken {
    pub(super) fn new(revision: u64, last: &str) -> Self {
        let rv = i64::try_from(revision).unwrap_or(i64::MAX);
        Self {
            v: TOKEN_VERSION.to_owned(),
            rv,
            // The smallest key that sorts after `last`.
            start: format!("{last}\0"),
        }
    }

    pub(super) fn to_text(&self) -> String {
        BASE64.encode(serde_json::to_vec(self).expect("strings and integers serialize to JSON"))
    }

    pub(super) fn parse(text: &str) -> Result<Self, Status> {
        Self::read(text).map_err(|why| {
            Status::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        })
    }

    fn read(text: &str) -> Result<Self, String> {
        let bytes = BASE64
            .decode(text)
            .map_err(|error| go::base64_error(text, &error))?;
        let document = Document::parse(&bytes)?.value;
        let token = Self {
            v: document["v"].as_str().unwrap_or_default().to_owned(),
            rv: document["rv"].as_i64().unwrap_or_default(),
            start: document["start"].as_str().unwrap_or_default().to_owned(),
        };
        let Self { v, rv, start } = &token;
        if v != TOKEN_VERSION {
            return Err(format!("server does not recognize this encoded version {v}"));
        }
        if *rv == 0 {
            return Err(format!("incorrect encoded start resourceVersion (version {v})"));
        }
        if start.is_empty() {
            return Err(format!("encoded start key empty (version {v})"));
        }
        // The key is a path below the resource's prefix; empty, `.` and `..` segments could lead outside of it.
        let rest = start.strip_prefix('/').unwrap_or(start);
        if rest.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err(start.clone());
        }
        let start = rest.to_owned();
        Ok(Self { start, ..token })
    }

    /// The 410 for a compacted revision, with a token that continues the list with the current state.
    pub(super) fn expired(&self) -> Status {
        let text = "The provided continue parameter is too old to display a consistent list result. You can start a \
            new list without the continue parameter, or use the continue token in this response to retrieve the \
            remainder of the results. Continuing with the provided token results in an inconsistent list - objects \
            that were created, modified, or deleted between the time the first chunk was returned and now may show \
            up in the list.";
        let mut status = Status::expired(text);
        let onward = Self {
            v: TOKEN_VERSION.to_owned(),
            rv: -1,
            start: self.start.clone(),
        };
        status.continue_token = Some(onward.to_text());
        status
    }
}

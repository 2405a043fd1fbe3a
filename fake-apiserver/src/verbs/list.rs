//! list: selection, revisions and pages.
//!
//! Pages are cut from the state at the revision of the first one, rebuilt from the log; what is no longer in the log
//! is answered 410.

use super::shown;
use crate::call::{Answer, Call, ListPlan, Listing, Params};
use crate::faults::Faults;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Status, options};
use crate::store::{Object, Objects, Selection, Snapshot, Txn, namespace_range};
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use std::ops::Bound;
use std::sync::Arc;

/// The version that the real server writes into its tokens.
const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// As Go reads it: padding and stray bits at the end do not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Where a paged list goes on.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    v: String,
    /// Revision of the list; -1 to go on in the present state.
    rv: i64,
    /// The storage key after which the next page begins.
    start: String,
}

pub(super) fn list(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    check_options(&call.params, false)?;
    let selection = selection(call)?;
    let (snapshot, after) = snapshot(txn, call)?;
    // A list that any state may answer is never cut.
    let limit = call
        .params
        .number("limit")?
        .filter(|_| call.params.get("resourceVersion") != "0");
    let limit = limit
        .and_then(|limit| usize::try_from(limit).ok())
        .filter(|limit| *limit > 0);
    let (kind, limit) = (call.target.kind, limit.unwrap_or(usize::MAX));
    Ok(Answer::List(ListPlan {
        kind,
        snapshot,
        selection,
        limit,
        after,
    }))
}

/// The state that the request asks for, and the key after which its page begins.
fn snapshot(txn: &Txn<'_>, call: &Call) -> Result<(Snapshot, Option<String>), Status> {
    let kind = call.target.kind;
    let token = call.params.get("continue");
    let asked = revision(call.params.get("resourceVersion"))?;
    if !token.is_empty() {
        if asked.is_some_and(|asked| asked > 0) {
            let text = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(text));
        }
        let token = Token::parse(token)?;
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok((txn.snapshot(kind), Some(token.start)));
        };
        let snapshot = txn.snapshot_at(kind, revision).map_err(|_| token.expired())?;
        return Ok((snapshot, Some(token.start)));
    }
    if let Some(asked) = asked.filter(|asked| *asked > txn.revision()) {
        return Err(Status::revision_too_large(asked, txn.revision()));
    }
    match asked {
        Some(asked) if call.params.get("resourceVersionMatch") == "Exact" => {
            let gone = |gone: crate::store::Gone| {
                Status::expired(format!(
                    "The resourceVersion for the provided list is too old: {} ({})",
                    gone.asked, gone.oldest
                ))
            };
            Ok((txn.snapshot_at(kind, asked).map_err(gone)?, None))
        }
        _ => Ok((txn.snapshot_as_of(kind, call.stale), None)),
    }
}

impl ListPlan {
    /// Cuts the page that was asked for.
    pub(crate) fn cut(self) -> Listing {
        let Self {
            kind,
            snapshot,
            selection,
            limit,
            after,
        } = self;
        let objects = selection.narrow(kind, snapshot.objects);
        let mut rest = keyed(&objects, &selection, after.as_deref());
        let mut page: Vec<Arc<Object>> = Vec::new();
        let mut last = None;
        let mut more = false;
        for (key, object) in rest.by_ref() {
            if page.len() == limit {
                more = true;
                break;
            }
            last = Some(key);
            page.push(shown(kind, object.clone()));
        }
        let plain = selection.labels.is_empty() && selection.fields.is_empty();
        let remaining = (more && plain).then(|| 1 + rest.count());
        let continue_token = last
            .filter(|_| more)
            .map(|key| Token::new(snapshot.revision, key).to_text());
        Listing {
            objects: page,
            revision: snapshot.revision,
            continue_token,
            remaining,
        }
    }
}

/// Everything that a selection names, in the order of keys.
pub(super) fn selected<'a>(
    objects: &'a Objects,
    selection: &'a Selection,
) -> impl Iterator<Item = &'a Arc<Object>> + 'a {
    keyed(objects, selection, None).map(|(_, object)| object)
}

fn keyed<'a>(
    objects: &'a Objects,
    selection: &'a Selection,
    after: Option<&str>,
) -> Box<dyn Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + 'a> {
    let matches = |entry: &(&'a Arc<str>, &'a Arc<Object>)| selection.matches_within(entry.1);
    let namespace = selection.namespace.as_deref();
    match after {
        None => Box::new(namespace_range(objects, namespace).filter(matches)),
        Some(after) => {
            let prefix = namespace
                .map(|namespace| format!("{namespace}/"))
                .unwrap_or_default();
            // A token may have been made by hand: it never leads out of the namespace.
            let start = match after < prefix.as_str() {
                true => Bound::Included(Arc::from(prefix.as_str())),
                false => Bound::Excluded(Arc::from(after)),
            };
            let rest = objects.range((start, Bound::<Arc<str>>::Unbounded));
            Box::new(
                rest.take_while(move |(key, _)| key.starts_with(&prefix))
                    .filter(matches),
            )
        }
    }
}

/// Reads the selectors of a request.
pub(super) fn selection(call: &Call) -> Result<Selection, Status> {
    Ok(Selection {
        namespace: call
            .target
            .namespace
            .clone()
            .filter(|_| call.target.kind.namespaced),
        name: call.target.name.clone(),
        labels: LabelSelector::parse(call.params.get("labelSelector"))?,
        fields: FieldSelector::parse(call.params.get("fieldSelector"), call.target.kind)?,
    })
}

/// Reads a `resourceVersion` parameter; empty is `None`.
pub(super) fn revision(text: &str) -> Result<Option<u64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: {why}"
        ))
    })
}

/// The rules for combinations of list options (`ValidateListOptions`).
pub(super) fn check_options(params: &Params, watch: bool) -> Result<(), Status> {
    let mut faults = Faults::default();
    let matching = params.get("resourceVersionMatch");
    let field = "resourceVersionMatch";
    let (revision, paged) = (params.get("resourceVersion"), !params.get("continue").is_empty());
    if params.flag("sendInitialEvents").is_some() {
        if !watch {
            faults.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        } else if matching != "NotOlderThan" {
            let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            faults.forbidden(field, text);
        }
    } else if !matching.is_empty() {
        if watch {
            let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            faults.forbidden(field, text);
        }
        if revision.is_empty() {
            faults.forbidden(
                field,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if paged {
            faults.forbidden(
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            );
        }
        if !["Exact", "NotOlderThan"].contains(&matching) {
            faults.not_supported(field, matching, &["Exact", "NotOlderThan", ""]);
        }
        if matching == "Exact" && revision == "0" {
            faults.forbidden(
                field,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            );
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(options("ListOptions"), "", faults))
    }
}

impl Token {
    fn new(revision: u64, last: &str) -> Self {
        let rv = i64::try_from(revision).unwrap_or(i64::MAX);
        Self {
            v: TOKEN_VERSION.to_owned(),
            rv,
            start: last.to_owned(),
        }
    }

    fn to_text(&self) -> String {
        BASE64.encode(serde_json::to_vec(self).expect("a token is plain text and a number"))
    }

    fn parse(text: &str) -> Result<Self, Status> {
        let invalid = |why: String| {
            Status::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = BASE64.decode(text).map_err(|error| invalid(error.to_string()))?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|error| {
            // The real server names the byte at which no JSON value can begin.
            match bytes.first() {
                Some(byte) if !byte.is_ascii() => invalid(format!(
                    "invalid character '{}' looking for beginning of value",
                    char::from(*byte)
                )),
                _ => invalid(error.to_string()),
            }
        })?;
        if token.v != TOKEN_VERSION {
            return Err(invalid(format!(
                "server does not recognize this encoded version {:?}",
                token.v
            )));
        }
        Ok(token)
    }

    /// 410 for a token whose revision is gone, with one to go on inconsistently.
    fn expired(&self) -> Status {
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

//! list: selectors, resourceVersion and pages.
//!
//! All pages are read at the revision of the first page, rebuilt from the log. If the log no longer contains that revision, the server
//! responds with 410.

use super::call::{Answer, Call, ListPlan, Listing, Params};
use super::continue_token::ContinueToken;
use super::convert::{needs_webhook_conversion, to_requested_version};
use crate::kinds::Kind;
use crate::machinery::error_list::ErrorList;
use crate::machinery::go;
use crate::machinery::selector::{FieldSelector, LabelSelector};
use crate::machinery::status::{Status, options_resource};
use crate::object::{Object, Objects, key_prefix, range_from, split_key};
use crate::request::Verb;
use crate::store::{Selection, Snapshot, Txn};
use std::ops::Bound;
use std::sync::Arc;

pub(super) fn list(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let selection = selection(call)?;
    let (snapshot, after) = snapshot(txn, call)?;
    Ok(Answer::List(ListPlan {
        kind: call.target.kind.clone(),
        snapshot,
        selection,
        limit: page_size(&call.params)?,
        after,
    }))
}

/// The page size. Ignored with resourceVersion 0: kube-apiserver then returns the whole list from its watch cache.
pub(super) fn page_size(params: &Params) -> Result<usize, Status> {
    let limit = params
        .number("limit")?
        .filter(|_| params.get("resourceVersion") != "0");
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    Ok(limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX))
}

/// The objects at the requested revision, and the storage key at which the page starts.
pub(super) fn snapshot(txn: &Txn<'_>, call: &Call) -> Result<(Snapshot, Option<String>), Status> {
    let kind = &call.target.kind;
    let token = call.params.get("continue");
    let requested = call.params.get("resourceVersion");
    if !token.is_empty() {
        let token = ContinueToken::parse(token)?;
        if !["", "0"].contains(&requested) {
            let text = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(text));
        }
        let Ok(revision) = u64::try_from(token.rv) else {
            return Ok((txn.snapshot(kind), Some(token.start)));
        };
        let snapshot = uncompacted_snapshot(txn, kind, revision).ok_or_else(|| token.expired())?;
        return Ok((snapshot, Some(token.start)));
    }
    let requested = parse_revision(requested).map_err(|why| invalid_revision(&why))?;
    refuse_future(txn, kind, requested)?;
    match requested {
        Some(requested) if is_exact(call, requested) => {
            let expired = || Status::expired("The resourceVersion for the provided list is too old.");
            Ok((
                uncompacted_snapshot(txn, kind, requested).ok_or_else(expired)?,
                None,
            ))
        }
        _ => Ok((txn.snapshot_as_of(kind, call.stale), None)),
    }
}

/// The objects of the resource at an earlier revision. `None` if the revision is compacted.
fn uncompacted_snapshot(txn: &Txn<'_>, kind: &Kind, revision: u64) -> Option<Snapshot> {
    let found = txn.snapshot_at(kind, revision).ok();
    found.filter(|_| !txn.is_compacted(revision))
}

/// Whether a list requires exactly the revision `requested`: with `resourceVersionMatch=Exact`, and as legacy behaviour for lists with a
/// limit and for deletecollection.
fn is_exact(call: &Call, requested: u64) -> bool {
    let params = &call.params;
    let is_limited =
        call.verb == Verb::DeleteCollection || matches!(params.number("limit"), Ok(Some(limit)) if limit > 0);
    params.get(MATCH) == "Exact" || (params.get(MATCH).is_empty() && is_limited && requested > 0)
}

impl ListPlan {
    /// The objects of the page that need a call of the conversion webhook.
    pub(crate) fn unconverted(&self) -> Vec<Arc<Object>> {
        if self.kind.conversion().is_none() {
            return Vec::new();
        }
        let objects = self.selection.narrow(&self.kind, self.snapshot.objects.clone());
        let page = selected(&objects, &self.selection, self.after.as_deref()).take(self.limit);
        page.filter(|object| needs_webhook_conversion(&self.kind, object))
            .cloned()
            .collect()
    }

    pub(crate) fn into_page(self) -> Listing {
        let Self {
            kind,
            snapshot,
            selection,
            limit,
            after,
        } = self;
        let objects = selection.narrow(&kind, snapshot.objects);
        // Like kube-apiserver, sets `continue` if any object follows the page, even one that does not match the selector. With a selector on
        // `metadata.name`, only the object with this name can follow.
        let rest = range_after(&objects, selection.namespace.as_deref(), after.as_deref());
        let name = selection.fields.required_value("/metadata/name");
        let mut rest = rest.filter(|(key, _)| name.is_none_or(|name| split_key(key).1 == name));
        let mut page: Vec<Arc<Object>> = Vec::new();
        let mut last = None;
        let mut more = false;
        for (key, object) in rest.by_ref() {
            if page.len() == limit {
                more = true;
                break;
            }
            if selection.matches(key, object) {
                last = Some(key);
                page.push(to_requested_version(&kind, object.clone()));
            }
        }
        let plain = selection.labels.is_empty() && selection.fields.is_empty();
        let remaining = (more && plain).then(|| 1 + rest.count());
        let continue_token = last
            .filter(|_| more)
            .map(|key| &key[key_prefix(selection.namespace.as_deref()).len()..])
            .map(|key| ContinueToken::new(snapshot.revision, key).to_text());
        Listing {
            objects: page,
            revision: snapshot.revision,
            continue_token,
            remaining,
        }
    }
}

/// All selected objects in key order, from the storage key `after` on (inclusive).
pub(super) fn selected<'a>(
    objects: &'a Objects,
    selection: &'a Selection,
    after: Option<&str>,
) -> impl Iterator<Item = &'a Arc<Object>> + 'a {
    let all = range_after(objects, selection.namespace.as_deref(), after);
    all.filter(|(key, object)| selection.matches(key, object))
        .map(|(_, object)| object)
}

/// The objects of one namespace, or of all, from the key `after` within the namespace on.
fn range_after<'a>(
    objects: &'a Objects,
    namespace: Option<&str>,
    after: Option<&str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
    let start = format!("{}{}", key_prefix(namespace), after.unwrap_or_default());
    range_from(objects, namespace, Bound::Included(start.into()))
}

/// Parses the selectors of a request and validates the list options in the order of kube-apiserver: numbers, combinations, field labels.
pub(super) fn selection(call: &Call) -> Result<Selection, Status> {
    call.params.number("timeoutSeconds")?;
    call.params.number("limit")?;
    let labels = LabelSelector::parse(call.params.get("labelSelector"))?;
    let fields = FieldSelector::read(call.params.get("fieldSelector"))?;
    check_options(&call.params)?;
    Ok(Selection {
        namespace: call
            .target
            .namespace
            .clone()
            .filter(|_| call.target.kind.namespaced),
        name: call.target.name.clone(),
        labels,
        fields: fields.resolve(|label| call.target.kind.select_by(label))?,
    })
}

/// Parses a `resourceVersion` parameter; `None` if it is empty. The error message is that of apimachinery.
pub(super) fn parse_revision(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| {
        let why = go::parse_int_error("ParseUint", text, &error);
        format!("resourceVersion: Invalid value: {text:?}: {why}")
    })
}

pub(super) fn invalid_revision(why: &str) -> Status {
    Status::bad_request(format!("invalid resource version: {why}"))
}

/// Rejects a revision that does not exist yet.
pub(super) fn refuse_future(txn: &Txn<'_>, kind: &Kind, requested: Option<u64>) -> Result<(), Status> {
    match requested.filter(|requested| *requested > txn.revision()) {
        // In kube-apiserver, kinds that expire are read without the watch cache; then the error has no Retry-After.
        Some(requested) => Err(Status::revision_too_large(
            requested,
            txn.revision(),
            u32::from(!kind.expires),
        )),
        None => Ok(()),
    }
}

/// Validates combinations of list options (`ValidateListOptions`). Requests to the deprecated watch paths are validated as lists.
fn check_options(params: &Params) -> Result<(), Status> {
    let mut errors = ErrorList::default();
    if params.flag("watch") == Some(true) {
        validate_watch_options(params, &mut errors);
    } else {
        validate_list_options(params, &mut errors);
    }
    Status::refuse_invalid(options_resource("ListOptions"), "", errors)
}

const MATCH: &str = "resourceVersionMatch";

const NOT_WITH_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

fn validate_list_options(params: &Params, errors: &mut ErrorList) {
    let (matching, revision) = (params.get(MATCH), params.get("resourceVersion"));
    if !matching.is_empty() {
        if revision.is_empty() {
            errors.forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if !params.get("continue").is_empty() {
            errors.forbidden(MATCH, NOT_WITH_CONTINUE);
        }
        errors.one_of(MATCH, matching, &["Exact", "NotOlderThan", ""]);
        if matching == "Exact" && revision == "0" {
            errors.forbidden(
                MATCH,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            );
        }
    }
    if params.flag("sendInitialEvents").is_some() {
        errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
}

fn validate_watch_options(params: &Params, errors: &mut ErrorList) {
    let mut matching = params.get(MATCH);
    let mut initial = params.flag("sendInitialEvents").is_some();
    if !initial && matching.is_empty() && ["", "0"].contains(&params.get("resourceVersion")) {
        // Since 1.34, a watch without resourceVersion counts as a streamed list.
        (initial, matching) = (true, "NotOlderThan");
    }
    if initial && matching != "NotOlderThan" {
        errors.forbidden(
            MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        );
    }
    if matching.is_empty() {
        return;
    }
    if !initial {
        let text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.forbidden(MATCH, text);
    }
    errors.one_of(MATCH, matching, &["NotOlderThan"]);
    if !params.get("continue").is_empty() {
        errors.forbidden(MATCH, NOT_WITH_CONTINUE);
    }
}

//! watch: the start of the stream and its bookmarks.

use super::call::{Answer, Call, WatchPlan};
use super::list::{parse_revision, refuse_future, selection};
use crate::machinery::status::Status;
use crate::store::{Start, Txn};

pub(super) fn watch(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let params = &call.params;
    let selection = selection(call)?;
    let requested = parse_revision(params.get("resourceVersion")).map_err(Status::internal)?;
    let bookmarks = params.flag("allowWatchBookmarks").unwrap_or_default();
    let timeout_seconds = params
        .number("timeoutSeconds")?
        .and_then(|seconds| u64::try_from(seconds).ok());
    let initial = params.flag("sendInitialEvents");
    if initial == Some(true) {
        refuse_future(txn, &call.target.kind, requested)?;
    }
    let start = match (initial, requested) {
        (Some(true), _) => Start::State,
        (Some(false), None | Some(0)) => Start::Now,
        (None, None | Some(0)) => Start::State,
        (_, Some(requested)) => Start::After(requested),
    };
    // Since 1.34, a watch without resourceVersion is a streamed list: if the client allows bookmarks, a bookmark marks the end of the
    // initial events.
    let marks_end = bookmarks && (initial == Some(true) || (initial.is_none() && requested.is_none()));
    let watcher = txn
        .watch(&call.target.kind, selection, start)
        .map_err(|(watch, compacted)| {
            (
                watch,
                Status::expired(format!(
                    "too old resource version: {} ({})",
                    compacted.requested, compacted.oldest
                )),
            )
        });
    Ok(Answer::Watch(WatchPlan {
        watcher,
        bookmarks,
        marks_end,
        timeout_seconds: timeout_seconds.filter(|seconds| *seconds > 0),
        revision: match start {
            Start::After(revision) => revision,
            Start::State | Start::Now => txn.revision(),
        },
    }))
}

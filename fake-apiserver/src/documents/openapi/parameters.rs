//! OpenAPI parameters: names, types, descriptions, and which operation accepts which.
//!
//! Does not know paths.

use serde_json::{Value, json};

/// Name, type, description.
type Parameter = (&'static str, &'static str, &'static str);

/// All parameters.
const ALL: [Parameter; 36] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch may send bookmarks.",
    ),
    (
        "command",
        "string",
        "What to run, with its arguments; no shell reads it.",
    ),
    (
        "container",
        "string",
        "The container; needed where a pod has several.",
    ),
    (
        "continue",
        "string",
        "Where to go on with a list: the token of the page before.",
    ),
    (
        "dryRun",
        "string",
        "`All`: do everything but keep the result. Nothing else is known.",
    ),
    (
        "fieldManager",
        "string",
        "Whom the changes belong to, in up to 128 printable characters.",
    ),
    (
        "fieldSelector",
        "string",
        "Only objects with these values of fields: `a=b,c!=d`.",
    ),
    (
        "fieldValidation",
        "string",
        "What becomes of unknown and duplicate fields: `Ignore` drops them, `Warn` drops and reports them, `Strict` \
         refuses the request.",
    ),
    (
        "follow",
        "boolean",
        "Whether to go on with what is written later.",
    ),
    (
        "force",
        "boolean",
        "Server-side apply: take fields that others own.",
    ),
    (
        "gracePeriodSeconds",
        "integer",
        "Seconds that the object has to end in; 0 for at once.",
    ),
    (
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Whether the certificate of the kubelet is taken unread.",
    ),
    (
        "labelSelector",
        "string",
        "Only objects whose labels match: `a=b,c in (d,e),!f`.",
    ),
    (
        "limit",
        "integer",
        "How many objects a page of a list has at most.",
    ),
    ("limitBytes", "integer", "How many bytes to read at most."),
    ("name", "string", "Name of the object."),
    ("namespace", "string", "Namespace of the objects."),
    (
        "orphanDependents",
        "boolean",
        "Deprecated for `propagationPolicy`: whether dependents stay.",
    ),
    (
        "path",
        "string",
        "The path of the request to what is reached, with its query.",
    ),
    ("ports", "integer", "The ports of the pod."),
    ("pretty", "string", "`true`: indent the answer."),
    (
        "previous",
        "boolean",
        "Whether to read the log of the container that ran before.",
    ),
    (
        "propagationPolicy",
        "string",
        "What becomes of dependents: `Orphan`, `Background` or `Foreground`.",
    ),
    (
        "resourceVersion",
        "string",
        "The revision to read or to watch from; `0` for any.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "How `resourceVersion` is meant: `Exact` or `NotOlderThan`.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with all objects as they are, and a bookmark that ends them.",
    ),
    (
        "sinceSeconds",
        "integer",
        "Only what was written in these last seconds.",
    ),
    (
        "stderr",
        "boolean",
        "Whether to be sent what the process writes as errors.",
    ),
    ("stdin", "boolean", "Whether to send the process its input."),
    ("stdout", "boolean", "Whether to be sent what the process writes."),
    ("stream", "string", "What to read: `All`, `Stdout` or `Stderr`."),
    ("tailLines", "integer", "How many lines from the end to read."),
    (
        "timeoutSeconds",
        "integer",
        "Seconds until the list or watch ends.",
    ),
    (
        "timestamps",
        "boolean",
        "Whether each line begins with its time (RFC 3339).",
    ),
    ("tty", "boolean", "Whether the process has a terminal."),
    (
        "watch",
        "boolean",
        "Whether to be told of changes instead of listing.",
    ),
];

pub(super) const WRITING: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
pub(super) const PATCHING: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
pub(super) const DELETING: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
];
pub(super) const LISTING: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
pub(super) const SELECTING: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// A parameter in OpenAPI v3.
pub(super) fn parameter(name: &str) -> Value {
    let found = ALL.iter().find(|(known, ..)| *known == name);
    let (_, of, text) = found.unwrap_or(&("", "string", ""));
    if ["name", "namespace"].contains(&name) {
        return in_path(name, text);
    }
    json!({
        "name": name,
        "in": "query",
        "description": text,
        "schema": {"type": of, "uniqueItems": true},
    })
}

/// A path parameter.
pub(super) fn in_path(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": text,
        "required": true,
        "schema": {"type": "string", "uniqueItems": true},
    })
}

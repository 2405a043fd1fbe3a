//! OpenAPI parameters: names, types, descriptions, and the parameters of each type of operation.
//!
//! Does not know paths.

use serde_json::{Value, json};

/// A parameter: name, type, description.
type Parameter = (&'static str, &'static str, &'static str);

/// The parameters that operations and paths refer to by name.
const ALL: [Parameter; 36] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch may send bookmarks.",
    ),
    (
        "command",
        "string",
        "The command with its arguments; not run in a shell.",
    ),
    (
        "container",
        "string",
        "Name of the container; required if the pod has several.",
    ),
    (
        "continue",
        "string",
        "The `continue` token of the previous page of a list.",
    ),
    (
        "dryRun",
        "string",
        "`All`: process the request without storing the result.",
    ),
    (
        "fieldManager",
        "string",
        "The field manager of the changes: up to 128 printable characters.",
    ),
    (
        "fieldSelector",
        "string",
        "Only objects whose fields have these values: `a=b,c!=d`.",
    ),
    (
        "fieldValidation",
        "string",
        "Unknown and duplicate fields: `Ignore` drops them, `Warn` drops and reports them, `Strict` rejects the \
         request.",
    ),
    (
        "follow",
        "boolean",
        "Whether to stream lines that are written later.",
    ),
    (
        "force",
        "boolean",
        "Server-side apply: acquire fields that other managers own.",
    ),
    (
        "gracePeriodSeconds",
        "integer",
        "Grace period of the deletion in seconds; 0 deletes at once.",
    ),
    (
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Whether the kubelet's certificate is not verified.",
    ),
    (
        "labelSelector",
        "string",
        "Only objects whose labels match: `a=b,c in (d,e),!f`.",
    ),
    (
        "limit",
        "integer",
        "Maximum number of objects in a page of a list.",
    ),
    ("limitBytes", "integer", "Maximum number of bytes to read."),
    ("name", "string", "Name of the object."),
    ("namespace", "string", "Namespace of the objects."),
    (
        "orphanDependents",
        "boolean",
        "Deprecated, use `propagationPolicy`: whether dependents are orphaned.",
    ),
    (
        "path",
        "string",
        "The path of the proxied request, with its query.",
    ),
    ("ports", "integer", "The ports of the pod."),
    ("pretty", "string", "`true`: indent the response."),
    (
        "previous",
        "boolean",
        "Whether to read the log of the previous container.",
    ),
    (
        "propagationPolicy",
        "string",
        "Deletion of dependents: `Orphan`, `Background` or `Foreground`.",
    ),
    (
        "resourceVersion",
        "string",
        "The revision to read or to watch from; `0` for any.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "Interpretation of `resourceVersion`: `Exact` or `NotOlderThan`.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with all existing objects, followed by a bookmark.",
    ),
    (
        "sinceSeconds",
        "integer",
        "Only lines written in this number of seconds before the request.",
    ),
    ("stderr", "boolean", "Whether to receive stderr of the process."),
    ("stdin", "boolean", "Whether to send stdin to the process."),
    ("stdout", "boolean", "Whether to receive stdout of the process."),
    (
        "stream",
        "string",
        "The stream to read: `All`, `Stdout` or `Stderr`.",
    ),
    (
        "tailLines",
        "integer",
        "Number of lines to read from the end of the log.",
    ),
    (
        "timeoutSeconds",
        "integer",
        "Timeout of the list or watch in seconds.",
    ),
    (
        "timestamps",
        "boolean",
        "Whether each line begins with a timestamp (RFC 3339).",
    ),
    ("tty", "boolean", "Whether the process has a terminal."),
    (
        "watch",
        "boolean",
        "Whether to watch for changes instead of listing.",
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

/// The OpenAPI v3 parameter with this name.
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

pub(super) fn in_path(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": text,
        "required": true,
        "schema": {"type": "string", "uniqueItems": true},
    })
}

//! OpenAPI parameters: names, types, descriptions, and the parameters of each type of operation.
//!
//! Does not know paths.

use serde_json::{Value, json};

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

fn type_of(name: &str) -> &'static str {
    match name {
        "allowWatchBookmarks"
        | "follow"
        | "force"
        | "insecureSkipTLSVerifyBackend"
        | "orphanDependents"
        | "previous"
        | "sendInitialEvents"
        | "stderr"
        | "stdin"
        | "stdout"
        | "timestamps"
        | "tty"
        | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "limitBytes" | "ports" | "sinceSeconds" | "tailLines"
        | "timeoutSeconds" => "integer",
        _ => "string",
    }
}

fn description(name: &str) -> &'static str {
    match name {
        "allowWatchBookmarks" => "Whether a watch may send bookmarks.",
        "command" => "The command with its arguments; not run in a shell.",
        "container" => "Name of the container; required if the pod has several.",
        "continue" => "The `continue` token of the previous page of a list.",
        "dryRun" => "`All`: process the request without storing the result.",
        "fieldManager" => "The field manager of the changes: up to 128 printable characters.",
        "fieldSelector" => "Only objects whose fields have these values: `a=b,c!=d`.",
        "fieldValidation" => {
            "Unknown and duplicate fields: `Ignore` drops them, `Warn` drops and reports them, `Strict` rejects the \
             request."
        }
        "follow" => "Whether to stream lines that are written later.",
        "force" => "Server-side apply: acquire fields that other managers own.",
        "gracePeriodSeconds" => "Grace period of the deletion in seconds; 0 deletes at once.",
        "insecureSkipTLSVerifyBackend" => "Whether the kubelet's certificate is not verified.",
        "labelSelector" => "Only objects whose labels match: `a=b,c in (d,e),!f`.",
        "limit" => "Maximum number of objects in a page of a list.",
        "limitBytes" => "Maximum number of bytes to read.",
        "name" => "Name of the object.",
        "namespace" => "Namespace of the objects.",
        "orphanDependents" => "Deprecated, use `propagationPolicy`: whether dependents are orphaned.",
        "path" => "The path of the proxied request, with its query.",
        "ports" => "The ports of the pod.",
        "pretty" => "`true`: indent the response.",
        "previous" => "Whether to read the log of the previous container.",
        "propagationPolicy" => "Deletion of dependents: `Orphan`, `Background` or `Foreground`.",
        "resourceVersion" => "The revision to read or to watch from; `0` for any.",
        "resourceVersionMatch" => "Interpretation of `resourceVersion`: `Exact` or `NotOlderThan`.",
        "sendInitialEvents" => "Whether a watch begins with all existing objects, followed by a bookmark.",
        "sinceSeconds" => "Only lines written in this number of seconds before the request.",
        "stderr" => "Whether to receive stderr of the process.",
        "stdin" => "Whether to send stdin to the process.",
        "stdout" => "Whether to receive stdout of the process.",
        "stream" => "The stream to read: `All`, `Stdout` or `Stderr`.",
        "tailLines" => "Number of lines to read from the end of the log.",
        "timeoutSeconds" => "Timeout of the list or watch in seconds.",
        "timestamps" => "Whether each line begins with a timestamp (RFC 3339).",
        "tty" => "Whether the process has a terminal.",
        "watch" => "Whether to watch for changes instead of listing.",
        _ => "",
    }
}

/// The OpenAPI v3 parameter with this name.
pub(super) fn parameter(name: &str) -> Value {
    if ["name", "namespace"].contains(&name) {
        return in_path(name, description(name));
    }
    json!({
        "name": name,
        "in": "query",
        "description": description(name),
        "schema": {"type": type_of(name), "uniqueItems": true},
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

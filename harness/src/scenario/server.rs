//! Objects that a case sends to the API server as a whole.

use serde::Deserialize;
use serde_json::Value;

/// Replaces an object (PUT), like controllers that do not patch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaceSpec {
    /// The complete object.
    pub object: Value,
    /// The resourceVersion to send, such as `"1"` for an outdated one, or `""` for none; unset: the current one.
    pub resource_version: Option<String>,
}

/// Server-side apply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplySpec {
    /// The field manager.
    pub manager: String,
    /// Take over fields that other managers own.
    #[serde(default)]
    pub force: bool,
    /// The object with the fields that the manager applies.
    pub object: Value,
}

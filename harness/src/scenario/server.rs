//! Actions of a case that send a complete object to the API server.

use serde::Deserialize;
use serde_json::Value;

/// Replaces an object (PUT), as controllers do that send no patches.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaceSpec {
    /// The complete object.
    pub object: Value,
    /// The resourceVersion in the request: for example `"1"` for an outdated one, or `""` for none. Unset: the current one.
    pub resource_version: Option<String>,
}

/// A server-side apply request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplySpec {
    /// Name of the field manager.
    pub manager: String,
    /// Whether to take over fields that other managers own.
    #[serde(default)]
    pub force: bool,
    /// An object with exactly the fields that the manager applies.
    pub object: Value,
}

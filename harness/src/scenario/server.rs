//! Objects that a case sends as a whole.

use serde::Deserialize;
use serde_json::Value;

/// An object takes the place of the one with its name (PUT), as with controllers that do not patch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaceSpec {
    /// The object as it is to be.
    pub object: Value,
    /// The resourceVersion that is sent, such as `"1"` for one that is long past, or `""` for none; unset: the one that the object has.
    pub resource_version: Option<String>,
}

/// Server-side apply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplySpec {
    /// The field manager.
    pub manager: String,
    /// Take fields over that other managers own.
    #[serde(default)]
    pub force: bool,
    /// The object, with the fields that the manager has an opinion on.
    pub object: Value,
}

//! What a case says about the API server as such: its release, and objects changed in passing.

use std::collections::BTreeMap;

use fake_apiserver::Release;
use serde::Deserialize;
use serde_json::Value;

use super::gates::gates;

/// The server becomes another release, or the same one with other gates.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseSpec {
    /// The release, such as `"1.20"`; unset: the same as before.
    pub to: Option<Release>,
    /// Feature gates of the API server; those that are left out have the default of the release.
    #[serde(default, deserialize_with = "gates")]
    pub gates: BTreeMap<String, bool>,
}

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

/// A change of an object that nothing else in the format makes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeSpec {
    /// Plural resource name.
    pub resource: String,
    /// metadata.namespace, for namespaced resources.
    pub namespace: Option<String>,
    /// metadata.name.
    pub name: String,
    /// A JSON merge patch.
    pub merge: Value,
}

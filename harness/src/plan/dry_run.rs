//! Validates the manifests in a case with dry-run requests when the case is resolved, so that an invalid object is an error with its file
//! position before the case runs.
//!
//! Ignores conflicts with other objects, because they are known only at run time.

use std::collections::BTreeMap;

use fake_apiserver::{LocalClient, Release, ResourceRef, ServerOptions, Status};
use parking_lot::Mutex;
use serde_json::Value;

use crate::standalone::api_server;

/// Feature gates that the case sets explicitly.
type Gates = BTreeMap<String, bool>;

/// In-memory API servers by release and feature gates. Cached, because starting a server takes as long as hundreds of dry runs, and all
/// cases are resolved before the first case runs.
static SERVERS: Mutex<BTreeMap<(Release, Gates), LocalClient>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
pub(super) struct DryRun {
    /// CustomResourceDefinitions that the case has created so far.
    definitions: Vec<Value>,
}

impl DryRun {
    pub(super) fn check_accepted(
        &mut self,
        object: &Value,
        release: Release,
        gates: &Gates,
    ) -> Result<(), String> {
        self.check_kind(object)?;
        if !self.is_known(object) {
            return Ok(());
        }
        // A dry run stores no object, so objects cannot conflict with each other.
        let rejection = self.server(release, gates).dry_run_create(object.clone()).err();
        if object["kind"] == "CustomResourceDefinition" {
            self.definitions.push(object.clone());
        }
        match rejection.filter(is_object_error) {
            Some(status) => Err(format!(
                "the API server refuses {}: {}; correct the object, or write `attempt: {{object: …}}` if the case tests the refusal",
                kind_and_name(object),
                status.message
            )),
            None => Ok(()),
        }
    }

    /// An in-memory API server of this release with these feature gates. Cases without CustomResourceDefinitions share the server.
    fn server(&self, release: Release, gates: &Gates) -> LocalClient {
        let start = || {
            let options = ServerOptions {
                kubelet_less: true,
                removed_versions: true,
                release,
                gates: gates.clone(),
                ..ServerOptions::default()
            };
            api_server(options, None).client("trial")
        };
        if self.definitions.is_empty() {
            let mut servers = SERVERS.lock();
            return servers
                .entry((release, gates.clone()))
                .or_insert_with(start)
                .clone();
        }
        let client = start();
        for definition in &self.definitions {
            // A failure is ignored, because the error was already reported when the definition itself was validated.
            client.create(definition.clone()).ok();
        }
        client
    }

    /// Checks that the kind of an object exists. In built-in API groups, unknown kinds are errors; in other groups, any kind is allowed.
    pub(super) fn check_kind(&self, object: &Value) -> Result<(), String> {
        let (version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        if version.is_empty() || kind.is_empty() {
            return Err(
                "an object needs `apiVersion`, `kind` and `metadata`; write it as a manifest for kubectl"
                    .to_owned(),
            );
        }
        let group = group(version);
        let is_built_in = !group.contains('.') || group.ends_with(".k8s.io");
        match is_built_in && !self.is_known(object) {
            true => Err(format!(
                "no kind `{kind}` is known in `{version}`; correct `apiVersion` or `kind`"
            )),
            false => Ok(()),
        }
    }

    /// Whether the object's kind is built in or defined by a CustomResourceDefinition of the case. A driver may define more kinds.
    fn is_known(&self, object: &Value) -> bool {
        let (group, kind) = (group(text(object, "apiVersion")), text(object, "kind"));
        let is_defined = |it: &Value| it["spec"]["group"] == group && it["spec"]["names"]["kind"] == kind;
        ResourceRef::of(object).is_some() || self.definitions.iter().any(is_defined)
    }
}

fn text<'o>(object: &'o Value, field: &str) -> &'o str {
    object[field].as_str().unwrap_or_default()
}

/// The API group in an `apiVersion`; empty for the core group.
fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether the object causes the error response: it cannot be parsed (400) or is invalid (422).
fn is_object_error(status: &Status) -> bool {
    const UNREADABLE: u16 = 400;
    const INVALID: u16 = 422;
    matches!(status.code, UNREADABLE | INVALID)
}

fn kind_and_name(object: &Value) -> String {
    let kind = text(object, "kind");
    match object["metadata"]["name"].as_str() {
        Some(name) => format!("{kind} {name}"),
        None => format!("the {kind}"),
    }
}

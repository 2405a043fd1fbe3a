//! Objects that a case names as the API takes them, tried on a server when the plan is made: what no server would take is told
//! with its place, and not only once the case runs.
//!
//! Only what is wrong with an object alone counts. What else is there by then, and may refuse it too, is known when the case runs.

use std::collections::BTreeMap;

use fake_apiserver::{ApiServer, LocalClient, Release, ResourceRef, ServerOptions, Status};
use parking_lot::Mutex;
use serde_json::Value;

/// Feature gates that are set.
type Gates = BTreeMap<String, bool>;

/// Starting a server takes as long as trying hundreds of objects, and all cases are looked at before one runs.
static SERVERS: Mutex<BTreeMap<(Release, Gates), LocalClient>> = Mutex::new(BTreeMap::new());

/// What a server needs to know to try objects.
#[derive(Default)]
pub(super) struct Trial {
    /// The kinds that the case defines itself.
    definitions: Vec<Value>,
}

impl Trial {
    /// Whether a server of that release, with these gates, would take an object that is created.
    pub(super) fn create(&mut self, object: &Value, release: Release, gates: &Gates) -> Result<(), String> {
        self.kind(object)?;
        if !self.is_known(object) {
            return Ok(());
        }
        // Nothing that is tried is stored, so that none meets what another one would have changed.
        let refused = self.server(release, gates).dry_run_create(object.clone()).err();
        if object["kind"] == "CustomResourceDefinition" {
            self.definitions.push(object.clone());
        }
        match refused.filter(is_of_object_alone) {
            Some(status) => Err(format!(
                "the API server refuses {}: {}; correct it, or write `attempt: {{object: …}}` if that is what the case is about",
                told(object),
                status.message
            )),
            None => Ok(()),
        }
    }

    /// A server of that release with these gates: one for all cases, but for those that define kinds.
    fn server(&self, release: Release, gates: &Gates) -> LocalClient {
        let start = || {
            let options = ServerOptions {
                kubelet_less: true,
                removed_versions: true,
                release,
                gates: gates.clone(),
                ..ServerOptions::default()
            };
            ApiServer::new(options, None).client("trial")
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
            // It has been tried itself.
            client.create(definition.clone()).ok();
        }
        client
    }

    /// Whether an object is of a kind that there may be: of a group that is built in, only one that is known.
    pub(super) fn kind(&self, object: &Value) -> Result<(), String> {
        let (version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        if version.is_empty() || kind.is_empty() {
            return Err(
                "an object has `apiVersion`, `kind` and `metadata`; write it as kubectl takes it".to_owned(),
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

    /// Whether its kind is built in, or one that the case defines. A driver under test may define others.
    fn is_known(&self, object: &Value) -> bool {
        let (group, kind) = (group(text(object, "apiVersion")), text(object, "kind"));
        let is_defined = |it: &Value| it["spec"]["group"] == group && it["spec"]["names"]["kind"] == kind;
        ResourceRef::of(object).is_some() || self.definitions.iter().any(is_defined)
    }
}

fn text<'o>(object: &'o Value, field: &str) -> &'o str {
    object[field].as_str().unwrap_or_default()
}

/// The group of an `apiVersion`; that of the core has no name.
fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a refusal is for what the object says: it can't be read, or is invalid.
fn is_of_object_alone(status: &Status) -> bool {
    const UNREADABLE: u16 = 400;
    const INVALID: u16 = 422;
    matches!(status.code, UNREADABLE | INVALID)
}

/// An object by its kind and name.
fn told(object: &Value) -> String {
    let kind = text(object, "kind");
    match object["metadata"]["name"].as_str() {
        Some(name) => format!("{kind} {name}"),
        None => format!("the {kind}"),
    }
}

//! In-process clients: requests without a socket.
//!
//! Requests of in-process clients pass through `execute` like requests over connections: validation, admission and events are the same,
//! only encoding is skipped. In-process clients cannot wait: requests that need a webhook fail.

mod resource_ref;

pub use resource_ref::ResourceRef;

use crate::access::auth::User;
use crate::execute::{Execution, Progress};
use crate::kinds::{Kind, Part, Subresource};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::request::Verb;
use crate::store::Store;
use crate::verbs::call::{Answer, Call, Params, Patch, Payload, Target};
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// A client in the same process as the server.
///
/// An in-process client cannot wait for webhooks: requests that need one, for admission or conversion, fail with the reason
/// `InternalError`.
#[derive(Clone)]
pub struct LocalClient {
    store: Arc<Store>,
    user: Arc<User>,
}

/// The result of a list request.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The listed objects, sorted by namespace and name.
    pub items: Vec<Arc<Value>>,
    /// The resourceVersion of the list.
    pub revision: u64,
}

impl LocalClient {
    pub(crate) fn new(store: Arc<Store>, name: &str) -> Self {
        Self {
            store,
            user: User::trusted(name),
        }
    }

    /// Creates an object; its `apiVersion`, `kind` and `metadata.namespace` select the collection.
    pub fn create(&self, object: Value) -> Result<Arc<Value>, Status> {
        let target = self.target_of(&object, false)?;
        self.object(Verb::Create, target, Payload::Object(object.into()))
    }

    /// Validates the creation of an object with `dryRun=All`; nothing is stored.
    pub fn dry_run_create(&self, object: Value) -> Result<(), Status> {
        let target = self.target_of(&object, false)?;
        let params = Params::from([("dryRun", "All")]);
        self.call_with(Verb::Create, target, params, Payload::Object(object.into()))
            .map(drop)
    }

    /// Reads the current state of an object.
    pub fn get(&self, at: &ResourceRef) -> Result<Arc<Value>, Status> {
        self.object(Verb::Get, self.target(at, Part::Main)?, Payload::None)
    }

    /// Lists a collection: one namespace, or all namespaces if none is given.
    pub fn list(&self, at: &ResourceRef) -> Result<Listed, Status> {
        match self.call(Verb::List, self.target(at, Part::Main)?, Payload::None)? {
            Answer::List(plan) => {
                let listing = plan.into_page();
                let items = listing
                    .objects
                    .iter()
                    .map(|object| object.shared_document())
                    .collect();
                Ok(Listed {
                    items,
                    revision: listing.revision,
                })
            }
            _ => Err(unexpected(Verb::List)),
        }
    }

    /// Replaces the stored object that has the `apiVersion`, `kind`, namespace and name of `object`.
    pub fn update(&self, object: Value) -> Result<Arc<Value>, Status> {
        let target = self.target_of(&object, true)?;
        self.object(Verb::Update, target, Payload::Object(object.into()))
    }

    /// Applies a JSON merge patch to an object.
    pub fn patch_merge(&self, at: &ResourceRef, patch: Value) -> Result<Arc<Value>, Status> {
        self.object(
            Verb::Patch,
            self.target(at, Part::Main)?,
            Payload::Patch(Patch::Merge, Ok(patch.into())),
        )
    }

    /// Applies a configuration as a field manager (server-side apply). With `force`, the manager takes over fields of other managers;
    /// otherwise such fields cause a conflict.
    pub fn apply(&self, object: Value, manager: &str, force: bool) -> Result<Arc<Value>, Status> {
        let target = self.target_of(&object, true)?;
        let params = Params::from([
            ("fieldManager", manager),
            ("force", if force { "true" } else { "false" }),
        ]);
        let payload = Payload::Apply(Ok(object.into()));
        object_of(Verb::Patch, self.call_with(Verb::Patch, target, params, payload)?)
    }

    /// Deletes an object with default `DeleteOptions`.
    pub fn delete(&self, at: &ResourceRef) -> Result<(), Status> {
        self.call(Verb::Delete, self.target(at, Part::Main)?, Payload::None)
            .map(drop)
    }

    /// Deletes all objects of a collection (`deletecollection`).
    pub fn delete_collection(&self, at: &ResourceRef) -> Result<(), Status> {
        self.call(
            Verb::DeleteCollection,
            self.target(at, Part::Main)?,
            Payload::None,
        )
        .map(drop)
    }

    /// Creates a subresource, for example `binding` of a pod.
    pub fn create_subresource(&self, at: &ResourceRef, subresource: &str, body: Value) -> Result<(), Status> {
        self.call(
            Verb::Create,
            self.target(at, part(subresource)?)?,
            Payload::Object(body.into()),
        )
        .map(drop)
    }

    /// Applies a JSON merge patch to a subresource, for example `status`.
    pub fn patch_subresource(
        &self,
        at: &ResourceRef,
        subresource: &str,
        patch: Value,
    ) -> Result<Arc<Value>, Status> {
        self.object(
            Verb::Patch,
            self.target(at, part(subresource)?)?,
            Payload::Patch(Patch::Merge, Ok(patch.into())),
        )
    }

    /// The target of a request for an object, from its `apiVersion`, `kind` and `metadata`.
    fn target_of(&self, object: &Value, named: bool) -> Result<Target, Status> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let api = self.store.api();
        let kind = api.catalogue.find_kind(text("apiVersion"), text("kind")).ok_or_else(|| {
            let (version, kind) = (text("apiVersion"), text("kind"));
            Status::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?}; the README lists the served resources"
            ))
        })?;
        let namespace = metadata::text(object, "namespace");
        Ok(Target {
            kind: kind.clone(),
            namespace: (kind.namespaced && !namespace.is_empty()).then(|| namespace.to_owned()),
            name: named.then(|| metadata::text(object, "name").to_owned()),
            part: Part::Main,
        })
    }

    fn target(&self, at: &ResourceRef, part: Part) -> Result<Target, Status> {
        at.target(part, &self.store.api())
    }

    fn object(&self, verb: Verb, target: Target, payload: Payload) -> Result<Arc<Value>, Status> {
        object_of(verb, self.call(verb, target, payload)?)
    }

    fn call(&self, verb: Verb, target: Target, payload: Payload) -> Result<Answer, Status> {
        self.call_with(verb, target, Params::default(), payload)
    }

    fn call_with(
        &self,
        verb: Verb,
        target: Target,
        params: Params,
        payload: Payload,
    ) -> Result<Answer, Status> {
        let _busy = self.store.activity().begin();
        // If the resource is not served, the request is executed all the same: it fails with 404, which is reported to the observer.
        let api = self.store.api();
        let served = api.catalogue.served_definition(&target.kind, api.profile);
        let target = Target {
            kind: served.unwrap_or(&target.kind).clone(),
            ..target
        };
        let (user, began, kind) = (self.user.clone(), Instant::now(), target.kind.clone());
        let execution = Execution::new(
            &self.store,
            Call {
                user,
                verb,
                target,
                params,
                payload,
                began,
                agent: self.user.name.to_string(),
                stale: None,
            },
        );
        let reply = match execution.attempt(&self.store) {
            Progress::Done(reply) => return require_converted(&kind, reply.outcome),
            Progress::Waits(waiting) => waiting.in_process_refusal(),
        };
        reply.outcome
    }
}

/// Checks that the response contains no object that only a conversion webhook can convert.
fn require_converted(kind: &Kind, outcome: Result<Answer, Status>) -> Result<Answer, Status> {
    let answer = outcome?;
    if answer.unconverted(kind).is_empty() {
        return Ok(answer);
    }
    Err(Status::internal_error(format!(
        "in-process clients cannot call the webhook that converts {}; send the request over a connection",
        kind.plural
    )))
}

fn object_of(verb: Verb, answer: Answer) -> Result<Arc<Value>, Status> {
    match answer {
        Answer::Object { object, .. } => Ok(object.shared_document()),
        _ => Err(unexpected(verb)),
    }
}

fn part(subresource: &str) -> Result<Part, Status> {
    match subresource {
        "status" => Ok(Part::Status),
        other => Subresource::find(other)
            .map(Part::Sub)
            .ok_or_else(Status::no_such_resource),
    }
}

fn unexpected(verb: Verb) -> Status {
    Status::internal(format!("unexpected response variant for {verb}; this is a bug"))
}

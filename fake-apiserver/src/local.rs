//! Requests without a socket, for programs that run in the server's process.
//!
//! They go through `verbs::execute` like requests from the wire, so validation, admission, events and quiescence are
//! the same. Only encodings are skipped.

use crate::access::auth::User;
use crate::config::release::{Profile, Release};
use crate::execute;
use crate::kinds::{Kind, Part, Subresource};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::observe::Verb;
use crate::store::Store;
use crate::verbs::call::{Answer, Call, Params, Patch, Payload, Reply, Target};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// A client in the server's own process.
#[derive(Clone)]
pub struct LocalClient {
    store: Arc<Store>,
    user: Arc<User>,
}

/// Which object or collection a local request is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceRef {
    group: String,
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

/// A list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The objects, by namespace and name.
    pub items: Vec<Arc<Value>>,
    /// The revision at which the list is valid.
    pub revision: u64,
}

impl ResourceRef {
    /// A resource of an API group (empty for the core group), by its plural name.
    pub fn new(group: &str, resource: &str) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: None,
            name: None,
        }
    }

    /// A resource of the core group.
    pub fn core(resource: &str) -> Self {
        Self::new("", resource)
    }

    /// A built-in resource by its plural name alone, in the group that discovery names first, and whether its objects
    /// have a namespace. None: no such resource is known, in any release.
    pub fn by_plural(resource: &str) -> Option<(Self, bool)> {
        let kind = Kind::find_plural(resource)?;
        Some((Self::new(kind.group, resource), kind.namespaced))
    }

    /// The plural name of an object's resource, by its `apiVersion` and `kind`. None: no such kind is known, in any release.
    pub fn plural_of(object: &Value) -> Option<&'static str> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        Kind::find_kind(text("apiVersion"), text("kind")).map(|kind| kind.plural)
    }

    /// Where an object is, by its `apiVersion`, `kind` and `metadata`. None: no such kind is known, in any release.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let kind = Kind::find_kind(text("apiVersion"), text("kind"))?;
        let (namespace, name) = (
            metadata::text(object, "namespace"),
            metadata::text(object, "name"),
        );
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(Self {
            namespace: given(namespace).filter(|_| kind.namespaced),
            name: given(name),
            ..Self::new(kind.group, kind.plural)
        })
    }

    /// The collection that an object is in.
    #[must_use]
    pub fn collection(self) -> Self {
        Self { name: None, ..self }
    }

    /// The path of the object, or of the collection where there is no name, in the version that the newest release
    /// prefers. None: that release does not serve the resource.
    pub fn path(&self) -> Option<String> {
        let newest = Profile::new(Release::NEWEST, &BTreeMap::new());
        let kind = Kind::find_served(&self.group, &self.resource, newest)?;
        self.path_in(kind.version)
    }

    /// The same in a version, given alone or as in `apiVersion`.
    pub fn path_in(&self, version: &str) -> Option<String> {
        let version = version.rsplit('/').next()?;
        let mut path = match self.group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let namespace = self
            .namespace
            .iter()
            .map(|namespace| format!("namespaces/{namespace}"));
        let rest = namespace.chain([self.resource.clone()]).chain(self.name.clone());
        for part in rest {
            path.push('/');
            path.push_str(&part);
        }
        Some(path)
    }

    /// In a namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// One object.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }
}

impl LocalClient {
    pub(crate) fn new(store: Arc<Store>, name: &str) -> Self {
        Self {
            store,
            user: User::trusted(name),
        }
    }

    /// Creates an object; its `apiVersion`, `kind` and `metadata.namespace` say where.
    pub fn create(&self, object: Value) -> Result<Arc<Value>, Status> {
        let target = place(&object, false)?;
        self.object(Verb::Create, target, Payload::Object(object.into()))
    }

    /// Reads an object.
    pub fn get(&self, at: &ResourceRef) -> Result<Arc<Value>, Status> {
        self.object(Verb::Get, self.target(at, Part::Main)?, Payload::None)
    }

    /// Reads a collection; without a namespace, that of all namespaces.
    pub fn list(&self, at: &ResourceRef) -> Result<Listed, Status> {
        match self.call(Verb::List, self.target(at, Part::Main)?, Payload::None)? {
            Answer::List(plan) => {
                let listing = plan.cut();
                let items = listing.objects.iter().map(|object| object.shared()).collect();
                Ok(Listed {
                    items,
                    revision: listing.revision,
                })
            }
            _ => Err(unexpected(Verb::List)),
        }
    }

    /// Replaces an object; its own fields say which.
    pub fn update(&self, object: Value) -> Result<Arc<Value>, Status> {
        let target = place(&object, true)?;
        self.object(Verb::Update, target, Payload::Object(object.into()))
    }

    /// Applies a JSON merge patch.
    pub fn patch_merge(&self, at: &ResourceRef, patch: Value) -> Result<Arc<Value>, Status> {
        self.object(
            Verb::Patch,
            self.target(at, Part::Main)?,
            Payload::Patch(Patch::Merge, Ok(patch.into())),
        )
    }

    /// Applies a JSON patch (a list of operations).
    pub fn patch_json(&self, at: &ResourceRef, operations: Value) -> Result<Arc<Value>, Status> {
        self.object(
            Verb::Patch,
            self.target(at, Part::Main)?,
            Payload::Patch(Patch::Json, Ok(operations.into())),
        )
    }

    /// Deletes an object.
    pub fn delete(&self, at: &ResourceRef) -> Result<(), Status> {
        self.call(Verb::Delete, self.target(at, Part::Main)?, Payload::None)
            .map(drop)
    }

    /// Deletes an object with `DeleteOptions`, for example `{"gracePeriodSeconds": 0}`.
    pub fn delete_with(&self, at: &ResourceRef, options: Value) -> Result<(), Status> {
        self.call(
            Verb::Delete,
            self.target(at, Part::Main)?,
            Payload::Object(options.into()),
        )
        .map(drop)
    }

    /// Deletes all objects of a collection.
    pub fn delete_collection(&self, at: &ResourceRef) -> Result<(), Status> {
        self.call(
            Verb::DeleteCollection,
            self.target(at, Part::Main)?,
            Payload::None,
        )
        .map(drop)
    }

    /// Creates a subresource, such as the `binding` of a pod.
    pub fn create_subresource(&self, at: &ResourceRef, subresource: &str, body: Value) -> Result<(), Status> {
        self.call(
            Verb::Create,
            self.target(at, part(subresource)?)?,
            Payload::Object(body.into()),
        )
        .map(drop)
    }

    /// Replaces a subresource, such as the `status` of an object.
    pub fn update_subresource(
        &self,
        at: &ResourceRef,
        subresource: &str,
        object: Value,
    ) -> Result<Arc<Value>, Status> {
        self.object(
            Verb::Update,
            self.target(at, part(subresource)?)?,
            Payload::Object(object.into()),
        )
    }

    /// Applies a JSON merge patch to a subresource, such as the `status` of an object.
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

    fn target(&self, at: &ResourceRef, part: Part) -> Result<Target, Status> {
        at.target(part, self.store.profile())
    }

    fn object(&self, verb: Verb, target: Target, payload: Payload) -> Result<Arc<Value>, Status> {
        match self.call(verb, target, payload)? {
            Answer::Object { object, .. } => Ok(object.shared()),
            _ => Err(unexpected(verb)),
        }
    }

    fn call(&self, verb: Verb, target: Target, payload: Payload) -> Result<Answer, Status> {
        let _busy = self.store.activity().begin();
        // A row that is not served is refused, and reported, like any other.
        let served = target.kind.served(self.store.profile());
        let target = Target {
            kind: served.unwrap_or(target.kind),
            ..target
        };
        let (user, params, began) = (self.user.clone(), Params::default(), Instant::now());
        let Reply { outcome, .. } = execute::execute(
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
        outcome
    }
}

impl ResourceRef {
    fn target(&self, part: Part, profile: Profile) -> Result<Target, Status> {
        let kind = Kind::find_served(&self.group, &self.resource, profile)
            .or_else(|| Kind::find_resource(&self.group, &self.resource))
            .ok_or_else(Status::no_such_resource)?;
        if !kind.has(part) {
            return Err(Status::no_such_subresource(
                kind.resource(),
                part.as_str().unwrap_or_default(),
            ));
        }
        if self.name.is_some() && kind.namespaced != self.namespace.is_some() {
            let rule = if kind.namespaced {
                "needs a namespace"
            } else {
                "has no namespace"
            };
            return Err(Status::bad_request(format!(
                "{} {rule}; correct the ResourceRef",
                self.resource
            )));
        }
        Ok(Target {
            kind,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            part,
        })
    }
}

/// Where an object belongs, by its `apiVersion`, `kind` and `metadata`.
fn place(object: &Value, named: bool) -> Result<Target, Status> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let kind = Kind::find_kind(text("apiVersion"), text("kind")).ok_or_else(|| {
        let (version, kind) = (text("apiVersion"), text("kind"));
        Status::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?}; see the README for what is served"
        ))
    })?;
    let namespace = metadata::text(object, "namespace");
    Ok(Target {
        kind,
        namespace: (kind.namespaced && !namespace.is_empty()).then(|| namespace.to_owned()),
        name: named.then(|| metadata::text(object, "name").to_owned()),
        part: Part::Main,
    })
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
    Status::internal(format!(
        "{verb} was answered with something else than its verb promises; this is a bug"
    ))
}

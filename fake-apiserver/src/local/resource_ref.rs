//! References to the object or collection of an in-process request.

use crate::config::release::{Profile, Release};
use crate::kinds::{Api, Catalogue, Kind, Part};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::schema::conform;
use crate::verbs::call::Target;
use serde_json::Value;
use std::collections::BTreeMap;

/// Refers to an object or collection, for in-process requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceRef {
    group: String,
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

impl ResourceRef {
    /// Refers to all objects of a resource, by API group (empty for the core group) and plural name.
    pub fn new(group: &str, resource: &str) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: None,
            name: None,
        }
    }

    /// Refers to all objects of a resource of the core group, such as `pods`.
    pub fn core(resource: &str) -> Self {
        Self::new("", resource)
    }

    /// Refers to a built-in resource by plural name, in the group that discovery lists first; also returns whether the resource is
    /// namespaced. `None` if no release has such a resource.
    pub fn by_plural(resource: &str) -> Option<(Self, bool)> {
        let kind = Catalogue::all_built_in().find_plural(resource)?;
        Some((Self::new(kind.group, resource), kind.namespaced))
    }

    /// The plural resource name of an object, by its `apiVersion` and `kind`. `None` if no release has such a kind.
    pub fn plural_of(object: &Value) -> Option<&'static str> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let kind = Catalogue::all_built_in().find_kind(text("apiVersion"), text("kind"));
        kind.map(|kind| kind.plural)
    }

    /// Paths of unknown fields in `part`, a part of an object of a built-in resource. Errors if a value has the wrong JSON type for its
    /// field.
    pub fn unknown_fields(resource: &str, part: &Value) -> Result<Vec<String>, String> {
        let kind = Catalogue::all_built_in().find_plural(resource);
        let Some(of) = kind.and_then(Kind::object_type) else {
            return Ok(Vec::new());
        };
        let conformed = conform(of, &mut part.clone(), None).map_err(|error| error.to_string())?;
        Ok(conformed.unknown)
    }

    /// A reference to an object, by its `apiVersion`, `kind` and `metadata`. `None` if no release has such a kind.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let kind = Catalogue::all_built_in().find_kind(text("apiVersion"), text("kind"))?;
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

    /// The collection that contains the object: the same reference without name.
    #[must_use]
    pub fn collection(self) -> Self {
        Self { name: None, ..self }
    }

    /// The URL path of the object, or of the collection if there is no name, in the version that the newest release prefers. `None` if that
    /// release does not serve the resource.
    pub fn path(&self) -> Option<String> {
        let newest = Profile::new(Release::NEWEST, &BTreeMap::new());
        let kind = Catalogue::all_built_in().find_served(&self.group, &self.resource, newest)?;
        self.path_in(kind.version)
    }

    /// The URL path of the object or collection in a given version (`v1` or `storage.k8s.io/v1`).
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

    /// Restricts the reference to a namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// Refers to the object with this name instead of the collection.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }

    pub(super) fn target(&self, part: Part, api: &Api) -> Result<Target, Status> {
        let (catalogue, profile) = (&api.catalogue, api.profile);
        let kind = catalogue
            .find_served(&self.group, &self.resource, profile)
            .or_else(|| catalogue.find_resource(&self.group, &self.resource))
            .ok_or_else(Status::no_such_resource)?;
        if !kind.has_part(part) {
            return Err(Status::no_such_subresource(
                kind.group_resource(),
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
            kind: kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            part,
        })
    }
}

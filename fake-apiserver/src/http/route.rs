//! From method and path to what is asked for.
//!
//! Owns the shape of Kubernetes paths. Which resources there are comes from the kind table.

use super::discovery;
use crate::call::{Params, Part, Target};
use crate::kinds::{KINDS, Kind, Subresource};
use crate::observe::{ResourcePath, Verb};
use crate::release::Profile;
use crate::status::{Status, Subject};
use hyper::Method;
use percent_encoding::percent_decode_str;

/// What a request asks for.
pub(super) enum Route {
    Resource {
        verb: Verb,
        target: Target,
    },
    Special(Special),
    /// A known place with nothing there, or a method that it does not take.
    Refused {
        verb: Verb,
        resource: Option<ResourcePath>,
        status: Status,
    },
    /// A path outside the API; answered in plain text.
    Unknown,
}

/// Paths that are no resources.
pub(super) enum Special {
    Health,
    Version,
    Paths,
    Discovery(Document),
}

/// A discovery document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Document {
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(&'static str),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Resources(&'static str, &'static str),
}

impl Route {
    pub(super) fn parse(method: &Method, path: &str, params: &Params) -> Self {
        let segments: Option<Vec<String>> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| {
                percent_decode_str(segment)
                    .decode_utf8()
                    .ok()
                    .map(|text| text.into_owned())
            })
            .collect();
        let Some(segments) = segments else {
            return Self::Unknown;
        };
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [] => Self::Special(Special::Paths),
            ["healthz" | "livez" | "readyz", ..] => Self::Special(Special::Health),
            ["version"] => Self::Special(Special::Version),
            ["api"] => Self::Special(Special::Discovery(Document::Core)),
            ["apis"] => Self::Special(Special::Discovery(Document::Groups)),
            ["api", version, rest @ ..] => Self::versioned(method, params, "", version, rest),
            ["apis", group] => match known_group(group) {
                Some(group) => Self::Special(Special::Discovery(Document::Group(group))),
                None => Self::Unknown,
            },
            ["apis", group, version, rest @ ..] => Self::versioned(method, params, group, version, rest),
            _ => Self::Unknown,
        }
    }

    fn versioned(method: &Method, params: &Params, group: &str, version: &str, rest: &[&str]) -> Self {
        if known_group(group).is_none() {
            return Self::Unknown;
        }
        let nothing = || Self::Refused {
            verb: verb(method),
            resource: None,
            status: Status::no_such_resource(),
        };
        let Some(sample) = KINDS.iter().find(|k| k.group == group && k.version == version) else {
            return nothing();
        };
        match rest {
            [] => Self::Special(Special::Discovery(Document::Resources(
                sample.group,
                sample.version,
            ))),
            ["watch", rest @ ..] if !rest.is_empty() => {
                let target = target(group, version, rest);
                target.map_or_else(nothing, |target| match target {
                    Ok(target) if method == Method::GET => Self::Resource {
                        verb: Verb::Watch,
                        target,
                    },
                    Ok(target) => refused(method, &target, Status::method_not_allowed()),
                    Err(refusal) => refusal.route(method),
                })
            }
            rest => match target(group, version, rest) {
                None => nothing(),
                Some(Err(refusal)) => refusal.route(method),
                Some(Ok(target)) => match target_verb(method, params, &target) {
                    Some(verb) => Self::Resource { verb, target },
                    None => refused(method, &target, Status::method_not_allowed()),
                },
            },
        }
    }

    /// The same route as a release serves it: by the row that is served in that place, or not at all.
    pub(super) fn in_release(self, profile: Profile) -> Self {
        match self {
            Self::Resource { verb, target } => match target.kind.served(profile) {
                Some(kind) => Self::Resource {
                    verb,
                    target: Target { kind, ..target },
                },
                None => Self::Refused {
                    verb,
                    resource: Some(target.path()),
                    status: Status::no_such_resource(),
                },
            },
            Self::Special(Special::Discovery(Document::Resources(group, version)))
                if !discovery::has(group, Some(version), profile) =>
            {
                Self::Refused {
                    verb: Verb::Get,
                    resource: None,
                    status: Status::no_such_resource(),
                }
            }
            Self::Special(Special::Discovery(Document::Group(group)))
                if !discovery::has(group, None, profile) =>
            {
                Self::Unknown
            }
            route => route,
        }
    }

    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Resource { verb, .. } | Self::Refused { verb, .. } => *verb,
            Self::Special(_) | Self::Unknown => Verb::Get,
        }
    }

    pub(super) fn resource(&self) -> Option<ResourcePath> {
        match self {
            Self::Resource { target, .. } => Some(target.path()),
            Self::Refused { resource, .. } => resource.clone(),
            Self::Special(_) | Self::Unknown => None,
        }
    }

    /// Whether the answer may be plain text, so that any `Accept` will do.
    pub(super) fn serves_text(&self) -> bool {
        matches!(self, Self::Special(Special::Health) | Self::Unknown)
    }

    /// Whether clients without a token may ask.
    pub(super) fn is_public(&self) -> bool {
        matches!(self, Self::Special(Special::Health | Special::Version))
    }

    /// The refusal of a client that may not ask this.
    pub(super) fn forbidden(&self, client: &str) -> Status {
        let Some(path) = self.resource() else {
            let subject = Subject { group: "", kind: "" };
            let mut status = Status::forbidden(subject, "", &format!("User {client:?} cannot get this path"));
            status.message = format!("forbidden: User {client:?} cannot get this path");
            return status;
        };
        let scope = match &path.namespace {
            Some(namespace) => format!("in the namespace {namespace:?}"),
            None => "at the cluster scope".to_owned(),
        };
        let resource = match &path.subresource {
            Some(sub) => format!("{}/{sub}", path.resource),
            None => path.resource.clone(),
        };
        let why = format!(
            "User {client:?} cannot {} resource {resource:?} in API group {:?} {scope}",
            self.verb(),
            path.group
        );
        let name = path.name.as_deref().unwrap_or_default();
        Status::forbidden(
            Subject {
                group: &path.group,
                kind: &path.resource,
            },
            name,
            &why,
        )
    }
}

/// A path to a resource that has no such part.
struct Refusal {
    target: Target,
    subresource: String,
}

impl Refusal {
    fn route(self, method: &Method) -> Route {
        let status = Status::no_such_subresource(self.target.kind, &self.subresource);
        refused(method, &self.target, status)
    }
}

fn refused(method: &Method, target: &Target, status: Status) -> Route {
    Route::Refused {
        verb: verb(method),
        resource: Some(target.path()),
        status,
    }
}

fn known_group(group: &str) -> Option<&'static str> {
    KINDS.iter().map(|kind| kind.group).find(|known| *known == group)
}

/// Reads what follows group and version: `[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]`.
fn target(group: &str, version: &str, rest: &[&str]) -> Option<Result<Target, Refusal>> {
    let (namespace, rest) = match rest {
        // `namespaces/NAME` and its own subresources are about the namespace itself.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(*name), None),
        [plural, name, subresource] => (plural, Some(*name), Some(*subresource)),
        _ => return None,
    };
    let kind = Kind::find(group, version, plural)?;
    if kind.namespaced != namespace.is_some() && (name.is_some() || namespace.is_some()) {
        return None;
    }
    let part = match subresource {
        None => Some(Part::Main),
        Some("status") => Some(Part::Status),
        Some(other) => Subresource::find(other).map(Part::Sub),
    };
    let part = part.filter(|part| kind.has(*part));
    let target = Target {
        kind,
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        part: part.unwrap_or(Part::Main),
    };
    if part.is_none() {
        return Some(Err(Refusal {
            target,
            subresource: subresource.unwrap_or_default().to_owned(),
        }));
    }
    Some(Ok(target))
}

/// The verb that a method means for a target, if it takes that method.
fn target_verb(method: &Method, params: &Params, target: &Target) -> Option<Verb> {
    let kind = target.kind;
    let scoped = !kind.namespaced || target.namespace.is_some();
    let watch = params.flag("watch").unwrap_or_default();
    match (method, target.part, target.name.is_some()) {
        (&Method::GET, Part::Main, false) if watch => Some(Verb::Watch),
        (&Method::GET, Part::Main, false) => Some(Verb::List),
        (&Method::POST, Part::Main, false) if scoped => Some(Verb::Create),
        (&Method::DELETE, Part::Main, false) if scoped && kind.deletes_collection => {
            Some(Verb::DeleteCollection)
        }
        (&Method::GET, Part::Main | Part::Status, true) => Some(Verb::Get),
        (&Method::PUT, Part::Main | Part::Status, true) => Some(Verb::Update),
        (&Method::PATCH, Part::Main | Part::Status, true) => Some(Verb::Patch),
        (&Method::DELETE, Part::Main, true) => Some(Verb::Delete),
        (&Method::POST, Part::Sub(Subresource::Binding), true) => Some(Verb::Create),
        (&Method::PUT, Part::Sub(Subresource::Finalize), true) => Some(Verb::Update),
        _ => None,
    }
}

/// The verb that a method stands for where nothing else is known.
fn verb(method: &Method) -> Verb {
    match *method {
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => Verb::Get,
    }
}

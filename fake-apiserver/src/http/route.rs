//! Maps the method and path of a request to verb and target.
//!
//! Owns the structure of Kubernetes paths. The resources come from the resource definitions.

use super::body_reader;
use super::negotiate::{self, AvailableForms, Document};
use crate::documents::discovery::DiscoveryDocument;
use crate::documents::served;
use crate::http::metrics::Labels;
use crate::kinds::{Api, Catalogue, Part, Subresource};
use crate::machinery::status::Status;
use crate::request::{ResourcePath, Verb};
use crate::verbs::call::{Params, Target};
use hyper::Method;
use percent_encoding::percent_decode_str;

/// The parsed method and path of a request.
pub(super) enum Route {
    Resource {
        verb: Verb,
        target: Target,
    },
    NonResource(NonResource),
    /// A path below a known prefix, such as `/apis`, that names no existing resource; or an unsupported HTTP method.
    Refused {
        verb: Verb,
        resource: Option<ResourcePath>,
        status: Status,
    },
    /// A path outside the API; the response is a plain-text 404.
    Unknown,
}

/// A path that names no API resource, such as `/healthz` or `/apis`.
pub(super) enum NonResource {
    /// A health endpoint and the path segments after it.
    Health(&'static str, Vec<String>),
    Metrics,
    /// `/metrics/slis`: the health checks as service level indicators.
    Indicators,
    Version,
    Paths,
    Discovery(DiscoveryDocument),
    /// `/openapi/v2`.
    Swagger,
    /// `/openapi/v3`, or a document below it.
    OpenApi(Option<String>),
}

const HEALTH: [&str; 3] = ["healthz", "livez", "readyz"];

impl Route {
    pub(super) fn parse(method: &Method, path: &str, params: &Params, catalogue: &Catalogue) -> Self {
        // Percent-encoded slashes are treated as slashes, as in kube-apiserver.
        let path = percent_decode_str(path).decode_utf8_lossy();
        let path = path.strip_prefix('/').unwrap_or(&path);
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            [""] => Self::NonResource(NonResource::Paths),
            [first, rest @ ..] if let Some(which) = HEALTH.iter().find(|known| *known == first) => {
                let rest = rest.iter().map(|part| (*part).to_owned()).collect();
                Self::NonResource(NonResource::Health(which, rest))
            }
            ["metrics"] => Self::NonResource(NonResource::Metrics),
            ["metrics", "slis"] => Self::NonResource(NonResource::Indicators),
            ["openapi", "v2"] => Self::NonResource(NonResource::Swagger),
            ["openapi", "v3"] => Self::NonResource(NonResource::OpenApi(None)),
            ["openapi", "v3", rest @ ..] => Self::NonResource(NonResource::OpenApi(Some(rest.join("/")))),
            _ => Self::of_api(method, params, catalogue, path),
        }
    }

    /// Parses `/version` and the paths of `/api` and `/apis`, which may end with slashes.
    fn of_api(method: &Method, params: &Params, catalogue: &Catalogue, path: &str) -> Self {
        let segments: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let document = |document| Self::NonResource(NonResource::Discovery(document));
        match segments.as_slice() {
            ["version"] | ["api"] if method != Method::GET => {
                Self::refused_path(method, Status::method_not_allowed())
            }
            ["version"] => Self::NonResource(NonResource::Version),
            ["version", ..] => Self::refused_path(method, Status::no_such_resource()),
            ["api"] => document(DiscoveryDocument::Core),
            ["apis"] => document(DiscoveryDocument::Groups),
            ["api", version, rest @ ..] => {
                Self::parse_versioned(method, params, catalogue, ("", version), rest)
            }
            ["apis", group] => known_group(catalogue, group)
                .map_or(Self::Unknown, |group| document(DiscoveryDocument::Group(group))),
            ["apis", group, version, rest @ ..] => {
                Self::parse_versioned(method, params, catalogue, (group, version), rest)
            }
            _ => Self::Unknown,
        }
    }

    /// The route for a known path that is not a resource and whose requests fail with `status`.
    fn refused_path(method: &Method, status: Status) -> Self {
        Self::Refused {
            verb: fallback_verb(method),
            resource: None,
            status,
        }
    }

    fn parse_versioned(
        method: &Method,
        params: &Params,
        catalogue: &Catalogue,
        (group, version): (&str, &str),
        rest: &[&str],
    ) -> Self {
        if known_group(catalogue, group).is_none() {
            return Self::Unknown;
        }
        let nothing = || Self::refused_path(method, Status::no_such_resource());
        let mut kinds = catalogue.of_group(group);
        let Some(sample) = kinds.find(|kind| kind.version == version) else {
            return nothing();
        };
        match rest {
            [] if method != Method::GET => Self::refused_path(method, Status::method_not_allowed()),
            [] => Self::NonResource(NonResource::Discovery(DiscoveryDocument::Resources(
                sample.group,
                sample.version,
            ))),
            ["watch", rest @ ..] if !rest.is_empty() => {
                let target = parse_target(catalogue, (group, version), rest);
                target.map_or_else(nothing, |target| match target {
                    Ok(target) if target.part != Part::Main => {
                        refused(method, &target, Status::no_such_resource())
                    }
                    Ok(target) if method == Method::GET => Self::Resource {
                        verb: Verb::Watch,
                        target,
                    },
                    Ok(target) => refused(method, &target, Status::method_not_allowed()),
                    Err(refusal) => refusal.route(method),
                })
            }
            // An empty namespace selects all namespaces, for requests that support this.
            ["namespaces", "", plural] if method == Method::GET => {
                Self::parse_versioned(method, params, catalogue, (group, version), &[plural])
            }
            ["namespaces", "", rest @ ..]
                if parse_target(catalogue, (group, version), &with_default_namespace(rest)).is_some() =>
            {
                Self::refused_path(method, Status::bad_request("Namespace parameter required."))
            }
            rest => match parse_target(catalogue, (group, version), rest) {
                None => nothing(),
                Some(Err(refusal)) => refusal.route(method),
                Some(Ok(target)) => match target_verb(method, params, &target) {
                    Some(verb) => Self::Resource { verb, target },
                    None => refused(method, &target, Status::method_not_allowed()),
                },
            },
        }
    }

    /// Resolves the resource of the route for the served release: either to the definition that this release serves, or to an error.
    pub(super) fn served_by(self, api: &Api) -> Self {
        match self {
            Self::Resource { verb, target } => match api
                .catalogue
                .served_definition(&target.kind, api.profile)
                .cloned()
            {
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
            Self::NonResource(NonResource::Discovery(DiscoveryDocument::Resources(group, version)))
                if !served::has(group, Some(version), api) =>
            {
                Self::Refused {
                    verb: Verb::Get,
                    resource: None,
                    status: Status::no_such_resource(),
                }
            }
            Self::NonResource(NonResource::Discovery(DiscoveryDocument::Group(group)))
                if !served::has(group, None, api) =>
            {
                Self::Unknown
            }
            route => route,
        }
    }

    pub(super) fn verb(&self) -> Verb {
        match self {
            Self::Resource { verb, .. } | Self::Refused { verb, .. } => *verb,
            Self::NonResource(_) | Self::Unknown => Verb::Get,
        }
    }

    pub(super) fn resource(&self) -> Option<ResourcePath> {
        match self {
            Self::Resource { target, .. } => Some(target.path()),
            Self::Refused { resource, .. } => resource.clone(),
            Self::NonResource(_) | Self::Unknown => None,
        }
    }

    /// Whether the request is rejected for all users because of its path, HTTP method or body media type.
    pub(super) fn is_rejected_for_all_users(&self, media: &str) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Resource {
                verb: Verb::Patch,
                target,
            } => !target.is_connection() && body_reader::reader(Verb::Patch, media, &target.kind).is_err(),
            _ => false,
        }
    }

    pub(super) fn available_forms(&self) -> AvailableForms<'_> {
        AvailableForms {
            document: match self {
                Self::NonResource(NonResource::Version) => Some(Document::One(negotiate::JSON)),
                Self::NonResource(NonResource::Discovery(document)) => Some(match document {
                    DiscoveryDocument::Groups | DiscoveryDocument::Group(_) => Document::Groups,
                    DiscoveryDocument::Core | DiscoveryDocument::Resources(..) => Document::Resources,
                }),
                Self::NonResource(_) | Self::Unknown => Some(Document::Text),
                Self::Resource { target, .. } if target.part == Part::Sub(Subresource::Log) => {
                    Some(Document::Log)
                }
                Self::Resource { target, .. } if target.is_connection() => Some(Document::Connection),
                Self::Resource { .. } | Self::Refused { .. } => None,
            },
            aggregated: matches!(
                self,
                Self::NonResource(NonResource::Discovery(
                    DiscoveryDocument::Core | DiscoveryDocument::Groups
                ))
            ),
            list: matches!(self.verb(), Verb::List | Verb::Watch),
            one: !matches!(self.verb(), Verb::List | Verb::Watch | Verb::DeleteCollection),
            swept: self.verb() == Verb::DeleteCollection,
            stream: self.verb() == Verb::Watch,
            kind: match self {
                Self::Resource { target, .. } => Some(&target.kind),
                Self::NonResource(_) | Self::Refused { .. } | Self::Unknown => None,
            },
        }
    }

    /// The metric labels of the request. All values come from fixed tables, none from the request.
    pub(super) fn labels(&self, params: &Params) -> Labels {
        let none = Labels {
            verb: metric_verb(self.verb()),
            group: "",
            version: "",
            resource: "",
            subresource: "",
            scope: "",
            dry_run: "",
        };
        let Self::Resource { target, .. } = self else {
            return none;
        };
        let scope = match (&target.name, &target.namespace) {
            (Some(_), _) => "resource",
            _ if self.verb() == Verb::Create => "resource",
            (None, Some(_)) => "namespace",
            (None, None) => "cluster",
        };
        Labels {
            group: target.kind.group,
            version: target.kind.version,
            resource: target.kind.plural,
            subresource: target.part.as_str().unwrap_or_default(),
            scope,
            dry_run: if params.get("dryRun") == "All" { "All" } else { "" },
            ..none
        }
    }
}

impl ResourcePath {
    /// Verb and resource of a request line, as the newest release understands it. `query` is the part after `?`. `None` if the path is not
    /// a resource path or the method is not supported.
    pub fn of_request(method: &str, path: &str, query: &str) -> Option<(Verb, Self)> {
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        match Route::parse(&method, path, &Params::parse(query), Catalogue::built_in()) {
            Route::Resource { verb, target } => Some((verb, target.path())),
            _ => None,
        }
    }
}

/// The verb as in kube-apiserver's metrics.
fn metric_verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
    }
}

/// A path that names a subresource which the resource does not have. The request fails with 404.
struct UnknownSubresource {
    target: Target,
    subresource: String,
}

impl UnknownSubresource {
    fn route(self, method: &Method) -> Route {
        let status = Status::no_such_subresource(self.target.kind.group_resource(), &self.subresource);
        refused(method, &self.target, status)
    }
}

fn refused(method: &Method, target: &Target, status: Status) -> Route {
    Route::Refused {
        verb: fallback_verb(method),
        resource: Some(target.path()),
        status,
    }
}

fn known_group(catalogue: &Catalogue, group: &str) -> Option<&'static str> {
    catalogue.of_group(group).next().map(|kind| kind.group)
}

/// Parses the path below group and version: `[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]`.
fn parse_target(
    catalogue: &Catalogue,
    (group, version): (&str, &str),
    rest: &[&str],
) -> Option<Result<Target, UnknownSubresource>> {
    let (namespace, rest) = match rest {
        // `namespaces/NAME` and its subresources address the Namespace object itself.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(*name), None),
        // The remaining segments are the path of the proxied request.
        [plural, name, proxy @ "proxy", ..] => (plural, Some(*name), Some(*proxy)),
        [plural, name, subresource] => (plural, Some(*name), Some(*subresource)),
        _ => return None,
    };
    let kind = catalogue.find(group, version, plural)?;
    if kind.unstored.is_some() && (name.is_some() || kind.namespaced != namespace.is_some()) {
        return None;
    }
    if kind.namespaced != namespace.is_some() && (name.is_some() || namespace.is_some()) {
        return None;
    }
    if name == Some("") || namespace == Some("") {
        return None;
    }
    let part = match subresource {
        None => Some(Part::Main),
        Some("status") => Some(Part::Status),
        Some(other) => Subresource::find(other).map(Part::Sub),
    };
    let part = part.filter(|part| kind.has_part(*part));
    let target = Target {
        kind: kind.clone(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        part: part.unwrap_or(Part::Main),
    };
    if part.is_none() {
        return Some(Err(UnknownSubresource {
            target,
            subresource: subresource.unwrap_or_default().to_owned(),
        }));
    }
    Some(Ok(target))
}

fn with_default_namespace<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    ["namespaces", "any"]
        .into_iter()
        .chain(rest.iter().copied())
        .collect()
}

/// The verb of an HTTP method on a target; `None` if the target does not support the method.
fn target_verb(method: &Method, params: &Params, target: &Target) -> Option<Verb> {
    let kind = &target.kind;
    let scoped = !kind.namespaced || target.namespace.is_some();
    let watch = params.flag("watch").unwrap_or_default();
    if kind.unstored.is_some() {
        return (method == Method::POST).then_some(Verb::Create);
    }
    // Whether the target is the object itself, or a subresource that is read and written like the object.
    let whole = match target.part {
        Part::Main | Part::Status => true,
        Part::Sub(sub) => sub.has_object_type() || sub == Subresource::Scale,
    };
    match (method, target.part, target.name.is_some()) {
        (&Method::GET, Part::Main, false) if watch => Some(Verb::Watch),
        (&Method::GET, Part::Main, false) => Some(Verb::List),
        (&Method::POST, Part::Main, false) if scoped => Some(Verb::Create),
        (&Method::DELETE, Part::Main, false) if scoped && kind.deletes_collection => {
            Some(Verb::DeleteCollection)
        }
        (&Method::GET, _, true) if whole => Some(Verb::Get),
        (&Method::PUT, _, true) if whole => Some(Verb::Update),
        (&Method::PATCH, _, true) if whole => Some(Verb::Patch),
        (&Method::DELETE, Part::Main, true) => Some(Verb::Delete),
        (
            &Method::POST,
            Part::Sub(Subresource::Binding | Subresource::Eviction | Subresource::Token),
            true,
        ) => Some(Verb::Create),
        (&Method::PUT, Part::Sub(Subresource::Finalize), true) => Some(Verb::Update),
        (&Method::GET, Part::Sub(Subresource::Log), true) => Some(Verb::Get),
        (
            &Method::GET | &Method::POST,
            Part::Sub(Subresource::Attach | Subresource::Exec | Subresource::PortForward),
            true,
        )
        | (_, Part::Sub(Subresource::Proxy), true) => Some(fallback_verb(method)),
        _ => None,
    }
}

/// The verb of a request whose path does not determine it: on an unknown path, or through a proxy.
pub(super) fn fallback_verb(method: &Method) -> Verb {
    match *method {
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => Verb::Get,
    }
}

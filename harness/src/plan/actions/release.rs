//! The `release` and `discover` actions: which resources and versions the API server serves.

use std::collections::BTreeMap;

use fake_apiserver::Release;
use serde::Deserialize;

use super::Resolved;
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::scenario::gates;

/// Changes the API server's release or feature gates.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseSpec {
    /// The release to emulate, such as `"1.20"`. Unset: the release does not change.
    pub to: Option<Release>,
    /// Feature gates of the API server. Omitted gates have the default of the release.
    #[serde(default, deserialize_with = "gates")]
    pub gates: BTreeMap<String, bool>,
}

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &ReleaseSpec) -> Resolved {
    scope.set_release_and_gates(spec.to.unwrap_or(scope.release), &spec.gates);
    let mut note = format!("the API server is now {}", scope.release);
    for (gate, on) in &spec.gates {
        note.push_str(&format!(", {gate}={on}"));
    }
    Ok(vec![(Action::Release(scope.release, spec.gates.clone()), note)])
}

pub(super) fn resolve_discover(_: &mut Scope<'_>, resource: &str) -> Resolved {
    let note = format!("discover the served versions of {resource}");
    Ok(vec![(Action::Discover(resource.parse()?), note)])
}

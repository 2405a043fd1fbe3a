//! The input of a Pod Security check, a pod with a release, and the result, a violation.

use fake_apiserver::extension::json;
use serde_json::Value;

const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
use std::collections::BTreeSet;

/// The pod or pod template that is checked, and the Kubernetes release that defines the standard.
pub(super) struct Subject<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
    /// All containers of the pod: `initContainers`, `containers` and `ephemeralContainers`.
    pub(super) containers: Vec<&'a Value>,
    /// The minor release of Kubernetes that defines the standard.
    pub(super) minor: u64,
}

/// A violation of a Pod Security check, as texts for the message of the admission plugin.
pub(super) struct Violation {
    /// The short reason of the violation, for example `privileged`.
    pub(super) reason: &'static str,
    /// The containers or fields that violate the check.
    pub(super) detail: String,
}

impl<'a> Subject<'a> {
    pub(super) fn new(pod: &'a Value, minor: u64) -> Self {
        let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
        let containers = CONTAINER_LISTS.iter().flat_map(|list| json::list(&spec[*list]));
        Self {
            metadata,
            spec,
            containers: containers.collect(),
            minor,
        }
    }

    pub(super) fn containers_that(&self, mut does: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let found = self.containers.iter().filter(|container| does(container));
        found.map(|container| json::string(container, "name")).collect()
    }

    /// Formats the owners of the security contexts for which `does` is true: `pod`, and the names of containers.
    pub(super) fn security_context_owners_that(
        &self,
        mut does: impl FnMut(&'a Value) -> bool,
    ) -> Vec<String> {
        let pod = does(&self.spec["securityContext"]).then(|| "pod".to_owned());
        let containers = self.containers_that(|container| does(&container["securityContext"]));
        let containers = (!containers.is_empty()).then(|| format_container_names(&containers));
        pod.into_iter().chain(containers).collect()
    }

    pub(super) fn volumes(&self) -> &'a [Value] {
        json::list(&self.spec["volumes"])
    }

    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        json::string_members(&self.metadata["annotations"])
    }

    /// Whether the pod has a user namespace (`hostUsers: false`).
    pub(super) fn has_user_namespace(&self) -> bool {
        self.spec["hostUsers"] == false
    }

    /// Whether the pod runs on Windows, where Linux fields cannot be set.
    pub(super) fn is_for_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }
}

pub(super) type Texts<'a> = BTreeSet<&'a str>;

/// Formats container names: `container "a"`, `containers "a", "b"`.
pub(super) fn format_container_names(containers: &[&str]) -> String {
    format!("{} {}", plural(containers.len(), "container"), quoted(containers))
}

/// `word`, with a plural `s` unless `count` is 1.
pub(super) fn plural(count: usize, word: &str) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}

/// Formats strings in quotes, separated by commas, without escaping.
pub(super) fn quoted<'t>(texts: impl IntoIterator<Item = &'t (impl AsRef<str> + ?Sized + 't)>) -> String {
    let quoted = texts.into_iter().map(|text| format!("\"{}\"", text.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

//! A pod as the checks look at it, and what they find.

use fake_apiserver::extension::json;
use serde_json::Value;

/// The lists of containers in a pod.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
use std::collections::BTreeSet;

/// A pod, or the template of one, and the release by whose standards it is judged.
pub(super) struct Subject<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
    /// Containers of all three lists.
    pub(super) containers: Vec<&'a Value>,
    /// The minor release.
    pub(super) minor: u64,
}

/// What a pod does against a standard.
pub(super) struct Violation {
    /// What it is about.
    pub(super) reason: &'static str,
    /// Who does what.
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

    /// The names of containers of which something holds.
    pub(super) fn containers_that(&self, mut does: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        let found = self.containers.iter().filter(|container| does(container));
        found.map(|container| json::string(container, "name")).collect()
    }

    /// Who has a security context of which something holds: the pod, and containers by their names.
    pub(super) fn setters(&self, mut does: impl FnMut(&'a Value) -> bool) -> Vec<String> {
        let pod = does(&self.spec["securityContext"]).then(|| "pod".to_owned());
        let containers = self.containers_that(|container| does(&container["securityContext"]));
        let containers = (!containers.is_empty()).then(|| named(&containers));
        pod.into_iter().chain(containers).collect()
    }

    /// The volumes of the pod.
    pub(super) fn volumes(&self) -> &'a [Value] {
        json::list(&self.spec["volumes"])
    }

    /// The annotations of the pod.
    pub(super) fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        json::pairs(&self.metadata["annotations"])
    }

    /// Whether the pod has users of its own, who are nobody on the node.
    pub(super) fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }

    /// Whether the pod is for Windows, where what it would have to set cannot be set.
    pub(super) fn is_for_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }
}

/// Texts in their order, each once.
pub(super) type Texts<'a> = BTreeSet<&'a str>;

/// Containers by their names.
pub(super) fn named(containers: &[&str]) -> String {
    format!("{} {}", plural(containers.len(), "container"), quoted(containers))
}

/// A word for one, or for so many.
pub(super) fn plural(count: usize, word: &str) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}

/// Texts in quotes, as they are.
pub(super) fn quoted<'t>(texts: impl IntoIterator<Item = &'t (impl AsRef<str> + ?Sized + 't)>) -> String {
    let quoted = texts.into_iter().map(|text| format!("\"{}\"", text.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

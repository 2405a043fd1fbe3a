//! Converts the objects of a cluster to the text of a case file that reproduces a pod's situation.
//!
//! Pure. Reads API objects and retains only what affects scheduling: no secrets, images or environment.
//! Does not know the source of the objects, and makes no scheduling decisions.

mod content;
mod limits;
mod names;
mod options;
mod other_pods;
mod pod;
mod pod_fields;
mod reduce;
mod situation;
mod text;
mod verdicts;

pub use options::CaptureOptions;
pub use situation::CaptureError;
pub use verdicts::{capture_cluster, differences};

use std::collections::BTreeMap;

use content::Content;
use serde_json::Value;
use situation::{name_of, namespace_of};

/// The namespace of pods and PVCs in cases.
const NAMESPACE: &str = "default";

/// A captured case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The text of the case file.
    pub text: String,
    /// The captured pods: namespace and name in the cluster, and name in the file.
    pub pods: Vec<((String, String), String)>,
    /// The nodes: name in the cluster → name in the file.
    pub nodes: BTreeMap<String, String>,
    /// Facts that may affect scheduling but are not in the file, one sentence each.
    pub omissions: Vec<String>,
}

/// Writes the scenario for these objects.
///
/// `fits`: whether a pod, given by namespace and name, fits a node; used for pods without a condition. Pods and PVCs move to the namespace
/// `default`, and capacity objects to the publisher's, as in all scenarios.
pub fn capture(
    objects: &[Value],
    fits: &dyn Fn(&str, &str) -> bool,
    options: &CaptureOptions,
) -> Result<Captured, CaptureError> {
    let situation = situation::Situation::find(objects, options)?;
    let content = Content::of(&situation, fits, options);
    let key = |pod: &&Value| (namespace_of(pod).to_owned(), name_of(pod).to_owned());
    let names = content.expected.iter().map(|(name, _)| name.clone());
    let nodes = content
        .nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap_or_default().to_owned());
    let in_cluster = situation.nodes.keys().map(|name| (*name).to_owned());
    let nodes = in_cluster.zip(nodes).collect();
    Ok(Captured {
        text: content.text(options),
        pods: situation.pods.iter().map(key).zip(names).collect(),
        nodes,
        omissions: content.omissions,
    })
}

//! Converts the objects of a cluster to the text of a case file that reproduces the situation of a pod.
//!
//! Performs no I/O. Reads API objects and retains only fields that affect scheduling: no secrets, images or environment variables. Does not
//! know where the objects come from, and makes no scheduling decisions.

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

/// The namespace of all pods and PVCs in case files.
const NAMESPACE: &str = "default";

/// A captured case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The text of the case file.
    pub text: String,
    /// The captured pods: namespace and name in the cluster, and name in the case file.
    pub pods: Vec<((String, String), String)>,
    /// Names of the nodes: name in the cluster → name in the case file.
    pub nodes: BTreeMap<String, String>,
    /// Reasons why the scheduler may decide differently in the case than in the cluster, one sentence each.
    pub omissions: Vec<String>,
}

/// Writes the case file for these objects.
///
/// `fits`: whether a pod, given by namespace and name, fits on any node; used for pods without a PodScheduled condition. Pods and PVCs move
/// to the namespace `default`, and CSIStorageCapacity objects to the publisher's namespace, as in all cases.
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

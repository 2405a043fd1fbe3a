//! From the objects of a cluster to a scenario that reproduces the situation: the text of a case file.
//!
//! Pure. Reads objects as the API has them, and keeps what decides where pods go: no secrets, images or environment.
//! Does not know where the objects come from, and decides nothing about pods.

mod content;
mod decides;
mod flow;
mod names;
mod options;
mod others;
mod pod;
mod reduce;
mod situation;
mod text;

pub use flow::{flow, scalar};
pub use options::CaptureOptions;
pub use situation::CaptureError;

use content::Content;
use serde_json::Value;

/// Writes the scenario of what these objects say.
///
/// `fits`: whether a pod of that namespace and name would fit a node, for pods of which the cluster itself says nothing yet.
/// Pods and claims move to the namespace `default`, and capacity objects to the publisher's, where scenarios have them.
pub fn capture(
    objects: &[Value],
    fits: &dyn Fn(&str, &str) -> bool,
    options: &CaptureOptions,
) -> Result<String, CaptureError> {
    let situation = situation::Situation::find(objects, options)?;
    Ok(Content::of(&situation, fits, options).text(options))
}

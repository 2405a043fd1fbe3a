//! The part of the case format that is one step.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::expectation::ExpectSpecs;
use crate::plan::ActionSpec;

/// One step: things to do, then what must follow.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSpec {
    /// Short name, unique in the case.
    pub id: String,
    /// What the harness does, in order.
    #[serde(default, rename = "do")]
    pub actions: Vec<Spanned<ActionSpec>>,
    /// What must be seen: a list, or the word `specification`, which stands for all that the specification demands.
    #[serde(default)]
    pub expect: ExpectSpecs,
}

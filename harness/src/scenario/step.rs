//! A step in the case format.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::expectation::ExpectSpecs;
use crate::plan::ActionSpec;

/// A step: actions, followed by expectations.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSpec {
    /// Id of the step, unique in the case.
    pub id: String,
    /// Actions of the harness, in order.
    #[serde(default, rename = "do")]
    pub actions: Vec<Spanned<ActionSpec>>,
    /// Expectations: a list, or the word `specification` for all rules of the specification.
    #[serde(default)]
    pub expect: ExpectSpecs,
}

//! Formats an expectation of a case file as one line. Does not know facts.

use serde_json::Value;

use crate::plan::Plan;
use crate::scenario::parse_yaml;
use capacity_types::format_flow;

/// Formats an expectation with all its keys except `why`. `step`: index of the step. `at`: index of the expectation in the step.
pub fn format_expectation(plan: &Plan, step: usize, at: usize) -> String {
    // Parsing cannot fail, because the plan was made from this text.
    let file: Value = parse_yaml(&plan.source, &plan.text).unwrap_or_default();
    // The plan may omit steps of the file, so steps are matched by id instead of index.
    let id = plan.steps.get(step).map(|step| step.id.as_str());
    let steps = file["steps"].as_array().into_iter().flatten();
    let named = steps.into_iter().find(|step| step["id"].as_str() == id);
    let mut expect = match named.map_or(&Value::Null, |step| &step["expect"]) {
        Value::Array(list) => list.get(at).cloned().unwrap_or_default(),
        word => word.clone(),
    };
    if let Some(keys) = expect.as_object_mut() {
        keys.remove("why");
    }
    let text = format_flow(&expect);
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.unwrap_or(&text).to_owned()
}

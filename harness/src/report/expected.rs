//! An expectation as its file says it, in one line. Knows the text of a case, and nothing about what was seen.

use serde_json::Value;

use crate::plan::Plan;
use crate::scenario::read;
use capacity_types::flow;

/// Expectation `at` of a step, both counted from 0, with all its keys but `why`.
pub fn expectation(plan: &Plan, step: usize, at: usize) -> String {
    // It was read before, when the plan was made.
    let file: Value = read(&plan.source, &plan.text).unwrap_or_default();
    // Steps without anything new are left out of the plan.
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
    let text = flow(&expect);
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inner.unwrap_or(&text).to_owned()
}

//! The case file of a cell (a fault at one point of a case): the swept case, with the fault injected at the start, and with the
//! specification in place of the expectations.

use serde_json::{Value, json};
use suites::harness::scenario::{Scenario, ScenarioError};

use super::fault::Fault;
use super::point::Point;

/// Prefix of the case ids of cells.
const SWEPT: &str = "sweep";

/// The case to sweep, with the specification as the expectation of each step.
pub struct CaseTemplate {
    id: String,
    value: Value,
}

/// Name of the last step, in which the specification is checked after all programs have become idle again.
const AFTERWARDS: &str = "afterwards";

impl CaseTemplate {
    /// Parses the case to sweep.
    pub fn of(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut value: Value = serde_saphyr::from_str(&scenario.text).map_err(|error| {
            scenario.error(
                scenario.file.id.referenced,
                format!("the case is no valid YAML: {error}"),
            )
        })?;
        let steps = value["steps"].as_array_mut().into_iter().flatten();
        for step in steps {
            step["expect"] = "specification".into();
        }
        if let Some(fields) = value.as_object_mut() {
            fields.remove("catches");
        }
        Ok(CaseTemplate {
            id: scenario.id.clone(),
            value,
        })
    }

    /// The case file for the run without a fault.
    pub(super) fn without_fault(&self) -> Result<String, ScenarioError> {
        self.text("none", Vec::new(), json!({}))
    }

    /// The case file for the run with a fault at one point.
    pub(super) fn with_fault(&self, point: &Point, fault: &Fault) -> Result<String, ScenarioError> {
        let role = point.role.as_str();
        let last = match fault.kills && !self.leaves_stopped(role) {
            true => json!({"do": [{"stop": role}, {"start": role}]}),
            false => json!({}),
        };
        self.text(&fault.cell_name(point), fault.actions(point), last)
    }

    /// Whether the case stops the programs of a role without restarting them.
    fn leaves_stopped(&self, role: &str) -> bool {
        let steps = self.value["steps"].as_array().into_iter().flatten();
        let actions = steps.filter_map(|step| step["do"].as_array()).flatten();
        let mut turns = actions.filter(|action| action["stop"] == role || action["start"] == role);
        turns.next_back().is_some_and(|action| action["stop"] == role)
    }

    fn text(&self, name: &str, faults: Vec<Value>, mut last: Value) -> Result<String, ScenarioError> {
        let mut value = self.value.clone();
        value["id"] = format!("{SWEPT}/{}/{name}", sanitize_id(&self.id)).into();
        last["id"] = AFTERWARDS.into();
        last["expect"] = "specification".into();
        if let Some(steps) = value["steps"].as_array_mut() {
            if let Some(first) = steps.first_mut() {
                let actions = first["do"].as_array().cloned().unwrap_or_default();
                first["do"] = faults.into_iter().chain(actions).collect();
                if first["do"].as_array().is_none_or(Vec::is_empty) {
                    first.as_object_mut().map(|fields| fields.remove("do"));
                }
            }
            steps.push(last);
        }
        serde_saphyr::to_string(&value).map_err(|error| {
            ScenarioError::whole(self.id.as_ref(), format!("cannot be written as YAML: {error}"))
        })
    }
}

/// Replaces characters that the id of a case file must not contain. An id has such characters if it contains names of axis values.
fn sanitize_id(id: &str) -> String {
    let is_usual =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "/-".contains(letter);
    id.chars()
        .map(|letter| if is_usual(letter) { letter } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_the_case_stops_are_not_restarted() {
        let left_stopped = |turns: Value| {
            let value = json!({"steps": [{"id": "a"}, {"do": turns}]});
            let id = String::new();
            CaseTemplate { id, value }.leaves_stopped("publisher")
        };
        assert!(left_stopped(
            json!([{"start": "publisher"}, {"stop": "publisher"}, {"stop": "cleaner"}])
        ));
        assert!(!left_stopped(
            json!([{"stop": "publisher"}, {"start": "publisher"}])
        ));
        assert!(!left_stopped(json!([{"stop": "scheduler"}])));
    }
}

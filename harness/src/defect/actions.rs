//! Helper functions that edit the actions and objects of a plan. Does not know any particular defect.

use fake_csi::Rule;
use serde_json::Value;

use crate::plan::{Action, Plan};

/// Text in the timeline for actions that a defect adds to the plan.
const ON_PURPOSE: &str = "a defect is injected";

pub(super) fn begin_with(plan: &mut Plan, actions: impl IntoIterator<Item = Action>) {
    plan.prepend_actions(actions, ON_PURPOSE);
}

pub(super) fn replace_actions(plan: &mut Plan, mut by: impl FnMut(Action) -> Vec<Action>) {
    for step in &mut plan.steps {
        for (action, note) in std::mem::take(&mut step.actions) {
            let actions = by(action).into_iter();
            step.actions.extend(actions.map(|action| (action, note.clone())));
        }
    }
}

pub(super) fn without_driver_faults(mut plan: Plan) -> Plan {
    replace_actions(&mut plan, |action| match action {
        Action::DriverFault { .. } => Vec::new(),
        action => vec![action],
    });
    plan
}

pub(super) fn driver_fault_rules(plan: &Plan) -> Vec<&Rule> {
    plan.driver_fault_rules().collect()
}

pub(super) fn insert_after_actions(plan: &mut Plan, mut what: impl FnMut(&Action) -> Vec<Action>) {
    replace_actions(plan, |action| {
        let added = what(&action);
        std::iter::once(action).chain(added).collect()
    });
}

/// Edits every action of a plan, including actions inside `attempt`.
pub(super) fn edit_actions(plan: &mut Plan, mut change: impl FnMut(&mut Action)) {
    let actions = plan.steps.iter_mut().flat_map(|step| &mut step.actions);
    for (action, _) in actions {
        match action {
            Action::Attempt(action) => change(action),
            action => change(action),
        }
    }
}

/// Edits every object of this kind that the plan creates at the start or in a step.
pub(super) fn each_object(plan: &mut Plan, kind: &str, mut change: impl FnMut(&mut Value)) {
    let of_kind = |object: &&mut Value| object["kind"] == kind;
    plan.objects.iter_mut().filter(of_kind).for_each(&mut change);
    edit_actions(plan, |action| {
        if let Action::Create(object) = action
            && object["kind"] == kind
        {
            change(object);
        }
    });
}

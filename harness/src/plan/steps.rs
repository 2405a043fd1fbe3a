//! A step of a scenario: its actions, and its expectations, which name only what the scenario defines.

use super::pattern::OfDriver;
use super::scope::Scope;
use super::vocabulary::names;
use super::{
    Action, Expect, GroupResource, Objects, PatternKind, Place, Predicate, Row, Step, csi_call, expect,
};
use crate::scenario::{ActionSpec, ExpectSpecs, Role, Scenario, ScenarioError, Spanned, StepSpec};

impl Scope<'_> {
    /// Resolves a step. `polls`: whether a publisher refreshes by itself.
    pub(super) fn step(
        &mut self,
        spec: &Spanned<StepSpec>,
        scenario: &Scenario,
        polls: bool,
    ) -> Result<Step, ScenarioError> {
        let mut actions = Vec::new();
        // Pods of a step come after all their claims, so that the systems know those first.
        let mut pods = Vec::new();
        for action in &spec.value.actions {
            let mut resolved = self
                .action(&action.value)
                .map_err(|message| scenario.error(action.defined, message))?;
            resolved
                .iter()
                .try_for_each(|(resolved, _)| self.places.check_action(resolved))
                .map_err(|message| scenario.error(action.defined, message))?;
            resolved.iter().for_each(|(action, _)| self.known.action(action));
            match &action.value {
                ActionSpec::Pod(_) => pods.extend(resolved.pop()),
                _ => actions.append(&mut pods),
            }
            actions.extend(resolved);
        }
        actions.append(&mut pods);
        let is_end = |action: &Action| matches!(action, Action::Registration(_, None));
        self.is_unregistered |= actions.iter().any(|(action, _)| is_end(action));
        let mut expectations = Vec::new();
        if let ExpectSpecs::Specification = spec.value.expect {
            expectations.push(expect::specification(spec.defined.line(), self.is_unregistered));
        }
        for item in spec.value.expect.list() {
            let driver = OfDriver {
                segments: &self.segments,
                parameters: &self.needed_parameters,
            };
            let resolved = expect::expect(&item.value, item.defined.line(), driver, polls)
                .and_then(|resolved| self.check(resolved, &actions))
                .map_err(|message| scenario.error(item.defined, message))?;
            expectations.push(resolved);
        }
        if expectations.is_empty() {
            let message = format!(
                "step `{}` expects nothing, so it could not fail; add `expect`",
                spec.value.id
            );
            return Err(scenario.error(spec.defined, message));
        }
        let (id, line) = (spec.value.id.clone(), spec.defined.line());
        Ok(Step {
            id,
            line,
            actions,
            expect: expectations,
        })
    }

    /// Names in expectations must be defined by then: a typing error must not pass as "absent".
    fn check(&self, expect: Expect, actions: &[(Action, String)]) -> Result<Expect, String> {
        self.known.check(&expect.predicate)?;
        let patterns = expect.predicate.patterns();
        for pattern in &patterns {
            if let PatternKind::Call(call) = &pattern.kind {
                self.callers.check(&call.method)?;
            }
        }
        let mut by = patterns.iter().filter_map(|pattern| pattern.by);
        by.try_for_each(|role| self.runs(role))?;
        self.places
            .check(&expect.predicate, &self.nodes, &self.segments)?;
        match &expect.predicate {
            Predicate::Capacities(rows) => {
                if let Some((class, _)) = rows.keys().find(|(class, _)| !self.classes.contains_key(class)) {
                    return Err(format!(
                        "class `{class}` is not defined; classes: {}",
                        names(&self.classes)
                    ));
                }
                if rows.values().any(|row| !matches!(row, Row::Nothing)) {
                    self.can_have_capacities()?;
                }
            }
            Predicate::Objects(list) => {
                let is_capacity = |want: &Objects| want.resource == "csistoragecapacities";
                if list.iter().any(|want| is_capacity(want) && want.count != Some(0)) {
                    self.can_have_capacities()?;
                }
            }
            Predicate::Placement(pods) => {
                for place in pods.values() {
                    let Place::On(nodes) = place else { continue };
                    if let Some(node) = nodes.iter().find(|node| !self.nodes.contains_key(*node)) {
                        return Err(format!(
                            "node `{node}` is not defined{}; nodes: {}",
                            meant(node),
                            names(&self.nodes)
                        ));
                    }
                }
                let created = |pod: &&String| actions.iter().any(|(action, _)| creates_pod(action, pod));
                if let Some(pod) = pods.keys().find(created).filter(|_| expect.always) {
                    return Err(format!(
                        "`always` counts from when the step has acted, and by then no scheduler has decided about pod `{pod}`; \
                         create it in a step before, or write `stays`"
                    ));
                }
            }
            Predicate::Answers(answers) => {
                for name in csi_call::named(answers) {
                    self.known_answer(name)?;
                }
            }
            Predicate::Served(wanted) => {
                let asks = |of: &GroupResource| {
                    let mut asked = actions.iter();
                    asked.any(|(action, _)| matches!(action, Action::Discover(resource) if resource == of))
                };
                if let Some(resource) = wanted.keys().find(|resource| !asks(resource)) {
                    return Err(format!(
                        "the step does not ask for `{resource}`; add `discover: {resource}` to its actions"
                    ));
                }
            }
            _ => {}
        }
        Ok(expect)
    }

    fn runs(&self, role: Role) -> Result<(), String> {
        match self.roles.contains(&role) {
            true => Ok(()),
            false => Err(format!(
                "no {role} runs in the case; add it to `roles`, or correct `by`; roles: {}",
                self.roles
                    .iter()
                    .map(|role| role.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
                role = role.as_str()
            )),
        }
    }
}

fn creates_pod(action: &Action, name: &str) -> bool {
    matches!(action, Action::Create(object) if object["kind"] == "Pod" && object["metadata"]["name"] == name)
}

/// What is meant by a word for a pod without a node.
fn meant(node: &str) -> &'static str {
    match node.to_ascii_lowercase().as_str() {
        "pending" | "refused" | "unschedulable" | "nowhere" | "null" => {
            "; write `none` for a pod that the scheduler refuses, and that stays Pending"
        }
        "some" | "anywhere" | "placed" => "; write `any` for a pod that goes to some node",
        _ => "",
    }
}

//! Resolves a step of a scenario: its actions, and its expectations, which may use only defined names.

use super::scope::Scope;
use super::vocabulary::{self, join_names};
use super::{Action, ActionSpec, GroupResource, Step};
use crate::expectation::{Expect, ExpectSpecs, Names, Pattern, check_keys};
use crate::scenario::{Role, Scenario, ScenarioError, Spanned, StepSpec};

impl Scope<'_> {
    /// Resolves a step of a scenario. `polls`: whether a publisher polls GetCapacity.
    pub(super) fn resolve_step(
        &mut self,
        spec: &Spanned<StepSpec>,
        scenario: &Scenario,
        polls: bool,
    ) -> Result<Step, ScenarioError> {
        let mut actions = Vec::new();
        // Pods are created after all PVCs of the step, so that programs receive the PVCs first.
        let mut pods = Vec::new();
        for action in &spec.value.actions {
            let mut resolved = action
                .value
                .resolve(self)
                .map_err(|message| scenario.error(action.defined, message))?;
            resolved
                .iter()
                .try_for_each(|(resolved, _)| self.cluster_names.check_action(resolved))
                .map_err(|message| scenario.error(action.defined, message))?;
            resolved
                .iter()
                .for_each(|(action, _)| self.defined.add_action(action));
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
            expectations.push(Expect::specification(spec.defined.line(), self.is_unregistered));
        }
        for item in spec.value.expect.list() {
            let names = StepNames {
                scope: self,
                actions: &actions,
            };
            let resolved = Expect::resolve(&item.value, item.defined.line(), &names, polls)
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
}

/// Names that an expectation may use: names that are defined up to the step, and names in the actions of the step.
struct StepNames<'a> {
    scope: &'a Scope<'a>,
    actions: &'a [(Action, String)],
}

impl Names for StepNames<'_> {
    fn check_pod(&self, name: &str) -> Result<(), String> {
        self.scope.defined.check_expected_pod(name)
    }

    fn check_claim(&self, name: &str) -> Result<(), String> {
        self.scope.defined.check_expected_claim(name)
    }

    fn check_class(&self, name: &str) -> Result<(), String> {
        match self.scope.classes.contains_key(name) {
            true => Ok(()),
            false => Err(format!(
                "class `{name}` is not defined; classes: {}",
                join_names(&self.scope.classes)
            )),
        }
    }

    fn check_node(&self, name: &str) -> Result<(), String> {
        match self.scope.nodes.contains_key(name) {
            true => Ok(()),
            false => Err(format!(
                "node `{name}` is not defined{}; nodes: {}",
                hint_for_node_word(name),
                join_names(&self.scope.nodes)
            )),
        }
    }

    fn resolve_segment(&self, text: &str) -> Result<String, String> {
        let segments = &self.scope.segments;
        let segment = segments.parse(text)?;
        self.scope.cluster_names.check_segment(&segment, segments)?;
        Ok(segments.format(&segment))
    }

    fn check_resource(&self, text: &str) -> Result<(), String> {
        self.scope.cluster_names.check_resource(text)
    }

    fn check_response(&self, name: &str) -> Result<(), String> {
        self.scope.known_response(name)
    }

    fn check_runs(&self, role: Role) -> Result<(), String> {
        match self.scope.roles.contains(&role) {
            true => Ok(()),
            false => Err(format!(
                "no {role} runs in the case; add it to `roles`, or correct `by`; roles: {}",
                self.scope
                    .roles
                    .iter()
                    .map(|role| role.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
                role = role.as_str()
            )),
        }
    }

    fn check_can_have_capacities(&self) -> Result<(), String> {
        self.scope.check_can_have_capacities()
    }

    fn creates_pod(&self, name: &str) -> bool {
        let creates = |action: &Action| matches!(action, Action::Create(object) if object["kind"] == "Pod" && object["metadata"]["name"] == name);
        self.actions.iter().any(|(action, _)| creates(action))
    }

    fn discovers(&self, resource: &GroupResource) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(action, _)| matches!(action, Action::Discover(of) if of == resource))
    }

    fn resolve_pattern(&self, pattern: &mut Pattern) -> Result<(), String> {
        let scope = self.scope;
        check_keys(pattern)?;
        pattern.check()?;
        let method = match pattern.call.as_deref() {
            None | Some("*") => None,
            Some(name) => Some(vocabulary::method(name)?),
        };
        if pattern.call.is_some() {
            pattern.code.as_deref().map(vocabulary::code).transpose()?;
        }
        if let Some(parameters) = &mut pattern.parameters {
            parameters.extend(scope.needed_parameters.clone());
        }
        scope.defined.check_pattern(pattern)?;
        if pattern.call.is_some() {
            scope.callers.check(method)?;
            let node = pattern.node.as_deref();
            node.map_or(Ok(()), |node| scope.callers.check_node(method, node))?;
        }
        pattern.by.map_or(Ok(()), |role| self.check_runs(role))?;
        for text in [&mut pattern.segment, &mut pattern.placed].into_iter().flatten() {
            *text = self.resolve_segment(text)?;
        }
        scope.cluster_names.check_pattern(pattern)?;
        let is_of_node = matches!(pattern.resource(), Some("nodes" | "csinodes"));
        let named = pattern.name.as_ref().filter(|_| is_of_node);
        let mut nodes = pattern.node.iter().chain(named);
        match nodes.find(|node| !scope.nodes.contains_key(*node)) {
            Some(node) => Err(format!(
                "node `{node}` is not defined; nodes: {}",
                join_names(&scope.nodes)
            )),
            None => Ok(()),
        }
    }
}

/// Hint for an error about an undefined node name that probably means "no node".
fn hint_for_node_word(node: &str) -> &'static str {
    match node.to_ascii_lowercase().as_str() {
        "pending" | "refused" | "unschedulable" | "nowhere" | "null" => {
            "; write `none` for a pod that the scheduler refuses, and that stays Pending"
        }
        "some" | "anywhere" | "placed" => "; write `any` for a pod that goes to some node",
        _ => "",
    }
}

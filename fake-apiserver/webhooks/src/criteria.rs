//! Matching of requests by webhooks and policies: operations, resources, and labels of objects and namespaces.

use fake_apiserver::Status;
use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::{
    AdmissionRequest, AdmissionTarget, Kind, LabelSelector, Operation, Part, StateReader,
};
use serde_json::Value;

/// The match rules and selectors of a webhook, policy or binding (`matching.MatchCriteria` of k8s.io/apiserver).
#[derive(Debug)]
pub struct MatchCriteria {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    namespaces: LabelSelector,
    objects: LabelSelector,
    /// Whether requests for other versions of the resource also match (`matchPolicy: Equivalent`).
    equivalent: bool,
}

/// Operations and resources that match (`RuleWithOperations`).
#[derive(Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<(String, String)>,
    names: Vec<String>,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Cluster,
    Namespaced,
}

impl MatchCriteria {
    /// Parses the rules and selectors of a webhook.
    pub fn of_webhook(hook: &Value) -> Self {
        Self::read(hook, &hook["rules"])
    }

    /// Parses `matchConstraints` of a policy, or `matchResources` of a binding.
    pub fn of_policy(constraints: &Value) -> Self {
        Self::read(constraints, &constraints["resourceRules"])
    }

    fn read(of: &Value, rules: &Value) -> Self {
        let read = |rules: &Value| list(rules).iter().map(Rule::read).collect();
        let selector = |name: &str| LabelSelector::from_object(&of[name]).unwrap_or_default();
        Self {
            rules: read(rules),
            excluded: read(&of["excludeResourceRules"]),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            equivalent: of["matchPolicy"] != "Exact",
        }
    }

    /// Whether `rules` or `resourceRules` is empty.
    pub fn has_no_rules(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether operation, resource and subresource of a request match a rule. Selectors are not evaluated, because this check is made for
    /// every request and must be fast.
    pub fn may_match(&self, operation: Operation, target: &AdmissionTarget) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.matches(operation, target))
    }

    /// Whether a rule matches this resource and subresource, for any operation. Selectors are not evaluated.
    pub fn may_match_resource(&self, kind: &Kind, part: Part) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.matches_resource(kind, part))
    }

    /// The resource and API version in which the request matches rules and selectors: those of the request or equivalent ones. None if the
    /// request does not match.
    pub fn matched_kind(
        &self,
        request: &AdmissionRequest,
        object: Option<&Value>,
        state: &dyn StateReader,
    ) -> Result<Option<Kind>, Status> {
        let (operation, target) = (request.operation, &request.target);
        if !self.may_match(operation, target) {
            return Ok(None);
        }
        let in_namespace = self.matches_namespace_selector(request, object, state);
        if matches!(in_namespace, Ok(false)) || !self.matches_object_selector(request, object) {
            return Ok(None);
        }
        let found = self.matched_version(&self.rules, operation, target, state);
        let found = found.filter(|_| {
            self.matched_version(&self.excluded, operation, target, state)
                .is_none()
        });
        match found {
            None => Ok(None),
            Some(kind) => in_namespace.map(|_| Some(kind)),
        }
    }

    /// Whether the namespace and object selectors match a request. Used for bindings without resource rules.
    pub fn matches_labels(
        &self,
        request: &AdmissionRequest,
        object: Option<&Value>,
        state: &dyn StateReader,
    ) -> Result<bool, Status> {
        Ok(self.matches_namespace_selector(request, object, state)?
            && self.matches_object_selector(request, object))
    }

    /// The resource of the request, or an equivalent version of the resource, that matches one of the rules.
    fn matched_version(
        &self,
        rules: &[Rule],
        operation: Operation,
        target: &AdmissionTarget,
        state: &dyn StateReader,
    ) -> Option<Kind> {
        let mut candidates = rules
            .iter()
            .filter(|rule| rule.matches(operation, target))
            .peekable();
        candidates.peek()?;
        let candidates: Vec<&Rule> = candidates.collect();
        if candidates.iter().any(|rule| rule.matches_version(&target.kind)) {
            return Some(target.kind.clone());
        }
        if !self.equivalent {
            return None;
        }
        let others = state.served_versions(&target.kind);
        candidates.iter().find_map(|rule| {
            let mut others = others.iter();
            others.find(|other| rule.matches_version(other)).cloned()
        })
    }

    fn matches_object_selector(&self, request: &AdmissionRequest, object: Option<&Value>) -> bool {
        let matches = |object: &Value| self.objects.matches(object);
        self.objects.is_empty()
            || object.is_some_and(matches)
            || request.old.as_ref().is_some_and(|old| matches(old.value()))
    }

    fn matches_namespace_selector(
        &self,
        request: &AdmissionRequest,
        object: Option<&Value>,
        state: &dyn StateReader,
    ) -> Result<bool, Status> {
        let target = &request.target;
        if self.namespaces.is_empty() || (target.namespace.is_empty() && !target.is_namespace()) {
            return Ok(true);
        }
        if target.is_namespace()
            && target.part.as_str().is_none()
            && let Some(namespace) = object
        {
            return Ok(self.namespaces.matches(namespace));
        }
        let namespace = state.namespace(&target.namespace)?;
        Ok(self.namespaces.matches(namespace.value()))
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let all = |name: &str| texts(&rule[name]).into_iter().map(str::to_owned).collect();
        let resources = texts(&rule["resources"]).into_iter().map(|resource| {
            let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
            (resource.to_owned(), part.to_owned())
        });
        Self {
            operations: all("operations"),
            groups: all("apiGroups"),
            versions: all("apiVersions"),
            resources: resources.collect(),
            names: all("resourceNames"),
            scope: match string(rule, "scope") {
                "Cluster" => Scope::Cluster,
                "Namespaced" => Scope::Namespaced,
                _ => Scope::All,
            },
        }
    }

    /// Whether a request matches everything in the rule except API group and version.
    fn matches(&self, operation: Operation, target: &AdmissionTarget) -> bool {
        let is_in_namespace = !target.namespace.is_empty() && !target.is_namespace();
        let in_scope = match self.scope {
            Scope::All => true,
            Scope::Cluster => !is_in_namespace,
            Scope::Namespaced => is_in_namespace,
        };
        in_scope
            && contains(&self.operations, operation.as_str())
            && self.matches_resource(&target.kind, target.part)
            && (self.names.is_empty() || self.names.contains(&target.name))
    }

    fn matches_resource(&self, kind: &Kind, part: Part) -> bool {
        let part = part.as_str().unwrap_or_default();
        let mut resources = self.resources.iter();
        resources
            .any(|(resource, of)| (resource == "*" || resource == kind.plural) && (of == "*" || of == part))
    }

    fn matches_version(&self, kind: &Kind) -> bool {
        contains(&self.groups, kind.group) && contains(&self.versions, kind.version)
    }
}

fn contains(known: &[String], value: &str) -> bool {
    known.iter().any(|one| one == "*" || one == value)
}

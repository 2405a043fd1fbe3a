//! Matching of requests by webhooks and policies: operations, resources, and labels of objects and namespaces.

use super::question::{Operation, Question, Subject};
use super::state_reader::StateReader;
use crate::kinds::{Kind, NAMESPACE, Part};
use crate::machinery::json::{list, string, texts};
use crate::machinery::selector::LabelSelector;
use crate::machinery::status::Status;
use serde_json::Value;

/// The match rules and selectors of a webhook, policy or binding.
#[derive(Debug)]
pub struct Selection {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    namespaces: LabelSelector,
    objects: LabelSelector,
    /// `matchPolicy: Equivalent`: requests for other versions of the resource match as well.
    equivalent: bool,
}

/// Operations on resources.
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

impl Selection {
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

    /// Whether it has no resource rules.
    pub fn has_no_rules(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a request may match, regardless of labels. Fast: evaluated for every request.
    pub fn may_concern(&self, operation: Operation, subject: &Subject) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.fits(operation, subject))
    }

    /// Whether any request for this resource and subresource may match.
    pub fn may_name(&self, kind: &Kind, part: Part) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.is_for(kind, part))
    }

    /// The resource and version in which the request matches. None if it does not match.
    pub fn find(
        &self,
        question: &Question,
        object: Option<&Value>,
        around: &dyn StateReader,
    ) -> Result<Option<Kind>, Status> {
        let (operation, subject) = (question.operation, &question.subject);
        if !self.may_concern(operation, subject) {
            return Ok(None);
        }
        let in_namespace = self.namespaces(question, object, around);
        if matches!(in_namespace, Ok(false)) || !self.labels(question, object) {
            return Ok(None);
        }
        let found = self.form(&self.rules, operation, subject, around);
        let found = found.filter(|_| self.form(&self.excluded, operation, subject, around).is_none());
        match found {
            None => Ok(None),
            Some(kind) => in_namespace.map(|_| Some(kind)),
        }
    }

    /// Whether only the label selectors match, for a binding without resource rules.
    pub fn fits_labels(
        &self,
        question: &Question,
        object: Option<&Value>,
        around: &dyn StateReader,
    ) -> Result<bool, Status> {
        Ok(self.namespaces(question, object, around)? && self.labels(question, object))
    }

    /// The resource of the request, or an equivalent version of it, that matches one of the rules.
    fn form(
        &self,
        rules: &[Rule],
        operation: Operation,
        subject: &Subject,
        around: &dyn StateReader,
    ) -> Option<Kind> {
        let mut near = rules
            .iter()
            .filter(|rule| rule.fits(operation, subject))
            .peekable();
        near.peek()?;
        let near: Vec<&Rule> = near.collect();
        if near.iter().any(|rule| rule.names(&subject.kind)) {
            return Some(subject.kind.clone());
        }
        if !self.equivalent {
            return None;
        }
        let others = around.served_versions(&subject.kind);
        near.iter().find_map(|rule| {
            let mut others = others.iter();
            others.find(|other| rule.names(other)).cloned()
        })
    }

    fn labels(&self, question: &Question, object: Option<&Value>) -> bool {
        let fits = |object: &Value| self.objects.matches(object);
        self.objects.is_empty()
            || object.is_some_and(fits)
            || question.old.as_ref().is_some_and(|old| fits(old.value()))
    }

    fn namespaces(
        &self,
        question: &Question,
        object: Option<&Value>,
        around: &dyn StateReader,
    ) -> Result<bool, Status> {
        let subject = &question.subject;
        if self.namespaces.is_empty() || (subject.namespace.is_empty() && subject.kind != NAMESPACE) {
            return Ok(true);
        }
        if subject.kind == NAMESPACE
            && subject.part.as_str().is_none()
            && let Some(namespace) = object
        {
            return Ok(self.namespaces.matches(namespace));
        }
        let found = around.object(&NAMESPACE, &subject.namespace);
        let found = found.ok_or_else(|| Status::not_found(NAMESPACE.resource(), &subject.namespace))?;
        Ok(self.namespaces.matches(found.value()))
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

    /// Whether all but group and version match.
    fn fits(&self, operation: Operation, subject: &Subject) -> bool {
        let is_in_namespace = !subject.namespace.is_empty() && subject.kind != NAMESPACE;
        let in_scope = match self.scope {
            Scope::All => true,
            Scope::Cluster => !is_in_namespace,
            Scope::Namespaced => is_in_namespace,
        };
        in_scope
            && is_one(&self.operations, operation.as_str())
            && self.is_for(&subject.kind, subject.part)
            && (self.names.is_empty() || self.names.contains(&subject.name))
    }

    /// Whether the resource and subresource match.
    fn is_for(&self, kind: &Kind, part: Part) -> bool {
        let part = part.as_str().unwrap_or_default();
        let mut resources = self.resources.iter();
        resources
            .any(|(resource, of)| (resource == "*" || resource == kind.plural) && (of == "*" || of == part))
    }

    /// Whether group and version match.
    fn names(&self, kind: &Kind) -> bool {
        is_one(&self.groups, kind.group) && is_one(&self.versions, kind.version)
    }
}

fn is_one(known: &[String], asked: &str) -> bool {
    known.iter().any(|one| one == "*" || one == asked)
}

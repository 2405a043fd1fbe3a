//! Names that a scenario defines up to a step. Without this check, a typo in an expectation would count as "absent" or cause a timeout.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{SIDECAR_PREFIX, ephemeral_claim_name};
use fake_apiserver::Verb;
use serde_json::Value;

use super::objects::class_parameters;
use super::{Action, WORKLOADS};
use crate::expectation::Pattern;
use crate::scenario::{ClassSpec, ClusterSpec};

/// The pods, PVCs, StorageClasses, snapshots and faults that actions and expectations may refer to.
#[derive(Default)]
pub(super) struct DefinedNames {
    pods: BTreeSet<String>,
    /// Names of pods in all namespaces.
    all_pods: BTreeSet<String>,
    claims: BTreeSet<String>,
    /// Names of StorageClasses in all steps, because a PVC may be created before its class.
    classes: BTreeSet<String>,
    /// Names of the snapshots that exist in the driver.
    snapshots: BTreeSet<String>,
    /// Values of StorageClass parameters by parameter name, in all steps.
    parameters: BTreeMap<String, BTreeSet<String>>,
    /// Effects of the faults injected so far, formatted as in the journal.
    faults: Vec<String>,
}

impl DefinedNames {
    /// Names of the initial cluster that PVCs and fact patterns may use.
    pub(super) fn of(cluster: &ClusterSpec) -> Self {
        let mut names = DefinedNames::default();
        cluster.classes.iter().for_each(|class| names.add_class(class));
        names.classes.extend(cluster.missing_classes.iter().cloned());
        names.snapshots.extend(cluster.driver.snapshots.keys().cloned());
        let objects = cluster.objects.iter();
        objects.for_each(|object| names.add_class_object(&object.value));
        names
    }

    /// Adds a StorageClass that any step creates.
    pub(super) fn add_class(&mut self, spec: &ClassSpec) {
        self.classes.insert(spec.name.clone());
        self.add_parameters(spec.parameters.clone());
    }

    /// Adds an API object that any step creates, if the object is a StorageClass.
    pub(super) fn add_class_object(&mut self, object: &Value) {
        if object["kind"] == "StorageClass" {
            self.classes.extend(name_of(object));
            self.add_parameters(class_parameters(object));
        }
    }

    pub(super) fn add_parameters(&mut self, parameters: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in parameters {
            self.parameters.entry(key).or_default().insert(value);
        }
    }

    pub(super) fn add_action(&mut self, action: &Action) {
        match action {
            Action::Create(object) => self.add_object(object),
            Action::Fault { rule, .. } => self.faults.push(rule.effect.to_string()),
            Action::Attempt(inner) => self.add_action(inner),
            _ => {}
        }
    }

    pub(super) fn add_object(&mut self, object: &Value) {
        if object["kind"] == "Pod" {
            self.all_pods.extend(name_of(object));
        }
        if object["metadata"]["namespace"] != WORKLOADS {
            return;
        }
        match object["kind"].as_str() {
            Some("Pod") => {
                let pod = name_of(object).unwrap_or_default();
                let volumes = object["spec"]["volumes"].as_array().into_iter().flatten();
                let ephemeral = volumes.filter(|volume| volume.get("ephemeral").is_some());
                let names = ephemeral.filter_map(|volume| volume["name"].as_str());
                self.claims
                    .extend(names.map(|name| ephemeral_claim_name(&pod, name)));
                self.pods.insert(pod);
            }
            Some("PersistentVolumeClaim") => self.claims.extend(name_of(object)),
            _ => {}
        }
    }

    /// Checks that the StorageClass of a PVC is defined, or is missing on purpose.
    pub(super) fn check_claimed_class(&self, name: &str) -> Result<(), String> {
        let remedy = "add it to `missingClasses` if the class is missing on purpose";
        check_defined("class", name, &self.classes, "classes", remedy)
    }

    pub(super) fn check_snapshot(&self, name: &str) -> Result<(), String> {
        let remedy = "add it to `driver.snapshots`";
        check_defined("snapshot", name, &self.snapshots, "snapshots", remedy)
    }

    pub(super) fn check_expected_pod(&self, name: &str) -> Result<(), String> {
        check_defined("pod", name, &self.pods, "pods", "create it in a step before")
    }

    pub(super) fn check_expected_claim(&self, name: &str) -> Result<(), String> {
        check_defined(
            "claim",
            name,
            &self.claims,
            "claims",
            "create it in a step before",
        )
    }

    pub(super) fn check_pattern(&self, pattern: &Pattern) -> Result<(), String> {
        self.check_object_name(pattern)?;
        pattern
            .fault
            .as_deref()
            .map_or(Ok(()), |text| self.check_fault(text))?;
        let mut parameters = pattern.parameters.iter().flatten();
        parameters.try_for_each(|parameter| self.check_parameter(parameter))
    }

    /// Checks that the pod or StorageClass in a fact pattern is defined. Names of objects of other resources are not checked, because
    /// programs may create such objects.
    fn check_object_name(&self, pattern: &Pattern) -> Result<(), String> {
        let Some(name) = &pattern.name else {
            return Ok(());
        };
        match pattern.resource() {
            Some("pods") => check_defined(
                "pod",
                name,
                &self.all_pods,
                "pods",
                "create it in this step or before",
            ),
            Some("storageclasses") => check_defined("class", name, &self.classes, "classes", "create it"),
            _ => Ok(()),
        }
    }

    /// Checks that the text of a `fault` pattern, such as `status 503: create pods`, contains at least a part of an injected effect.
    fn check_fault(&self, text: &str) -> Result<(), String> {
        let (effect, _) = text.split_once(": ").unwrap_or((text, ""));
        let mut words = text.split(' ');
        let is_request = words
            .next()
            .is_some_and(|word| Verb::ALL.iter().any(|verb| verb.as_str() == word));
        if is_request && !self.faults.is_empty() || self.faults.iter().any(|known| known.contains(effect)) {
            return Ok(());
        }
        Err(format!(
            "no earlier fault matches “{effect}”; write part of `<effect>: <verb> <resource>`; faults: {}",
            or_none(&self.faults)
        ))
    }

    /// Checks that a StorageClass has the parameter with this value, or that the publisher adds the parameter.
    fn check_parameter(&self, (key, value): (&String, &String)) -> Result<(), String> {
        let values = self.parameters.get(key);
        if key.starts_with(SIDECAR_PREFIX) || values.is_some_and(|values| values.contains(value)) {
            return Ok(());
        }
        let known: Vec<String> = match values {
            Some(values) => values.iter().map(|value| format!("{key}={value}")).collect(),
            None => self.parameters.keys().cloned().collect(),
        };
        Err(format!(
            "no class has the parameter {key}={value}; correct the parameter, or add it to a class; parameters: {}",
            or_none(&known)
        ))
    }

    /// Checks that the pod to delete is defined up to this step.
    pub(super) fn check_deleted_pod(&self, name: &str) -> Result<(), String> {
        check_defined("pod", name, &self.pods, "pods", "create it before")
    }

    /// Checks that the PVC to delete is defined up to this step.
    pub(super) fn check_deleted_claim(&self, name: &str) -> Result<(), String> {
        check_defined("claim", name, &self.claims, "claims", "create it before")
    }

    /// Checks that the StorageClass to delete is defined up to this step.
    pub(super) fn check_deleted_class(&self, name: &str) -> Result<(), String> {
        check_defined("class", name, &self.classes, "classes", "create it before")
    }
}

fn check_defined(
    what: &str,
    name: &str,
    known: &BTreeSet<String>,
    plural: &str,
    remedy: &str,
) -> Result<(), String> {
    if known.contains(name) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let names = or_none(&names);
    Err(format!(
        "{what} `{name}` is not defined; correct the name, or {remedy}; {plural}: {names}"
    ))
}

/// Joins names for an error message; returns `none` if the list is empty.
fn or_none<S: Borrow<str>>(names: &[S]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

fn name_of(object: &Value) -> Option<String> {
    Some(object["metadata"]["name"].as_str()?.to_owned())
}

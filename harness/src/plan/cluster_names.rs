//! Nodes, segments and resources that exist in any step of a case. Used to report a typo in an expectation or fault, which would otherwise
//! match no fact.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use serde_json::Value;

use super::Action;
use super::objects::node_labels;
use crate::expectation::{Pattern, check_fields};
use crate::scenario::ClusterSpec;
use crate::segment::Segments;

/// Names that may exist in the cluster in any step.
#[derive(Default)]
pub(super) struct ClusterNames {
    /// Values of node labels by label key, over all nodes and steps.
    label_values: BTreeMap<String, BTreeSet<String>>,
    custom_resources: BTreeSet<String>,
}

impl ClusterNames {
    /// The labels and resources of the initial cluster.
    pub(super) fn of(cluster: &ClusterSpec, segments: &Segments) -> Self {
        let mut names = ClusterNames::default();
        for node in &cluster.nodes {
            names.add_labels(node_labels(node, segments));
        }
        // The segment of a pool counts as existing even without a node, because all rows of a table file have the same pools but may have
        // different nodes.
        let stored = cluster.capacity_objects.iter();
        let stored = stored.filter_map(|object| object.segment.as_ref());
        cluster
            .backend
            .keys()
            .chain(stored)
            .filter_map(|text| segments.parse(text).ok())
            .for_each(|segment| names.add_labels(segment));
        let objects = cluster.objects.iter();
        objects.for_each(|object| names.add_object(&object.value));
        names
    }

    /// Adds the labels that a node has in any step.
    pub(super) fn add_labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in labels {
            self.label_values.entry(key).or_default().insert(value);
        }
    }

    /// Adds the labels of an API object, and the resource if the object is a CustomResourceDefinition.
    pub(super) fn add_object(&mut self, object: &Value) {
        if let Some(plural) = object["spec"]["names"]["plural"].as_str() {
            self.custom_resources.insert(plural.to_owned());
        }
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let texts = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.add_labels(texts.collect::<Vec<_>>());
    }

    /// Checks a plural resource name, with or without subresource, or `*`.
    pub(super) fn check_resource(&self, text: &str) -> Result<(), String> {
        let plural = text.split('/').next().unwrap_or(text);
        if plural == "*" || self.custom_resources.contains(plural) || ResourceRef::by_plural(plural).is_some()
        {
            return Ok(());
        }
        Err(format!(
            "`{plural}` is no resource of the API; write its plural name, such as csistoragecapacities"
        ))
    }

    /// Checks that a pool or object of the initial cluster is in the segment, or that each label value of the segment occurs on a node in
    /// some step.
    pub(super) fn check_segment(&self, segment: &Segment, segments: &Segments) -> Result<(), String> {
        let has =
            |key: &String, value: &String| self.label_values.get(key).is_some_and(|it| it.contains(value));
        let Some((key, _)) = segment.iter().find(|(key, value)| !has(key, value)) else {
            return Ok(());
        };
        let values = match self.label_values.get(key) {
            Some(values) => values.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            None => "none".to_owned(),
        };
        Err(format!(
            "there is no segment `{}`: no node has its labels in any step, and no pool or object of the initial cluster has it; values of `{key}`: {values}",
            segments.format(segment)
        ))
    }

    /// Checks the resource in a fact pattern, and the object fields in the pattern's `having`.
    pub(super) fn check_pattern(&self, pattern: &Pattern) -> Result<(), String> {
        match pattern.resource() {
            Some(resource) => {
                check_fields(resource, "having", &pattern.having)?;
                self.check_resource(resource)
            }
            None => Ok(()),
        }
    }

    /// Checks the resource name in an API server fault, such as `pods` in `api: create pods`.
    pub(super) fn check_action(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::Fault { rule, .. } => match &rule.on.resource {
                Some(resource) => self.check_resource(resource),
                None => Ok(()),
            },
            Action::Attempt(inner) => self.check_action(inner),
            _ => Ok(()),
        }
    }
}

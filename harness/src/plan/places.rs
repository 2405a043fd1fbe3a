//! Nodes, segments and resources that a case has, in whatever step: an expectation or a fault that names another one is a typing error,
//! and must not pass as "never seen", or wait for what never comes.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use serde_json::Value;

use super::Action;
use super::objects::node_labels;
use crate::expectation::{Pattern, check_fields};
use crate::scenario::ClusterSpec;
use crate::segment::Segments;

/// What there may be in the cluster of a case, in whatever step it comes.
#[derive(Default)]
pub(super) struct Places {
    /// Values of node labels by key, of whatever node at whatever time.
    values: BTreeMap<String, BTreeSet<String>>,
    /// Resources that a CustomResourceDefinition of the case defines.
    custom: BTreeSet<String>,
}

impl Places {
    /// What a cluster has from the start.
    pub(super) fn of(cluster: &ClusterSpec, segments: &Segments) -> Self {
        let mut places = Places::default();
        for node in &cluster.nodes {
            places.labels(node_labels(node, segments));
        }
        // Rows of one file share their pools, whatever nodes each has.
        let stored = cluster.capacity_objects.iter();
        let stored = stored.filter_map(|object| object.segment.as_ref());
        cluster
            .backend
            .keys()
            .chain(stored)
            .filter_map(|text| segments.parse(text).ok())
            .for_each(|segment| places.labels(segment));
        let objects = cluster.objects.iter();
        objects.for_each(|object| places.object(&object.value));
        places
    }

    /// Adds labels that some node has in some step.
    pub(super) fn labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in labels {
            self.values.entry(key).or_default().insert(value);
        }
    }

    /// Adds the labels of an object of some step, and the resource that it defines.
    pub(super) fn object(&mut self, object: &Value) {
        if let Some(plural) = object["spec"]["names"]["plural"].as_str() {
            self.custom.insert(plural.to_owned());
        }
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let texts = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.labels(texts.collect::<Vec<_>>());
    }

    /// A resource, with or without a subresource, or `*`.
    pub(super) fn resource(&self, text: &str) -> Result<(), String> {
        let plural = text.split('/').next().unwrap_or(text);
        if plural == "*" || self.custom.contains(plural) || ResourceRef::by_plural(plural).is_some() {
            return Ok(());
        }
        Err(format!(
            "`{plural}` is no resource of the API; write its plural name, such as csistoragecapacities"
        ))
    }

    /// A segment that the backend or an object names from the start, or whose values some node has at some time.
    pub(super) fn segment(&self, segment: &Segment, segments: &Segments) -> Result<(), String> {
        let has = |key: &String, value: &String| self.values.get(key).is_some_and(|it| it.contains(value));
        let Some((key, _)) = segment.iter().find(|(key, value)| !has(key, value)) else {
            return Ok(());
        };
        let values = match self.values.get(key) {
            Some(values) => values.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
            None => "none".to_owned(),
        };
        Err(format!(
            "there is no segment `{}`: no node is ever there, and neither backend nor object names it from the start; values of `{key}`: {values}",
            segments.format(segment)
        ))
    }

    /// The resource that a pattern of facts names, and the fields of its objects.
    pub(super) fn pattern(&self, pattern: &Pattern) -> Result<(), String> {
        match pattern.resource() {
            Some(resource) => {
                check_fields(resource, "having", &pattern.having)?;
                self.resource(resource)
            }
            None => Ok(()),
        }
    }

    /// What an action names.
    pub(super) fn check_action(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::Fault { rule, .. } => match &rule.on.resource {
                Some(resource) => self.resource(resource),
                None => Ok(()),
            },
            Action::Attempt(inner) => self.check_action(inner),
            _ => Ok(()),
        }
    }
}

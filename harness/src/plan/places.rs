//! Nodes, segments and resources that a case has, in whatever step: an expectation or a fault that names another one is a typing error,
//! and must not pass as "never seen", or wait for what never comes.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use fake_apiserver::ResourceRef;
use serde_json::Value;

use super::objects::node_labels;
use super::pattern::PatternKind;
use super::vocabulary::names;
use super::{Action, Predicate};
use crate::scenario::{ActionSpec, NodeAction, Scenario};
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
    /// All that a scenario names.
    pub(super) fn of(scenario: &Scenario, segments: &Segments) -> Self {
        let mut places = Places::default();
        for node in &scenario.file.cluster.nodes {
            places.labels(node_labels(node, segments));
        }
        let cluster = &scenario.file.cluster;
        // Rows of one file share their pools, whatever nodes each has.
        let stored = cluster.capacity_objects.iter();
        let stored = stored.filter_map(|object| object.segment.as_ref());
        cluster
            .backend
            .keys()
            .chain(stored)
            .filter_map(|text| segments.parse(text).ok())
            .for_each(|segment| places.labels(segment));
        cluster
            .objects
            .iter()
            .for_each(|object| places.object(&object.value));
        for step in &scenario.file.steps {
            step.value
                .actions
                .iter()
                .for_each(|action| places.action(&action.value, segments));
        }
        places
    }

    fn labels(&mut self, labels: impl IntoIterator<Item = (String, String)>) {
        for (key, value) in labels {
            self.values.entry(key).or_default().insert(value);
        }
    }

    fn action(&mut self, action: &ActionSpec, segments: &Segments) {
        match action {
            ActionSpec::Node(NodeAction::Join(spec)) => self.labels(node_labels(spec, segments)),
            ActionSpec::Node(NodeAction::Relabel { labels, .. }) => {
                let set = |(key, value): (&String, &Option<String>)| Some((key.clone(), value.clone()?));
                self.labels(labels.iter().filter_map(set));
            }
            ActionSpec::Node(NodeAction::Register(spec)) => self.labels(segments.usual(&spec.name)),
            ActionSpec::Merge(spec) => self.object(&spec.merge),
            ActionSpec::Object(object) => self.object(object),
            ActionSpec::Attempt(inner) => self.action(inner, segments),
            _ => {}
        }
    }

    fn object(&mut self, object: &Value) {
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

    /// All that an expectation names.
    pub(super) fn check(
        &self,
        predicate: &Predicate,
        nodes: &BTreeMap<String, BTreeMap<String, String>>,
        segments: &Segments,
    ) -> Result<(), String> {
        match predicate {
            Predicate::Objects(list) => list.iter().try_for_each(|it| {
                self.resource(&it.resource)?;
                fields(&it.resource, "having", &it.having)?;
                fields(&it.resource, "fields", &it.fields)
            })?,
            Predicate::Capacities(rows) => rows
                .keys()
                .try_for_each(|(_, text)| self.segment(&segments.parse(text)?, segments))?,
            _ => {}
        }
        for pattern in predicate.patterns() {
            self.kind(&pattern.kind, &pattern.having, segments)?;
            let is_of_node = matches!(pattern.kind.resource(), Some("nodes" | "csinodes"));
            let named = pattern.name.as_ref().filter(|_| is_of_node);
            let mut named = pattern.node.iter().chain(named);
            if let Some(node) = named.find(|node| !nodes.contains_key(*node)) {
                return Err(format!("node `{node}` is not defined; nodes: {}", names(nodes)));
            }
        }
        Ok(())
    }

    fn kind(&self, kind: &PatternKind, having: &Value, segments: &Segments) -> Result<(), String> {
        if let PatternKind::Write(_, resource) = kind {
            fields(resource, "having", having)?;
        }
        if let PatternKind::Call(call) = kind {
            let named = [&call.segment, &call.placed].into_iter().flatten();
            return named
                .into_iter()
                .try_for_each(|text| self.segment(&segments.parse(text)?, segments));
        }
        kind.resource().map_or(Ok(()), |resource| self.resource(resource))
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

/// Whether objects of the resource can have what an expectation looks for; anything may be absent (`null`).
fn fields(resource: &str, key: &str, part: &Value) -> Result<(), String> {
    if part.is_null() {
        return Ok(());
    }
    if !part.is_object() {
        return Err(format!(
            "`{key}` is a map of fields, such as {{storageClassName: fast}}, not {part}"
        ));
    }
    let unknown = ResourceRef::unknown_fields(resource, &without_nulls(part));
    let unknown = unknown.map_err(|error| format!("`{key}` can never match: {error}"))?;
    match unknown.first() {
        Some(path) => Err(format!(
            "`{key}`: {resource} have no field `{path}`; correct it, or write `null` for its absence"
        )),
        None => Ok(()),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

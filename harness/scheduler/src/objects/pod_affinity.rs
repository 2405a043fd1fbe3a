//! Required inter-pod affinity and anti-affinity.

use std::collections::BTreeSet;

use capacity_types::{Expression, LabelSelector, Labels};
use k8s_openapi::api::core::v1::PodAffinityTerm as ApiTerm;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiLabelSelector;

use super::selector::{label_selector, with_requirements};
use super::{Namespace, ObjectKey};
use crate::store::Store;

/// One term of `requiredDuringSchedulingIgnoredDuringExecution`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodAffinityTerm {
    /// Selector of pods. `None` if `labelSelector` is unset, which selects no pod.
    selector: Option<LabelSelector>,
    /// `namespaces`. If the term has neither `namespaces` nor `namespaceSelector`: the namespace of the pod that has the term.
    namespaces: BTreeSet<String>,
    namespace_selector: Option<LabelSelector>,
    /// `topologyKey`: nodes with the same value of this label form one topology domain.
    pub topology_key: String,
}

impl PodAffinityTerm {
    /// Compiles the terms of a pod with these labels. A term with an invalid selector matches no pod; API servers reject such terms.
    pub(super) fn compile(pod: &ObjectKey, labels: &Labels, terms: Option<&Vec<ApiTerm>>) -> Vec<Self> {
        let terms = terms.into_iter().flatten();
        terms.map(|term| Self::compile_one(pod, labels, term)).collect()
    }

    fn compile_one(pod: &ObjectKey, labels: &Labels, term: &ApiTerm) -> Self {
        let mut namespaces: BTreeSet<String> = term.namespaces.iter().flatten().cloned().collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.insert(pod.namespace.clone());
        }
        let label_keys = [
            ("In", &term.match_label_keys),
            ("NotIn", &term.mismatch_label_keys),
        ];
        let label_keys = label_keys
            .into_iter()
            .flat_map(|(operator, keys)| keys.iter().flatten().map(move |key| (operator, key)));
        let selector = term.label_selector.as_ref();
        Self {
            selector: selector.and_then(|selector| with_label_keys(selector, labels, label_keys)),
            namespaces,
            namespace_selector: term
                .namespace_selector
                .as_ref()
                .and_then(|selector| label_selector(selector).ok()),
            topology_key: term.topology_key.clone(),
        }
    }

    /// Whether the term matches pods of this namespace with these labels.
    pub fn matches(&self, namespace: &str, labels: &Labels, namespaces: &Store<Namespace>) -> bool {
        let selected = self.selector.as_ref();
        selected.is_some_and(|selector| selector.matches(labels))
            && (self.namespaces.contains(namespace) || self.selects_namespace(namespace, namespaces))
    }

    /// Whether the result of [`Self::matches`] depends on the labels of namespaces.
    pub fn needs_namespaces(&self) -> bool {
        let namespace_selector = self.namespace_selector.as_ref();
        namespace_selector.is_some_and(|selector| !selector.requirements().is_empty())
    }

    fn selects_namespace(&self, namespace: &str, namespaces: &Store<Namespace>) -> bool {
        let Some(selector) = &self.namespace_selector else {
            return false;
        };
        let none = Labels::new();
        let found = namespaces.get(&ObjectKey::cluster(namespace));
        selector.matches(found.map_or(&none, |namespace| &namespace.labels))
    }
}

/// Compiles the selector with the pod's values of `matchLabelKeys` and `mismatchLabelKeys`, as the API server does when a pod is created.
/// Keys that the selector already contains are skipped.
pub(super) fn with_label_keys<'a>(
    selector: &'a ApiLabelSelector,
    labels: &'a Labels,
    keys: impl Iterator<Item = (&'a str, &'a String)>,
) -> Option<LabelSelector> {
    let has_key = |key: &String| {
        let mut expressions = selector.match_expressions.iter().flatten();
        expressions.any(|it| it.key == *key)
    };
    let added = keys
        .filter(|(_, key)| !has_key(key))
        .filter_map(|(operator, key)| {
            let value = labels.get(key)?;
            Some(Expression {
                key,
                operator,
                values: std::slice::from_ref(value),
            })
        });
    with_requirements(selector, added).ok()
}

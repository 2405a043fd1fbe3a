//! One RBAC policy rule.
//!
//! Owns the matching of verbs, groups, resources, names and paths. Does not know bindings.

use super::{Attributes, ResourceOrPath};
use crate::machinery::json;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyRule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) paths: Vec<String>,
}

impl PolicyRule {
    /// The `rules` of a Role or ClusterRole.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        json::list(&role["rules"]).iter().map(Self::read).collect()
    }

    pub(crate) fn allow_all() -> [Self; 2] {
        let all = || vec!["*".to_owned()];
        let resources = Self {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Self::default()
        };
        let paths = Self {
            verbs: all(),
            paths: all(),
            ..Self::default()
        };
        [resources, paths]
    }

    pub(crate) fn read(rule: &Value) -> Self {
        let list = |field: &str| json::texts(&rule[field]).into_iter().map(str::to_owned).collect();
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            paths: list("nonResourceURLs"),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (field, list) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ] {
            if !list.is_empty() {
                out.insert(field.to_owned(), list.iter().map(String::as_str).collect());
            }
        }
        out.into()
    }

    pub(crate) fn allows(&self, attributes: Attributes<'_>) -> bool {
        if !contains_or_wildcard(&self.verbs, attributes.verb) {
            return false;
        }
        match attributes.target {
            ResourceOrPath::Path(path) => self.paths.iter().any(|pattern| is_path(pattern, path)),
            ResourceOrPath::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                contains_or_wildcard(&self.groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|own| is_resource(own, resource, subresource))
                    && (self.names.is_empty() || self.names.iter().any(|own| own == name))
            }
        }
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        let resources = |own: &Self, other: &Self| {
            other.resources.iter().all(|wanted| {
                let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
                own.resources
                    .iter()
                    .any(|pattern| is_resource(pattern, resource, subresource))
            })
        };
        other
            .verbs
            .iter()
            .all(|verb| contains_or_wildcard(&self.verbs, verb))
            && other
                .groups
                .iter()
                .all(|group| contains_or_wildcard(&self.groups, group))
            && resources(self, other)
            && (self.names.is_empty()
                || !other.names.is_empty() && other.names.iter().all(|name| self.names.contains(name)))
            && other
                .paths
                .iter()
                .all(|path| self.paths.iter().any(|pattern| is_path(pattern, path)))
    }
}

fn contains_or_wildcard(list: &[String], wanted: &str) -> bool {
    list.iter().any(|own| own == "*" || own == wanted)
}

fn is_resource(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    match pattern.split_once('/') {
        None => subresource.is_empty() && pattern == resource,
        Some((of, sub)) => sub == subresource && (of == "*" || of == resource) && !subresource.is_empty(),
    }
}

/// Whether an RBAC path pattern matches a path: the path equals the pattern or starts with the part before a final star.
pub(crate) fn is_path(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(_) => path.starts_with(pattern.trim_end_matches('*')),
        None => pattern == path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resource<'a>(verb: &'a str, resource: &'a str, subresource: &'a str, name: &'a str) -> Attributes<'a> {
        let target = ResourceOrPath::Resource {
            group: "g",
            resource,
            subresource,
            namespace: "",
            name,
        };
        Attributes { verb, target }
    }

    fn rule(resources: &[&str], names: &[&str]) -> PolicyRule {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        PolicyRule {
            verbs: own(&["get"]),
            groups: own(&["g"]),
            resources: own(resources),
            names: own(names),
            paths: Vec::new(),
        }
    }

    #[test]
    fn a_rule_for_a_resource_does_not_allow_its_subresources() {
        for (pattern, target, allowed) in [
            ("pods", ("pods", ""), true),
            ("pods", ("pods", "status"), false),
            ("pods/status", ("pods", "status"), true),
            ("pods/status", ("pods", ""), false),
            ("*/status", ("nodes", "status"), true),
            ("*/status", ("nodes", "scale"), false),
            ("pods/*", ("pods", "status"), false),
            ("*", ("pods", "status"), true),
        ] {
            let found = rule(&[pattern], &[]).allows(resource("get", target.0, target.1, "x"));
            assert_eq!(found, allowed, "{pattern} for {target:?}");
        }
    }

    #[test]
    fn resource_names_restrict_a_rule_and_exclude_requests_without_a_name() {
        let rule = rule(&["pods"], &["a"]);
        assert!(rule.allows(resource("get", "pods", "", "a")));
        assert!(!rule.allows(resource("get", "pods", "", "b")));
        assert!(!rule.allows(resource("get", "pods", "", "")));
    }

    #[test]
    fn paths_match_exactly_or_by_prefix_with_a_star() {
        for (pattern, path, matches) in [
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/ping", false),
            ("/healthz/*", "/healthz/ping", true),
            ("/healthz*", "/healthz", true),
            ("*", "/anything", true),
            ("/*/ping", "/healthz/ping", false),
        ] {
            assert_eq!(is_path(pattern, path), matches, "{pattern} for {path}");
        }
    }

    proptest! {
        /// Property: a rule that covers another rule allows all requests that the other rule allows.
        #[test]
        fn a_covering_rule_allows_what_the_covered_rule_allows(
            wide in prop::collection::vec(prop::sample::select(vec!["a", "b", "a/s", "*/s", "*"]), 1..3),
            narrow in prop::collection::vec(prop::sample::select(vec!["a", "b", "a/s", "b/s"]), 1..3),
            names in prop::collection::vec(prop::sample::select(vec!["x", "y"]), 0..2),
            own in prop::collection::vec(prop::sample::select(vec!["x", "y"]), 0..2),
        ) {
            let (wide, narrow) = (rule(&wide, &own), rule(&narrow, &names));
            prop_assume!(wide.covers(&narrow));
            for target in ["a", "b"] {
                for sub in ["", "s"] {
                    for name in ["x", "y", ""] {
                        let attributes = resource("get", target, sub, name);
                        prop_assert!(!narrow.allows(attributes) || wide.allows(attributes));
                    }
                }
            }
        }
    }
}

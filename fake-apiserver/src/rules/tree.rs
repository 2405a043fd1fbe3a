//! The rules of a schema, in the places where they are.

use super::rule::Rule;
use crate::machinery::json;
use serde_json::Value;
use std::collections::BTreeMap;

/// The rules about a value and its parts.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(super) own: Vec<Rule>,
    pub(super) all_of: Vec<Rules>,
    pub(super) properties: BTreeMap<String, Rules>,
    pub(super) additional: Option<Box<Rules>>,
    pub(super) items: Option<Box<Rules>>,
}

impl Rules {
    /// Reads the rules of a schema from its text.
    pub(crate) fn read(schema: &Value) -> Self {
        let inner = |name: &str| {
            let rules = schema[name].is_object().then(|| Self::read(&schema[name]));
            rules.filter(|rules| !rules.is_empty()).map(Box::new)
        };
        let properties = schema["properties"].as_object().into_iter().flatten();
        let own = json::list(&schema["x-kubernetes-validations"]).iter();
        let all_of = json::list(&schema["allOf"]).iter().map(Self::read);
        Self {
            own: own.filter_map(Rule::read).collect(),
            all_of: all_of.filter(|rules| !rules.is_empty()).collect(),
            properties: properties
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .filter(|(_, rules)| !rules.is_empty())
                .collect(),
            additional: inner("additionalProperties"),
            items: inner("items"),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty()
            && self.all_of.is_empty()
            && self.properties.is_empty()
            && self.additional.is_none()
            && self.items.is_none()
    }
}

//! Applies traffic rules to one API message: a request, a list, or a watch event. Performs no I/O.

use fake_apiserver::Verb;
use serde_json::Value;

use super::edit;
use super::rule::{EventKind, ObjectRule, RequestRule, WireRule};

#[derive(Debug, Clone, Default)]
pub(super) struct TrafficRules {
    requests: Vec<RequestRule>,
    objects: Vec<ObjectRule>,
}

impl TrafficRules {
    pub(super) fn of(rules: &[WireRule]) -> Self {
        let mut traffic = TrafficRules::default();
        for rule in rules {
            match rule {
                WireRule::Request(rule) => traffic.requests.push(rule.clone()),
                WireRule::Object(rule) => traffic.objects.push(rule.clone()),
                WireRule::Call(_) | WireRule::Metrics(_) => {}
            }
        }
        traffic
    }

    pub(super) fn has_rules(&self) -> bool {
        !self.requests.is_empty() || !self.objects.is_empty()
    }

    /// The rules that match a request. `body`: null for a request without a body.
    pub(super) fn rules_for(&self, verb: Verb, resource: &str, body: &Value) -> Vec<&RequestRule> {
        let is_match = |rule: &&RequestRule| {
            rule.resource == resource
                && rule.verbs.contains(&verb)
                && !rule.lacking.iter().any(|pointer| edit::has(body, pointer))
        };
        self.requests.iter().filter(is_match).collect()
    }

    pub(super) fn changes_responses(&self, resource: &str) -> bool {
        self.objects.iter().any(|rule| rule.resource == resource)
    }

    /// Applies the traffic rules to an object in a list. Returns false if a rule withholds the object.
    pub(super) fn apply_to_listed(&self, resource: &str, object: &mut Value) -> bool {
        let rules = self.objects.iter().filter(|rule| rule.listed);
        apply_rules(rules, resource, object)
    }

    /// Applies the traffic rules to the object of a watch event. Returns false if a rule withholds the event.
    pub(super) fn apply_to_event(&self, resource: &str, kind: EventKind, object: &mut Value) -> bool {
        let rules = self.objects.iter().filter(|rule| rule.events.contains(&kind));
        apply_rules(rules, resource, object)
    }
}

fn apply_rules<'a>(rules: impl Iterator<Item = &'a ObjectRule>, resource: &str, object: &mut Value) -> bool {
    let mut rules = rules.filter(|rule| rule.resource == resource);
    rules.all(|rule| rule.apply(object))
}

impl ObjectRule {
    pub(super) fn matches_object(&self, object: &Value) -> bool {
        let has = |(pointer, text): (&String, &String)| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.is_some_and(|found| found.contains(text.as_str()))
        };
        self.having.iter().all(has) && !self.lacking.iter().any(|pointer| edit::has(object, pointer))
    }

    /// Whether the rule withholds this object or changes its fields.
    pub(super) fn changes_object(&self, object: &Value) -> bool {
        if !self.matches_object(object) {
            return false;
        }
        let mut changed = object.clone();
        !self.apply(&mut changed) || changed != *object
    }

    /// Applies the rule to an object. Returns false if the rule withholds the object from the program.
    fn apply(&self, object: &mut Value) -> bool {
        if !self.matches_object(object) {
            return true;
        }
        if self.withhold {
            return false;
        }
        for pointer in &self.remove {
            edit::remove(object, pointer);
        }
        for (pointer, new) in &self.set {
            edit::set(object, pointer, new);
        }
        for (pointer, new) in &self.default {
            if !edit::has(object, pointer) {
                edit::set(object, pointer, new);
            }
        }
        for (pointer, length) in &self.truncate {
            edit::truncate(object, pointer, *length);
        }
        true
    }
}

impl RequestRule {
    /// A copy of the rule that matches the same requests but changes nothing.
    fn matcher_only(&self) -> RequestRule {
        RequestRule {
            verbs: self.verbs.clone(),
            resource: self.resource.clone(),
            lacking: self.lacking.clone(),
            ..RequestRule::default()
        }
    }

    /// Whether the only effect of the rule is to remove fields from request bodies.
    pub(super) fn only_removes(&self) -> bool {
        let removes = RequestRule {
            remove: self.remove.clone(),
            ..self.matcher_only()
        };
        *self == removes
    }

    /// Whether the only effect of the rule is to send additional reads, which change no objects and whose responses the program does not
    /// receive.
    pub(super) fn only_adds_reads(&self) -> bool {
        let sends_more = RequestRule {
            additional: self.additional.clone(),
            repeat: self.repeat,
            ..self.matcher_only()
        };
        let reads = |verb: &Verb| matches!(verb, Verb::Get | Verb::List);
        *self == sends_more
            && self.additional.iter().all(|request| request.method == "GET")
            && (self.repeat == 0 || self.verbs.iter().all(reads))
    }

    pub(super) fn only_reads_all_namespaces(&self) -> bool {
        let widens = RequestRule {
            everywhere: true,
            ..self.matcher_only()
        };
        *self == widens
    }

    pub(super) fn removes_from(&self, object: &Value) -> bool {
        let mut remaining = object.clone();
        self.remove
            .iter()
            .for_each(|pointer| edit::remove(&mut remaining, pointer));
        remaining != *object
    }

    pub(super) fn apply(&self, body: &mut Value, query: &mut String) {
        for pointer in &self.remove {
            edit::remove(body, pointer);
        }
        for (pointer, new) in &self.set {
            edit::set(body, pointer, new);
        }
        if let Some(namespace) = &self.namespace {
            edit::set(body, "/metadata/namespace", &namespace.as_str().into());
        }
        if !self.without.is_empty() {
            let remaining = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| !self.without.iter().any(|name| name == key));
            let mut writer = form_urlencoded::Serializer::new(String::new());
            writer.extend_pairs(remaining);
            *query = writer.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_apply_only_to_matching_messages() {
        let rules: Vec<WireRule> = serde_json::from_value(json!([
            {"request": {"verbs": ["update"], "resource": "persistentvolumeclaims", "lacking": ["/metadata/annotations/x"], "pretend": true}},
            {"object": {"resource": "nodes", "events": ["added"], "withhold": true}},
            {"object": {"resource": "csidrivers", "listed": true, "set": {"/spec/storageCapacity": false}}},
            {"object": {"resource": "pods", "listed": true, "having": {"/metadata/name": "."}, "lacking": ["/spec"], "withhold": true}},
        ]))
        .unwrap();
        let traffic = TrafficRules::of(&rules);
        let pretended = |verb: Verb, body: &Value| {
            let rules = traffic.rules_for(verb, "persistentvolumeclaims", body);
            rules.iter().any(|rule| rule.pretend)
        };
        assert!(!pretended(
            Verb::Update,
            &json!({"metadata": {"annotations": {"x": "y"}}})
        ));
        assert!(pretended(Verb::Update, &json!({"a": 1})));
        assert!(!pretended(Verb::Patch, &json!({"a": 1})));
        let mut node = json!({});
        assert!(!traffic.apply_to_event("nodes", EventKind::Added, &mut node));
        assert!(traffic.apply_to_event("nodes", EventKind::Modified, &mut node));
        assert!(traffic.apply_to_listed("nodes", &mut node));
        let mut driver = json!({"spec": {"storageCapacity": true}});
        assert!(traffic.apply_to_listed("csidrivers", &mut driver));
        assert_eq!(driver["spec"]["storageCapacity"], false);
        for (mut pod, is_seen) in [
            (json!({"metadata": {"name": "a.b"}}), false),
            (json!({"metadata": {"name": "ab"}}), true),
            (json!({"metadata": {"name": "a.b"}, "spec": {}}), true),
            (json!({}), true),
        ] {
            assert_eq!(traffic.apply_to_listed("pods", &mut pod), is_seen, "{pod}");
        }
    }
}

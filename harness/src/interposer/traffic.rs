//! What the rules make of one message: a request, a list, an event. Pure; sends nothing.

use hyper::Method;
use serde_json::Value;

use super::edit;
use super::rule::{Answer, EventKind, ObjectRule, RequestRule, WireRule};

/// The rules about the API server.
#[derive(Debug, Clone, Default)]
pub(super) struct Traffic {
    requests: Vec<RequestRule>,
    objects: Vec<ObjectRule>,
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) verb: &'static str,
    /// With its subresource after a slash.
    pub(super) resource: String,
    version: String,
}

impl Target {
    /// Of a path such as `/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE`; none: it is about no resource.
    pub(super) fn of(method: &Method, path: &str, query: &str) -> Option<Self> {
        let mut steps = path.trim_matches('/').split('/');
        match steps.next()? {
            "api" => {}
            "apis" => drop(steps.next()?),
            _ => return None,
        }
        let version = steps.next()?.to_owned();
        let mut steps: Vec<&str> = steps.collect();
        if steps.len() > 2 && steps[0] == "namespaces" && !["status", "finalize"].contains(&steps[2]) {
            steps.drain(..2);
        }
        let resource = match *steps {
            [resource, _, subresource] => format!("{resource}/{subresource}"),
            [resource, ..] => resource.to_owned(),
            [] => return None,
        };
        let watches = form_urlencoded::parse(query.as_bytes())
            .any(|(key, value)| key == "watch" && (value == "1" || value == "true"));
        let verb = match (method, steps.len()) {
            (&Method::GET, _) if watches => "watch",
            (&Method::GET, 1) => "list",
            (&Method::GET, _) => "get",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, 1) => "deletecollection",
            (&Method::DELETE, _) => "delete",
            _ => return None,
        };
        Some(Target {
            verb,
            resource,
            version,
        })
    }
}

impl Traffic {
    pub(super) fn of(rules: &[WireRule]) -> Self {
        let mut traffic = Traffic::default();
        for rule in rules {
            match rule {
                WireRule::Request(rule) => traffic.requests.push(rule.clone()),
                WireRule::Object(rule) => traffic.objects.push(rule.clone()),
                WireRule::Call(_) => {}
            }
        }
        traffic
    }

    /// Whether anything of it is spoilt.
    pub(super) fn is_spoilt(&self) -> bool {
        !self.requests.is_empty() || !self.objects.is_empty()
    }

    /// The rules for a request. `body`: null where it has none.
    pub(super) fn rules_for<'a>(
        &'a self,
        target: &'a Target,
        body: &'a Value,
    ) -> impl Iterator<Item = &'a RequestRule> {
        self.requests.iter().filter(move |rule| {
            rule.resource == target.resource
                && rule.verbs.iter().any(|verb| verb == target.verb)
                && (rule.versions.is_empty() || rule.versions.contains(&target.version))
                && !rule.lacking.iter().any(|pointer| edit::has(body, pointer))
        })
    }

    /// Whether the objects in answers about that resource are spoilt.
    pub(super) fn shows(&self, resource: &str) -> bool {
        self.objects.iter().any(|rule| rule.resource == resource)
    }

    /// An object in a list as the system sees it; false: it does not see it.
    pub(super) fn show_listed(&self, resource: &str, object: &mut Value) -> bool {
        let rules = self.objects.iter().filter(|rule| rule.listed);
        show(rules, resource, object)
    }

    /// The object of an event of a watch as the system sees it; false: it does not see the event.
    pub(super) fn show_event(&self, resource: &str, kind: EventKind, object: &mut Value) -> bool {
        let rules = self.objects.iter().filter(|rule| rule.events.contains(&kind));
        show(rules, resource, object)
    }
}

fn show<'a>(rules: impl Iterator<Item = &'a ObjectRule>, resource: &str, object: &mut Value) -> bool {
    for rule in rules.filter(|rule| rule.resource == resource) {
        if rule.withhold {
            return false;
        }
        for pointer in &rule.remove {
            edit::remove(object, pointer);
        }
        for (pointer, new) in &rule.set {
            edit::set(object, pointer, new);
        }
        for (pointer, new) in &rule.default {
            if !edit::has(object, pointer) {
                edit::set(object, pointer, new);
            }
        }
        for (pointer, length) in &rule.truncate {
            edit::truncate(object, pointer, *length);
        }
    }
    true
}

impl RequestRule {
    /// Changes the body and the query of a request.
    pub(super) fn apply(&self, body: &mut Value, query: &mut String) {
        for pointer in &self.remove {
            edit::remove(body, pointer);
        }
        for (pointer, new) in &self.set {
            edit::set(body, pointer, new);
        }
        if !self.without.is_empty() {
            let kept = form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| !self.without.iter().any(|name| name == key));
            let mut writer = form_urlencoded::Serializer::new(String::new());
            writer.extend_pairs(kept);
            *query = writer.finish();
        }
    }

    /// The status and the body of the answer, if the request is not to be sent.
    pub(super) fn pretend(&self, verb: &str, body: &Value) -> Option<(u16, Value)> {
        let status = |status: &str, reason: &str, code: u16| {
            serde_json::json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, "reason": reason, "code": code,
            })
        };
        Some(match (self.answer?, verb) {
            (Answer::NotFound, _) => (404, status("Failure", "NotFound", 404)),
            (Answer::Pretended, "delete" | "deletecollection") => (200, status("Success", "", 200)),
            (Answer::Pretended, "create") => (201, body.clone()),
            (Answer::Pretended, _) => (200, body.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(method: &Method, url: &str) -> Option<(String, String)> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let target = Target::of(method, path, query)?;
        Some((target.verb.to_owned(), target.resource))
    }

    #[test]
    fn a_request_is_known_by_its_verb_and_resource() {
        let named = |verb: &str, resource: &str| Some((verb.to_owned(), resource.to_owned()));
        for (method, url, expected) in [
            (Method::GET, "/api/v1/nodes", named("list", "nodes")),
            (Method::GET, "/api/v1/nodes?watch=true", named("watch", "nodes")),
            (Method::GET, "/api/v1/namespaces/a", named("get", "namespaces")),
            (
                Method::PUT,
                "/api/v1/namespaces/a/finalize",
                named("update", "namespaces/finalize"),
            ),
            (
                Method::PATCH,
                "/api/v1/namespaces/a/pods/p/status",
                named("patch", "pods/status"),
            ),
            (
                Method::POST,
                "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities",
                named("create", "csistoragecapacities"),
            ),
            (
                Method::DELETE,
                "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities/c",
                named("delete", "csistoragecapacities"),
            ),
            (Method::GET, "/version", None),
            (Method::GET, "/apis", None),
        ] {
            assert_eq!(target(&method, url), expected, "{url}");
        }
    }

    #[test]
    fn rules_apply_to_what_they_name_and_to_nothing_else() {
        let rules: Vec<WireRule> = serde_json::from_value(json!([
            {"request": {"verbs": ["update"], "resource": "persistentvolumeclaims", "lacking": ["/metadata/annotations/x"], "answer": "pretended"}},
            {"object": {"resource": "nodes", "events": ["added"], "withhold": true}},
            {"object": {"resource": "csidrivers", "listed": true, "set": {"/spec/storageCapacity": false}}},
        ]))
        .unwrap();
        let traffic = Traffic::of(&rules);
        let path = "/api/v1/namespaces/a/persistentvolumeclaims/c";
        let target = Target::of(&Method::PUT, path, "").unwrap();
        let pretended = |body: Value| {
            let rule = traffic.rules_for(&target, &body).next()?;
            rule.pretend(target.verb, &body)
        };
        assert_eq!(pretended(json!({"metadata": {"annotations": {"x": "y"}}})), None);
        assert_eq!(pretended(json!({"a": 1})), Some((200, json!({"a": 1}))));
        let mut node = json!({});
        assert!(!traffic.show_event("nodes", EventKind::Added, &mut node));
        assert!(traffic.show_event("nodes", EventKind::Modified, &mut node));
        assert!(traffic.show_listed("nodes", &mut node));
        let mut driver = json!({"spec": {"storageCapacity": true}});
        assert!(traffic.show_listed("csidrivers", &mut driver));
        assert_eq!(driver["spec"]["storageCapacity"], false);
    }
}

//! Which flow a request belongs to, by the flow schemas.
//!
//! Owns the order of schemas and what they match. Requests are never queued: a client is only told where it would have been.

use super::auth::{User, account_of};
use super::rbac::{Attributes, ResourceOrPath, is_path};
use crate::machinery::json::{list, string};
use crate::machinery::metadata;
use crate::object::Objects;
use crate::request::combined;
use parking_lot::RwLock;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of a schema that names none.
const PRECEDENCE: i64 = 1000;

/// All schemas and levels, as far as they were looked at.
#[derive(Default)]
pub(crate) struct Flows {
    /// Counts the changes of schemas and levels.
    changes: AtomicU64,
    known: RwLock<(u64, Arc<Vec<Flow>>)>,
}

/// A flow: a schema with its level.
pub(crate) struct Flow {
    pub(crate) schema_uid: String,
    pub(crate) level_uid: String,
    rules: Vec<Value>,
}

impl Flows {
    /// Notes that schemas or levels have changed. Called while the state is locked.
    pub(crate) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The flow of a request: its number among those that are returned. `sources` are the schemas and the levels, and are
    /// asked for only where they have changed.
    pub(crate) fn of(
        &self,
        user: &User,
        attributes: Attributes<'_>,
        sources: impl FnOnce() -> (Objects, Objects),
    ) -> Option<(Arc<Vec<Flow>>, usize)> {
        let flows = self.current(sources);
        let found = flows.iter().position(|flow| flow.has(user, attributes))?;
        Some((flows, found))
    }

    fn current(&self, sources: impl FnOnce() -> (Objects, Objects)) -> Arc<Vec<Flow>> {
        let changes = self.changes.load(Ordering::Acquire);
        {
            let known = self.known.read();
            // Nothing is known before the first change.
            if known.0 == changes {
                return known.1.clone();
            }
        }
        let (schemas, levels) = sources();
        let flows = Arc::new(read(&schemas, &levels));
        let mut known = self.known.write();
        if known.0 < changes {
            *known = (changes, flows.clone());
        }
        flows
    }
}

/// The flows in the order in which they are tried. A schema whose level is not there is none.
fn read(schemas: &Objects, levels: &Objects) -> Vec<Flow> {
    let mut ordered: Vec<&Value> = schemas.values().map(|schema| schema.value()).collect();
    ordered.sort_by_key(|schema| {
        let precedence = schema["spec"]["matchingPrecedence"].as_i64();
        (precedence.unwrap_or(PRECEDENCE), metadata::text(schema, "name"))
    });
    let flow = |schema: &Value| {
        let level = string(&schema["spec"]["priorityLevelConfiguration"], "name");
        Some(Flow {
            schema_uid: metadata::text(schema, "uid").to_owned(),
            level_uid: metadata::text(levels.get(level)?.value(), "uid").to_owned(),
            rules: list(&schema["spec"]["rules"]).to_vec(),
        })
    };
    ordered.into_iter().filter_map(flow).collect()
}

impl Flow {
    fn has(&self, user: &User, attributes: Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| {
            list(&rule["subjects"]).iter().any(|subject| is_of(subject, user)) && speaks_of(rule, attributes)
        })
    }
}

/// Whether a subject is the user, or a group of theirs.
fn is_of(subject: &Value, user: &User) -> bool {
    let name = |of: &str| string(&subject[of], "name");
    match string(subject, "kind") {
        "User" => ["*", &*user.name].contains(&name("user")),
        "Group" => name("group") == "*" || user.is_in(name("group")),
        "ServiceAccount" => {
            let (namespace, own) = account_of(&user.name).unwrap_or_default();
            !own.is_empty()
                && namespace == string(&subject["serviceAccount"], "namespace")
                && ["*", own].contains(&name("serviceAccount"))
        }
        _ => false,
    }
}

fn speaks_of(rule: &Value, attributes: Attributes<'_>) -> bool {
    // Every request comes by here, most of them past several schemas.
    let has = |rule: &Value, field: &str, wanted: &str| {
        let mut all = list(&rule[field]).iter();
        all.any(|text| text == "*" || text == wanted)
    };
    match attributes.asked {
        ResourceOrPath::Resource {
            group,
            resource,
            subresource,
            namespace,
            ..
        } => {
            let whole = combined(resource, subresource);
            list(&rule["resourceRules"]).iter().any(|rule| {
                let is_there = match namespace {
                    "" => rule["clusterScope"] == true,
                    namespace => has(rule, "namespaces", namespace),
                };
                is_there
                    && has(rule, "verbs", attributes.verb)
                    && has(rule, "apiGroups", group)
                    && has(rule, "resources", &whole)
            })
        }
        ResourceOrPath::Path(path) => list(&rule["nonResourceRules"]).iter().any(|rule| {
            let mut patterns = list(&rule["nonResourceURLs"]).iter().filter_map(Value::as_str);
            has(rule, "verbs", attributes.verb) && patterns.any(|pattern| is_path(pattern, path))
        }),
    }
}

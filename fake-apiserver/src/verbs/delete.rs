//! delete and deletecollection: preconditions, grace, finalizers, and what is answered.

use super::list::{self, selected, selection};
use super::options::dry_run;
use super::{existing, namespace, shown};
use crate::call::{Answer, Call, ListPlan, Params, Part, Payload, Target};
use crate::faults::Faults;
use crate::kinds::{Kind, NAMESPACE};
use crate::meta;
use crate::schema::{Type, conform};
use crate::status::{Status, options};
use crate::store::{FOREGROUND, ORPHAN, Object, Snapshot, Txn};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// Namespaces that every cluster needs.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];
/// Objects of many that are deleted before others get their turn.
const REMOVED_AT_ONCE: usize = 64;
const DELETE_OPTIONS: &str = "DeleteOptions";
/// Where the real server keeps the list of the types that options may have, as its texts tell.
const SCHEME: &str = "scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\"";

/// `DeleteOptions`, from the body and the query together.
pub(super) struct DeleteOptions {
    grace_seconds: Option<i64>,
    propagation: Option<&'static str>,
    uid: Option<String>,
    revision: Option<String>,
    pub(super) dry_run: bool,
}

pub(super) fn delete(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let options = DeleteOptions::read(&call.params, body(&call.payload))?;
    txn.dry_run = options.dry_run;
    if std::ptr::eq(call.target.kind, NAMESPACE) && IMMORTAL.contains(&call.target.name()) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(NAMESPACE.resource(), call.target.name(), why));
    }
    let old = existing(txn, call)?;
    remove(txn, &call.target, &old, &options)
}

/// Deletes what is selected and answers with it; objects that are held back stay, marked.
pub(super) fn delete_collection(txn: &mut Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let options = DeleteOptions::read(&call.params, body(&call.payload))?;
    txn.dry_run = options.dry_run;
    let kind = call.target.kind;
    let selection = selection(call)?;
    let (snapshot, after) = list::snapshot(txn, call)?;
    let objects: Vec<Arc<Object>> = selected(&snapshot.objects, &selection, after.as_deref())
        .cloned()
        .collect();
    for (number, object) in objects.iter().enumerate() {
        let target = target_of(kind, object);
        if let Some(object) = still_there(txn, &target, number, object) {
            remove(txn, &target, &object, &options)?;
        }
    }
    let snapshot = Snapshot {
        revision: txn.revision(),
        ..snapshot
    };
    Ok(Answer::List(ListPlan {
        kind,
        snapshot,
        selection,
        limit: usize::MAX,
        after,
    }))
}

fn body(payload: &Payload) -> &Value {
    match payload {
        Payload::Object(body) => &body.value,
        Payload::None | Payload::Patch(..) | Payload::Apply(_) => &Value::Null,
    }
}

impl DeleteOptions {
    /// Nothing special.
    fn plain(dry_run: bool) -> Self {
        Self {
            grace_seconds: None,
            propagation: None,
            uid: None,
            revision: None,
            dry_run,
        }
    }

    /// Reads a body of that type, or the query where there is none.
    pub(super) fn read(params: &Params, body: &Value) -> Result<Self, Status> {
        let body = match body {
            Value::Null => Self::of_query(params)?,
            body => Self::checked(body)?,
        };
        Self::of_body(&body)
    }

    /// The query as a body.
    fn of_query(params: &Params) -> Result<Value, Status> {
        let mut body = json!({});
        if let Some(seconds) = params.number("gracePeriodSeconds")? {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(orphans) = params.flag("orphanDependents") {
            body["orphanDependents"] = orphans.into();
        }
        body["propagationPolicy"] = params.get("propagationPolicy").into();
        body["dryRun"] = params.all("dryRun").into();
        // The revision counts twice where a collection is deleted: as that of the list, and as one of each object.
        for precondition in ["uid", "resourceVersion"] {
            body["preconditions"][precondition] = params.get(precondition).into();
        }
        Ok(body)
    }

    /// A body that is of that type, in its form. It may say that it is of any group.
    fn checked(body: &Value) -> Result<Value, Status> {
        let mut body = body.clone();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (kind, version) = (text("kind"), text("apiVersion"));
        if !["", DELETE_OPTIONS].contains(&kind.as_str()) {
            let version = if version.is_empty() {
                "meta.k8s.io/v1"
            } else {
                &version
            };
            let text = format!("no kind {kind:?} is registered for version {version:?} in {SCHEME}");
            return Err(Status::bad_request(text));
        }
        let of = Type::find("v1", DELETE_OPTIONS);
        let of = of.ok_or_else(|| Status::internal("the type of deletion options is missing"))?;
        conform(of, &mut body).map_err(Status::bad_request)?;
        Ok(body)
    }

    fn of_body(body: &Value) -> Result<Self, Status> {
        let text = |value: &Value| value.as_str().filter(|t| !t.is_empty()).map(str::to_owned);
        let policy = text(&body["propagationPolicy"]).unwrap_or_default();
        let orphan = body["orphanDependents"].as_bool();
        let propagation = match (policy.as_str(), orphan) {
            ("Foreground", None) => Some(FOREGROUND),
            ("Orphan", None) | ("", Some(true)) => Some(ORPHAN),
            ("Background", None) | ("", Some(false) | None) => None,
            _ => return Err(Self::bad_propagation(&policy, orphan)),
        };
        Ok(Self {
            grace_seconds: body["gracePeriodSeconds"].as_i64(),
            propagation,
            uid: text(&body["preconditions"]["uid"]),
            revision: text(&body["preconditions"]["resourceVersion"]),
            dry_run: dry_run(&meta::texts(&body["dryRun"]), DELETE_OPTIONS)?,
        })
    }

    fn bad_propagation(policy: &str, orphan: Option<bool>) -> Status {
        let mut faults = Faults::default();
        if orphan.is_some() {
            let text = "orphanDependents and deletionPropagation cannot be both set";
            faults.invalid("propagationPolicy", policy, text);
        } else {
            faults.not_supported(
                "propagationPolicy",
                policy,
                &["Foreground", "Background", "Orphan", "nil"],
            );
        }
        Status::invalid(options("DeleteOptions"), "", faults)
    }

    fn check(&self, kind: &Kind, name: &str, object: &Value) -> Result<(), Status> {
        let uid = meta::text(object, "uid");
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might \
                 have been deleted and then recreated"
            );
            return Err(Status::conflict(kind.subject(), name, &why));
        }
        let revision = meta::text(object, "resourceVersion");
        if let Some(wanted) = self.revision.as_deref().filter(|wanted| *wanted != revision) {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({revision}). The object might have been modified"
            );
            return Err(Status::conflict(kind.subject(), name, &why));
        }
        Ok(())
    }
}

/// Deletes one object, or begins to.
pub(super) fn remove(
    txn: &mut Txn<'_>,
    target: &Target,
    old: &Arc<Object>,
    options: &DeleteOptions,
) -> Result<Answer, Status> {
    let kind = target.kind;
    options.check(kind, target.name(), &old.value)?;
    let mut object = Value::clone(&old.value);
    let grace = grace_seconds(txn, kind, &object, options.grace_seconds);
    let held = hold(&mut object, options.propagation);
    let waits = grace.is_some_and(|seconds| seconds > 0);
    if held || waits || std::ptr::eq(kind, NAMESPACE) {
        mark(&mut object, grace.unwrap_or_default(), &txn.now);
        if std::ptr::eq(kind, NAMESPACE) {
            meta::set(&mut object, "deletionGracePeriodSeconds", None);
            object["status"]["phase"] = "Terminating".into();
        }
        let key = target.key();
        let marked = if object == *old.value {
            old.clone()
        } else {
            txn.put(kind, &key, object)
        };
        if std::ptr::eq(kind, NAMESPACE) {
            namespace::empty(txn, target.name());
        }
        return Ok(Answer::Object {
            code: 200,
            object: shown(kind, marked),
        });
    }
    if grace.is_some() {
        mark(&mut object, 0, &txn.now);
    }
    txn.remove(kind, &target.key());
    namespace::settle(txn, &old.value);
    if kind.returns_deleted {
        return Ok(Answer::Object {
            code: 200,
            object: old.like(object, old.revision),
        });
    }
    Ok(Answer::Status(Status::deleted(
        kind,
        target.name(),
        meta::text(&old.value, "uid"),
    )))
}

/// The grace period of a kind that has one; only pods do.
///
/// A pod that runs nowhere, or has finished, needs none. Without kubelets none is needed at all.
fn grace_seconds(txn: &Txn<'_>, kind: &Kind, object: &Value, asked: Option<i64>) -> Option<i64> {
    if kind.plural != "pods" || !kind.group.is_empty() {
        return None;
    }
    let spec = &object["spec"];
    let unbound = spec["nodeName"].as_str().unwrap_or_default().is_empty();
    let finished = ["Succeeded", "Failed"]
        .iter()
        .any(|phase| object["status"]["phase"] == *phase);
    if unbound || finished || txn.options().kubelet_less {
        return Some(0);
    }
    let default = spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    match asked.unwrap_or(default) {
        // A negative one, which old clients may have stored, is as short as any.
        ..0 => Some(1),
        seconds => Some(seconds),
    }
}

/// Brings the finalizers of the propagation policy in; returns whether any finalizer holds the object.
fn hold(object: &mut Value, propagation: Option<&str>) -> bool {
    if let Some(finalizer) = propagation
        && !meta::finalizers(object).contains(&finalizer)
    {
        let list = meta::edit(object)
            .entry("finalizers")
            .or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(finalizer.into());
        }
    }
    !meta::finalizers(object).is_empty()
}

/// Marks an object as being deleted. Once it is, its grace period can only get shorter.
fn mark(object: &mut Value, grace_seconds: i64, now: &str) {
    let running = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if meta::is_deleting(object) && running.is_some_and(|running| running <= grace_seconds) {
        return;
    }
    if !meta::is_deleting(object) {
        meta::bump_generation(object);
    }
    let end = now
        .parse::<Timestamp>()
        .ok()
        .and_then(|t| t.checked_add(SignedDuration::from_secs(grace_seconds)).ok());
    let end = end.map_or_else(
        || now.to_owned(),
        |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    );
    meta::set(object, "deletionTimestamp", Some(end.into()));
    meta::set(object, "deletionGracePeriodSeconds", Some(grace_seconds.into()));
}

/// Whether an object that is being deleted has nothing left that holds it.
pub(super) fn is_finished(kind: &Kind, object: &Value) -> bool {
    let content = std::ptr::eq(kind, NAMESPACE) && !meta::texts(&object["spec"]["finalizers"]).is_empty();
    meta::is_deleting(object)
        && meta::finalizers(object).is_empty()
        && !content
        && object["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or_default()
            == 0
}

/// Deletes an object that is garbage.
pub(super) fn collect(
    txn: &mut Txn<'_>,
    target: &Target,
    object: &Arc<Object>,
    propagation: Option<&'static str>,
) {
    let options = DeleteOptions {
        propagation,
        ..DeleteOptions::plain(txn.dry_run)
    };
    // Without preconditions nothing refuses it.
    drop(remove(txn, target, object, &options));
}

/// Deletes every object of a namespace; what finalizers hold stays until they are gone.
pub(super) fn empty(txn: &mut Txn<'_>, kind: &'static Kind, namespace: &str) {
    let options = DeleteOptions::plain(txn.dry_run);
    for (number, (_, object)) in txn.in_namespace(kind, namespace).iter().enumerate() {
        let target = target_of(kind, object);
        if let Some(object) = still_there(txn, &target, number, object) {
            // Without preconditions nothing refuses it.
            drop(remove(txn, &target, &object, &options));
        }
    }
}

/// The present state of one of many objects that are deleted, unless it has gone. Others get their turn now and then:
/// no more than in the real server need it look like one change.
fn still_there(
    txn: &mut Txn<'_>,
    target: &Target,
    number: usize,
    object: &Arc<Object>,
) -> Option<Arc<Object>> {
    if number % REMOVED_AT_ONCE == REMOVED_AT_ONCE - 1 {
        txn.pause();
    }
    let found = txn.get(target.kind, &target.key())?;
    (meta::text(&found.value, "uid") == meta::text(&object.value, "uid")).then_some(found)
}

fn target_of(kind: &'static Kind, object: &Object) -> Target {
    Target {
        kind,
        namespace: Some(meta::text(&object.value, "namespace").to_owned()).filter(|n| !n.is_empty()),
        name: Some(meta::text(&object.value, "name").to_owned()),
        part: Part::Main,
    }
}

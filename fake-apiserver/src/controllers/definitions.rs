//! CustomResourceDefinitions: acceptance of names, establishing, and deletion with all their objects.
//!
//! Implements controllers of apiextensions-apiserver: naming, establishing and finalizing. As upstream, each step is a
//! separate write; all are complete before the response.

use crate::kinds::definition::{CLEANUP, accepted, condition, conflicts, is_true, kinds, set_condition};
use crate::kinds::{CUSTOM_RESOURCE_DEFINITION as DEFINITION, Defined, Part};
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use crate::verbs::remove::{is_finished, remove_in_all_namespaces};
use crate::verbs::rewrite_stored;
use serde_json::{Value, json};
use std::sync::Arc;

/// The field manager of the status of definitions.
const SERVER: &str = "kube-apiserver";

/// Reconciles a definition that was written or deleted, or one of whose objects was deleted.
pub(super) fn settle(txn: &mut Txn<'_>, name: &str) {
    let Some(found) = txn.get(&DEFINITION, name) else {
        return retire(txn, name);
    };
    if metadata::is_deleting(found.value()) {
        return finish(txn, name, &found);
    }
    let named = give_names(txn, found.value());
    let Some(named) = named else {
        return serve(txn, found.value());
    };
    // The next steps follow when this write is reconciled.
    write(txn, name, &found, named);
}

/// Starts, updates or stops serving the resource of a definition.
fn serve(txn: &mut Txn<'_>, definition: &Value) {
    let spec = &definition["spec"];
    let (group, plural) = (
        json::string(spec, "group"),
        json::string(&spec["names"], "plural"),
    );
    if !accepted(definition) {
        return txn.undefine(group, plural);
    }
    let (is_made, is_formed) = {
        let api = txn.api();
        let present = api.catalogue.all_of(group, plural);
        let defined = present.first().and_then(|kind| kind.defined());
        let is = |of: fn(&Defined, &Value) -> bool| defined.is_some_and(|defined| of(defined, definition));
        (is(Defined::is_made_of), is(Defined::forms_as))
    };
    if is_made {
        return;
    }
    let table_index = txn.table_index(group, plural);
    let made = kinds(definition, table_index);
    if !is_formed {
        txn.rewrite_objects(table_index, |object| rewrite_stored(&made, object));
    }
    txn.define(made);
}

/// The definition with new conditions for names and establishing. None if they are up to date.
fn give_names(txn: &Txn<'_>, definition: &Value) -> Option<Value> {
    let mut changed = definition.clone();
    let refused = conflicts(&mut changed, &txn.names_of_others(definition));
    let before = is_true(definition, "Established");
    let accepted = match &refused {
        None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", false, reason, message),
    };
    set_condition(&mut changed, accepted, &txn.now);
    if !before {
        let was_installing = json::list(&definition["status"]["conditions"])
            .iter()
            .any(|known| known["type"] == "Established" && known["reason"] == "Installing");
        let established = match (&refused, was_installing) {
            (Some(_), _) => condition("Established", false, "NotAccepted", "not all names are accepted"),
            (None, false) => condition(
                "Established",
                false,
                "Installing",
                "the initial names have been accepted",
            ),
            (None, true) => {
                let text = "the initial names have been accepted";
                condition("Established", true, "InitialNamesAccepted", text)
            }
        };
        set_condition(&mut changed, established, &txn.now);
    }
    (changed != *definition).then_some(changed)
}

/// After the deletion of a definition: stops serving its resource and reconsiders definitions that wait for its names.
fn retire(txn: &mut Txn<'_>, name: &str) {
    let Some((plural, group)) = name.split_once('.') else {
        return;
    };
    txn.undefine(group, plural);
    reconsider(txn, name, group);
}

/// Reconciles definitions of a group whose names were in use.
fn reconsider(txn: &mut Txn<'_>, name: &str, group: &str) {
    let waiting = txn.definitions_without_names(group).into_iter();
    for other in waiting.filter(|other| other != name) {
        settle(txn, &other);
    }
}

/// Deletes the objects of a terminating definition, and then the definition.
fn finish(txn: &mut Txn<'_>, name: &str, found: &Arc<Object>) {
    let definition = found.value();
    if !metadata::finalizers(definition).contains(&CLEANUP) {
        return;
    }
    let spec = &definition["spec"];
    let (group, plural) = (
        json::string(spec, "group"),
        json::string(&spec["names"], "plural"),
    );
    let mut changed = Value::clone(definition);
    let is_begun = json::list(&definition["status"]["conditions"])
        .iter()
        .any(|known| known["type"] == "Terminating" && known["reason"] == "InstanceDeletionInProgress");
    if !is_begun {
        let text = "CustomResource deletion is in progress";
        let begun = condition("Terminating", true, "InstanceDeletionInProgress", text);
        set_condition(&mut changed, begun, &txn.now);
        return write(txn, name, found, changed);
    }
    serve(txn, definition);
    let kind = txn
        .api()
        .catalogue
        .find_resource(group, plural)
        .map(|kind| kind.stored());
    let was_established = is_true(definition, "Established");
    if let Some(kind) = kind.filter(|_| was_established) {
        remove_in_all_namespaces(txn, &kind);
        if !txn.snapshot(&kind).objects.is_empty() {
            // Objects with finalizers delay the deletion of the definition.
            return;
        }
    }
    let done = match was_established {
        true => condition(
            "Terminating",
            false,
            "InstanceDeletionCompleted",
            "removed all instances",
        ),
        false => condition(
            "Terminating",
            false,
            "NeverEstablished",
            "resource was never established",
        ),
    };
    set_condition(&mut changed, done, &txn.now);
    let mut left = metadata::finalizers(&changed)
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    left.retain(|finalizer| finalizer != CLEANUP);
    let left = Some(json!(left)).filter(|left| left != &json!([]));
    metadata::set(&mut changed, "finalizers", left);
    write(txn, name, found, changed);
}

/// Writes a definition, or deletes it if no finalizer is left.
fn write(txn: &mut Txn<'_>, name: &str, old: &Arc<Object>, mut new: Value) {
    if is_finished(&DEFINITION, &new) {
        return txn.remove(&DEFINITION, name);
    }
    let writer = FieldManager {
        kind: &DEFINITION,
        manager: SERVER,
        part: Part::Status,
    };
    writer.track(&txn.now, Some(old), &mut new);
    txn.put(&DEFINITION, name, new);
}

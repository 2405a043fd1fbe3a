//! Definitions of custom resources: they get their names, are established, and go with all that they have made.
//!
//! Plays the controllers of the real server's extension API: naming, establishing and finalizing. Each step is a write of
//! its own, as there, and all are done when the request is answered.

use crate::kinds::definition::{CLEANUP, accepted, condition, conflicts, is_true, kinds, set_condition};
use crate::kinds::{CUSTOM_RESOURCE_DEFINITION as DEFINITION, Defined, Part};
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use crate::verbs::reformed;
use crate::verbs::remove::{is_finished, remove_everywhere};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who writes the status of definitions.
const SERVER: &str = "kube-apiserver";

/// Does what a definition calls for that was written, or has gone, or has lost an object.
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
    // What follows from a write is done when that write is settled.
    write(txn, name, &found, named);
}

/// Serves what a definition makes, or what it makes now, if that is anything.
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
    let number = txn.resource_number(group, plural);
    let made = kinds(definition, number);
    if !is_formed {
        txn.reform(number, |object| reformed(&made, object));
    }
    txn.define(made);
}

/// The definition with the names that it gets, and established if it got them; none where it has them already.
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

/// A definition has gone: so has what it made, and others may have its names.
fn retire(txn: &mut Txn<'_>, name: &str) {
    let Some((plural, group)) = name.split_once('.') else {
        return;
    };
    txn.undefine(group, plural);
    reconsider(txn, name, group);
}

/// Looks again at the definitions of a group that have not got their names.
fn reconsider(txn: &mut Txn<'_>, name: &str, group: &str) {
    let waiting = txn.definitions_without_names(group).into_iter();
    for other in waiting.filter(|other| other != name) {
        settle(txn, &other);
    }
}

/// A definition that is being deleted goes when all that it has made has gone.
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
        remove_everywhere(txn, &kind);
        if !txn.snapshot(&kind).objects.is_empty() {
            // Finalizers of objects hold them, and they hold the definition.
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

/// Writes a definition, or removes it where nothing holds it any more.
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

//! CustomResourceDefinition controllers: acceptance of names, the `Established` condition, and deletion of a CRD with its custom resources.
//!
//! Implements the naming, establishing and finalizing controllers of apiextensions-apiserver. As upstream, each controller writes the CRD
//! separately; all writes are complete before the response to the request that caused them.

use crate::definition::{
    AcceptedNames, CLEANUP, accept_names, are_names_accepted, condition, has_same_spec, is_true,
    is_up_to_date, kinds, set_condition,
};
use crate::resource::{CUSTOM_RESOURCE_DEFINITION, is_definition};
use fake_apiserver::extension::{Controller, ControllerTransaction, Kind, Object, json, metadata};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// The field manager of the CRD status.
const SERVER: &str = "kube-apiserver";

/// The CRD controllers, with the names that existing CRDs have accepted.
#[derive(Default)]
pub(crate) struct Definitions {
    names: Mutex<AcceptedNames>,
}

/// A CRD controller's access to the stored objects, with the resource definition of CRDs.
struct Session<'t> {
    txn: &'t mut dyn ControllerTransaction,
    names: &'t Mutex<AcceptedNames>,
    kind: Kind,
}

impl Controller for Definitions {
    fn watches(&self, kind: &Kind) -> bool {
        is_definition(kind) || kind.defined().is_some()
    }

    fn on_commit(&self, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        if is_definition(kind) {
            self.names.lock().change(old, new);
        }
    }

    fn reconcile(&self, txn: &mut dyn ControllerTransaction, kind: &Kind, key: &str, is_deleted: bool) {
        let name = match is_definition(kind) {
            true => key.to_owned(),
            // A custom resource was deleted. A terminating CRD is deleted after its last custom resource.
            false if is_deleted => format!("{}.{}", kind.plural(), kind.group()),
            false => return,
        };
        let Some(kind) = txn.kind(
            CUSTOM_RESOURCE_DEFINITION.group,
            CUSTOM_RESOURCE_DEFINITION.plural,
        ) else {
            return;
        };
        let names = &self.names;
        Session { txn, names, kind }.reconcile_definition(&name);
    }
}

impl Session<'_> {
    /// Reconciles a CRD after a change of the CRD or the deletion of one of its custom resources.
    fn reconcile_definition(&mut self, name: &str) {
        let Some(found) = self.txn.object(&self.kind, None, name) else {
            return self.stop_serving(name);
        };
        if metadata::is_deleting(found.value()) {
            return self.finalize(name, &found);
        }
        let named = self.with_name_conditions(found.value());
        let Some(named) = named else {
            return self.update_served_resource(found.value());
        };
        // The write of the new CRD conditions triggers the next reconciliation.
        self.write(name, &found, named);
    }

    /// Starts, updates or stops serving the resource that a CRD defines.
    fn update_served_resource(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let (group, plural) = (
            json::string(spec, "group"),
            json::string(&spec["names"], "plural"),
        );
        if !are_names_accepted(definition) {
            return self.txn.undefine_custom_resource(group, plural);
        }
        let present = self.txn.custom_resource(group, plural);
        let defined = present.first().and_then(Kind::defined);
        if defined.is_some_and(|defined| is_up_to_date(defined, definition)) {
            return;
        }
        let is_formed = defined.is_some_and(|defined| has_same_spec(defined, definition));
        let table_index = self.txn.table_index(group, plural);
        self.txn
            .define_custom_resource(kinds(definition, table_index), !is_formed);
    }

    /// The CRD with new `NamesAccepted` and `Established` conditions. None if both are up to date.
    fn with_name_conditions(&self, definition: &Value) -> Option<Value> {
        let mut changed = definition.clone();
        let now = self.txn.now();
        let refused = accept_names(&mut changed, &self.names.lock().of_other_crds(definition));
        let before = is_true(definition, "Established");
        let accepted = match &refused {
            None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            Some((reason, message)) => condition("NamesAccepted", false, reason, message),
        };
        set_condition(&mut changed, accepted, &now);
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
            set_condition(&mut changed, established, &now);
        }
        (changed != *definition).then_some(changed)
    }

    /// After the deletion of a CRD: stops serving its resource, and reconciles the CRDs that wait for its names.
    fn stop_serving(&mut self, name: &str) {
        let Some((plural, group)) = name.split_once('.') else {
            return;
        };
        self.txn.undefine_custom_resource(group, plural);
        self.reconcile_waiting(name, group);
    }

    /// Reconciles all CRDs of the group that wait for names, except the CRD `name`.
    fn reconcile_waiting(&mut self, name: &str, group: &str) {
        let waiting = self.names.lock().waiting(group);
        for other in waiting.iter().filter(|other| *other != name) {
            self.reconcile_definition(other);
        }
    }

    /// Deletes the custom resources of a terminating CRD, and then the CRD.
    fn finalize(&mut self, name: &str, found: &Arc<Object>) {
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
        let now = self.txn.now();
        let is_begun = json::list(&definition["status"]["conditions"])
            .iter()
            .any(|known| known["type"] == "Terminating" && known["reason"] == "InstanceDeletionInProgress");
        if !is_begun {
            let text = "CustomResource deletion is in progress";
            let begun = condition("Terminating", true, "InstanceDeletionInProgress", text);
            set_condition(&mut changed, begun, &now);
            return self.write(name, found, changed);
        }
        self.update_served_resource(definition);
        let kind = self.txn.custom_resource(group, plural);
        let kind = kind.first().map(Kind::in_storage_version);
        let was_established = is_true(definition, "Established");
        if let Some(kind) = kind.filter(|_| was_established)
            && !self.txn.delete_all(&kind)
        {
            // Custom resources with finalizers delay the deletion of the CRD.
            return;
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
        set_condition(&mut changed, done, &now);
        let mut left = metadata::finalizers(&changed)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        left.retain(|finalizer| finalizer != CLEANUP);
        let left = Some(json!(left)).filter(|left| left != &json!([]));
        metadata::set(&mut changed, "finalizers", left);
        self.write(name, found, changed);
    }

    /// Stores the changed CRD `new`, or deletes the CRD if `new` has no finalizer left.
    fn write(&mut self, name: &str, old: &Arc<Object>, new: Value) {
        self.txn.update_status(&self.kind, name, old, new, SERVER);
    }
}

//! The functions through which controllers in other crates read and write the state of the server.

use super::kubernetes_service::{SERVER, write};
use crate::kinds::{Kind, Part};
use crate::object::Object;
use crate::patch::managed::{self, FieldManager};
use crate::plugin::ControllerTransaction;
use crate::store::Txn;
use crate::verbs::remove::{can_be_removed, remove_all};
use crate::verbs::rewrite_stored;
use serde_json::Value;
use std::sync::Arc;

impl ControllerTransaction for Txn<'_> {
    fn now(&self) -> Arc<str> {
        self.now.clone()
    }

    fn create(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value) {
        write(self, kind, (namespace.unwrap_or_default(), name), SERVER, object);
    }

    fn delete(&mut self, kind: &Kind, namespace: Option<&str>, name: &str) {
        self.remove(kind, &kind.key(namespace, name));
    }

    fn custom_resource(&self, group: &str, plural: &str) -> Vec<Kind> {
        self.api().catalogue.versions_of(group, plural).to_vec()
    }

    fn table_index(&mut self, group: &str, plural: &str) -> usize {
        self.allocate_table(group, plural)
    }

    fn define_custom_resource(&mut self, kinds: Vec<Kind>, rewrite: bool) {
        if let Some(first) = kinds.first().filter(|_| rewrite) {
            self.rewrite_objects(first.table_index(), |object| rewrite_stored(&kinds, object));
        }
        self.serve(kinds);
    }

    fn undefine_custom_resource(&mut self, group: &str, plural: &str) {
        self.stop_serving(group, plural);
    }

    fn delete_all(&mut self, kind: &Kind) -> bool {
        remove_all(self, kind, None);
        self.snapshot(kind).objects.is_empty()
    }

    fn update_status(&mut self, kind: &Kind, key: &str, old: &Object, mut new: Value, manager: &str) {
        if can_be_removed(kind, &new) {
            return self.remove(kind, key);
        }
        let writer = FieldManager {
            kind,
            manager,
            part: Part::Status,
        };
        writer.track(&self.now, Some(old), &mut new);
        self.put(kind, key, new);
    }

    fn apply_status(&mut self, kind: &Kind, key: &str, manager: &str, status: &Value) {
        let Some(found) = self.get(kind, key) else { return };
        let writer = FieldManager {
            kind,
            manager,
            part: Part::Status,
        };
        match writer.apply(&self.now, Some(&found), status, true) {
            Ok((mut object, owners)) => {
                managed::set_managed_fields(&mut object, owners);
                self.put(kind, key, object);
            }
            Err(why) => tracing::warn!(kind = kind.kind, key, %why, "the status of the object was not set"),
        }
    }
}

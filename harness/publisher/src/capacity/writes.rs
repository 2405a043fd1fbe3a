//! Writes the CSIStorageCapacity object of a key with create, update and delete, and reads it if the ledger may be outdated. Does not
//! decide what to write.

use std::sync::Arc;

use capacity_types::Segment;
use k8s_openapi::api::storage::v1::CSIStorageCapacity;
use kube::{
    ResourceExt,
    api::{DeleteParams, Preconditions},
};

use super::{
    desired::{self, CapacityBytes, Key},
    publish::{Publisher, SyncError},
};
use crate::status::{is_conflict, is_not_found};

impl Publisher {
    pub(super) async fn create(
        &self,
        key: &Key,
        segment: &Segment,
        values: CapacityBytes,
    ) -> Result<(), SyncError> {
        let object = desired::build_object(&self.by, &key.class, segment, values, self.owner.as_ref());
        let (dialect, rng) = (self.options.dialect, &self.options.rng);
        let object = dialect.new_object(object, &self.by.driver, rng);
        self.ledger.lock().begin_create(key);
        let created = self.capacities.create(&object).await;
        let has_duplicates = self.ledger.lock().end_create(key, created.as_ref().ok().cloned());
        created.map_err(|source| SyncError::Api {
            verb: "create the object",
            source,
        })?;
        if has_duplicates {
            Err(SyncError::Duplicates)
        } else {
            Ok(())
        }
    }

    pub(super) async fn update(
        &self,
        object: &CSIStorageCapacity,
        values: CapacityBytes,
    ) -> Result<(), SyncError> {
        if desired::is_current(object, values, self.owner.as_ref()) {
            return Ok(());
        }
        let updated = desired::with_capacity_and_owner(object, values, self.owner.as_ref());
        let updated = self.options.dialect.changed_object(updated);
        match self.capacities.write(&updated).await {
            Ok(written) => {
                self.ledger.lock().record_written(written);
                Ok(())
            }
            Err(source) => {
                if is_not_found(&source) {
                    self.forget(object);
                }
                Err(SyncError::Api {
                    verb: "update the object",
                    source,
                })
            }
        }
    }

    /// Checks that an object that the watch has never delivered still exists.
    pub(super) async fn verify(&self, object: &CSIStorageCapacity) -> Result<(), SyncError> {
        self.refresh_object(object).await?;
        // The key is reconciled again with the updated ledger.
        self.queue.add(Key::of(object, self.options.dialect.selector));
        Ok(())
    }

    /// Reads the object from the API server and updates the ledger.
    async fn refresh_object(&self, object: &CSIStorageCapacity) -> Result<(), SyncError> {
        let found = match self.capacities.get(&object.name_any()).await {
            Ok(found) => Some(found),
            Err(source) if is_not_found(&source) => None,
            Err(source) => {
                return Err(SyncError::Api {
                    verb: "get the object",
                    source,
                });
            }
        };
        // The object may have been recreated, or another publisher may own it now.
        match found.filter(|found| found.metadata.uid == object.metadata.uid && self.by.owns(found)) {
            Some(found) => self.ledger.lock().record_written(found),
            None => self.forget(object),
        }
        Ok(())
    }

    pub(super) async fn delete_all(&self, objects: &[Arc<CSIStorageCapacity>]) -> Result<(), SyncError> {
        for object in objects {
            self.delete(object).await?;
        }
        Ok(())
    }

    /// Deletes an object with UID and resource version as preconditions, so that a recreated or modified object is not deleted.
    pub(super) async fn delete(&self, object: &CSIStorageCapacity) -> Result<(), SyncError> {
        let Some(uid) = object.metadata.uid.as_deref() else {
            return Ok(());
        };
        let preconditions = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: object.metadata.resource_version.clone(),
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        self.ledger.lock().begin_delete(uid);
        match self.capacities.delete(&object.name_any(), &parameters).await {
            Ok(_) => Ok(()),
            Err(source) if is_not_found(&source) => {
                self.forget(object);
                Ok(())
            }
            Err(source) => {
                self.ledger.lock().undo_delete(uid);
                if is_conflict(&source) {
                    // The object was recreated or modified; a GET shows which of the two happened.
                    self.refresh_object(object).await?;
                }
                Err(SyncError::Api {
                    verb: "delete the object",
                    source,
                })
            }
        }
    }

    fn forget(&self, object: &CSIStorageCapacity) {
        if let Some(uid) = object.metadata.uid.as_deref() {
            self.ledger.lock().forget(uid);
        }
    }
}

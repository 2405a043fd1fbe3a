//! Deletes the volumes of released PersistentVolumes and removes the finalizer of their objects. Does not release volumes.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::PersistentVolume;
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use serde_json::json;
use tokio::time::Instant;

use super::{
    Provisioner,
    volume::{self, Chore},
};
use crate::{
    cluster::take,
    csi::DriverError,
    events::Reason,
    status::{brief, is_conflict, is_not_found},
    topology::Located,
    watch::Change,
};

/// Why a volume was not deleted.
#[derive(Debug, thiserror::Error)]
enum DeleteError {
    #[error("{0}")]
    Driver(#[from] DriverError),
    #[error("cannot delete the object of the volume: {}; it is tried again", brief(.0))]
    Api(#[from] kube::Error),
}

impl Provisioner {
    /// What to do with a PersistentVolume. `None`: nothing.
    pub(super) fn chore(&self, volume: &PersistentVolume) -> Option<Chore> {
        let cluster = self.cluster.lock();
        let own = self.options.own_node().map(|node| cluster.topology.locate(node));
        let own = own.and_then(|located| {
            if let Located::In(segment) = located {
                Some(segment)
            } else {
                None
            }
        });
        volume::chore(volume, &self.driver.name, own)
    }

    pub(super) async fn attempt_delete(&self, name: &String) {
        match self.dispose(name).await {
            Ok(()) => self.volumes.done(name),
            Err(error) => {
                tracing::warn!(volume = name, %error, "volume not deleted");
                self.volumes.failed(name);
            }
        }
    }

    async fn dispose(&self, name: &str) -> Result<(), DeleteError> {
        let Some(volume) = self.cluster.lock().volumes.get(name).cloned() else {
            return Ok(());
        };
        match self.chore(&volume) {
            Some(Chore::Delete) => self.delete(&volume).await,
            Some(Chore::RemoveFinalizer) => Ok(self.remove_finalizer(&volume).await?),
            None => Ok(()),
        }
    }

    async fn delete(&self, volume: &Arc<PersistentVolume>) -> Result<(), DeleteError> {
        let uid = volume.uid().unwrap_or_default();
        let is_deleted = self.deleted.lock().contains(&uid);
        if !is_deleted {
            self.delete_volume(volume).await?;
            self.deleted.lock().insert(uid);
            self.refresh(None, &volume::segments(volume));
        }
        match self.delete_object(volume).await? {
            Some(dying) => Ok(self.remove_finalizer(&dying).await?),
            None => Ok(()),
        }
    }

    async fn delete_volume(&self, volume: &PersistentVolume) -> Result<(), DeleteError> {
        let spec = volume.spec.as_ref();
        let handle = spec
            .and_then(|spec| spec.csi.as_ref())
            .map(|csi| csi.volume_handle.as_str());
        let class = spec.and_then(|spec| spec.storage_class_name.as_deref());
        let (meter, class) = (&self.metrics.deleted, class.unwrap_or_default());
        let began = Instant::now();
        let secrets = self.deletion_secrets(volume).await;
        match self
            .driver
            .delete_volume(handle.unwrap_or_default(), secrets)
            .await
        {
            Ok(()) => {
                meter.done(class, began.elapsed());
                Ok(())
            }
            Err(error) => {
                meter.failed(class);
                self.events
                    .record(volume, Reason::VolumeFailedDelete, &error.to_string())
                    .await;
                Err(error.into())
            }
        }
    }

    /// The secrets for DeleteVolume. They may have been deleted already, and the driver may not need them.
    async fn deletion_secrets(&self, volume: &PersistentVolume) -> BTreeMap<String, String> {
        let Some(place) = volume::deletion_secret(volume) else {
            return BTreeMap::new();
        };
        self.secrets(&place).await.unwrap_or_else(|error| {
            let (volume, error) = (volume.name_any(), brief(&error));
            tracing::warn!(
                volume,
                error,
                "the secret for the deletion cannot be read; the volume is deleted without it"
            );
            BTreeMap::new()
        })
    }

    /// Deletes the object with a UID precondition. Returns it if finalizers keep it terminating.
    async fn delete_object(&self, volume: &PersistentVolume) -> kube::Result<Option<PersistentVolume>> {
        if volume.metadata.deletion_timestamp.is_some() {
            return Ok(Some(volume.clone()));
        }
        let preconditions = Preconditions {
            uid: volume.uid(),
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(preconditions);
        match self.volumes_api().delete(&volume.name_any(), &parameters).await {
            Ok(answer) => Ok(answer.left()),
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes only this provisioner's finalizer. The resource version protects concurrent changes.
    async fn remove_finalizer(&self, volume: &PersistentVolume) -> kube::Result<()> {
        let others: Vec<&String> = volume
            .finalizers()
            .iter()
            .filter(|name| *name != volume::FINALIZER)
            .collect();
        if others.len() == volume.finalizers().len() {
            return Ok(());
        }
        let metadata = json!({"resourceVersion": volume.resource_version(), "finalizers": others});
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match self
            .volumes_api()
            .patch(&volume.name_any(), &PatchParams::default(), &patch)
            .await
        {
            Ok(left) => {
                // The watch delivers this version or older ones.
                let left = Change::Set(Arc::new(left));
                let mut cluster = self.cluster.lock();
                if cluster.volumes.contains_key(&volume.name_any()) {
                    take(&mut cluster.volumes, &left, |volume| volume.name_any());
                }
                Ok(())
            }
            Err(error) if is_not_found(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

//! Deletes the volumes of released PersistentVolumes, and removes the finalizer from these objects.

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
    volume::{self, ReclaimAction},
};
use crate::{
    cluster::apply_change,
    csi::DriverError,
    events::Reason,
    status::{brief, is_conflict, is_not_found},
    topology::NodeSegment,
    watch::Change,
};

#[derive(Debug, thiserror::Error)]
enum DeleteError {
    #[error("{0}")]
    Driver(#[from] DriverError),
    #[error("cannot delete the PersistentVolume: {}; retrying with backoff", brief(.0))]
    Api(#[from] kube::Error),
}

impl Provisioner {
    /// The next step of this provisioner for a PersistentVolume; `None`: nothing to do.
    pub(super) fn reclaim_action(&self, volume: &PersistentVolume) -> Option<ReclaimAction> {
        let cluster = self.cluster.lock();
        let own = self
            .options
            .own_node()
            .map(|node| cluster.topology.segment_of_node(node));
        let own = own.and_then(|node_segment| {
            if let NodeSegment::In(segment) = node_segment {
                Some(segment)
            } else {
                None
            }
        });
        volume::reclaim_action(volume, &self.driver.name, own)
    }

    pub(super) async fn attempt_delete(&self, name: &String) {
        match self.reclaim(name).await {
            Ok(()) => self.volumes.done(name),
            Err(error) => {
                tracing::warn!(volume = name, %error, "volume not deleted");
                self.volumes.retry_after_backoff(name);
            }
        }
    }

    async fn reclaim(&self, name: &str) -> Result<(), DeleteError> {
        let Some(volume) = self.cluster.lock().volumes.get(name).cloned() else {
            return Ok(());
        };
        match self.reclaim_action(&volume) {
            Some(ReclaimAction::Delete) => self.delete(&volume).await,
            Some(ReclaimAction::RemoveFinalizer) => Ok(self.remove_finalizer(&volume).await?),
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
            Some(terminating) => Ok(self.remove_finalizer(&terminating).await?),
            None => Ok(()),
        }
    }

    async fn delete_volume(&self, volume: &PersistentVolume) -> Result<(), DeleteError> {
        let spec = volume.spec.as_ref();
        let handle = spec
            .and_then(|spec| spec.csi.as_ref())
            .map(|csi| csi.volume_handle.as_str());
        let class = spec.and_then(|spec| spec.storage_class_name.as_deref());
        let (volume_metrics, class) = (&self.metrics.deleted, class.unwrap_or_default());
        let began = Instant::now();
        let secrets = self.deletion_secrets(volume).await;
        match self
            .driver
            .delete_volume(handle.unwrap_or_default(), secrets)
            .await
        {
            Ok(()) => {
                volume_metrics.record_success(class, began.elapsed());
                Ok(())
            }
            Err(error) => {
                volume_metrics.record_failure(class);
                self.events
                    .record(volume, Reason::VolumeFailedDelete, &error.to_string())
                    .await;
                Err(error.into())
            }
        }
    }

    /// The secrets for DeleteVolume. Empty if they cannot be read: they may have been deleted, and the driver may not need them.
    async fn deletion_secrets(&self, volume: &PersistentVolume) -> BTreeMap<String, String> {
        let Some(reference) = volume::deletion_secret(volume) else {
            return BTreeMap::new();
        };
        self.read_secret(&reference).await.unwrap_or_else(|error| {
            let (volume, error) = (volume.name_any(), brief(&error));
            tracing::warn!(
                volume,
                error,
                "the secret for DeleteVolume cannot be read; DeleteVolume is called without it"
            );
            BTreeMap::new()
        })
    }

    /// Deletes the PersistentVolume object with its UID as precondition. Returns the object if it is terminating but still has finalizers.
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
            Ok(response) => Ok(response.left()),
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes only this provisioner's finalizer. The resource version prevents overwriting concurrent changes.
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
            Ok(remaining) => {
                // Applies the written PersistentVolume now. `apply_change` ignores older versions that the watch delivers later.
                let remaining = Change::Applied(Arc::new(remaining));
                let mut cluster = self.cluster.lock();
                if cluster.volumes.contains_key(&volume.name_any()) {
                    apply_change(&mut cluster.volumes, &remaining, |volume| volume.name_any());
                }
                Ok(())
            }
            Err(error) if is_not_found(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

//! Protects PVCs that are the source of clones: as in external-provisioner, the source PVC has a finalizer while other PVCs wait for a
//! clone. Does not create clones.

use futures::StreamExt;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{Api, ResourceExt, api::PostParams};

use super::{
    Provisioner,
    source::{Source, source},
};
use crate::{
    cluster::uid,
    status::{brief, is_not_found},
    watch::Change,
};

/// The finalizer that protects a PVC while other PVCs are cloned from it.
const PROTECTION: &str = "provisioner.storage.kubernetes.io/cloning-protection";

impl Provisioner {
    /// Adds the cloning-protection finalizer to a source PVC. [`Provisioner::work_on_clone_sources`] removes it.
    pub(super) async fn add_clone_protection(
        &self,
        source_claim: &PersistentVolumeClaim,
    ) -> kube::Result<()> {
        if is_protected(source_claim) {
            return Ok(());
        }
        let mut source_claim = source_claim.clone();
        source_claim.finalizers_mut().push(PROTECTION.to_owned());
        self.write(&source_claim).await
    }

    /// Handles an added, changed or deleted PVC, which may be a terminating source PVC or the last PVC that waited for a clone.
    pub(super) fn check_clone_source(&self, change: &Change<PersistentVolumeClaim>) {
        let (Change::Applied(claim) | Change::Deleted(claim)) = change else {
            return;
        };
        if awaits_release(claim) {
            self.clone_sources.add(uid(&**claim));
        }
        let source = claim.spec.as_ref().map(|spec| source(claim, spec));
        let Some(Ok(Some(Source::Claim(name)))) = source else {
            return;
        };
        let cluster = self.cluster.lock();
        let source_claim = cluster.claims.values().find(|other| {
            awaits_release(other)
                && other.metadata.namespace == claim.metadata.namespace
                && other.name_any() == name
        });
        if let Some(source_claim) = source_claim {
            self.clone_sources.add(uid(&**source_claim));
        }
    }

    /// Removes the finalizer from each source PVC when no PVC waits for a clone of it; does not return. Call it after the initial lists.
    pub(crate) async fn work_on_clone_sources(&self) {
        self.clone_sources
            .ready()
            .for_each(|uid| async move { self.attempt_release(&uid).await })
            .await;
    }

    async fn attempt_release(&self, uid: &String) {
        match self.remove_clone_protection(uid).await {
            Ok(()) => self.clone_sources.done(uid),
            Err(error) => {
                tracing::warn!(
                    claim = uid,
                    error = brief(&error),
                    "the cloning-protection finalizer was not removed"
                );
                self.clone_sources.retry_after_backoff(uid);
            }
        }
    }

    async fn remove_clone_protection(&self, uid: &str) -> kube::Result<()> {
        let Some(mut source_claim) = self.cluster.lock().claims.get(uid).map(|claim| (**claim).clone())
        else {
            return Ok(());
        };
        if !awaits_release(&source_claim) || self.has_pending_clone(&source_claim) {
            return Ok(());
        }
        source_claim.finalizers_mut().retain(|name| name != PROTECTION);
        match self.write(&source_claim).await {
            Err(error) if is_not_found(&error) => Ok(()),
            written => written,
        }
    }

    /// Whether an unbound PVC has the PVC `source_claim` as its data source.
    fn has_pending_clone(&self, source_claim: &PersistentVolumeClaim) -> bool {
        let name = source_claim.name_any();
        let waits = |claim: &PersistentVolumeClaim| {
            let spec = claim.spec.as_ref()?;
            let is_unbound = spec.volume_name.as_ref().is_none_or(String::is_empty);
            let same = claim.metadata.namespace == source_claim.metadata.namespace;
            let source = source(claim, spec).ok().flatten()?;
            (is_unbound && same && source == Source::Claim(&name)).then_some(())
        };
        self.cluster
            .lock()
            .claims
            .values()
            .any(|claim| waits(claim).is_some())
    }

    async fn write(&self, claim: &PersistentVolumeClaim) -> kube::Result<()> {
        let namespace = claim.namespace().unwrap_or_default();
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        api.replace(&claim.name_any(), &PostParams::default(), claim)
            .await
            .map(drop)
    }
}

fn is_protected(claim: &PersistentVolumeClaim) -> bool {
    claim.finalizers().iter().any(|name| name == PROTECTION)
}

/// Whether a PVC is terminating and has the cloning-protection finalizer.
fn awaits_release(claim: &PersistentVolumeClaim) -> bool {
    claim.metadata.deletion_timestamp.is_some() && is_protected(claim)
}

//! Provisioning: claims become volumes, released volumes are deleted. Binding claims to volumes, and everything else in a claim's status,
//! is the business of others.
//!
//! ```text
//! claim        which claims are ours to provision
//! requirement  accessibility requirements    request   the CreateVolume request
//! volume       PersistentVolume objects      create, delete: the two jobs
//! ```

mod claim;
mod create;
mod delete;
mod request;
mod requirement;
mod volume;

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;

use crate::{
    Options,
    capacity::Publisher,
    cluster::{Cluster, take, uid},
    csi::Driver,
    events::Recorder,
    queue::Queue,
    watch::Change,
};

/// Provisions the volumes of one driver.
pub(crate) struct Provisioner {
    options: Options,
    driver: Arc<Driver>,
    client: Client,
    cluster: Arc<Mutex<Cluster>>,
    publisher: Option<Arc<Publisher>>,
    events: Recorder,
    /// Claims by uid.
    claims: Queue<String>,
    /// Volumes by name.
    volumes: Queue<String>,
    /// Requests whose outcome nobody knows, by uid of the claim: they are repeated as they were until it is known.
    undecided: Mutex<HashMap<String, Arc<create::Attempt>>>,
    /// Marks the volumes that this process made, as external-provisioner does.
    identity: String,
}

impl Provisioner {
    pub(crate) fn new(
        options: Options,
        driver: Arc<Driver>,
        client: Client,
        cluster: Arc<Mutex<Cluster>>,
        publisher: Option<Arc<Publisher>>,
    ) -> Provisioner {
        let place = options
            .pod_name
            .as_deref()
            .or(options.node_name.as_deref())
            .unwrap_or("localhost");
        let events = Recorder::new(client.clone(), &driver.name, place);
        let identity = volume::identity(&driver.name, options.own_node());
        let (claims, volumes) = (Queue::new(options.pace()), Queue::new(options.pace()));
        let undecided = Mutex::default();
        Provisioner {
            options,
            driver,
            client,
            cluster,
            publisher,
            events,
            claims,
            volumes,
            undecided,
            identity,
        }
    }

    /// Works on claims as they need it, without end. Only call it when everything was listed.
    pub(crate) async fn work_on_claims(&self) {
        let threads = self.options.worker_threads;
        self.claims
            .ready()
            .for_each_concurrent(threads, |uid| async move { self.attempt(&uid).await })
            .await;
    }

    /// Works on volumes as they need it, without end. Only call it when everything was listed.
    pub(crate) async fn work_on_volumes(&self) {
        let threads = self.options.worker_threads;
        self.volumes
            .ready()
            .for_each_concurrent(threads, |name| async move { self.attempt_delete(&name).await })
            .await;
    }

    /// A claim came, changed, or went.
    pub(crate) fn claim_changed(&self, change: Change<PersistentVolumeClaim>) {
        let before = take(&mut self.cluster.lock().claims, &change, uid);
        let Change::Set(claim) = change else { return };
        // The status, and what others note in the metadata, is no reason to try earlier than planned.
        let same = |before: &PersistentVolumeClaim| {
            before.spec == claim.spec && before.metadata.annotations == claim.metadata.annotations
        };
        if !before.is_some_and(|before| same(&before)) {
            self.look_at_claims(&[claim]);
        }
    }

    /// A class came, changed, or went.
    pub(crate) fn class_changed(&self, change: &Change<StorageClass>) {
        let mut cluster = self.cluster.lock();
        take(&mut cluster.classes, change, |class| class.name_any());
        let Change::Set(class) = change else { return };
        let name = class.name_any();
        let of_class = |claim: &&Arc<PersistentVolumeClaim>| claim::class_name(claim) == Some(name.as_str());
        let claims: Vec<_> = cluster.claims.values().filter(of_class).cloned().collect();
        drop(cluster);
        self.look_at_claims(&claims);
    }

    /// A volume came, changed, or went.
    pub(crate) fn volume_changed(&self, change: Change<PersistentVolume>) {
        take(&mut self.cluster.lock().volumes, &change, |volume| {
            volume.name_any()
        });
        if let Change::Set(volume) = change
            && self.chore(&volume).is_some()
        {
            self.volumes.add(volume.name_any());
        }
    }

    fn look_at_claims(&self, claims: &[Arc<PersistentVolumeClaim>]) {
        let uids = claims
            .iter()
            .map(|claim| uid(&**claim))
            .filter(|uid| self.job(uid).is_some());
        uids.for_each(|uid| self.claims.add(uid));
    }

    fn refresh(&self, class: Option<&str>, terms: &[crate::topology::Segment]) {
        if let Some(publisher) = &self.publisher {
            publisher.refresh(class, terms);
        }
    }
}

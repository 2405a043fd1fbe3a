//! Provisioning: claims become volumes, released volumes are deleted. Other controllers bind claims to volumes and write the status of
//! claims.
//!
//! ```text
//! claim        which claims are ours to provision
//! requirement  accessibility requirements    request   the CreateVolume request
//! volume       PersistentVolume objects      create, delete: the two jobs
//! secret       which secrets a class names      source       what comes from other objects: secrets, attributes, copies
//! original     claims that are copied            ownership    which instance makes the volume of a claim with immediate binding
//! ```

mod claim;
mod create;
mod delete;
mod original;
mod ownership;
mod refused;
mod request;
mod requirement;
mod secret;
mod source;
mod volume;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

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
    metrics::Metrics,
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
    /// Claims that may be taken for the own node, by uid.
    owners: Queue<String>,
    /// Claims that are kept for those that want copies, by uid.
    originals: Queue<String>,
    /// How often this instance tried to take a claim that has no volume yet, by uid.
    attempts: Mutex<HashMap<String, u32>>,
    /// Objects, by uid, whose volumes are deleted already.
    deleted: Mutex<HashSet<String>>,
    /// Requests whose outcome is unknown, by uid of the claim: they are repeated unchanged until it is known.
    undecided: Mutex<HashMap<String, Arc<create::Attempt>>>,
    /// Marks the volumes that this process made, as external-provisioner does.
    identity: String,
    metrics: Arc<Metrics>,
}

impl Provisioner {
    pub(crate) fn new(
        options: Options,
        driver: Arc<Driver>,
        client: Client,
        cluster: Arc<Mutex<Cluster>>,
        publisher: Option<Arc<Publisher>>,
        metrics: &Arc<Metrics>,
    ) -> Arc<Provisioner> {
        let events = Recorder::new(client.clone(), &driver.name, &options);
        let identity = volume::identity(&driver.name, &options);
        let queue = |name| Queue::new(options.pace(), metrics.queue(name));
        let (claims, volumes, owners) = (queue("claims"), queue("volumes"), queue("owners"));
        let originals = queue("originals");
        let provisioner = Arc::new(Provisioner {
            driver,
            client,
            cluster,
            publisher,
            events,
            claims,
            volumes,
            owners,
            originals,
            attempts: Mutex::default(),
            deleted: Mutex::default(),
            undecided: Mutex::default(),
            identity,
            options,
            metrics: Arc::clone(metrics),
        });
        let measured = Arc::downgrade(&provisioner);
        metrics.before_reading(move || {
            if let Some(provisioner) = measured.upgrade() {
                let Provisioner {
                    claims,
                    volumes,
                    owners,
                    originals,
                    ..
                } = &*provisioner;
                for queue in [claims, volumes, owners, originals] {
                    queue.measure();
                }
            }
        });
        provisioner
    }

    /// Works on claims without end, as they become ready. Only call it after the lists.
    pub(crate) async fn work_on_claims(&self) {
        let threads = self.options.worker_threads;
        self.claims
            .ready()
            .for_each_concurrent(threads, |uid| async move { self.attempt(&uid).await })
            .await;
    }

    /// Works on volumes without end, as they become ready. Only call it after the lists.
    pub(crate) async fn work_on_volumes(&self) {
        let threads = self.options.worker_threads;
        self.volumes
            .ready()
            .for_each_concurrent(threads, |name| async move { self.attempt_delete(&name).await })
            .await;
    }

    /// Takes claims with immediate binding for the own node, without end. Only call it after the lists.
    pub(crate) async fn work_on_ownership(&self) {
        let threads = self.options.worker_threads;
        self.owners
            .ready()
            .for_each_concurrent(threads, |uid| async move { self.attempt_to_own(&uid).await })
            .await;
    }

    /// A claim came, changed, or went.
    pub(crate) fn claim_changed(&self, change: Change<PersistentVolumeClaim>) {
        let before = take(&mut self.cluster.lock().claims, &change, uid);
        self.consider_original(&change);
        let claim = match change {
            Change::Set(claim) => claim,
            Change::Gone(claim) => {
                self.attempts.lock().remove(&uid(&*claim));
                return;
            }
            Change::Listed => return,
        };
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
        match change {
            Change::Set(volume) if self.chore(&volume).is_some() => self.volumes.add(volume.name_any()),
            Change::Gone(volume) => {
                self.deleted.lock().remove(&uid(&*volume));
            }
            Change::Set(_) | Change::Listed => {}
        }
    }

    fn look_at_claims(&self, claims: &[Arc<PersistentVolumeClaim>]) {
        for uid in claims.iter().map(|claim| uid(&**claim)) {
            if self.job(&uid).is_some() {
                self.claims.add(uid);
            } else {
                self.consider(&uid);
            }
        }
    }

    fn refresh(&self, class: Option<&str>, terms: &[capacity_types::Segment]) {
        if let Some(publisher) = &self.publisher {
            publisher.refresh(class, terms);
        }
    }
}

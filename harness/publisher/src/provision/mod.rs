//! Provisioning: creates volumes for PVCs and deletes released volumes. Does not bind PVCs to volumes or write PVC status; other
//! controllers do.
//!
//! ```text
//! claim        which PVCs to provision
//! requirement  accessibility requirements    request   the CreateVolume request
//! volume       PersistentVolume objects      create, delete: the two operations
//! secret       secret references of classes  source    fields from other objects: secrets, attributes, data sources
//! clone_source   PVCs that are cloned        node_selection   which instance provisions a PVC with Immediate binding
//! ```

mod claim;
mod clone_source;
mod create;
mod delete;
mod invalid_claim;
mod node_selection;
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
    cluster::{Cluster, apply_change, uid},
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
    /// Queue of PVCs to provision, by UID.
    claims: Queue<String>,
    /// Queue of PersistentVolumes that need a reclaim action, by name.
    volumes: Queue<String>,
    /// Queue of PVCs for which this instance may select its own node, by UID.
    node_selections: Queue<String>,
    /// Queue of terminating PVCs with the cloning-protection finalizer, by UID.
    clone_sources: Queue<String>,
    /// Number of attempts of this instance to select its own node for a PVC, by UID of the PVC.
    attempts: Mutex<HashMap<String, u32>>,
    /// UIDs of PersistentVolumes whose volumes were already deleted.
    deleted: Mutex<HashSet<String>>,
    /// CreateVolume requests whose result is unknown, by UID of the PVC. They are repeated unchanged until the result is known.
    pending_requests: Mutex<HashMap<String, Arc<create::Attempt>>>,
    /// Identity of this process, written to the attributes of its volumes as by external-provisioner.
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
        let queue = |name| Queue::new(options.backoff(), metrics.queue(name));
        let (claims, volumes, node_selections) = (queue("claims"), queue("volumes"), queue("owners"));
        let clone_sources = queue("originals");
        let provisioner = Arc::new(Provisioner {
            driver,
            client,
            cluster,
            publisher,
            events,
            claims,
            volumes,
            node_selections,
            clone_sources,
            attempts: Mutex::default(),
            deleted: Mutex::default(),
            pending_requests: Mutex::default(),
            identity,
            options,
            metrics: Arc::clone(metrics),
        });
        let measured = Arc::downgrade(&provisioner);
        metrics.before_scrape(move || {
            if let Some(provisioner) = measured.upgrade() {
                let Provisioner {
                    claims,
                    volumes,
                    node_selections,
                    clone_sources,
                    ..
                } = &*provisioner;
                for queue in [claims, volumes, node_selections, clone_sources] {
                    queue.update_metrics();
                }
            }
        });
        provisioner
    }

    /// Provisions PVCs as they become ready; does not return. Call it after the initial lists.
    pub(crate) async fn work_on_claims(&self) {
        let threads = self.options.worker_threads;
        self.claims
            .ready()
            .for_each_concurrent(threads, |uid| async move { self.attempt(&uid).await })
            .await;
    }

    /// Processes released PersistentVolumes as they become ready; does not return. Call it after the initial lists.
    pub(crate) async fn work_on_volumes(&self) {
        let threads = self.options.worker_threads;
        self.volumes
            .ready()
            .for_each_concurrent(threads, |name| async move { self.attempt_delete(&name).await })
            .await;
    }

    /// Selects this instance's node for PVCs with Immediate binding; does not return. Call it after the initial lists.
    pub(crate) async fn work_on_node_selection(&self) {
        let threads = self.options.worker_threads;
        self.node_selections
            .ready()
            .for_each_concurrent(threads, |uid| async move { self.try_select_own_node(&uid).await })
            .await;
    }

    pub(crate) fn claim_changed(&self, change: Change<PersistentVolumeClaim>) {
        let before = apply_change(&mut self.cluster.lock().claims, &change, uid);
        self.check_clone_source(&change);
        let claim = match change {
            Change::Applied(claim) => claim,
            Change::Deleted(claim) => {
                self.attempts.lock().remove(&uid(&*claim));
                return;
            }
            Change::Listed => return,
        };
        // Changes of PVC status or other metadata do not end the backoff of the PVC.
        let same = |before: &PersistentVolumeClaim| {
            before.spec == claim.spec && before.metadata.annotations == claim.metadata.annotations
        };
        if !before.is_some_and(|before| same(&before)) {
            self.enqueue_claims(&[claim]);
        }
    }

    pub(crate) fn class_changed(&self, change: &Change<StorageClass>) {
        let mut cluster = self.cluster.lock();
        apply_change(&mut cluster.classes, change, |class| class.name_any());
        let Change::Applied(class) = change else { return };
        let name = class.name_any();
        let of_class = |claim: &&Arc<PersistentVolumeClaim>| claim::class_name(claim) == Some(name.as_str());
        let claims: Vec<_> = cluster.claims.values().filter(of_class).cloned().collect();
        drop(cluster);
        self.enqueue_claims(&claims);
    }

    pub(crate) fn volume_changed(&self, change: Change<PersistentVolume>) {
        apply_change(&mut self.cluster.lock().volumes, &change, |volume| {
            volume.name_any()
        });
        match change {
            Change::Applied(volume) if self.reclaim_action(&volume).is_some() => {
                self.volumes.add(volume.name_any());
            }
            Change::Deleted(volume) => {
                self.deleted.lock().remove(&uid(&*volume));
            }
            Change::Applied(_) | Change::Listed => {}
        }
    }

    fn enqueue_claims(&self, claims: &[Arc<PersistentVolumeClaim>]) {
        for uid in claims.iter().map(|claim| uid(&**claim)) {
            if self.job(&uid).is_some() {
                self.claims.add(uid);
            } else {
                self.schedule_node_selection(&uid);
            }
        }
    }

    fn refresh(&self, class: Option<&str>, terms: &[capacity_types::Segment]) {
        if let Some(publisher) = &self.publisher {
            publisher.refresh(class, terms);
        }
    }
}

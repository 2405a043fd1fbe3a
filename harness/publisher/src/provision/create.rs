//! Provisions a volume for a PVC: one attempt and the handling of its result. Does not know how volumes get bound.

use std::sync::Arc;

use capacity_types::Segment;
use csi_proto::v1::{CreateVolumeRequest, Volume};
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::{Api, ResourceExt, api::PostParams};
use tokio::time::Instant;
use tonic::Code;

use super::{
    Provisioner, claim,
    refused::Refused,
    request,
    requirement::{Placement, Unplaced, requirement},
    volume::Made,
};
use crate::{
    cluster::{take, uid},
    csi::DriverError,
    events::Reason,
    status::{brief, is_already_there, is_conflict},
    watch::Change,
};

/// Maximum number of immediate retries after conflicts when clearing the selected node.
const CONFLICTS_MAX: u32 = 5;

/// A PVC that is ready to be provisioned, and its class.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    pub(super) class: Arc<StorageClass>,
    distributed: bool,
}

/// A CreateVolume request and its PVC.
#[derive(Debug)]
pub(super) struct Attempt {
    job: Job,
    request: CreateVolumeRequest,
}

/// Results of an attempt that need no retry.
#[derive(Debug)]
enum Outcome {
    /// The volume exists.
    Made,
    /// The selected node was cleared for rescheduling.
    Elsewhere,
    /// The PVC was deleted meanwhile.
    Unwanted,
}

/// Why a PVC was not provisioned.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProvisionError {
    #[error("{0}")]
    Driver(#[from] DriverError),
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("{0}")]
    Unplaced(#[from] Unplaced),
    #[error("CSI driver does not support dynamic provisioning: {0} capability is not reported")]
    Unable(&'static str),
    #[error("the data source, claim {0}, is not {1}; a copy of it cannot be made")]
    Source(String, &'static str),
    #[error("the data source, snapshot {0}, is not {1}; a volume cannot be made from it")]
    Snapshot(String, &'static str),
    #[error("created volume has {made} bytes, less than the {wanted} requested; fix the driver")]
    TooSmall { made: i64, wanted: i64 },
    #[error(
        "volume content source missing: the driver made an empty volume instead of a copy; fix the driver"
    )]
    NotCopied,
    #[error("cannot {verb}: {}; it is tried again", brief(.source))]
    Api { verb: &'static str, source: kube::Error },
}

impl ProvisionError {
    /// Whether a retry can only succeed after a change of PVC, class or driver.
    fn is_infeasible(&self) -> bool {
        match self {
            ProvisionError::Driver(error) => error.code == Code::InvalidArgument && !error.undecided,
            ProvisionError::Refused(_) => true,
            _ => false,
        }
    }
}

impl Provisioner {
    /// The PVC and its class, if a volume should be created for it now.
    pub(super) fn job(&self, uid: &str) -> Option<Job> {
        let job = self.open_job(uid)?;
        let placed = claim::is_placed(&job.claim, &job.class, self.options.own_node());
        placed.then_some(job)
    }

    /// The PVC and its class, if it needs a volume from this provisioner.
    pub(super) fn open_job(&self, uid: &str) -> Option<Job> {
        let cluster = self.cluster.lock();
        let claim = Arc::clone(cluster.claims.get(uid)?);
        let class = Arc::clone(cluster.classes.get(claim::class_name(&claim)?)?);
        let name = request::volume_name(&self.options, &claim);
        let open = claim::is_open(&claim, &class, &self.driver.name) && !cluster.volumes.contains_key(&name);
        let distributed = self.options.own_node().is_some();
        open.then_some(Job {
            claim,
            class,
            distributed,
        })
    }

    pub(super) async fn attempt(&self, uid: &String) {
        match self.provision(uid).await {
            Ok(()) => self.claims.done(uid),
            Err(error) => {
                tracing::warn!(claim = uid, %error, "volume not provisioned");
                if error.is_infeasible() {
                    self.claims.postpone(uid);
                } else {
                    self.claims.failed(uid);
                }
            }
        }
    }

    async fn provision(&self, uid: &str) -> Result<(), ProvisionError> {
        let undecided = self.undecided.lock().get(uid).cloned();
        let Some(job) = undecided
            .as_ref()
            .map(|attempt| attempt.job.clone())
            .or_else(|| self.job(uid))
        else {
            return Ok(());
        };
        let message = format!(
            "External provisioner is provisioning volume for claim \"{}\"",
            job.title()
        );
        self.events
            .record(&*job.claim, Reason::Provisioning, &message)
            .await;
        let began = Instant::now();
        let prepared = match undecided {
            // A request with an unknown result is repeated unchanged: another one might create a second volume.
            Some(attempt) => Ok(attempt),
            None => self.prepare(&job).await.map(Arc::new),
        };
        let ended = match prepared {
            Err(error) => self.unprepared(&job, error).await,
            Ok(attempt) => match self.driver.create_volume(attempt.request.clone()).await {
                Ok(volume) => self.created(&attempt, &volume).await,
                Err(error) => self.refused(&attempt, error).await,
            },
        };
        let (meter, class) = (&self.metrics.provisioned, job.class.name_any());
        match &ended {
            Ok(Outcome::Made) => meter.done(&class, began.elapsed()),
            Ok(Outcome::Elsewhere) | Err(_) => meter.failed(&class),
            Ok(Outcome::Unwanted) => {}
        }
        ended.map(drop)
    }

    async fn prepare(&self, job: &Job) -> Result<Attempt, ProvisionError> {
        let capabilities = self.driver.capabilities;
        if !capabilities.controller {
            return Err(ProvisionError::Unable("plugin CONTROLLER_SERVICE"));
        }
        if !capabilities.volumes {
            return Err(ProvisionError::Unable("controller CREATE_DELETE_VOLUME"));
        }
        let request = request::request(
            &self.options,
            &job.claim,
            &job.class,
            capabilities.single_node_multi_writer,
        )?;
        let request = self.completed(job, request).await?;
        if !capabilities.topology {
            return Ok(Attempt {
                job: job.clone(),
                request,
            });
        }
        let placement = Placement {
            node: job.node(),
            claim: &job.claim.name_any(),
            allowed: job.class.allowed_topologies.as_deref().unwrap_or_default(),
            strict: self.options.strict_topology,
            immediate: self.options.immediate_topology,
        };
        let requirement = requirement(&self.cluster.lock().topology, placement)?;
        Ok(Attempt {
            job: job.clone(),
            request: request::placed(request, requirement),
        })
    }

    /// The request with the fields that come from other objects.
    async fn completed(
        &self,
        job: &Job,
        request: CreateVolumeRequest,
    ) -> Result<CreateVolumeRequest, ProvisionError> {
        let spec = job.claim.spec.clone().unwrap_or_default();
        Ok(CreateVolumeRequest {
            secrets: self
                .creation_secrets(&job.claim, &job.class, &request.name)
                .await?,
            mutable_parameters: self.mutable_parameters(&spec).await?,
            volume_content_source: self.content_source(&job.claim).await?,
            ..request
        })
    }

    async fn unprepared(&self, job: &Job, error: ProvisionError) -> Result<Outcome, ProvisionError> {
        self.events
            .record(&*job.claim, Reason::ProvisioningFailed, &error.to_string())
            .await;
        match error {
            ProvisionError::Unplaced(Unplaced::NodeAbsent(_)) => self.give_back(job).await,
            error => Err(error),
        }
    }

    async fn created(&self, attempt: &Arc<Attempt>, volume: &Volume) -> Result<Outcome, ProvisionError> {
        let Attempt { job, request } = &**attempt;
        let wanted = request.capacity_range.map_or(0, |range| range.required_bytes);
        let reach: Vec<Segment> = volume
            .accessible_topology
            .iter()
            .map(|term| term.segments.clone())
            .collect();
        let too_small = volume.capacity_bytes > 0 && volume.capacity_bytes < wanted;
        // CSI: a volume created from a content source must report it; otherwise it is empty.
        let not_copied = request.volume_content_source.is_some() && volume.content_source.is_none();
        // The request is stored until the volume is published or deleted, so that no volume is leaked.
        self.remember(attempt);
        let is_unwanted = too_small || not_copied || !self.is_claimed(job);
        if is_unwanted {
            let secrets = request.secrets.clone();
            self.driver.delete_volume(&volume.volume_id, secrets).await?;
            self.settle(job, &reach);
            let made = volume.capacity_bytes;
            return if too_small {
                Err(self.failed(job, ProvisionError::TooSmall { made, wanted }).await)
            } else if not_copied {
                Err(self.failed(job, ProvisionError::NotCopied).await)
            } else {
                Ok(Outcome::Unwanted)
            };
        }
        let made = Made {
            name: &request.name,
            claim: &job.claim,
            class: &job.class,
            volume,
            requested_bytes: wanted,
            topology: self.driver.capabilities.topology,
            identity: &self.identity,
            options: &self.options,
        };
        self.save(&made.object()?, &reach).await?;
        self.settle(job, &reach);
        let message = format!("Successfully provisioned volume {}", request.name);
        self.events
            .record(&*job.claim, Reason::ProvisioningSucceeded, &message)
            .await;
        Ok(Outcome::Made)
    }

    async fn save(&self, object: &PersistentVolume, reach: &[Segment]) -> Result<(), ProvisionError> {
        match self.volumes_api().create(&PostParams::default(), object).await {
            Ok(written) => {
                let written = Change::Set(Arc::new(written));
                take(&mut self.cluster.lock().volumes, &written, |volume| {
                    volume.name_any()
                });
            }
            Err(source) if is_already_there(&source) => {}
            Err(source) => {
                self.refresh(None, reach);
                return Err(ProvisionError::Api {
                    verb: "save the volume",
                    source,
                });
            }
        }
        Ok(())
    }

    async fn refused(&self, attempt: &Arc<Attempt>, error: DriverError) -> Result<Outcome, ProvisionError> {
        let Attempt { job, request } = &**attempt;
        let terms = request
            .accessibility_requirements
            .iter()
            .flat_map(|terms| &terms.requisite);
        let terms: Vec<Segment> = terms.map(|term| term.segments.clone()).collect();
        self.refresh(Some(&job.class.name_any()), &terms);
        if error.undecided {
            self.remember(attempt);
            return Err(self.failed(job, error.into()).await);
        }
        self.undecided.lock().remove(&uid(&*job.claim));
        let elsewhere = error.code == Code::ResourceExhausted
            && self.driver.capabilities.topology
            && job.node().is_some();
        let error = self.failed(job, error.into()).await;
        if elsewhere {
            self.give_back(job).await
        } else {
            Err(error)
        }
    }

    /// Records a failure as an event.
    async fn failed(&self, job: &Job, error: ProvisionError) -> ProvisionError {
        let text = match error.is_infeasible() {
            true => {
                format!("Volume provisioning failed with infeasible error. Retries will be delayed. {error}")
            }
            false => error.to_string(),
        };
        self.events
            .record(&*job.claim, Reason::ProvisioningFailed, &text)
            .await;
        error
    }

    /// Removes the selected node from a PVC, so that the scheduler selects one again (KEP-1472: rescheduling after RESOURCE_EXHAUSTED).
    async fn give_back(&self, job: &Job) -> Result<Outcome, ProvisionError> {
        let failed = |source| ProvisionError::Api {
            verb: "give the selected node back",
            source,
        };
        let namespace = job.claim.namespace().unwrap_or_default();
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        let mut claim = (*job.claim).clone();
        for conflicts in 0.. {
            // Another client may have changed the selection meanwhile.
            if claim.metadata.uid != job.claim.metadata.uid || claim::selected_node(&claim) != job.node() {
                return Ok(Outcome::Elsewhere);
            }
            claim.annotations_mut().remove(claim::SELECTED_NODE);
            match api
                .replace(&claim.name_any(), &PostParams::default(), &claim)
                .await
            {
                Ok(written) => {
                    // Apply the change now; the later watch event is then a no-op.
                    self.claim_changed(Change::Set(Arc::new(written)));
                    return Ok(Outcome::Elsewhere);
                }
                Err(source) if is_conflict(&source) && conflicts < CONFLICTS_MAX => {
                    claim = api.get(&claim.name_any()).await.map_err(failed)?;
                }
                Err(source) => return Err(failed(source)),
            }
        }
        Ok(Outcome::Elsewhere)
    }

    fn remember(&self, attempt: &Arc<Attempt>) {
        self.undecided
            .lock()
            .insert(uid(&*attempt.job.claim), Arc::clone(attempt));
    }

    /// Forgets a request whose result is known, and refreshes the capacity of these segments.
    fn settle(&self, job: &Job, reach: &[Segment]) {
        self.undecided.lock().remove(&uid(&*job.claim));
        self.refresh(None, reach);
    }

    fn is_claimed(&self, job: &Job) -> bool {
        self.cluster.lock().claims.contains_key(&uid(&*job.claim))
    }

    pub(super) fn volumes_api(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }
}

impl Job {
    /// Namespace and name, as written in events.
    fn title(&self) -> String {
        format!(
            "{}/{}",
            self.claim.namespace().unwrap_or_default(),
            self.claim.name_any()
        )
    }

    /// The node that determines the volume's topology: for delayed binding, or if an instance selected its own node.
    fn node(&self) -> Option<&str> {
        self.selected()
            .filter(|_| self.distributed || claim::waits_for_consumer(&self.class))
    }

    /// The selected node, for either binding mode.
    pub(super) fn selected(&self) -> Option<&str> {
        claim::selected_node(&self.claim)
    }
}

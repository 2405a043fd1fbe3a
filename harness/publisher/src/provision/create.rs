//! Provisions a volume for a PVC: makes one attempt and handles its result. Does not bind the volume.

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
    invalid_claim::InvalidClaim,
    request,
    requirement::{TopologyError, TopologyInput, requirement},
    volume::NewVolume,
};
use crate::{
    cluster::{apply_change, uid},
    csi::DriverError,
    events::Reason,
    status::{brief, is_already_exists, is_conflict},
    watch::Change,
};

/// Maximum number of immediate retries if clearing the selected node conflicts with other writes.
const CONFLICTS_MAX: u32 = 5;

/// A PVC that needs a volume, and its StorageClass.
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

/// Results after which a provisioning attempt is not retried.
#[derive(Debug)]
enum Outcome {
    Provisioned,
    /// The selected node was cleared, so that the scheduler selects one again.
    Rescheduled,
    ClaimDeleted,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ProvisionError {
    #[error("{0}")]
    Driver(#[from] DriverError),
    #[error("{0}")]
    InvalidClaim(#[from] InvalidClaim),
    #[error("{0}")]
    Topology(#[from] TopologyError),
    #[error("CSI driver does not support dynamic provisioning: {0} capability is not reported")]
    MissingCapability(&'static str),
    #[error("cannot clone claim {0}: {1}")]
    Source(String, &'static str),
    #[error("cannot create a volume from snapshot {0}: {1}")]
    Snapshot(String, &'static str),
    #[error("created volume has {actual} bytes, less than the {requested} requested; fix the driver")]
    TooSmall { actual: i64, requested: i64 },
    #[error(
        "volume content source missing: the driver created an empty volume instead of a copy; fix the driver"
    )]
    NotCopied,
    #[error("cannot {verb}: {}; retrying with backoff", brief(.source))]
    Api { verb: &'static str, source: kube::Error },
}

impl ProvisionError {
    /// Whether a retry can only succeed after a change of the PVC, its class or the driver.
    fn is_infeasible(&self) -> bool {
        match self {
            ProvisionError::Driver(error) => error.code == Code::InvalidArgument && !error.result_unknown,
            ProvisionError::InvalidClaim(_) => true,
            _ => false,
        }
    }
}

impl Provisioner {
    /// The PVC and its class, if the PVC can be provisioned now.
    pub(super) fn job(&self, uid: &str) -> Option<Job> {
        let job = self.unprovisioned_job(uid)?;
        let is_ready = claim::can_provision_now(&job.claim, &job.class, self.options.own_node());
        is_ready.then_some(job)
    }

    /// The PVC and its class, if the PVC needs a volume from this provisioner.
    pub(super) fn unprovisioned_job(&self, uid: &str) -> Option<Job> {
        let cluster = self.cluster.lock();
        let claim = Arc::clone(cluster.claims.get(uid)?);
        let class = Arc::clone(cluster.classes.get(claim::class_name(&claim)?)?);
        let name = request::volume_name(&self.options, &claim);
        let needed =
            claim::needs_volume(&claim, &class, &self.driver.name) && !cluster.volumes.contains_key(&name);
        let distributed = self.options.own_node().is_some();
        needed.then_some(Job {
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
                    self.claims.retry_after_backoff(uid);
                }
            }
        }
    }

    async fn provision(&self, uid: &str) -> Result<(), ProvisionError> {
        let pending = self.pending_requests.lock().get(uid).cloned();
        let Some(job) = pending
            .as_ref()
            .map(|attempt| attempt.job.clone())
            .or_else(|| self.job(uid))
        else {
            return Ok(());
        };
        let message = format!(
            "External provisioner is provisioning volume for claim \"{}\"",
            job.namespaced_name()
        );
        self.events
            .record(&*job.claim, Reason::Provisioning, &message)
            .await;
        let began = Instant::now();
        let prepared = match pending {
            // A request whose result is unknown is repeated unchanged: a different request might create a second volume.
            Some(attempt) => Ok(attempt),
            None => self.prepare_request(&job).await.map(Arc::new),
        };
        let ended = match prepared {
            Err(error) => self.preparation_failed(&job, error).await,
            Ok(attempt) => match self.driver.create_volume(attempt.request.clone()).await {
                Ok(volume) => self.handle_created_volume(&attempt, &volume).await,
                Err(error) => self.create_failed(&attempt, error).await,
            },
        };
        let (volume_metrics, class) = (&self.metrics.provisioned, job.class.name_any());
        match &ended {
            Ok(Outcome::Provisioned) => volume_metrics.record_success(&class, began.elapsed()),
            Ok(Outcome::Rescheduled) | Err(_) => volume_metrics.record_failure(&class),
            Ok(Outcome::ClaimDeleted) => {}
        }
        ended.map(drop)
    }

    async fn prepare_request(&self, job: &Job) -> Result<Attempt, ProvisionError> {
        let capabilities = self.driver.capabilities;
        if !capabilities.controller {
            return Err(ProvisionError::MissingCapability("plugin CONTROLLER_SERVICE"));
        }
        if !capabilities.volumes {
            return Err(ProvisionError::MissingCapability(
                "controller CREATE_DELETE_VOLUME",
            ));
        }
        let request = request::build_request(
            &self.options,
            &job.claim,
            &job.class,
            capabilities.single_node_multi_writer,
        )?;
        let request = self.with_fields_of_other_objects(job, request).await?;
        if !capabilities.topology {
            return Ok(Attempt {
                job: job.clone(),
                request,
            });
        }
        let input = TopologyInput {
            node: job.node(),
            claim: &job.claim.name_any(),
            allowed: job.class.allowed_topologies.as_deref().unwrap_or_default(),
            strict: self.options.strict_topology,
            immediate: self.options.immediate_topology,
        };
        let requirement = requirement(&self.cluster.lock().topology, input)?;
        Ok(Attempt {
            job: job.clone(),
            request: request::with_topology(request, requirement),
        })
    }

    /// Adds the secrets, mutable parameters and content source, which come from other API objects, to the CreateVolume request.
    async fn with_fields_of_other_objects(
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

    async fn preparation_failed(&self, job: &Job, error: ProvisionError) -> Result<Outcome, ProvisionError> {
        self.events
            .record(&*job.claim, Reason::ProvisioningFailed, &error.to_string())
            .await;
        match error {
            ProvisionError::Topology(TopologyError::NodeAbsent(_)) => self.clear_selected_node(job).await,
            error => Err(error),
        }
    }

    async fn handle_created_volume(
        &self,
        attempt: &Arc<Attempt>,
        volume: &Volume,
    ) -> Result<Outcome, ProvisionError> {
        let Attempt { job, request } = &**attempt;
        let requested = request.capacity_range.map_or(0, |range| range.required_bytes);
        let accessible_from: Vec<Segment> = volume
            .accessible_topology
            .iter()
            .map(|term| term.segments.clone())
            .collect();
        let too_small = volume.capacity_bytes > 0 && volume.capacity_bytes < requested;
        // CSI requires the response to contain the content source of the volume; without it the volume may be empty.
        let not_copied = request.volume_content_source.is_some() && volume.content_source.is_none();
        // The request is stored and repeated until the PersistentVolume is created or the volume is deleted, so that no volume is leaked.
        self.store_request(attempt);
        let must_delete = too_small || not_copied || !self.claim_exists(job);
        if must_delete {
            let secrets = request.secrets.clone();
            self.driver.delete_volume(&volume.volume_id, secrets).await?;
            self.finish_request(job, &accessible_from);
            let actual = volume.capacity_bytes;
            return if too_small {
                Err(self
                    .record_failure_event(job, ProvisionError::TooSmall { actual, requested })
                    .await)
            } else if not_copied {
                Err(self.record_failure_event(job, ProvisionError::NotCopied).await)
            } else {
                Ok(Outcome::ClaimDeleted)
            };
        }
        let new_volume = NewVolume {
            name: &request.name,
            claim: &job.claim,
            class: &job.class,
            volume,
            requested_bytes: requested,
            topology: self.driver.capabilities.topology,
            identity: &self.identity,
            options: &self.options,
        };
        self.create_object(&new_volume.object()?, &accessible_from)
            .await?;
        self.finish_request(job, &accessible_from);
        let message = format!("Successfully provisioned volume {}", request.name);
        self.events
            .record(&*job.claim, Reason::ProvisioningSucceeded, &message)
            .await;
        Ok(Outcome::Provisioned)
    }

    async fn create_object(
        &self,
        object: &PersistentVolume,
        accessible_from: &[Segment],
    ) -> Result<(), ProvisionError> {
        match self.volumes_api().create(&PostParams::default(), object).await {
            Ok(written) => {
                let written = Change::Applied(Arc::new(written));
                apply_change(&mut self.cluster.lock().volumes, &written, |volume| {
                    volume.name_any()
                });
            }
            Err(source) if is_already_exists(&source) => {}
            Err(source) => {
                self.refresh(None, accessible_from);
                return Err(ProvisionError::Api {
                    verb: "create the PersistentVolume",
                    source,
                });
            }
        }
        Ok(())
    }

    async fn create_failed(
        &self,
        attempt: &Arc<Attempt>,
        error: DriverError,
    ) -> Result<Outcome, ProvisionError> {
        let Attempt { job, request } = &**attempt;
        let terms = request
            .accessibility_requirements
            .iter()
            .flat_map(|terms| &terms.requisite);
        let terms: Vec<Segment> = terms.map(|term| term.segments.clone()).collect();
        self.refresh(Some(&job.class.name_any()), &terms);
        if error.result_unknown {
            self.store_request(attempt);
            return Err(self.record_failure_event(job, error.into()).await);
        }
        self.pending_requests.lock().remove(&uid(&*job.claim));
        let reschedules = error.code == Code::ResourceExhausted
            && self.driver.capabilities.topology
            && job.node().is_some();
        let error = self.record_failure_event(job, error.into()).await;
        if reschedules {
            self.clear_selected_node(job).await
        } else {
            Err(error)
        }
    }

    async fn record_failure_event(&self, job: &Job, error: ProvisionError) -> ProvisionError {
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

    /// Removes the selected node from a PVC, so that the scheduler selects a node again (KEP-1472: rescheduling after RESOURCE_EXHAUSTED).
    async fn clear_selected_node(&self, job: &Job) -> Result<Outcome, ProvisionError> {
        let failed = |source| ProvisionError::Api {
            verb: "clear the selected node",
            source,
        };
        let namespace = job.claim.namespace().unwrap_or_default();
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        let mut claim = (*job.claim).clone();
        for conflicts in 0.. {
            // Another client may have changed the selected node since the attempt began.
            if claim.metadata.uid != job.claim.metadata.uid || claim::selected_node(&claim) != job.node() {
                return Ok(Outcome::Rescheduled);
            }
            claim.annotations_mut().remove(claim::SELECTED_NODE);
            match api
                .replace(&claim.name_any(), &PostParams::default(), &claim)
                .await
            {
                Ok(written) => {
                    // Applies the written PVC now, so that its watch event changes nothing.
                    self.claim_changed(Change::Applied(Arc::new(written)));
                    return Ok(Outcome::Rescheduled);
                }
                Err(source) if is_conflict(&source) && conflicts < CONFLICTS_MAX => {
                    claim = api.get(&claim.name_any()).await.map_err(failed)?;
                }
                Err(source) => return Err(failed(source)),
            }
        }
        Ok(Outcome::Rescheduled)
    }

    fn store_request(&self, attempt: &Arc<Attempt>) {
        self.pending_requests
            .lock()
            .insert(uid(&*attempt.job.claim), Arc::clone(attempt));
    }

    /// Removes a stored CreateVolume request whose result is known, and refreshes the capacity of the affected segments.
    fn finish_request(&self, job: &Job, accessible_from: &[Segment]) {
        self.pending_requests.lock().remove(&uid(&*job.claim));
        self.refresh(None, accessible_from);
    }

    fn claim_exists(&self, job: &Job) -> bool {
        self.cluster.lock().claims.contains_key(&uid(&*job.claim))
    }

    pub(super) fn volumes_api(&self) -> Api<PersistentVolume> {
        Api::all(self.client.clone())
    }
}

impl Job {
    /// `NAMESPACE/NAME` of the PVC, as in the messages of Events.
    fn namespaced_name(&self) -> String {
        format!(
            "{}/{}",
            self.claim.namespace().unwrap_or_default(),
            self.claim.name_any()
        )
    }

    /// The node that determines the volume's topology: the selected node, for WaitForFirstConsumer and in distributed mode. `None` for
    /// Immediate binding in central mode.
    fn node(&self) -> Option<&str> {
        self.annotated_node()
            .filter(|_| self.distributed || claim::waits_for_consumer(&self.class))
    }

    /// The node in the selected-node annotation, whatever the binding mode of the class.
    pub(super) fn annotated_node(&self) -> Option<&str> {
        claim::selected_node(&self.claim)
    }
}

//! Fills in fields of the CreateVolume request from objects other than PVC and class: secrets, VolumeAttributesClass, source volume or
//! snapshot. Writes nothing except the finalizer of a source PVC.

use std::collections::BTreeMap;

use csi_proto::v1::{VolumeContentSource, volume_content_source};
use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, Secret, SecretReference},
    storage::v1::VolumeAttributesClass,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};

use super::{
    Provisioner, claim,
    create::ProvisionError,
    invalid_claim::InvalidClaim,
    request,
    secret::{self, SecretUse},
};
use crate::quantity;

/// The kind of data source whose volume is cloned.
const CLAIM: &str = "PersistentVolumeClaim";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const SNAPSHOT: &str = "VolumeSnapshot";

/// The data source of a PVC: the name of an object in the PVC's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source<'a> {
    Claim(&'a str),
    Snapshot(&'a str),
}

impl Provisioner {
    pub(super) async fn creation_secrets(
        &self,
        claim: &PersistentVolumeClaim,
        class: &k8s_openapi::api::storage::v1::StorageClass,
        volume: &str,
    ) -> Result<BTreeMap<String, String>, ProvisionError> {
        match secret::secret_reference(SecretUse::Provisioner, class, volume, claim)? {
            Some(reference) => self
                .read_secret(&reference)
                .await
                .map_err(|source| ProvisionError::Api {
                    verb: "read the secret of the class",
                    source,
                }),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The contents of a Secret, as sent to the driver.
    pub(super) async fn read_secret(
        &self,
        reference: &SecretReference,
    ) -> kube::Result<BTreeMap<String, String>> {
        let namespace = reference.namespace.as_deref().unwrap_or_default();
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api.get(reference.name.as_deref().unwrap_or_default()).await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let data = secret.data.unwrap_or_default();
        Ok(data
            .into_iter()
            .map(|(key, bytes)| (key, text(bytes.0)))
            .collect())
    }

    /// The parameters of the PVC's VolumeAttributesClass.
    pub(super) async fn mutable_parameters(
        &self,
        claim: &PersistentVolumeClaimSpec,
    ) -> Result<BTreeMap<String, String>, ProvisionError> {
        let Some(name) = request::attributes_class(&self.options, claim) else {
            return Ok(BTreeMap::new());
        };
        if !self.driver.capabilities.modify {
            return Err(ProvisionError::MissingCapability("controller MODIFY_VOLUME"));
        }
        let api: Api<VolumeAttributesClass> = Api::all(self.client.clone());
        let class = api.get(name).await.map_err(|source| ProvisionError::Api {
            verb: "read the volume attributes class",
            source,
        })?;
        if class.driver_name != *self.driver.name {
            return Err(
                InvalidClaim::AttributesClassOfOtherDriver(name.to_owned(), class.driver_name).into(),
            );
        }
        Ok(class.parameters.unwrap_or_default())
    }

    pub(super) async fn content_source(
        &self,
        claim: &PersistentVolumeClaim,
    ) -> Result<Option<VolumeContentSource>, ProvisionError> {
        let Some(spec) = &claim.spec else { return Ok(None) };
        let source = match source(claim, spec)? {
            Some(Source::Claim(name)) => self.volume_source(claim, spec, name).await?,
            Some(Source::Snapshot(name)) => self.snapshot_source(claim, spec, name).await?,
            None => return Ok(None),
        };
        Ok(Some(VolumeContentSource { r#type: Some(source) }))
    }

    async fn volume_source(
        &self,
        claim: &PersistentVolumeClaim,
        spec: &PersistentVolumeClaimSpec,
        name: &str,
    ) -> Result<volume_content_source::Type, ProvisionError> {
        if !self.driver.capabilities.clone {
            return Err(ProvisionError::MissingCapability("controller CLONE_VOLUME"));
        }
        let namespace = claim.namespace().unwrap_or_default();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        let failed = |source| ProvisionError::Api {
            verb: "read the data source",
            source,
        };
        let source_claim = claims.get(name).await.map_err(failed)?;
        let volume = bound_volume(&source_claim)
            .ok_or_else(|| ProvisionError::Source(name.to_owned(), "the claim is unbound or terminating"))?;
        let volume = self.volumes_api().get(volume).await.map_err(failed)?;
        let handle = self.cloneable_handle(spec, &source_claim, &volume)?;
        self.add_clone_protection(&source_claim)
            .await
            .map_err(|source| ProvisionError::Api {
                verb: "add the cloning-protection finalizer to the source claim",
                source,
            })?;
        let volume = volume_content_source::VolumeSource { volume_id: handle };
        Ok(volume_content_source::Type::Volume(volume))
    }

    /// The snapshot handle of a VolumeSnapshot that is ready and bound to its VolumeSnapshotContent.
    async fn snapshot_source(
        &self,
        claim: &PersistentVolumeClaim,
        spec: &PersistentVolumeClaimSpec,
        name: &str,
    ) -> Result<volume_content_source::Type, ProvisionError> {
        if !self.driver.capabilities.snapshots {
            return Err(ProvisionError::MissingCapability(
                "controller CREATE_DELETE_SNAPSHOT",
            ));
        }
        let unsuitable = |text: &'static str| ProvisionError::Snapshot(name.to_owned(), text);
        let namespace = claim.namespace();
        let snapshot = self.snapshot_object(SNAPSHOT, namespace.as_deref(), name).await?;
        let status = &snapshot.data["status"];
        let content = status["boundVolumeSnapshotContentName"].as_str();
        let content = content.ok_or_else(|| unsuitable("the snapshot has no VolumeSnapshotContent"))?;
        if status["readyToUse"] != true || snapshot.metadata.deletion_timestamp.is_some() {
            return Err(unsuitable("the snapshot is not ready or is terminating"));
        }
        let content = self
            .snapshot_object("VolumeSnapshotContent", None, content)
            .await?
            .data;
        if content["spec"]["driver"] != *self.driver.name {
            return Err(unsuitable("the VolumeSnapshotContent belongs to another driver"));
        }
        let bound = content["spec"]["volumeSnapshotRef"]["uid"].as_str();
        if bound != snapshot.metadata.uid.as_deref() {
            return Err(unsuitable(
                "the VolumeSnapshotContent refers to another VolumeSnapshot",
            ));
        }
        let handle = content["status"]["snapshotHandle"].as_str();
        let handle = handle.ok_or_else(|| unsuitable("the VolumeSnapshotContent has no snapshotHandle"))?;
        let size = status["restoreSize"].as_str().unwrap_or_default().to_owned();
        if request::requested_bytes(spec)? < quantity::to_bytes(&Quantity(size)).unwrap_or(0) {
            return Err(unsuitable("the restoreSize exceeds the requested size"));
        }
        let snapshot_id = handle.to_owned();
        Ok(volume_content_source::Type::Snapshot(
            volume_content_source::SnapshotSource { snapshot_id },
        ))
    }

    /// Gets an object of external-snapshotter. `namespace`: `None` for cluster-scoped objects.
    async fn snapshot_object(
        &self,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<DynamicObject, ProvisionError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(SNAPSHOTS, "v1", kind));
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        api.get(name).await.map_err(|source| ProvisionError::Api {
            verb: "read the snapshot",
            source,
        })
    }

    /// The handle of a volume, if it can be cloned for a PVC.
    fn cloneable_handle(
        &self,
        clone_spec: &PersistentVolumeClaimSpec,
        source_claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
    ) -> Result<String, ProvisionError> {
        let name = source_claim.name_any();
        let unsuitable = |text: &'static str| ProvisionError::Source(name.clone(), text);
        let spec = volume.spec.as_ref();
        let is_own_driver = |driver: &str| driver == &*self.driver.name;
        let source = spec.and_then(|spec| spec.csi.as_ref());
        let source = source.filter(|csi| is_own_driver(&csi.driver));
        let source = source.ok_or_else(|| unsuitable("the source volume belongs to another driver"))?;
        let claimed = spec.and_then(|spec| spec.claim_ref.as_ref());
        if claimed.is_none_or(|claimed| claimed.uid != source_claim.metadata.uid) {
            return Err(unsuitable("the PersistentVolume refers to another claim"));
        }
        let block = source_claim.spec.as_ref().is_some_and(request::is_block);
        if block != request::is_block(clone_spec) {
            return Err(unsuitable("the claims have different volume modes"));
        }
        let capacity = spec.and_then(|spec| spec.capacity.as_ref()?.get("storage"));
        let bytes = capacity.and_then(quantity::to_bytes).unwrap_or(0);
        if request::requested_bytes(clone_spec)? < bytes {
            return Err(unsuitable("the source volume is larger than the requested size"));
        }
        Ok(source.volume_handle.clone())
    }
}

pub(super) fn source<'a>(
    claim: &PersistentVolumeClaim,
    spec: &'a PersistentVolumeClaimSpec,
) -> Result<Option<Source<'a>>, InvalidClaim> {
    let (group, kind, name) = match (&spec.data_source, &spec.data_source_ref) {
        (_, Some(source))
            if source
                .namespace
                .as_ref()
                .is_some_and(|other| Some(other) != claim.metadata.namespace.as_ref()) =>
        {
            return Err(InvalidClaim::SourceInOtherNamespace);
        }
        (_, Some(source)) => (&source.api_group, &source.kind, &source.name),
        (Some(source), None) => (&source.api_group, &source.kind, &source.name),
        (None, None) => return Ok(None),
    };
    match (group.as_deref().unwrap_or_default(), kind.as_str()) {
        ("", CLAIM) => Ok(Some(Source::Claim(name))),
        (SNAPSHOTS, SNAPSHOT) => Ok(Some(Source::Snapshot(name))),
        (group, kind) => Err(InvalidClaim::DataSource(
            format!("{kind} {group}").trim_end().to_owned(),
        )),
    }
}

/// The volume name of a source PVC that is bound and not terminating.
fn bound_volume(source_claim: &PersistentVolumeClaim) -> Option<&str> {
    let phase = source_claim.status.as_ref()?.phase.as_deref();
    let is_not_terminating = source_claim.metadata.deletion_timestamp.is_none();
    let spec = source_claim.spec.as_ref()?;
    let name = spec.volume_name.as_deref().filter(|name| !name.is_empty());
    name.filter(|_| is_not_terminating && phase == Some("Bound") && claim::class_name(source_claim).is_some())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{
        PersistentVolumeClaimStatus, TypedLocalObjectReference, TypedObjectReference,
    };

    use super::*;

    fn local(group: Option<&str>, kind: &str) -> PersistentVolumeClaimSpec {
        let source = TypedLocalObjectReference {
            api_group: group.map(str::to_owned),
            kind: kind.to_owned(),
            name: "original".to_owned(),
        };
        PersistentVolumeClaimSpec {
            data_source: Some(source),
            ..Default::default()
        }
    }

    #[test]
    fn only_pvcs_and_snapshots_of_the_same_namespace_can_be_sources() {
        let mut claim = PersistentVolumeClaim::default();
        claim.metadata.namespace = Some("apps".to_owned());
        assert_eq!(source(&claim, &PersistentVolumeClaimSpec::default()), Ok(None));
        for group in [None, Some("")] {
            let spec = local(group, CLAIM);
            assert_eq!(source(&claim, &spec), Ok(Some(Source::Claim("original"))));
        }
        let snapshot = local(Some(SNAPSHOTS), SNAPSHOT);
        assert_eq!(source(&claim, &snapshot), Ok(Some(Source::Snapshot("original"))));
        let other = local(Some("example.com"), "Backup");
        let expected = InvalidClaim::DataSource("Backup example.com".to_owned());
        assert_eq!(source(&claim, &other), Err(expected));
        let elsewhere = |namespace: &str| PersistentVolumeClaimSpec {
            data_source_ref: Some(TypedObjectReference {
                api_group: None,
                kind: CLAIM.to_owned(),
                name: "original".to_owned(),
                namespace: Some(namespace.to_owned()),
            }),
            ..Default::default()
        };
        let near = elsewhere("apps");
        assert_eq!(source(&claim, &near), Ok(Some(Source::Claim("original"))));
        assert_eq!(
            source(&claim, &elsewhere("other")),
            Err(InvalidClaim::SourceInOtherNamespace)
        );
    }

    #[test]
    fn a_source_pvc_must_be_bound_and_not_terminating() {
        let mut source_claim = PersistentVolumeClaim::default();
        let spec = source_claim.spec.get_or_insert_default();
        spec.volume_name = Some("pvc-1".to_owned());
        spec.storage_class_name = Some("fast".to_owned());
        assert_eq!(bound_volume(&source_claim), None, "not bound yet");
        source_claim.status = Some(PersistentVolumeClaimStatus {
            phase: Some("Bound".to_owned()),
            ..Default::default()
        });
        assert_eq!(bound_volume(&source_claim), Some("pvc-1"));
        source_claim.metadata.deletion_timestamp = Some(
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH),
        );
        assert_eq!(bound_volume(&source_claim), None, "terminating");
    }
}

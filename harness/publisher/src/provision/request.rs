//! Builds the CreateVolume request for a PVC as external-provisioner does. Pure functions. Unsupported fields are errors and not ignored.

use capacity_types::SIDECAR_PREFIX;
use csi_proto::v1::{
    CapacityRange, CreateVolumeRequest, TopologyRequirement, VolumeCapability,
    volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume, access_mode::Mode},
};
use k8s_openapi::api::{
    core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec},
    storage::v1::StorageClass,
};

use super::{
    invalid_claim::{FSTYPE, InvalidClaim},
    secret,
};
use crate::{Options, capacity::parameters_for_driver, quantity};

/// Kubernetes access mode, CSI access mode, and CSI access mode for drivers with `SINGLE_NODE_MULTI_WRITER`.
const MODES: [(&str, Mode, Mode); 4] = [
    (
        "ReadWriteOnce",
        Mode::SingleNodeWriter,
        Mode::SingleNodeMultiWriter,
    ),
    (
        "ReadWriteOncePod",
        Mode::SingleNodeWriter,
        Mode::SingleNodeSingleWriter,
    ),
    (
        "ReadWriteMany",
        Mode::MultiNodeMultiWriter,
        Mode::MultiNodeMultiWriter,
    ),
    (
        "ReadOnlyMany",
        Mode::MultiNodeReaderOnly,
        Mode::MultiNodeReaderOnly,
    ),
];

/// Builds the CreateVolume request for a PVC, without accessibility requirements and fields that are read from other objects.
pub(super) fn build_request(
    options: &Options,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    single_node_multi_writer: bool,
) -> Result<CreateVolumeRequest, InvalidClaim> {
    let name = volume_name(options, claim);
    let spec = claim.spec.clone().unwrap_or_default();
    check_supported(&spec)?;
    let access = access_type(&spec, class, &options.default_fstype)?;
    let mut parameters = parameters_for_driver(class);
    if options.extra_create_metadata {
        parameters.extend(metadata(claim, &name));
    }
    let modes = spec.access_modes.iter().flatten();
    let capability = |name: &String| {
        let mode = mode(name, single_node_multi_writer)?;
        Ok(VolumeCapability {
            access_type: Some(access.clone()),
            access_mode: Some(AccessMode { mode: mode.into() }),
        })
    };
    Ok(CreateVolumeRequest {
        name,
        capacity_range: Some(CapacityRange {
            required_bytes: requested_bytes(&spec)?,
            limit_bytes: 0,
        }),
        volume_capabilities: modes.map(capability).collect::<Result<_, _>>()?,
        parameters,
        ..Default::default()
    })
}

/// Adds accessibility requirements to the CreateVolume request.
pub(super) fn with_topology(
    request: CreateVolumeRequest,
    requirement: Option<TopologyRequirement>,
) -> CreateVolumeRequest {
    CreateVolumeRequest {
        accessibility_requirements: requirement,
        ..request
    }
}

/// The volume name for a PVC, which is the same for every attempt.
pub(super) fn volume_name(options: &Options, claim: &PersistentVolumeClaim) -> String {
    let uid = claim.metadata.uid.as_deref().unwrap_or_default();
    let prefix = &options.volume_name_prefix;
    match usize::try_from(options.volume_name_uuid_length) {
        Ok(length) => {
            let short: String = uid.chars().filter(|c| *c != '-').take(length).collect();
            format!("{prefix}-{short}")
        }
        Err(_) => format!("{prefix}-{uid}"),
    }
}

/// The filesystem that the class sets, else the default. Empty: the driver chooses.
pub(super) fn filesystem<'a>(class: &'a StorageClass, default: &'a str) -> Result<&'a str, InvalidClaim> {
    let names = |key: &str| key == FSTYPE || key.eq_ignore_ascii_case("fstype");
    let mut found = class
        .parameters
        .iter()
        .flatten()
        .filter(|(key, _)| names(key))
        .map(|(_, value)| value.as_str());
    match (found.next(), found.next()) {
        (first, None) => Ok(first.filter(|name| !name.is_empty()).unwrap_or(default)),
        _ => Err(InvalidClaim::DuplicateFilesystem),
    }
}

pub(super) fn requested_bytes(claim: &PersistentVolumeClaimSpec) -> Result<i64, InvalidClaim> {
    let requests = claim
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    let storage = requests.and_then(|requests| requests.get("storage"));
    storage.and_then(quantity::to_bytes).ok_or(InvalidClaim::Size)
}

/// The VolumeAttributesClass of a PVC, if the feature gate is enabled.
pub(super) fn attributes_class<'a>(
    options: &Options,
    claim: &'a PersistentVolumeClaimSpec,
) -> Option<&'a str> {
    let name = claim.volume_attributes_class_name.as_deref();
    name.filter(|name| !name.is_empty() && options.feature_gates.attributes_class)
}

pub(super) fn is_block(claim: &PersistentVolumeClaimSpec) -> bool {
    claim.volume_mode.as_deref() == Some("Block")
}

fn check_supported(claim: &PersistentVolumeClaimSpec) -> Result<(), InvalidClaim> {
    if claim.selector.is_some() {
        return Err(InvalidClaim::Selector);
    }
    Ok(())
}

fn access_type(
    claim: &PersistentVolumeClaimSpec,
    class: &StorageClass,
    default_fstype: &str,
) -> Result<AccessType, InvalidClaim> {
    let reserved = class.parameters.iter().flatten().map(|(key, _)| key);
    if let Some(key) = reserved
        .into_iter()
        .find(|key| key.starts_with(SIDECAR_PREFIX) && *key != FSTYPE && !secret::is_secret_parameter(key))
    {
        return Err(InvalidClaim::ReservedParameter(key.clone()));
    }
    let fs_type = filesystem(class, default_fstype)?.to_owned();
    if is_block(claim) {
        return Ok(AccessType::Block(BlockVolume {}));
    }
    let mount_flags = class.mount_options.clone().unwrap_or_default();
    Ok(AccessType::Mount(MountVolume {
        fs_type,
        mount_flags,
        volume_mount_group: String::new(),
    }))
}

fn mode(name: &str, single_node_multi_writer: bool) -> Result<Mode, InvalidClaim> {
    let found = MODES.iter().find(|(known, ..)| *known == name);
    let (_, usual, finer) = found.ok_or_else(|| InvalidClaim::AccessMode(name.to_owned()))?;
    Ok(if single_node_multi_writer { *finer } else { *usual })
}

/// Parameters with the names of PVC and PersistentVolume, for administrators of the storage backend.
fn metadata(claim: &PersistentVolumeClaim, volume: &str) -> [(String, String); 3] {
    let (name, namespace) = (&claim.metadata.name, &claim.metadata.namespace);
    [
        ("pvc/name", name.clone().unwrap_or_default()),
        ("pvc/namespace", namespace.clone().unwrap_or_default()),
        ("pv/name", volume.to_owned()),
    ]
    .map(|(key, value)| (format!("{SIDECAR_PREFIX}{key}"), value))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::VolumeResourceRequirements,
        apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::LabelSelector},
    };

    use super::*;

    fn claim(size: &str, modes: &[&str]) -> PersistentVolumeClaimSpec {
        let requests = [("storage".to_owned(), Quantity(size.to_owned()))].into();
        PersistentVolumeClaimSpec {
            access_modes: Some(modes.iter().map(|mode| (*mode).to_owned()).collect()),
            resources: Some(VolumeResourceRequirements {
                requests: Some(requests),
                limits: None,
            }),
            ..Default::default()
        }
    }

    fn class(parameters: &[(&str, &str)]) -> StorageClass {
        let parameters = parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        StorageClass {
            parameters: Some(parameters),
            mount_options: Some(vec!["noatime".to_owned()]),
            ..Default::default()
        }
    }

    fn claim_with_spec(spec: &PersistentVolumeClaimSpec) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim {
            spec: Some(spec.clone()),
            ..Default::default()
        };
        claim.metadata.name = Some("data".to_owned());
        claim.metadata.namespace = Some("web".to_owned());
        claim.metadata.uid = Some("12ab-34cd".to_owned());
        claim
    }

    fn build(
        claim: &PersistentVolumeClaimSpec,
        class: &StorageClass,
    ) -> Result<CreateVolumeRequest, InvalidClaim> {
        build_request(&Options::default(), &claim_with_spec(claim), class, false)
    }

    #[test]
    fn options_set_names_filesystem_and_metadata() {
        let chosen = Options {
            volume_name_prefix: "vol".to_owned(),
            volume_name_uuid_length: 6,
            default_fstype: "ext4".to_owned(),
            extra_create_metadata: true,
            ..Options::default()
        };
        let claim = claim_with_spec(&claim("1Gi", &["ReadWriteOnce"]));
        let built = build_request(&chosen, &claim, &class(&[]), false).unwrap();
        assert_eq!(built.name, "vol-12ab34");
        assert_eq!(volume_name(&Options::default(), &claim), "pvc-12ab-34cd");
        let metadata = [
            ("csi.storage.k8s.io/pv/name", "vol-12ab34"),
            ("csi.storage.k8s.io/pvc/name", "data"),
            ("csi.storage.k8s.io/pvc/namespace", "web"),
        ];
        assert_eq!(
            built.parameters,
            metadata
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into()
        );
        let Some(AccessType::Mount(mount)) = &built.volume_capabilities[0].access_type else {
            panic!("it is mounted")
        };
        assert_eq!(mount.fs_type, "ext4");
    }

    #[test]
    fn size_parameters_and_filesystem_come_from_pvc_and_class() {
        let class = class(&[("kind", "fast"), (FSTYPE, "xfs")]);
        let built = build(&claim("7Gi", &["ReadWriteOnce", "ReadOnlyMany"]), &class).unwrap();
        assert_eq!(
            built
                .capacity_range
                .map(|range| (range.required_bytes, range.limit_bytes)),
            Some((7 << 30, 0))
        );
        assert_eq!(built.parameters, [("kind".to_owned(), "fast".to_owned())].into());
        let modes: Vec<Mode> = built
            .volume_capabilities
            .iter()
            .map(|capability| capability.access_mode.unwrap().mode())
            .collect();
        assert_eq!(modes, [Mode::SingleNodeWriter, Mode::MultiNodeReaderOnly]);
        let mount = MountVolume {
            fs_type: "xfs".to_owned(),
            mount_flags: vec!["noatime".to_owned()],
            ..Default::default()
        };
        assert_eq!(
            built.volume_capabilities[0].access_type,
            Some(AccessType::Mount(mount))
        );
    }

    #[test]
    fn block_volumes_and_single_node_access_modes_are_supported() {
        let block = PersistentVolumeClaimSpec {
            volume_mode: Some("Block".to_owned()),
            ..claim("1", &["ReadWriteOncePod"])
        };
        let built = build_request(&Options::default(), &claim_with_spec(&block), &class(&[]), true).unwrap();
        let capability = &built.volume_capabilities[0];
        assert_eq!(capability.access_type, Some(AccessType::Block(BlockVolume {})));
        assert_eq!(
            capability.access_mode.unwrap().mode(),
            Mode::SingleNodeSingleWriter
        );
    }

    #[test]
    fn unsupported_fields_are_errors() {
        let fine = || claim("1Gi", &["ReadWriteOnce"]);
        let selector = PersistentVolumeClaimSpec {
            selector: Some(LabelSelector::default()),
            ..fine()
        };
        let plain = class(&[]);
        let twice = class(&[(FSTYPE, "xfs"), ("fsType", "ext4")]);
        let unknown = class(&[("csi.storage.k8s.io/colour", "red")]);
        for (claim, class, expected) in [
            (selector, &plain, InvalidClaim::Selector),
            (claim("much", &[]), &plain, InvalidClaim::Size),
            (
                claim("1Gi", &["Sometimes"]),
                &plain,
                InvalidClaim::AccessMode("Sometimes".to_owned()),
            ),
            (fine(), &twice, InvalidClaim::DuplicateFilesystem),
            (
                fine(),
                &unknown,
                InvalidClaim::ReservedParameter("csi.storage.k8s.io/colour".to_owned()),
            ),
        ] {
            assert_eq!(build(&claim, class), Err(expected));
        }
    }
}

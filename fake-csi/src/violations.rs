//! Owns violations of the CSI specification that a lenient driver tolerates, and how the driver completes a request with such a violation.
//!
//! Covers only violations that occur in known clients and that a driver can tolerate. `arguments` rejects all other violations, whether or
//! not the driver is lenient.

use csi_proto::v1::{
    CreateVolumeRequest, GetCapacityRequest, VolumeCapability,
    volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode},
};

use crate::DriverSpec;

/// The access type of block volumes, as [`Event::capabilities`](crate::Event::capabilities) spells it.
const BLOCK: &str = "block";

/// Checks the arguments of GetCapacity and returns the violations. A lenient driver drops incomplete volume capabilities.
pub(crate) fn get_capacity(spec: &DriverSpec, request: &mut GetCapacityRequest) -> Vec<String> {
    let mut violations = incomplete_capabilities(&request.volume_capabilities);
    if request.accessible_topology.is_some() {
        violations.extend(unsupported_topology(spec, "accessible_topology"));
    }
    if spec.lenient {
        request.volume_capabilities.retain(is_complete);
    }
    violations
}

/// Checks the arguments of CreateVolume and returns the violations. A lenient driver assumes a mounted filesystem with one writer node.
pub(crate) fn create_volume(spec: &DriverSpec, request: &mut CreateVolumeRequest) -> Vec<String> {
    let capabilities = &mut request.volume_capabilities;
    let mut violations = incomplete_capabilities(capabilities);
    if capabilities.is_empty() {
        violations.push("volume_capabilities are missing".to_owned());
    }
    if let Some(terms) = &request.accessibility_requirements {
        violations.extend(unsupported_topology(spec, "accessibility_requirements"));
        if !terms.requisite.is_empty() && terms.preferred.iter().any(|term| !terms.requisite.contains(term)) {
            violations.push("a preferred topology is not among the requisite ones".to_owned());
        }
    }
    if spec.lenient {
        capabilities.iter_mut().for_each(set_defaults);
        if capabilities.is_empty() {
            let mut capability = VolumeCapability::default();
            set_defaults(&mut capability);
            capabilities.push(capability);
        }
    }
    violations
}

/// Whether an entry of [`Event::capabilities`](crate::Event::capabilities) is for a block volume.
pub fn is_block(capability: &str) -> bool {
    capability.split(' ').next() == Some(BLOCK)
}

/// Capabilities as text for events.
pub(crate) fn format_capabilities(capabilities: &[VolumeCapability]) -> Vec<String> {
    capabilities.iter().map(format_capability).collect()
}

/// Formats a capability as text for events, such as `mount SINGLE_NODE_WRITER`, with a dash for an unset access type or mode.
fn format_capability(capability: &VolumeCapability) -> String {
    let kind = match capability.access_type {
        Some(AccessType::Block(_)) => BLOCK,
        Some(AccessType::Mount(_)) => "mount",
        None => "-",
    };
    let mode = capability
        .access_mode
        .and_then(|mode| Mode::try_from(mode.mode).ok());
    let mode = mode.filter(|mode| *mode != Mode::Unknown);
    format!("{kind} {}", mode.map_or("-", |mode| mode.as_str_name()))
}

/// Violations of incomplete volume capabilities: an unset access type or access mode.
pub(crate) fn incomplete_capabilities(capabilities: &[VolumeCapability]) -> Vec<String> {
    let mut violations = Vec::new();
    if capabilities
        .iter()
        .any(|capability| capability.access_type.is_none())
    {
        violations.push("a volume capability has no access_type".to_owned());
    }
    if capabilities.iter().any(|capability| !has_mode(capability)) {
        violations.push("a volume capability has no access_mode".to_owned());
    }
    violations
}

fn unsupported_topology(spec: &DriverSpec, field: &str) -> Option<String> {
    let has_none = spec.topology_keys.is_empty();
    has_none.then(|| format!("{field} is set, and the driver has no VOLUME_ACCESSIBILITY_CONSTRAINTS"))
}

fn is_complete(capability: &VolumeCapability) -> bool {
    capability.access_type.is_some() && has_mode(capability)
}

fn has_mode(capability: &VolumeCapability) -> bool {
    let unknown = i32::from(Mode::Unknown);
    capability
        .access_mode
        .is_some_and(|mode: AccessMode| mode.mode != unknown)
}

fn set_defaults(capability: &mut VolumeCapability) {
    let mount = || AccessType::Mount(MountVolume::default());
    capability.access_type.get_or_insert_with(mount);
    if !has_mode(capability) {
        let mode = i32::from(Mode::SingleNodeWriter);
        capability.access_mode = Some(AccessMode { mode });
    }
}

//! Names of the CSI methods that the driver serves, and names of the gRPC codes.

use std::{fmt, str::FromStr};

use tonic::Code;

/// A method of the CSI services, named as in the CSI specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "control", derive(serde::Deserialize, serde::Serialize))]
pub enum Method {
    /// The method `GetPluginInfo` of the Identity service.
    GetPluginInfo,
    /// The method `GetPluginCapabilities` of the Identity service.
    GetPluginCapabilities,
    /// The method `Probe` of the Identity service.
    Probe,
    /// The method `CreateVolume` of the Controller service.
    CreateVolume,
    /// The method `DeleteVolume` of the Controller service.
    DeleteVolume,
    /// The method `ValidateVolumeCapabilities` of the Controller service.
    ValidateVolumeCapabilities,
    /// The method `ListVolumes` of the Controller service.
    ListVolumes,
    /// The method `GetCapacity` of the Controller service.
    GetCapacity,
    /// The method `ControllerGetCapabilities` of the Controller service.
    ControllerGetCapabilities,
    /// The method `ControllerExpandVolume` of the Controller service.
    ControllerExpandVolume,
    /// The method `ControllerModifyVolume` of the Controller service.
    ControllerModifyVolume,
    /// The method `NodePublishVolume` of the Node service.
    NodePublishVolume,
    /// The method `NodeUnpublishVolume` of the Node service.
    NodeUnpublishVolume,
    /// The method `NodeGetCapabilities` of the Node service.
    NodeGetCapabilities,
    /// The method `NodeGetInfo` of the Node service.
    NodeGetInfo,
}

const METHODS: [(Method, &str); 15] = [
    (Method::GetPluginInfo, "GetPluginInfo"),
    (Method::GetPluginCapabilities, "GetPluginCapabilities"),
    (Method::Probe, "Probe"),
    (Method::CreateVolume, "CreateVolume"),
    (Method::DeleteVolume, "DeleteVolume"),
    (Method::ValidateVolumeCapabilities, "ValidateVolumeCapabilities"),
    (Method::ListVolumes, "ListVolumes"),
    (Method::GetCapacity, "GetCapacity"),
    (Method::ControllerGetCapabilities, "ControllerGetCapabilities"),
    (Method::ControllerExpandVolume, "ControllerExpandVolume"),
    (Method::ControllerModifyVolume, "ControllerModifyVolume"),
    (Method::NodePublishVolume, "NodePublishVolume"),
    (Method::NodeUnpublishVolume, "NodeUnpublishVolume"),
    (Method::NodeGetCapabilities, "NodeGetCapabilities"),
    (Method::NodeGetInfo, "NodeGetInfo"),
];

/// The gRPC codes, spelled as in the CSI specification.
const CODES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Method {
    /// All methods, in the order of the CSI services.
    pub fn all() -> impl Iterator<Item = Method> {
        METHODS.into_iter().map(|(method, _)| method)
    }

    /// The method name in the CSI specification, without the service.
    pub fn as_str(self) -> &'static str {
        METHODS
            .iter()
            .find(|(method, _)| *method == self)
            .map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// No CSI method has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown CSI method {0:?}; use a name from the CSI specification such as GetCapacity")]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Method, UnknownMethod> {
        let found = METHODS.iter().find(|(_, name)| *name == text);
        found
            .map(|(method, _)| *method)
            .ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

/// The name of a gRPC code, spelled as in the CSI specification, for example `RESOURCE_EXHAUSTED`.
pub fn code_name(code: Code) -> &'static str {
    CODES
        .iter()
        .find(|(known, _)| *known == code)
        .map_or("UNKNOWN", |(_, name)| name)
}

/// The gRPC code with this name, spelled as in the CSI specification; `None` if the name is unknown.
pub fn code_from_name(name: &str) -> Option<Code> {
    CODES
        .iter()
        .find(|(_, known)| *known == name)
        .map(|(code, _)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_name_parses_to_its_method() {
        for method in Method::all() {
            assert_eq!(method.as_str().parse(), Ok(method));
        }
        assert_eq!(
            Method::all().count(),
            Method::NodeGetInfo as usize + 1,
            "METHODS lacks a method"
        );
    }

    #[test]
    fn every_grpc_code_has_a_unique_name() {
        for number in 0..=16 {
            let code = Code::from(number);
            assert_eq!(code_from_name(code_name(code)), Some(code));
        }
    }
}

//! The path of a field in an object, as Go's decoder formats it.
//!
//! Owns the list of Go structs that are embedded inline in JSON.

use super::form_error::{FormError, GoTarget};
use super::types::Type;
use crate::machinery::json;
use serde_json::Value;

/// Fields of PersistentVolumeSpec outside of the embedded Go struct PersistentVolumeSource.
const VOLUME_BUT_SOURCE: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

/// Fields of the Go struct `Rule`, which is embedded in webhook configurations and policies.
const RULE: [&str; 4] = ["apiGroups", "apiVersions", "resources", "scope"];

/// Go structs that embed another struct inline. Go's decoder includes the name of the embedded struct in paths.
const EMBEDDED: [(&[&str], &str, Fields); 10] = [
    (
        &["PersistentVolumeSpec"],
        "PersistentVolumeSource",
        Fields::AllBut(&VOLUME_BUT_SOURCE),
    ),
    (&["Volume"], "VolumeSource", Fields::AllBut(&["name"])),
    (
        &["EphemeralContainer"],
        "EphemeralContainerCommon",
        Fields::AllBut(&["targetContainerName"]),
    ),
    (
        &["Probe"],
        "ProbeHandler",
        Fields::Only(&["exec", "grpc", "httpGet", "tcpSocket"]),
    ),
    (
        &[
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        ],
        "LocalObjectReference",
        Fields::Only(&["name"]),
    ),
    (&["RuleWithOperations"], "Rule", Fields::Only(&RULE)),
    (
        &["NamedRuleWithOperations"],
        "RuleWithOperations",
        Fields::Only(&["operations"]),
    ),
    (
        &["NamedRuleWithOperations"],
        "RuleWithOperations.Rule",
        Fields::Only(&RULE),
    ),
    (&["IngressRule"], "IngressRuleValue", Fields::Only(&["http"])),
    (
        &[
            "DeviceAllocationConfiguration",
            "DeviceClaimConfiguration",
            "DeviceClassConfiguration",
        ],
        "DeviceConfiguration",
        Fields::Only(&["opaque"]),
    ),
];

/// Which fields of the outer Go struct belong to the embedded Go struct.
enum Fields {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// The position while visiting an object. Positions live on the stack: memory is allocated only to report an error.
#[derive(Clone, Copy)]
pub(super) struct FieldPath<'a> {
    pub(super) parent: Option<&'a FieldPath<'a>>,
    pub(super) step: PathStep<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum PathStep<'a> {
    Root,
    Field(&'static Type, &'a str),
    Key(&'a str),
    Index(usize),
}

/// The name of the embedded struct that contains this field, if any.
fn embedded(of: &Type, field: &str) -> Option<&'static str> {
    let holds = |fields: &Fields| match fields {
        Fields::Only(some) => some.contains(&field),
        Fields::AllBut(some) => !some.contains(&field),
    };
    EMBEDDED
        .iter()
        .find(|(outer, _, fields)| outer.contains(&of.short_name()) && holds(fields))
        .map(|(_, name, _)| *name)
}

impl<'a> FieldPath<'a> {
    pub(super) fn below<'b>(&'b self, step: PathStep<'b>) -> FieldPath<'b>
    where
        'a: 'b,
    {
        FieldPath {
            parent: Some(self),
            step,
        }
    }
}

impl FieldPath<'_> {
    /// The error if the value at this field path has the wrong JSON type.
    pub(super) fn mismatch(&self, value: &Value, wanted: GoTarget) -> FormError {
        let mut names = Vec::new();
        let mut owner: Option<&'static Type> = None;
        let mut place = Some(self);
        while let Some(at) = place {
            if let PathStep::Field(of, name) = at.step {
                owner.get_or_insert(of);
                names.push(name);
                names.extend(embedded(of, name));
            }
            place = at.parent;
        }
        names.reverse();
        let place = owner.map(|owner| (owner.short_name(), names.join(".")));
        FormError::mismatch(value, wanted, place)
    }

    pub(super) fn pointer(&self) -> String {
        let mut path = self.parent.map(FieldPath::pointer).unwrap_or_default();
        match self.step {
            PathStep::Root => {}
            PathStep::Index(i) => path.push_str(&format!("/{i}")),
            PathStep::Field(_, name) | PathStep::Key(name) => {
                path.push('/');
                path.push_str(&json::pointer_part(name));
            }
        }
        path
    }

    /// The field path as in strict-decoding errors, with keys and indexes.
    pub(super) fn strict_path(&self) -> String {
        let mut path = self.parent.map(FieldPath::strict_path).unwrap_or_default();
        match self.step {
            PathStep::Root => {}
            PathStep::Index(i) => path.push_str(&format!("[{i}]")),
            PathStep::Field(_, name) | PathStep::Key(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
        }
        path
    }
}

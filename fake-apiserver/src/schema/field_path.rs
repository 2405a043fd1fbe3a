//! Where in a document a field is, as Go's decoder names it.
//!
//! Owns which structs of Go hold another one without a name of its own in JSON.

use super::form_error::{FormError, Wanted};
use super::types::Type;
use crate::machinery::json;
use serde_json::Value;

/// Fields of a PersistentVolumeSpec that are not those of the PersistentVolumeSource in it.
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

/// Fields of the Rule in rules of webhooks and policies.
const RULE: [&str; 4] = ["apiGroups", "apiVersions", "resources", "scope"];

/// Structs of Go that hold another one without a name of its own in JSON; Go's decoder names it all the same.
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

/// Which fields of a struct are those of the one that it holds.
enum Fields {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// Where the walk is. Frames live on the stack, so that nothing is allocated unless there is something to report.
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

/// The struct without a name in JSON that has this field.
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
    /// A step further.
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
    /// The error about a value here that is of another JSON type than the wanted one.
    pub(super) fn mismatch(&self, value: &Value, wanted: Wanted) -> FormError {
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

    /// The path as a JSON pointer.
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

    /// The path as strict decoding reports it, with keys and indices.
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

//! The records that expressions see beside objects: the request and the namespace of admission.

use super::types::{Member, Record};
use Member::{Bool, Dyn, Int, Lists, Many, Map, One, Text, Texts, Time};

/// `request`.
pub(super) static REQUEST: Record = Record {
    name: "kubernetes.AdmissionRequest",
    members: &[
        ("kind", One(&GROUP_VERSION_KIND)),
        ("resource", One(&GROUP_VERSION_RESOURCE)),
        ("subResource", Text),
        ("requestKind", One(&GROUP_VERSION_KIND)),
        ("requestResource", One(&GROUP_VERSION_RESOURCE)),
        ("requestSubResource", Text),
        ("name", Text),
        ("namespace", Text),
        ("operation", Text),
        ("userInfo", One(&USER_INFO)),
        ("dryRun", Bool),
        ("options", Dyn),
    ],
};

static GROUP_VERSION_KIND: Record = Record {
    name: "kubernetes.GroupVersionKind",
    members: &[("group", Text), ("version", Text), ("kind", Text)],
};

static GROUP_VERSION_RESOURCE: Record = Record {
    name: "kubernetes.GroupVersionResource",
    members: &[("group", Text), ("version", Text), ("resource", Text)],
};

static USER_INFO: Record = Record {
    name: "kubernetes.UserInfo",
    members: &[
        ("username", Text),
        ("uid", Text),
        ("groups", Texts),
        ("extra", Lists),
    ],
};

/// `namespaceObject`.
pub(super) static NAMESPACE: Record = Record {
    name: "kubernetes.Namespace",
    members: &[
        ("metadata", One(&NAMESPACE_METADATA)),
        ("spec", One(&NAMESPACE_SPEC)),
        ("status", One(&NAMESPACE_STATUS)),
    ],
};

static NAMESPACE_METADATA: Record = Record {
    name: "kubernetes.NamespaceMetadata",
    members: &[
        ("name", Text),
        ("generateName", Text),
        ("namespace", Text),
        ("labels", Map),
        ("annotations", Map),
        ("UID", Text),
        ("creationTimestamp", Time),
        ("deletionGracePeriodSeconds", Int),
        ("deletionTimestamp", Time),
        ("generation", Int),
        ("resourceVersion", Text),
        ("finalizers", Texts),
    ],
};

static NAMESPACE_SPEC: Record = Record {
    name: "kubernetes.NamespaceSpec",
    members: &[("finalizers", Texts)],
};

static NAMESPACE_STATUS: Record = Record {
    name: "kubernetes.NamespaceStatus",
    members: &[("conditions", Many(&NAMESPACE_CONDITION)), ("phase", Text)],
};

static NAMESPACE_CONDITION: Record = Record {
    name: "kubernetes.NamespaceCondition",
    members: &[
        ("status", Text),
        ("type", Text),
        ("lastTransitionTime", Time),
        ("message", Text),
        ("reason", Text),
    ],
};

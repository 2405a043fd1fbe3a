//! Events: stored once in the form of the core group, shown in that of events.k8s.io as well.

use super::core::not_supported;
use super::{Hooks, Kind, NO_HOOKS, PLAIN, Selectable, View};
use crate::faults::Faults;
use crate::meta;
use crate::printer;
use crate::release::Life;
use serde_json::Value;

/// How fields are called in the core group and in events.k8s.io. What is not listed has one name.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) static EVENT: Kind = Kind {
    kind: "Event",
    plural: "events",
    singular: "event",
    short_names: &["ev"],
    create_on_update: true,
    hooks: Hooks {
        validate: event_validate,
        ..NO_HOOKS
    },
    selectable: &[
        Selectable {
            label: "involvedObject.kind",
            pointers: &["/involvedObject/kind"],
        },
        Selectable {
            label: "involvedObject.namespace",
            pointers: &["/involvedObject/namespace"],
        },
        Selectable {
            label: "involvedObject.name",
            pointers: &["/involvedObject/name"],
        },
        Selectable {
            label: "involvedObject.uid",
            pointers: &["/involvedObject/uid"],
        },
        Selectable {
            label: "involvedObject.apiVersion",
            pointers: &["/involvedObject/apiVersion"],
        },
        Selectable {
            label: "involvedObject.resourceVersion",
            pointers: &["/involvedObject/resourceVersion"],
        },
        Selectable {
            label: "involvedObject.fieldPath",
            pointers: &["/involvedObject/fieldPath"],
        },
        Selectable {
            label: "reason",
            pointers: &["/reason"],
        },
        Selectable {
            label: "reportingComponent",
            pointers: &["/reportingComponent"],
        },
        Selectable {
            label: "source",
            pointers: &["/source/component", "/reportingComponent"],
        },
        Selectable {
            label: "type",
            pointers: &["/type"],
        },
    ],
    unknown_label: not_supported,
    printer: &printer::EVENT,
    ..PLAIN
};

/// The same events in their newer form.
pub(super) static EVENT_VIEW: Kind = Kind {
    group: "events.k8s.io",
    selectable: &[
        Selectable {
            label: "regarding.kind",
            pointers: &["/involvedObject/kind"],
        },
        Selectable {
            label: "regarding.namespace",
            pointers: &["/involvedObject/namespace"],
        },
        Selectable {
            label: "regarding.name",
            pointers: &["/involvedObject/name"],
        },
        Selectable {
            label: "regarding.uid",
            pointers: &["/involvedObject/uid"],
        },
        Selectable {
            label: "regarding.apiVersion",
            pointers: &["/involvedObject/apiVersion"],
        },
        Selectable {
            label: "regarding.resourceVersion",
            pointers: &["/involvedObject/resourceVersion"],
        },
        Selectable {
            label: "regarding.fieldPath",
            pointers: &["/involvedObject/fieldPath"],
        },
        Selectable {
            label: "reason",
            pointers: &["/reason"],
        },
        Selectable {
            label: "reportingController",
            pointers: &["/reportingComponent"],
        },
        Selectable {
            label: "type",
            pointers: &["/type"],
        },
    ],
    hooks: Hooks {
        validate: event_validate,
        validate_create: event_view_validate_create,
        validate_update: event_view_validate_update,
        ..NO_HOOKS
    },
    view: Some(View {
        stored: &EVENT,
        from_stored: to_view,
        to_stored: from_view,
        renamed: &RENAMED,
    }),
    kind: "Event",
    plural: "events",
    singular: "event",
    short_names: &["ev"],
    create_on_update: true,
    unknown_label: not_supported,
    printer: &printer::EVENT,
    life: Life::since(19),
    ..PLAIN
};

fn event_validate(object: &Value, faults: &mut Faults) {
    involved(object, "involvedObject.namespace", faults);
}

/// The newer group insists on the fields that came with it.
fn event_view_validate_create(object: &Value, faults: &mut Faults) {
    if object["eventTime"].is_null() {
        faults.required("eventTime", "");
    }
    for (stored, shown) in [
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
        ("action", "action"),
        ("reason", "reason"),
    ] {
        if object[stored].as_str().unwrap_or_default().is_empty() {
            faults.required(shown, "");
        }
    }
}

/// Through the newer group only metadata and the series of an event may change.
fn event_view_validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let shown = |name: &'static str| {
        RENAMED
            .iter()
            .find(|(core, _)| *core == name)
            .map_or(name, |(_, view)| *view)
    };
    for name in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        faults.unchanged(shown(name), &new[name], &old[name]);
    }
}

/// An event lives beside its object; those of cluster-scoped objects live in `default`.
fn involved(object: &Value, field: &str, faults: &mut Faults) {
    let namespace = meta::text(object, "namespace");
    let of = object["involvedObject"]["namespace"].as_str().unwrap_or_default();
    let fits = if of.is_empty() {
        ["", "default", "kube-system"].contains(&namespace)
    } else {
        of == namespace
    };
    if !fits {
        faults.invalid(field, of, "does not match event.namespace");
    }
}

fn to_view(stored: &Value) -> Value {
    let mut out = renamed(stored, |name| {
        RENAMED
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, view)| *view)
    });
    out["apiVersion"] = EVENT_VIEW.api_version().into();
    if let Some(event) = out.as_object_mut() {
        for optional in ["reportingController", "reportingInstance"] {
            if event.get(optional).is_some_and(|value| value == "") {
                event.remove(optional);
            }
        }
    }
    out
}

fn from_view(view: &Value) -> Value {
    let mut out = renamed(view, |name| {
        RENAMED
            .iter()
            .find(|(_, view)| *view == name)
            .map(|(core, _)| *core)
    });
    out["apiVersion"] = EVENT.api_version().into();
    out
}

fn renamed(object: &Value, rename: impl Fn(&str) -> Option<&'static str>) -> Value {
    let members = object.as_object().into_iter().flatten();
    members
        .map(|(name, value)| (rename(name).unwrap_or(name).to_owned(), value.clone()))
        .collect()
}

//! Events: stored as core/v1, and also served as events.k8s.io/v1.

use super::resource_definition::not_supported;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StorageConversion};
use crate::config::release::ServedReleases;
use crate::kinds::ages::since;
use crate::kinds::columns::Cell::{At, Of, Text};
use crate::kinds::columns::{Column, NAME, text, wide};
use crate::machinery::error_list::ErrorList;
use crate::machinery::selector::selectable;
use crate::machinery::{json, metadata, names};
use jiff::Timestamp;
use serde_json::Value;

/// Fields with different names in core/v1 and events.k8s.io/v1.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) static EVENT: ResourceDefinition = ResourceDefinition {
    expires: true,
    kind: "Event",
    name_rule: names::path_segment,
    metadata_checks: MetadataChecks::core_v1_checks(0),
    plural: "events",
    short_names: &["ev"],
    create_on_update: true,
    hooks: Hooks {
        validate: |object, errors| validate(object, "reportingComponent", errors),
        ..NO_HOOKS
    },
    selectable: &[
        selectable("involvedObject.kind", &["/involvedObject/kind"]),
        selectable("involvedObject.namespace", &["/involvedObject/namespace"]),
        selectable("involvedObject.name", &["/involvedObject/name"]),
        selectable("involvedObject.uid", &["/involvedObject/uid"]),
        selectable("involvedObject.apiVersion", &["/involvedObject/apiVersion"]),
        selectable(
            "involvedObject.resourceVersion",
            &["/involvedObject/resourceVersion"],
        ),
        selectable("involvedObject.fieldPath", &["/involvedObject/fieldPath"]),
        selectable("reason", &["/reason"]),
        selectable("reportingComponent", &["/reportingComponent"]),
        selectable("source", &["/source/component", "/reportingComponent"]),
        selectable("type", &["/type"]),
    ],
    unknown_label: not_supported,
    columns: EVENT_COLUMNS,
    ..PLAIN
};

/// Events served as events.k8s.io/v1.
pub(super) static EVENT_VIEW: ResourceDefinition = ResourceDefinition {
    group: "events.k8s.io",
    selectable: &[
        selectable("regarding.kind", &["/involvedObject/kind"]),
        selectable("regarding.namespace", &["/involvedObject/namespace"]),
        selectable("regarding.name", &["/involvedObject/name"]),
        selectable("regarding.uid", &["/involvedObject/uid"]),
        selectable("regarding.apiVersion", &["/involvedObject/apiVersion"]),
        selectable("regarding.resourceVersion", &["/involvedObject/resourceVersion"]),
        selectable("regarding.fieldPath", &["/involvedObject/fieldPath"]),
        selectable("reason", &["/reason"]),
        selectable("reportingController", &["/reportingComponent"]),
        selectable("type", &["/type"]),
    ],
    hooks: Hooks {
        validate: |object, errors| validate(object, "reportingController", errors),
        validate_create: event_view_validate_create,
        validate_update: event_view_validate_update,
        ..NO_HOOKS
    },
    view: Some(StorageConversion {
        stored: &EVENT,
        from_stored: to_events_v1,
        to_stored: from_events_v1,
        renamed: &RENAMED,
    }),
    kind: "Event",
    plural: "events",
    short_names: &["ev"],
    create_on_update: true,
    unknown_label: not_supported,
    columns: EVENT_COLUMNS,
    life: ServedReleases::since(19),
    ..PLAIN
};

/// The maximum length of string fields of an Event, in bytes.
const LIMITS: [(&str, usize); 3] = [("reportingInstance", 128), ("action", 128), ("reason", 128)];
const MESSAGE_MAX: usize = 1024;

/// Validates an event (`legacyValidateEvent`); events without `eventTime` are legacy events. `controller`: the name of the controller field
/// in the API version in which the event is written.
fn validate(object: &Value, controller: &str, errors: &mut ErrorList) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let namespace = metadata::text(object, "namespace");
    let of = object["involvedObject"]["namespace"].as_str().unwrap_or_default();
    let is_old = object["eventTime"].is_null();
    let fits = match (is_old, of.is_empty()) {
        (true, true) => ["", "default"].contains(&namespace),
        (true, false) => of == namespace,
        (false, true) => ["default", "kube-system"].contains(&namespace),
        (false, false) => true,
    };
    if !fits {
        errors.invalid("involvedObject.namespace", of, "does not match event.namespace");
    }
    if is_old {
        return;
    }
    let by = text("reportingComponent");
    if by.is_empty() {
        errors.required(controller, "");
    }
    errors.invalid_all(controller, by, names::qualified_name(by));
    for (field, most) in LIMITS {
        if text(field).is_empty() {
            errors.required(field, "");
        } else if text(field).len() > most {
            errors.invalid(field, "", &format!("can have at most {most} characters"));
        }
    }
    if text("message").len() > MESSAGE_MAX {
        errors.invalid(
            "message",
            "",
            &format!("can have at most {MESSAGE_MAX} characters"),
        );
    }
}

/// Validates a new event of events.k8s.io/v1, which requires fields such as `eventTime` and rejects the deprecated fields of core/v1.
fn event_view_validate_create(object: &Value, errors: &mut ErrorList) {
    series(object, errors);
    if object["eventTime"].is_null() {
        errors.required("eventTime", "");
    }
    let kind = object["type"].as_str().unwrap_or_default();
    if !["Normal", "Warning"].contains(&kind) {
        errors.invalid("type", "", &format!("has invalid value: {kind}"));
    }
    let source = &object["source"];
    let set = [
        ("firstTimestamp", !object["firstTimestamp"].is_null()),
        ("lastTimestamp", !object["lastTimestamp"].is_null()),
        ("count", object["count"].as_i64().unwrap_or_default() != 0),
        (
            "source",
            source["component"].is_string() || source["host"].is_string(),
        ),
    ];
    for (field, _) in set.into_iter().filter(|(_, set)| *set) {
        errors.invalid(field, "", "needs to be unset");
    }
}

fn series(object: &Value, errors: &mut ErrorList) {
    let series = &object["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.invalid("series.count", "", "should be at least 2");
    }
    if series["lastObservedTime"].is_null() {
        errors.required("series.lastObservedTime", "");
    }
}

/// Validates the `series` of an updated Event in events.k8s.io/v1, if the series has changed.
fn event_view_validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if new["series"] != old["series"] {
        series(new, errors);
    }
}

fn to_events_v1(stored: &Value) -> Value {
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

fn from_events_v1(view: &Value) -> Value {
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

static EVENT_COLUMNS: &[Column] = &[
    text(
        "Last Seen",
        At(|o, now| {
            event_age(
                o,
                &[
                    "/series/lastObservedTime",
                    "/lastTimestamp",
                    "/firstTimestamp",
                    "/eventTime",
                ],
                now,
            )
        }),
    ),
    text("Type", Text("/type")),
    text("Reason", Text("/reason")),
    text("Object", Of(event_object)),
    wide("Subobject", Text("/involvedObject/fieldPath")),
    wide("Source", Of(event_source)),
    text("Message", Of(|o| json::string(o, "message").trim().into())),
    wide(
        "First Seen",
        At(|o, now| event_age(o, &["/firstTimestamp", "/eventTime"], now)),
    ),
    wide("Count", Of(event_count)),
    Column { priority: 1, ..NAME },
];

/// The age of an event: the time since the first of the fields at `pointers` that is set.
fn event_age(event: &Value, pointers: &[&str], now: Timestamp) -> Value {
    let mut times = pointers
        .iter()
        .filter_map(|pointer| event.pointer(pointer)?.as_str());
    times
        .next()
        .map_or_else(|| "<unknown>".into(), |time| since(time, now).into())
}

fn event_object(event: &Value) -> Value {
    let of = &event["involvedObject"];
    let kind = json::string(of, "kind").to_lowercase();
    match json::string(of, "name") {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

fn event_source(event: &Value) -> Value {
    let first = |pointers: [&str; 2]| {
        let mut texts = pointers
            .iter()
            .filter_map(|pointer| event.pointer(pointer)?.as_str());
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let component = first(["/source/component", "/reportingComponent"]);
    match first(["/source/host", "/reportingInstance"]) {
        "" => component.into(),
        instance => format!("{component}, {instance}").into(),
    }
}

fn event_count(event: &Value) -> Value {
    match event["series"].as_object() {
        Some(series) => series.get("count").cloned().unwrap_or_else(|| 0.into()),
        // Events of events.k8s.io/v1 that occurred once have neither `series` nor `count`: the cell shows 1.
        None => event["count"].as_i64().unwrap_or_default().max(1).into(),
    }
}

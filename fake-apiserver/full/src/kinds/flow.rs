//! flowcontrol.apiserver.k8s.io: objects are stored with defaults; the server never queues requests.

use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::Cell::{Number, Of, Text, TextOr};
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::{AGE, NAME, condition, text, text_or_default};
use fake_apiserver::extension::resource::{
    Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StatusMetadata,
};
use serde_json::Value;

const FLOW_CONTROL: ResourceDefinition = ResourceDefinition {
    group: "flowcontrol.apiserver.k8s.io",
    namespaced: false,
    status: true,
    generation: Generation::FromCreation,
    status_metadata: StatusMetadata::Unchanged,
    status_resets: &[&["spec"], &["metadata"]],
    life: ServedReleases::since(29),
    ..PLAIN
};

pub(super) static FLOW_SCHEMA: ResourceDefinition = ResourceDefinition {
    kind: "FlowSchema",
    metadata_checks: MetadataChecks::core_v1_checks(1).without_comparison(),
    plural: "flowschemas",
    hooks: Hooks {
        default: |object| set_default_numbers(&mut object["spec"], &[("matchingPrecedence", 1000)]),
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("PriorityLevel", Text("/spec/priorityLevelConfiguration/name")),
        text("MatchingPrecedence", Number("/spec/matchingPrecedence")),
        text(
            "DistinguisherMethod",
            TextOr("/spec/distinguisherMethod/type", "<none>"),
        ),
        AGE,
        text("MissingPL", Of(missing_priority_level_cell)),
    ],
    ..FLOW_CONTROL
};

pub(super) static PRIORITY_LEVEL_CONFIGURATION: ResourceDefinition = ResourceDefinition {
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    hooks: Hooks {
        default: level_default,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Type", Text("/spec/type")),
        text(
            "NominalConcurrencyShares",
            Of(|o| number_cell(o, "/spec/limited/nominalConcurrencyShares")),
        ),
        text(
            "Queues",
            Of(|o| number_cell(o, "/spec/limited/limitResponse/queuing/queues")),
        ),
        text(
            "HandSize",
            Of(|o| number_cell(o, "/spec/limited/limitResponse/queuing/handSize")),
        ),
        text(
            "QueueLengthLimit",
            Of(|o| number_cell(o, "/spec/limited/limitResponse/queuing/queueLengthLimit")),
        ),
        AGE,
    ],
    ..FLOW_CONTROL
};

/// Sets each field of `members` in `numbers` to its default, if the field is unset or zero.
fn set_default_numbers(members: &mut Value, numbers: &[(&str, i64)]) {
    for (name, number) in numbers {
        if members[*name].as_i64().unwrap_or_default() == 0 {
            json::assign(members, name, (*number).into());
        }
    }
}

/// The value of a table column: the number at a JSON pointer, or `<none>`.
fn number_cell(level: &Value, pointer: &str) -> Value {
    level.pointer(pointer).cloned().unwrap_or_else(|| "<none>".into())
}

fn level_default(object: &mut Value) {
    if let Some(exempt) = object.pointer_mut("/spec/exempt") {
        json::default_member(exempt, "nominalConcurrencyShares", 0);
        json::default_member(exempt, "lendablePercent", 0);
    }
    let limited = object.pointer_mut("/spec/limited");
    let Some(limited) = limited.filter(|limited| limited.is_object()) else {
        return;
    };
    json::default_member(limited, "nominalConcurrencyShares", 30);
    json::default_member(limited, "lendablePercent", 0);
    let queuing = limited.pointer_mut("/limitResponse/queuing");
    if let Some(queuing) = queuing.filter(|queuing| queuing.is_object()) {
        set_default_numbers(
            queuing,
            &[("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)],
        );
    }
}

fn missing_priority_level_cell(schema: &Value) -> Value {
    let status = condition(schema, "Dangling").and_then(|one| one["status"].as_str());
    text_or_default(status.unwrap_or_default(), "?")
}

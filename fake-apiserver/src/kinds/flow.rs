//! flowcontrol.apiserver.k8s.io: stored and shown. Requests are never queued.

use super::{Generation, PLAIN, Row};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Digits, Of, Text, TextOr};
use crate::kinds::columns::{AGE, NAME, condition, or, text};
use serde_json::Value;

const FLOW_CONTROL: Row = Row {
    group: "flowcontrol.apiserver.k8s.io",
    namespaced: false,
    status: true,
    generation: Generation::FromCreation,
    life: Life::since(29),
    ..PLAIN
};

pub(super) static FLOW_SCHEMA: Row = Row {
    kind: "FlowSchema",
    plural: "flowschemas",
    singular: "flowschema",
    columns: &[
        NAME,
        text("PriorityLevel", Text("/spec/priorityLevelConfiguration/name")),
        text("MatchingPrecedence", Digits("/spec/matchingPrecedence", "0")),
        text(
            "DistinguisherMethod",
            TextOr("/spec/distinguisherMethod/type", "<none>"),
        ),
        AGE,
        text("MissingPL", Of(dangles)),
    ],
    ..FLOW_CONTROL
};

pub(super) static PRIORITY_LEVEL_CONFIGURATION: Row = Row {
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    singular: "prioritylevelconfiguration",
    columns: &[
        NAME,
        text("Type", Text("/spec/type")),
        text(
            "NominalConcurrencyShares",
            Digits("/spec/limited/nominalConcurrencyShares", "<none>"),
        ),
        text(
            "Queues",
            Digits("/spec/limited/limitResponse/queuing/queues", "<none>"),
        ),
        text(
            "HandSize",
            Digits("/spec/limited/limitResponse/queuing/handSize", "<none>"),
        ),
        text(
            "QueueLengthLimit",
            Digits("/spec/limited/limitResponse/queuing/queueLengthLimit", "<none>"),
        ),
        AGE,
    ],
    ..FLOW_CONTROL
};

fn dangles(schema: &Value) -> Value {
    let status = condition(schema, "Dangling").and_then(|one| one["status"].as_str());
    or(status.unwrap_or_default(), "?")
}

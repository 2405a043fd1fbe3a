//! Formats a fact as one line of text, for timelines and notes. Knows only the types of the journal.

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::quantity::format_bytes;

use crate::journal::{
    CallDetails, CallFact, CommitFact, DeadlineKind, DiscoveryFact, ExtenderFact, Fact, HarnessCallFact,
    MetricsFact, Observation, ProcessEvent, RefusalFact, RequestFact,
};

/// The component that caused a fact, for the first column of a timeline.
pub(crate) fn fact_source(fact: &Fact) -> &'static str {
    match fact.what {
        Observation::Request(_)
        | Observation::Commit(_)
        | Observation::Delivery(_)
        | Observation::Fault(_)
        | Observation::Discovery(_) => "api",
        Observation::Call(_) | Observation::Refused(_) | Observation::Answer(_) => "csi",
        Observation::Process(_) | Observation::Log(_) => "sut",
        Observation::Extender(_) => "ext",
        _ => "harness",
    }
}

pub(crate) fn format_fact(fact: &Fact) -> String {
    match &fact.what {
        Observation::Begin(begin) => format!("case {} begins", begin.case),
        Observation::StepStarted(mark) => format!("step {} begins", mark.step + 1),
        Observation::StepActed(mark) => format!("actions of step {} done", mark.step + 1),
        Observation::Action(action) => action.text.clone(),
        Observation::Bound(bound) => match bound.bound {
            DeadlineKind::Within => format!("expectation {} timed out", bound.expect + 1),
            DeadlineKind::Hold => format!(
                "expectation {} has held for its hold time (`stays`)",
                bound.expect + 1
            ),
            DeadlineKind::PublisherIdle => format!(
                "expectation {}: the publisher does not call GetCapacity",
                bound.expect + 1
            ),
            DeadlineKind::SchedulerIdle => {
                format!("expectation {}: the scheduler retries no pod", bound.expect + 1)
            }
        },
        Observation::Lag(lag) => format!("harness stalled for {} ms", lag.late_us / 1000),
        Observation::Quiet => "idle: no request in flight, no change".to_owned(),
        Observation::Request(request) => format_request(request),
        Observation::Commit(commit) => format_commit(commit),
        Observation::Delivery(delivery) => format!(
            "watch {} → {}: {:?} {}",
            delivery.resource, delivery.client, delivery.change, delivery.name
        ),
        Observation::Fault(fault) => match &fault.client {
            Some(client) => format!("fault for {client}: {fault}"),
            None => format!("fault: {fault}"),
        },
        Observation::Call(call) => format_call(call),
        Observation::Refused(refusal) => format_driver_refusal(refusal),
        Observation::Answer(answer) => format_answer(answer),
        Observation::Extender(call) => format_extender_call(call),
        Observation::Discovery(discovery) => format_discovery(discovery),
        Observation::Metrics(metrics) => format_metrics(metrics),
        Observation::Log(log) => format!("{} logs: {}", log.client, log.line),
        Observation::Process(process) => match &process.event {
            ProcessEvent::Started => format!("{} started", process.client),
            ProcessEvent::Stopped => format!("{} stopped", process.client),
            ProcessEvent::Killed => format!("{} was killed", process.client),
            ProcessEvent::NotReady(what) => format!("{} was not ready: {what}", process.client),
            ProcessEvent::Flooded(what) => format!("{} exceeds a limit: {what}", process.client),
            ProcessEvent::Exited(how) => format!("{} ended by itself: {how}", process.client),
        },
    }
}

fn format_driver_refusal(refusal: &RefusalFact) -> String {
    let what = refusal.path.as_deref().unwrap_or("a connection");
    let of = match &refusal.program {
        Some(program) => format!(" of {program}"),
        None => String::new(),
    };
    format!("the driver's socket refused {what}{of}: {}", refusal.reason)
}

fn format_extender_call(call: &ExtenderFact) -> String {
    let ExtenderFact {
        extender, verb, pod, ..
    } = call;
    let nodes = call.nodes.join(", ");
    let answer = match (&call.error, verb.as_str()) {
        (Some(error), _) => error.clone(),
        (None, "filter") if call.feasible.is_empty() => "none".to_owned(),
        (None, "filter") => call.feasible.join(", "),
        (None, _) => "OK".to_owned(),
    };
    format!("{extender}: {verb} {pod} on {nodes} → {answer}")
}

fn format_discovery(discovery: &DiscoveryFact) -> String {
    let versions = match &discovery.error {
        Some(error) => error.clone(),
        None if discovery.versions.is_empty() => "not served".to_owned(),
        None => discovery.versions.join(", "),
    };
    format!("discovery: {} → {versions}", discovery.resource)
}

fn format_metrics(metrics: &MetricsFact) -> String {
    let mut words = Vec::new();
    for reading in &metrics.readings {
        let client = &reading.client;
        match &reading.error {
            Some(error) => words.push(format!("{client}: {error}")),
            None if reading.samples.is_empty() => words.push(format!("{client} has none of these metrics")),
            None => words.extend(
                reading
                    .samples
                    .iter()
                    .map(|sample| format!("{client} {} {}", sample.series, sample.value)),
            ),
        }
    }
    format!("metrics read: {}", words.join("; "))
}

/// Formats the fields of a driver response, for the timeline line after the CSI call.
fn format_answer(answer: &HarnessCallFact) -> String {
    let mut text = format!(
        "{} is the response of {}: {}",
        answer.name, answer.call, answer.code
    );
    for (name, value) in &answer.values {
        let value = match (name.as_str(), value.as_i64()) {
            ("available" | "maximum" | "minimum" | "bytes", Some(bytes)) => format_bytes(bytes.into()),
            ("room" | "implemented", _) => continue,
            (_, Some(number)) => number.to_string(),
            _ => value.as_str().unwrap_or_default().to_owned(),
        };
        text.push_str(&format!(" {name}={value}"));
    }
    if let Some(message) = &answer.message {
        text.push_str(&format!(" {message}"));
    }
    text
}

fn format_request(request: &RequestFact) -> String {
    let name = request
        .name
        .as_deref()
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    let message = match (&request.message, request.code) {
        (Some(message), 400..) => format!(" {message}"),
        _ => String::new(),
    };
    let resource = match request.resource.as_str() {
        "" => "(non-resource path)",
        resource => resource,
    };
    format!(
        "{} {} {resource}{name} → {}{message}",
        request.client, request.verb, request.code
    )
}

fn format_commit(commit: &CommitFact) -> String {
    let object = &commit.object;
    let detail = match &*commit.resource {
        RESOURCE => format!(
            " (class {}, capacity {}, maximum {})",
            object["storageClassName"].as_str().unwrap_or("-"),
            object["capacity"].as_str().unwrap_or("-"),
            object["maximumVolumeSize"].as_str().unwrap_or("-"),
        ),
        "pods" => object["spec"]["nodeName"]
            .as_str()
            .map(|node| format!(" (node {node})"))
            .unwrap_or_default(),
        "persistentvolumeclaims" => {
            let node = &object["metadata"]["annotations"]["volume.kubernetes.io/selected-node"];
            let phase = object["status"]["phase"].as_str().unwrap_or("-");
            format!(" (selected node {}, phase {phase})", node.as_str().unwrap_or("-"))
        }
        "events" => {
            let note = object["note"]
                .as_str()
                .or_else(|| object["message"].as_str())
                .unwrap_or_default();
            format!(" ({}: {note})", object["reason"].as_str().unwrap_or("-"))
        }
        _ => String::new(),
    };
    format!(
        "{} by {}: {} {}{detail}",
        commit.change.verb(),
        commit.client,
        commit.resource,
        commit.name
    )
}

/// Formats a map as `{key=value, …}`.
pub(crate) fn format_map(map: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

fn format_details(details: &CallDetails) -> String {
    let mut text = String::new();
    if !details.secrets.is_empty() {
        text.push_str(&format!(" with secrets [{}]", details.secrets.join(", ")));
    }
    if !details.mutable.is_empty() {
        text.push_str(&format!(" with mutable {}", format_map(&details.mutable)));
    }
    if !details.requisite.is_empty() {
        text.push_str(&format!(" among [{}]", details.requisite.join(", ")));
    }
    if let Some(volume) = &details.copy_of {
        text.push_str(&format!(" of a copy of {volume}"));
    }
    text
}

/// Formats the segment of a created volume, if it differs from the requested segment.
fn format_placed(call: &CallFact) -> String {
    let placed = call.placed.as_ref().and_then(|placed| placed.segment.as_ref());
    match placed {
        Some(segment) if call.segment.as_ref() != Some(segment) => format!(", made in {segment}"),
        _ => String::new(),
    }
}

fn format_call(call: &CallFact) -> String {
    let mut text = call.method.as_str().to_owned();
    if let Some(segment) = &call.segment {
        text.push_str(&format!(" {segment}"));
    }
    if !call.parameters.is_empty() {
        text.push_str(&format!(" {}", format_map(&call.parameters)));
    }
    if let Some(bytes) = call.required_bytes {
        text.push_str(&format!(" {}", format_bytes(bytes.into())));
    }
    text.push_str(&format_details(&call.details));
    match (call.available, call.maximum, call.code.as_str()) {
        (Some(available), Some(maximum), _) => text.push_str(&format!(
            " → {} (maximum {})",
            format_bytes(available.into()),
            format_bytes(maximum.into())
        )),
        (Some(available), None, _) => text.push_str(&format!(" → {}", format_bytes(available.into()))),
        (None, _, "OK") => text.push_str(&format!(" → OK{}", format_placed(call))),
        (None, _, code) => {
            text.push_str(&format!(
                " → {code} {}",
                call.message.as_deref().unwrap_or_default()
            ));
        }
    }
    text
}

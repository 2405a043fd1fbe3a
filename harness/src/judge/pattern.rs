//! Whether a fact is of the kind that a case names.

use capacity_types::quantity::format_bytes;

use super::objects::first_difference;
use crate::client_name::HARNESS;
use crate::fact_display::format_map;
use crate::journal::{CallFact, ExtenderFact, Fact, What};
use crate::plan::{CallPattern, Pattern, PatternKind, Plan};
use crate::scenario::Role;

/// Whether a word is one of those that are named, joined by `|`; `*` names every word.
fn is_meant(named: &str, word: &str) -> bool {
    named == "*" || named.split('|').any(|named| named == word)
}

/// Whether the fact is of that kind.
pub(super) fn matches(plan: &Plan, pattern: &Pattern, fact: &Fact) -> bool {
    match (&pattern.kind, &fact.what) {
        (PatternKind::Write(verb, resource), What::Commit(commit)) => {
            is_meant(verb, commit.change.verb())
                && *commit.resource == **resource
                && first_difference(resource, &pattern.having, &commit.object).is_none()
                && is_named(pattern, Some(&commit.name))
                && is_by(pattern, &commit.client)
        }
        (
            PatternKind::Request {
                verb,
                resource,
                code,
                version,
            },
            What::Request(request),
        ) => {
            is_meant(verb, &request.verb)
                && (version.is_none() || request.version == *version)
                && code.is_none_or(|code| code == request.code)
                && is_meant(resource, &request.resource)
                && is_named(pattern, request.name.as_deref())
                && is_by(pattern, &request.client)
        }
        (PatternKind::Fault(text), What::Fault(fault)) => {
            fault.what.contains(text.as_str())
                && fault
                    .client
                    .as_deref()
                    .is_none_or(|client| is_by(pattern, client))
        }
        (PatternKind::Log(text), What::Log(log)) => {
            log.line.contains(text.as_str()) && is_by(pattern, &log.client)
        }
        (PatternKind::Delivery(verb, resource), What::Delivery(delivery)) => {
            is_meant(verb, delivery.change.verb())
                && *delivery.resource == **resource
                && is_named(pattern, Some(&delivery.name))
                && is_by(pattern, &delivery.client)
        }
        // Only a publisher calls the driver; an unset role needs no check.
        (PatternKind::Call(wanted), What::Call(call)) => {
            pattern
                .by
                .is_none_or(|role| role == Role::Publisher && plan.roles.contains(&role))
                && pattern
                    .node
                    .as_ref()
                    .is_none_or(|node| call.node.as_ref() == Some(node))
                && is_wanted(wanted, call)
                && is_named(pattern, call.volume.as_deref())
        }
        (PatternKind::Extender { verb, ok }, What::Extender(call)) => {
            // Only a scheduler calls an extender; an unset role needs no check.
            pattern
                .by
                .is_none_or(|role| role == Role::Scheduler && plan.roles.contains(&role))
                && is_called(pattern, verb, *ok, call)
        }
        _ => false,
    }
}

fn is_called(pattern: &Pattern, verb: &str, ok: Option<bool>, call: &ExtenderFact) -> bool {
    call.verb == verb
        && ok.is_none_or(|ok| ok == call.error.is_none())
        && is_named(pattern, Some(&call.pod))
        && pattern.node.as_ref().is_none_or(|node| call.nodes.contains(node))
}

fn is_wanted(wanted: &CallPattern, call: &CallFact) -> bool {
    fn same<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
        wanted.is_none_or(|wanted| wanted == found)
    }
    let bytes = |found: Option<i64>| found.map(i128::from);
    let details = &call.details;
    is_meant(&wanted.method, &call.method)
        && wanted
            .segment
            .as_ref()
            .is_none_or(|wanted| call.segment.as_ref() == Some(wanted))
        && same(wanted.code.as_ref(), &call.code)
        && same(wanted.parameters.as_ref(), &call.parameters)
        && wanted
            .required
            .is_none_or(|wanted| bytes(call.required_bytes) == Some(wanted))
        && wanted
            .minimum
            .is_none_or(|wanted| bytes(details.minimum) == Some(wanted))
        && same(wanted.capabilities.as_ref(), &details.capabilities)
        && same(wanted.secrets.as_ref(), &details.secrets)
        && same(wanted.mutable.as_ref(), &details.mutable)
        && same(wanted.copy.as_ref(), &details.copy_of.is_some())
        && wanted.placed.as_ref().is_none_or(|wanted| {
            let placed = call.placed.as_ref();
            placed.is_some_and(|placed| placed.segment.as_ref() == Some(wanted))
        })
}

fn is_named(pattern: &Pattern, name: Option<&str>) -> bool {
    pattern.name.as_deref().is_none_or(|wanted| name == Some(wanted))
}

fn is_by(pattern: &Pattern, client: &str) -> bool {
    if pattern.harness {
        return client == HARNESS;
    }
    let on_node = |node: &String| client.split_once('@').is_some_and(|(_, at)| at == node);
    if !pattern.node.as_ref().is_none_or(on_node) {
        return false;
    }
    match (pattern.by, Role::of_client(client)) {
        (Some(wanted), role) => role == Some(wanted),
        (None, role) => role.is_some(),
    }
}

/// The pattern in words.
pub(super) fn format(pattern: &Pattern) -> String {
    let mut text = match &pattern.kind {
        PatternKind::Write(verb, resource) => format!("{verb} of {resource}"),
        PatternKind::Request {
            verb,
            resource,
            code,
            version,
        } => {
            let version = version.iter().map(|version| format!(" in {version}"));
            let resource = resource.clone() + &version.collect::<String>();
            let code = code.map(|code| format!(" answered {code}")).unwrap_or_default();
            format!("request to {verb} {resource}{code}")
        }
        PatternKind::Fault(text) => format!("fault “{text}”"),
        PatternKind::Delivery(verb, resource) => format!("delivery of {verb} {resource}"),
        PatternKind::Call(call) => format_call(call),
        PatternKind::Log(text) => format!("line “{text}” in a log"),
        PatternKind::Extender { verb, ok } => {
            let answer = match ok {
                None => "",
                Some(true) => " answered well",
                Some(false) => " answered with an error",
            };
            format!("question to an extender to {verb}{answer}")
        }
    };
    if let Some(name) = &pattern.name {
        text.push_str(&format!(" named {name}"));
    }
    if !pattern.having.is_null() {
        text.push_str(&format!(" with {}", pattern.having));
    }
    if let Some(node) = &pattern.node {
        text.push_str(&format!(" on {node}"));
    }
    if let Some(role) = pattern.by {
        text.push_str(&format!(" by the {}", role.as_str()));
    }
    text
}

fn format_call(call: &CallPattern) -> String {
    let parts = [
        call.segment.as_ref().map(|segment| format!(" at {segment}")),
        call.parameters
            .as_ref()
            .map(|it| format!(" with {}", format_map(it))),
        call.required.map(|bytes| format!(" for {}", format_bytes(bytes))),
        call.capabilities
            .as_ref()
            .map(|list| format!(" with capabilities [{}]", list.join(", "))),
        call.secrets
            .as_ref()
            .map(|names| format!(" with secrets [{}]", names.join(", "))),
        call.mutable
            .as_ref()
            .map(|it| format!(" with mutable {}", format_map(it))),
        call.copy
            .map(|copy| if copy { " of a copy" } else { " of an empty volume" }.to_owned()),
        call.minimum
            .map(|bytes| format!(" with minimum {}", format_bytes(bytes))),
        call.placed.as_ref().map(|segment| format!(" made in {segment}")),
        call.code.as_ref().map(|code| format!(" answered {code}")),
    ];
    call.method.clone() + &parts.into_iter().flatten().collect::<String>()
}

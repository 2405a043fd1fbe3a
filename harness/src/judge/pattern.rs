//! Whether a fact is of the kind that a case names.

use crate::journal::{Fact, What};
use crate::plan::{Pattern, PatternKind, Plan};
use crate::scenario::Role;
use crate::system::HARNESS;

/// The role that a client name belongs to: `publisher@n1` is a publisher. The harness and its controllers have none.
pub(super) fn role_of(client: &str) -> Option<Role> {
    let name = client.split('@').next();
    Role::ALL.into_iter().find(|role| name == Some(role.as_str()))
}

/// Whether the fact is of that kind.
pub(super) fn matches(plan: &Plan, pattern: &Pattern, fact: &Fact) -> bool {
    match (&pattern.kind, &fact.what) {
        (PatternKind::Write(verb, resource), What::Commit(commit)) => {
            commit.change.verb() == verb
                && *commit.resource == **resource
                && is_named(pattern, Some(&commit.name))
                && is_by(pattern, &commit.client)
        }
        (PatternKind::Request { verb, resource, code }, What::Request(request)) => {
            request.verb == *verb
                && code.is_none_or(|code| code == request.code)
                && request.resource == *resource
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
        (
            PatternKind::Call {
                method,
                segment,
                code,
                parameters,
            },
            What::Call(call),
        ) => {
            // Only a publisher calls the driver; an unset role needs no check.
            pattern
                .by
                .is_none_or(|role| role == Role::Publisher && plan.roles.contains(&role))
                && call.method == *method
                && segment
                    .as_ref()
                    .is_none_or(|segment| call.segment.as_ref() == Some(segment))
                && code.as_ref().is_none_or(|code| call.code == *code)
                && parameters
                    .as_ref()
                    .is_none_or(|parameters| call.parameters == *parameters)
                && is_named(pattern, call.volume.as_deref())
        }
        _ => false,
    }
}

fn is_named(pattern: &Pattern, name: Option<&str>) -> bool {
    pattern.name.as_deref().is_none_or(|wanted| name == Some(wanted))
}

fn is_by(pattern: &Pattern, client: &str) -> bool {
    if pattern.harness {
        return client == HARNESS;
    }
    match (pattern.by, role_of(client)) {
        (Some(wanted), role) => role == Some(wanted),
        (None, role) => role.is_some(),
    }
}

/// The pattern in words.
pub(super) fn spell(pattern: &Pattern) -> String {
    let mut text = match &pattern.kind {
        PatternKind::Write(verb, resource) => format!("{verb} of {resource}"),
        PatternKind::Request { verb, resource, code } => {
            let code = code.map(|code| format!(" answered {code}")).unwrap_or_default();
            format!("request to {verb} {resource}{code}")
        }
        PatternKind::Fault(text) => format!("fault “{text}”"),
        PatternKind::Call {
            method,
            segment,
            code,
            parameters,
        } => {
            let segment = segment
                .as_ref()
                .map(|segment| format!(" at {segment}"))
                .unwrap_or_default();
            let code = code
                .as_ref()
                .map(|code| format!(" answered {code}"))
                .unwrap_or_default();
            let with = parameters
                .as_ref()
                .map(|it| format!(" with {it:?}"))
                .unwrap_or_default();
            format!("{method}{segment}{with}{code}")
        }
    };
    if let Some(name) = &pattern.name {
        text.push_str(&format!(" named {name}"));
    }
    if let Some(role) = pattern.by {
        text.push_str(&format!(" by the {}", role.as_str()));
    }
    text
}

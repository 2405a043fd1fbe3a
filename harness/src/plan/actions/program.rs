//! The `stop`, `start`, `publisher` and `scheduler` actions: stop and start programs under test, optionally with other settings.

use super::Resolved;
use crate::plan::scope::Scope;
use crate::plan::{Action, settings};
use crate::renamed::old_of;
use crate::scenario::{PublisherSpec, Role, SchedulerSpec};
use crate::settings::{Setting, Settings, of_role};

pub(super) fn resolve_stop(_: &mut Scope<'_>, role: &Role) -> Resolved {
    Ok(vec![(Action::Stop(*role), format!("stop the {}", role.as_str()))])
}

pub(super) fn resolve_start(_: &mut Scope<'_>, role: &Role) -> Resolved {
    Ok(vec![(
        Action::Start(*role),
        format!("start the {}", role.as_str()),
    )])
}

pub(super) fn resolve_publisher(scope: &mut Scope<'_>, spec: &PublisherSpec) -> Resolved {
    settings::check_owner_level(*spec, scope.cluster.mode)?;
    let note = format!("start the publisher anew{}", format_publisher(*spec));
    Ok(vec![(Action::RestartPublisher(*spec), note)])
}

pub(super) fn resolve_scheduler(_: &mut Scope<'_>, spec: &SchedulerSpec) -> Resolved {
    let note = format!("start the scheduler anew{}", format_scheduler(spec));
    Ok(vec![(Action::RestartScheduler(spec.clone()), note)])
}

/// Formats the publisher's non-default settings.
fn format_publisher(spec: PublisherSpec) -> String {
    let settings = Settings {
        publisher: spec,
        ..Settings::default()
    };
    format_non_defaults(Role::Publisher, &settings)
}

/// Formats the scheduler's non-default settings.
fn format_scheduler(spec: &SchedulerSpec) -> String {
    let settings = Settings {
        scheduler: spec.clone(),
        ..Settings::default()
    };
    format_non_defaults(Role::Scheduler, &settings)
}

fn format_non_defaults(role: Role, settings: &Settings) -> String {
    // The oracle finds actions of stored journals by this text, so renamed settings keep their old names in it.
    let name = |setting: &Setting| old_of(setting.name).unwrap_or(setting.name);
    let values = of_role(role).map(|setting| (name(setting), setting.value(settings)));
    let words: Vec<_> = values
        .filter(|(_, value)| !value.is_usual)
        .map(|(name, value)| format!("{name} {}", value.text))
        .collect();
    match words.as_slice() {
        [] => ", as it is by itself".to_owned(),
        words => format!(", with {}", words.join(", ")),
    }
}

//! Decides which cases are skipped in runs against a real API server, and why.

use fake_apiserver::{Effect, Release};
use harness::plan::{Action, Plan};
use harness::scenario::MetricsSource;
use serde_json::Value;

use crate::names::SUFFIX_MAX;

/// Why a case cannot run on an API server of release 1.`minor`; `None` if the case can run.
pub(crate) fn skip_reason(minor: u8, plan: &Plan) -> Option<String> {
    let requires_another_release = plan.release != Release::default() && plan.release.minor() != minor;
    if requires_another_release {
        return Some(format!(
            "the case requires an API server of release {}, but this one is 1.{minor}",
            plan.release
        ));
    }
    if !plan.gates.is_empty() {
        return Some(
            "the case sets feature gates, which cannot be changed on a running API server".to_owned(),
        );
    }
    if !plan.grants.is_empty() {
        return Some(
            "the case restricts the permissions of programs, but with a real API server all programs are the same user".to_owned(),
        );
    }
    if !plan.driver.snapshots.is_empty() {
        return Some(
            "the driver of the case has snapshots, whose resources a real API server serves only with the CRDs of external-snapshotter"
                .to_owned(),
        );
    }
    if plan.reads_metrics_of(MetricsSource::Server) {
        return Some(
            "the case reads metrics of the API server, which on a real API server include requests of other clients"
                .to_owned(),
        );
    }
    if let Some(name) = plan.objects.iter().find_map(too_long_name) {
        return Some(format!(
            "the name `{name}` is too long: with the suffix that a shared API server requires, it exceeds {NAME_MAX} characters"
        ));
    }
    plan.actions().find_map(action_skip_reason)
}

/// Maximum length of a DNS subdomain, in characters.
const NAME_MAX: usize = 253;

/// The name of a cluster-scoped object, if the name with the suffix of a case would exceed the maximum length.
fn too_long_name(object: &Value) -> Option<&str> {
    let name = object["metadata"]["name"].as_str()?;
    let has_suffix = object["metadata"]["namespace"].is_null();
    (has_suffix && name.len() + SUFFIX_MAX > NAME_MAX).then_some(name)
}

fn action_skip_reason(action: &Action) -> Option<String> {
    match action {
        Action::Release(..) => Some("the case changes the release of the API server".to_owned()),
        Action::Fault { rule, .. } if matches!(rule.effect, Effect::Stale { .. }) => Some(
            "the case makes the API server return stale data, which a single replica never does".to_owned(),
        ),
        Action::Attempt(action) => action_skip_reason(action),
        _ => None,
    }
}

//! Decides which cases are skipped on a real API server, and why.

use fake_apiserver::{Effect, Release};
use harness::plan::{Action, Plan};
use harness::scenario::Speaker;
use serde_json::Value;

use crate::names::SUFFIX_MAX;

/// Why a case cannot run against a server of release 1.`has`; `None` if it can.
pub(crate) fn skips(has: u8, plan: &Plan) -> Option<String> {
    let wants_another = plan.release != Release::default() && plan.release.minor() != has;
    if wants_another {
        return Some(format!(
            "it wants an API server of release {}, and this one is 1.{has}",
            plan.release
        ));
    }
    if !plan.gates.is_empty() {
        return Some(
            "it sets feature gates of the API server, and those of a real one are set when it is started"
                .to_owned(),
        );
    }
    if !plan.grants.is_empty() {
        return Some(
            "it says what each program may do, and all are one user before a real API server".to_owned(),
        );
    }
    if !plan.driver.snapshots.is_empty() {
        return Some(
            "its driver has snapshots, whose kinds a real API server serves with external-snapshotter alone"
                .to_owned(),
        );
    }
    if plan.reads_metrics_of(Speaker::Server) {
        return Some(
            "it reads metrics of the API server, and a real one counts what others do as well".to_owned(),
        );
    }
    if let Some(name) = plan.objects.iter().find_map(too_long) {
        return Some(format!(
            "the name `{name}` and the suffix of the case are longer than the {NAME_MAX} characters of a name"
        ));
    }
    plan.actions().find_map(reason)
}

/// Maximum length of a DNS subdomain, in characters.
const NAME_MAX: usize = 253;

/// The name of a cluster-scoped object, if it is too long for the suffix of a case.
fn too_long(object: &Value) -> Option<&str> {
    let name = object["metadata"]["name"].as_str()?;
    let has_suffix = object["metadata"]["namespace"].is_null();
    (has_suffix && name.len() + SUFFIX_MAX > NAME_MAX).then_some(name)
}

fn reason(action: &Action) -> Option<String> {
    match action {
        Action::Release(..) => Some("it makes another release of the API server while it runs".to_owned()),
        Action::Fault { rule, .. } if matches!(rule.effect, Effect::Stale { .. }) => Some(
            "it makes the API server answer with an old state, which only one with several replicas does"
                .to_owned(),
        ),
        Action::Attempt(action) => reason(action),
        _ => None,
    }
}

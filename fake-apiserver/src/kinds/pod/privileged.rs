//! Rejects privileged containers unless the server runs with `--allow-privileged`.

use super::containers;
use crate::config::options::ServerOptions;
use crate::kinds::Kind;
use crate::machinery::error_list::ErrorList;
use serde_json::Value;

/// Rejects privileged containers in a pod, or in the pod template of a workload.
pub(crate) fn forbid_privileged(
    kind: &Kind,
    object: &Value,
    options: &ServerOptions,
    errors: &mut ErrorList,
) {
    if options.allow_privileged {
        return;
    }
    let Some((pod, pointer)) = kind.template.and_then(|at| Some((object.pointer(at)?, at))) else {
        return;
    };
    let (spec, at) = (&pod["spec"], format!("{pointer}/spec").replace('/', "."));
    let at = at.trim_start_matches('.');
    for (container, here) in containers::all(spec, at) {
        if container["securityContext"]["privileged"] == true {
            errors.forbidden(
                format!("{here}.securityContext.privileged"),
                "disallowed by cluster policy",
            );
        }
    }
}

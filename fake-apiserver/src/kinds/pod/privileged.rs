//! What a server that is not started with `--allow-privileged` forbids: containers that may do to their host whatever they like.

use super::containers;
use crate::config::options::ServerOptions;
use crate::kinds::Kind;
use crate::machinery::faults::Faults;
use serde_json::Value;

/// The rules for a pod, or for the template of an object that has one.
pub(crate) fn forbid_privileged(kind: &Kind, object: &Value, options: &ServerOptions, faults: &mut Faults) {
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
            faults.forbidden(
                format!("{here}.securityContext.privileged"),
                "disallowed by cluster policy",
            );
        }
    }
}

//! Fields of features that are off in Kubernetes 1.36 unless somebody turns them on: they vanish from pods and templates as they come.

use crate::kinds::Kind;
use crate::machinery::json;
use serde_json::Value;

/// Takes what is off out of a pod, or out of the template of an object that has one.
pub(crate) fn drop_disabled(kind: &Kind, object: &mut Value) {
    let Some(spec) = kind
        .template
        .and_then(|at| object.pointer_mut(at)?.get_mut("spec"))
    else {
        return;
    };
    // GenericWorkload.
    json::assign(spec, "schedulingGroup", Value::Null);
    for list in ["/containers", "/initContainers", "/ephemeralContainers"] {
        json::entries(spec, list).for_each(drop_stop_signal);
    }
    // ClusterTrustBundleProjection and PodCertificateRequest. A source stays, with nothing in it.
    for volume in json::entries(spec, "/volumes") {
        for source in json::entries(volume, "/projected/sources") {
            for off in ["clusterTrustBundle", "podCertificate"] {
                json::assign(source, off, Value::Null);
            }
        }
    }
}

/// ContainerStopSignals.
fn drop_stop_signal(container: &mut Value) {
    let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else {
        return;
    };
    if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
        json::assign(container, "lifecycle", Value::Null);
    }
}

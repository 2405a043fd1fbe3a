//! Total requests and limits of a pod.

use crate::kinds::resource_names;
use crate::machinery::amounts::Amounts;
use crate::machinery::json::list;
use serde_json::Value;

/// Total requests of a pod by resource: containers, init containers and pod overhead.
pub fn pod_requests(pod: &Value) -> Amounts {
    let mut all = total_amounts(pod, "requests");
    all.add(&Amounts::read(&pod["spec"]["overhead"]));
    all
}

/// The limits of a pod. The pod overhead is added to resources that have a limit.
pub fn pod_limits(pod: &Value) -> Amounts {
    let mut all = total_amounts(pod, "limits");
    let overhead = Amounts::read(&pod["spec"]["overhead"]);
    all.add(&overhead.filtered(|name, _| all.get(name).is_some()));
    all
}

/// The requests or limits of a pod, selected by `side`: for each resource the pod-level quantity or, if unset, the total of the containers.
fn total_amounts(pod: &Value, side: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut all = container_amounts(spec, side);
    let whole = Amounts::read(&spec["resources"][side]);
    let whole = whole.filtered(|name, _| resource_names::is_of_whole_pod(name));
    all.0.extend(whole.0);
    all
}

/// The total of containers and sidecars, or the peak during initialization if the peak is larger (`PodRequests` of component-helpers).
pub(crate) fn container_amounts(spec: &Value, side: &str) -> Amounts {
    let of = |container: &Value| Amounts::read(&container["resources"][side]);
    let mut all = Amounts::default();
    for container in list(&spec["containers"]) {
        all.add(&of(container));
    }
    // Sidecar containers run concurrently with all later init containers.
    let (mut running, mut before) = (Amounts::default(), Amounts::default());
    for container in list(&spec["initContainers"]) {
        let own = of(container);
        if container["restartPolicy"] == "Always" {
            all.add(&own);
            running.add(&own);
            before.set_to_maximum(&running);
        } else {
            let mut now = running.clone();
            now.add(&own);
            before.set_to_maximum(&now);
        }
    }
    all.set_to_maximum(&before);
    all
}
